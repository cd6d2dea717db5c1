// RotaryEmbedding of float32: pairs of each head's leading elements turned by the angle of their position.
#include <algorithm>
#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/rotate.h"
#include "lib/backend/host_kernels/operators/indices.h"
#include "partitiontuner/graph/operators/attention.h"

namespace pt::host {
namespace {

// Strides of batch entry, token, head and element, whichever order the dims have.
struct HeadStrides {
  int64_t batch = 0, token = 0, head = 0, element = 1;
};

struct Rotation {
  int64_t batch = 0, tokens = 0, heads = 0, size = 0;  // size: elements of a head
  HeadStrides in, out;
  int64_t half = 0;  // pairs that are turned
  bool interleaved = false;
  // Of the two caches: of a position, or (without positions) of a batch entry and a token; elements lie together.
  std::array<int64_t, 2> cosine{}, sine{};
  bool by_position = false;
  int64_t positions = 0;
  std::array<int64_t, 2> position_strides{};
};

int64_t PositionOf(const Rotation& r, const HostCall& run, int64_t b, int64_t t) {
  return run.input<int64_t>(3)[b * r.position_strides[0] + t * r.position_strides[1]];
}

void TurnHead(const Rotation& r, const HostCall& run, int64_t b, int64_t t, int64_t h) {
  const int64_t row = r.by_position ? 0 : b, column = r.by_position ? PositionOf(r, run, b, t) : t;
  const float* x = run.input<float>(0) + b * r.in.batch + t * r.in.token + h * r.in.head;
  float* y = run.output<float>(0) + b * r.out.batch + t * r.out.token + h * r.out.head;
  RotatePairs({.x = x,
               .y = y,
               .cosines = run.input<float>(1) + row * r.cosine[0] + column * r.cosine[1],
               .sines = run.input<float>(2) + row * r.sine[0] + column * r.sine[1],
               .pairs = r.half,
               .interleaved = r.interleaved});
  if (x != y) std::copy(x + 2 * r.half, x + r.size, y + 2 * r.half);
}

Status CheckPositions(const Rotation& r, const HostCall& run) {
  for (int64_t i = 0; i < r.batch * r.tokens && r.by_position; ++i) {
    const int64_t position = PositionOf(r, run, i / r.tokens, i % r.tokens);
    if (IsPlace(position, r.positions)) continue;
    return MakeError(ErrorCode::kInvalidInput, "host.index",
                     "RotaryEmbedding: position " + std::to_string(position) + " does not exist");
  }
  return {};
}

Status RunRotation(const Rotation& r, const HostCall& run) {
  PT_CHECK_OK(CheckPositions(r, run));
  const int64_t each = r.tokens * r.heads;
  const bool by_token = r.in.head < r.in.token;  // in the order of memory
  ParallelRanges(run.team, r.batch * each, static_cast<double>(r.size) * 0.15 + 5, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / each, rest = i % each;
      if (by_token) {
        TurnHead(r, run, b, rest / r.heads, rest % r.heads);
      } else {
        TurnHead(r, run, b, rest % r.tokens, rest / r.tokens);
      }
    }
  });
  return {};
}

HeadStrides StridesOf(const HostOperand& x, int64_t size) {
  const std::vector<int64_t>& s = x.strides();
  if (x.rank() == 4) return {s[0], s[2], s[1], s[3]};
  return {s[0], s[1], size * s[2], s[2]};
}

// Batch, tokens, heads and their size: of four dims, or of three with the number of heads in an attribute.
Result<Rotation> ReadHeads(const HostSite& site) {
  const HostOperand& x = site.in[0];
  const std::vector<int64_t>& d = x.dims();
  Rotation r;
  if (x.rank() == 4) {
    r = {d[0], d[2], d[1], d[3], {}, {}};
  } else {
    const int64_t heads = ReadRotaryEmbedding(site.node()).heads;
    if (x.rank() != 3 || heads < 1 || d[2] % heads != 0) return site.Unsupported("its heads do not divide its input");
    r = {d[0], d[1], heads, d[2] / heads, {}, {}};
  }
  r.in = StridesOf(x, r.size);
  r.out = StridesOf(site.out[0], r.size);
  return r;
}

Status ReadCaches(const HostSite& site, Rotation& r) {
  const HostOperand &cosine = site.in[1], &sine = site.in[2];
  r.by_position = site.has(3);
  const bool fits = r.by_position ? cosine.rank() == 2 && cosine.dims()[1] == r.half
                                  : cosine.dims() == std::vector<int64_t>{r.batch, r.tokens, r.half};
  if (!fits || sine.dims() != cosine.dims()) return site.Unsupported("its caches do not fit its input");
  const auto strides = [&](const HostOperand& cache) {
    const std::vector<int64_t>& s = cache.strides();
    return r.by_position ? std::array<int64_t, 2>{0, s[0]} : std::array<int64_t, 2>{s[0], s[1]};
  };
  r.cosine = strides(cosine);
  r.sine = strides(sine);
  if (r.half > 1 && (cosine.strides().back() != 1 || sine.strides().back() != 1)) {
    return site.Unsupported("its caches are not contiguous");
  }
  if (!r.by_position) return {};
  const HostOperand& positions = site.in[3];
  if (positions.type() != DataType::kInt64 || positions.dims() != std::vector<int64_t>{r.batch, r.tokens}) {
    return site.Unsupported("its positions are not one int64 a token");
  }
  r.positions = cosine.dims()[0];
  r.position_strides = {positions.strides()[0], positions.strides()[1]};
  return {};
}

Result<HostRoutine> RotaryEmbedding(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 4));
  PT_CHECK_OK(site.NeedOutput(0, DataType::kFloat32, site.in[0].dims()));
  for (size_t i = 0; i < 3; ++i) {
    if (site.in[i].type() != DataType::kFloat32) return site.Unsupported("its inputs are not float32");
  }
  PT_ASSIGN(Rotation r, ReadHeads(site));
  const RotaryEmbeddingNode node = ReadRotaryEmbedding(site.node());
  const int64_t turned = node.TurnedOf(r.size);
  if (turned < 0 || turned > r.size || turned % 2 != 0)
    return site.Unsupported("its rotary dim is odd or exceeds the head size");
  r.half = turned / 2;
  r.interleaved = node.interleaved;
  PT_CHECK_OK(ReadCaches(site, r));
  if (r.size > 1 && (r.in.element != 1 || r.out.element != 1)) return site.Unsupported("its heads are not contiguous");
  return HostRoutine{[r](const HostCall& run) { return RunRotation(r, run); }, 0, {0}};
}

constexpr std::array kRotaryEmbeddingOperators = {HostRow{"RotaryEmbedding", RotaryEmbedding}};

}  // namespace

std::span<const HostRow> RotaryEmbeddingOperators() { return kRotaryEmbeddingOperators; }

}  // namespace pt::host
