// Attention and what belongs to it: RotaryEmbedding, TensorScatter (updates of key and value caches). Attention is as
// ONNX 1.23 defines opsets 23 to 25. Releases before it had other texts of the same opsets, and other data: softcap
// behind the mask, and modes 1 and 2 of qk_matmul_output the other way round. A model does not say which one it
// follows; the corrected text holds, as in ONNX Runtime.
#include "partitiontuner/graph/operators/attention.h"

#include <array>
#include <cmath>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/broadcast.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {
namespace {

// A tensor [batch, heads, length, size], or [batch, length, heads · size].
struct Heads {
  int64_t batch = 0, heads = 1, length = 0, size = 0;
  bool flat = false;
  int64_t row(int64_t b, int64_t h, int64_t t) const {
    return (flat ? (b * length + t) * heads + h : (b * heads + h) * length + t) * size;
  }
};

Result<Heads> ReadHeads(const ReferenceSite& site, size_t input, int64_t flat_heads) {
  const std::vector<int64_t>& d = site.in[input].dims;
  if (d.size() == 4) return Heads{d[0], d[1], d[2], d[3], false};
  if (d.size() != 3) return site.Invalid("its tensors need three or four dims");
  if (flat_heads < 1 || d[2] % flat_heads != 0)
    return site.Invalid("the number of heads does not divide the hidden size");
  return Heads{d[0], flat_heads, d[1], d[2] / flat_heads, true};
}

constexpr int64_t kMostKeys = int64_t{1} << 40;  // their scores are kept for each core

struct AttentionPlan {
  Heads q, k, v, y;
  int64_t past = 0, total = 0;
  double scale = 1, softcap = 0;
  bool causal = false, boolean_mask = false;
  int64_t left = -1, right = -1, mode = 0;
  int64_t mask_length = 0;  // of the mask's last dim; what is missing is masked
  std::array<int64_t, 4> mask_strides{};
};

// The mask broadcasts to [batch, heads, query, key]; its last dim may be shorter.
Status ReadMask(const ReferenceSite& site, AttentionPlan& plan) {
  const TensorFacts& mask = site.in[3];
  plan.boolean_mask = mask.type == DataType::kBool;
  if (!plan.boolean_mask && mask.type != site.in[0].type) return site.Invalid("the mask is of another type");
  const std::array<int64_t, 4> full = {plan.q.batch, plan.q.heads, plan.q.length, plan.total};
  if (mask.dims.empty() || mask.dims.size() > 4) return site.Invalid("the mask does not broadcast to the scores");
  plan.mask_length = mask.dims.back();
  if (plan.mask_length > plan.total) return site.Invalid("the mask is longer than the keys");
  int64_t stride = 1;
  for (size_t d = mask.dims.size(); d-- > 0;) {
    const size_t at = 4 - mask.dims.size() + d;
    if (mask.dims[d] != 1 && mask.dims[d] != full[at] && at != 3)
      return site.Invalid("the mask does not broadcast to the scores");
    plan.mask_strides[at] = mask.dims[d] == 1 && at != 3 ? 0 : stride;
    stride *= mask.dims[d];
  }
  return {};
}

Result<AttentionPlan> ReadAttention(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 7));
  const AttentionNode node = ReadAttentionNode(site.node);
  AttentionPlan plan;
  PT_ASSIGN(plan.q, ReadHeads(site, 0, node.q_heads));
  PT_ASSIGN(plan.k, ReadHeads(site, 1, node.kv_heads));
  PT_ASSIGN(plan.v, ReadHeads(site, 2, node.kv_heads));
  if (site.has(4) != site.has(5)) return site.Invalid("past_key and past_value come together");
  if (site.has(4)) {
    const std::vector<int64_t>& past = site.in[4].dims;
    if (past.size() != 4 || site.in[5].dims.size() != 4) return site.Invalid("the past needs four dims");
    plan.past = past[2];
    if (past != std::vector<int64_t>{plan.k.batch, plan.k.heads, plan.past, plan.k.size} ||
        site.in[5].dims != std::vector<int64_t>{plan.v.batch, plan.v.heads, plan.past, plan.v.size}) {
      return site.Invalid("the past does not fit keys and values");
    }
  }
  const std::optional<int64_t> total = CheckedAdd(plan.past, plan.k.length);
  if (!total || *total > kMostKeys) {
    return MakeError(ErrorCode::kOutOfMemory, "reference.size",
                     "Attention: keys of more than " + std::to_string(kMostKeys) + " tokens");
  }
  plan.total = *total;
  if (plan.k.batch != plan.q.batch || plan.v.batch != plan.q.batch || plan.k.size != plan.q.size ||
      plan.v.heads != plan.k.heads || plan.v.length != plan.k.length || plan.k.heads == 0 ||
      plan.q.heads % plan.k.heads != 0 || plan.q.flat != plan.k.flat || plan.q.flat != plan.v.flat) {
    return site.Invalid("queries, keys and values do not fit each other");
  }
  plan.scale = node.ScaleOf(plan.q.size);
  plan.softcap = node.softcap;
  plan.causal = node.is_causal;
  plan.left = node.left;
  plan.right = node.right;
  plan.mode = node.scores_mode;
  plan.y = plan.q;
  plan.y.size = plan.v.size;
  if (site.has(3)) PT_CHECK_OK(ReadMask(site, plan));
  if (site.has(6) && site.has(4)) return site.Invalid("nonpad_kv_seqlen and a past do not go together");
  if (site.has(6) && (site.in[6].type != DataType::kInt64 || site.in[6].dims != std::vector<int64_t>{plan.q.batch})) {
    return site.Invalid("nonpad_kv_seqlen is not one int64 a batch entry");
  }
  return plan;
}

template <typename T>
class AttentionRun {
 public:
  AttentionRun(const AttentionPlan& plan, const TensorCall& run) : p_(plan), run_(run) {}

  const T* Key(int64_t b, int64_t h, int64_t t) const {
    return t < p_.past ? run_.in<T>(4) + ((b * p_.k.heads + h) * p_.past + t) * p_.k.size
                       : run_.in<T>(1) + p_.k.row(b, h, t - p_.past);
  }
  const T* ValueAt(int64_t b, int64_t h, int64_t t) const {
    return t < p_.past ? run_.in<T>(5) + ((b * p_.v.heads + h) * p_.past + t) * p_.v.size
                       : run_.in<T>(2) + p_.v.row(b, h, t - p_.past);
  }

  // Bias of a score: minus infinity where it is masked.
  double Bias(int64_t b, int64_t h, int64_t i, int64_t j) const {
    constexpr double kMasked = -std::numeric_limits<double>::infinity();
    const int64_t valid = run_.in<int64_t>(6) != nullptr ? run_.in<int64_t>(6)[b] : p_.total;
    if (j >= valid) return kMasked;
    const int64_t offset = run_.in<int64_t>(6) != nullptr ? valid - p_.q.length : p_.past;
    const int64_t at = i + offset;
    if (p_.causal && j > at) return kMasked;
    if ((p_.left >= 0 && at - j > p_.left) || (p_.right >= 0 && j - at > p_.right)) return kMasked;
    if (run_.in<void>(3) == nullptr) return 0;
    if (j >= p_.mask_length) return kMasked;
    const int64_t where =
        b * p_.mask_strides[0] + h * p_.mask_strides[1] + i * p_.mask_strides[2] + j * p_.mask_strides[3];
    if (p_.boolean_mask) return run_.in<uint8_t>(3)[where] != 0 ? 0 : kMasked;
    return static_cast<double>(run_.in<T>(3)[where]);
  }

  // One query row; scores has room for `total` numbers. The caps come before the mask: a masked key stays masked.
  void Row(int64_t b, int64_t h, int64_t i, double* scores) const {
    const int64_t kv = h / (p_.q.heads / p_.k.heads);
    const T* q = run_.in<T>(0) + p_.q.row(b, h, i);
    T* qk = run_.out<T>(3) == nullptr ? nullptr : run_.out<T>(3) + ((b * p_.q.heads + h) * p_.q.length + i) * p_.total;
    const auto show = [&](int64_t mode, int64_t j, double value) {
      if (qk != nullptr && p_.mode == mode) qk[j] = static_cast<T>(value);
    };
    constexpr double kMasked = -std::numeric_limits<double>::infinity();
    double most = kMasked, most_bias = kMasked;
    bool wrong = false;  // some score is no number: so is the result
    for (int64_t j = 0; j < p_.total; ++j) {
      const T* k = Key(b, kv, j);
      double dot = 0;
      for (int64_t d = 0; d < p_.q.size; ++d) dot += static_cast<double>(q[d]) * static_cast<double>(k[d]);
      dot *= p_.scale;
      show(0, j, dot);
      if (p_.softcap != 0) dot = p_.softcap * std::tanh(dot / p_.softcap);
      show(1, j, dot);
      const double bias = Bias(b, h, i, j);
      scores[j] = dot + bias;
      show(2, j, scores[j]);
      most = std::fmax(most, scores[j]);
      most_bias = std::fmax(most_bias, bias);
      wrong = wrong || std::isnan(scores[j]);
    }
    // A row that sees no key attends nothing: zeros, not NaN, whatever its keys hold.
    const bool blind = most_bias == kMasked || (most == kMasked && !wrong);
    double sum = 0;
    for (int64_t j = 0; j < p_.total; ++j) sum += scores[j] = blind ? 0 : std::exp(scores[j] - most);
    for (int64_t j = 0; j < p_.total; ++j) {
      scores[j] = blind ? 0 : scores[j] / sum;
      show(3, j, scores[j]);
    }
    T* y = run_.out<T>(0) == nullptr ? nullptr : run_.out<T>(0) + p_.y.row(b, h, i);
    for (int64_t d = 0; d < p_.v.size && y != nullptr; ++d) {
      double value = 0;
      for (int64_t j = 0; j < p_.total; ++j) value += scores[j] * static_cast<double>(ValueAt(b, kv, j)[d]);
      y[d] = static_cast<T>(value);
    }
  }

  void Present() const {
    for (int64_t b = 0; b < p_.k.batch; ++b) {
      for (int64_t h = 0; h < p_.k.heads; ++h) {
        for (int64_t t = 0; t < p_.total; ++t) {
          const int64_t row = (b * p_.k.heads + h) * p_.total + t;
          if (run_.out<T>(1) != nullptr) std::copy_n(Key(b, h, t), p_.k.size, run_.out<T>(1) + row * p_.k.size);
          if (run_.out<T>(2) != nullptr) std::copy_n(ValueAt(b, h, t), p_.v.size, run_.out<T>(2) + row * p_.v.size);
        }
      }
    }
  }

 private:
  const AttentionPlan& p_;
  const TensorCall& run_;
};

Result<ReferenceRoutine> Attention(ReferenceSite& site) {
  PT_ASSIGN(const AttentionPlan plan, ReadAttention(site));
  for (size_t i : {size_t{1}, size_t{2}, size_t{4}, size_t{5}}) {
    if (site.has(i) && site.in[i].type != site.in[0].type)
      return site.Unsupported("is not supported with inputs of different types");
  }
  const DataType type = site.in[0].type;
  const Heads& y = plan.y;
  PT_CHECK_OK(site.Out(0, type,
                       y.flat ? std::vector<int64_t>{y.batch, y.length, y.heads * y.size}
                              : std::vector<int64_t>{y.batch, y.heads, y.length, y.size}));
  PT_CHECK_OK(site.Out(1, type, {plan.k.batch, plan.k.heads, plan.total, plan.k.size}));
  PT_CHECK_OK(site.Out(2, type, {plan.v.batch, plan.v.heads, plan.total, plan.v.size}));
  PT_CHECK_OK(site.Out(3, type, {plan.q.batch, plan.q.heads, plan.q.length, plan.total}));
  return VisitFloats(site, type, [&]<typename T>() -> Result<ReferenceRoutine> {
    ReferenceRoutine routine;
    const uint64_t line = (static_cast<uint64_t>(plan.total) * sizeof(double) + 63) / 64 * 64;
    const int64_t parts = site.width, rows = plan.q.batch * plan.q.heads * plan.q.length;
    routine.scratch_bytes = line * site.width;
    routine.run = [=](const TensorCall& run) -> Status {
      for (int64_t b = 0; b < plan.q.batch && run.in<int64_t>(6) != nullptr; ++b) {
        const int64_t valid = run.in<int64_t>(6)[b];
        if (valid >= 0 && valid <= plan.total) continue;
        return MakeError(
            ErrorCode::kInvalidInput, "reference.length",
            "Attention: nonpad_kv_seqlen is " + std::to_string(valid) + " for " + std::to_string(plan.total) + " keys");
      }
      const AttentionRun<T> attention(plan, run);
      attention.Present();
      const auto part = [&](int64_t i) {
        auto* scores = reinterpret_cast<double*>(run.scratch + static_cast<uint64_t>(i) * line);
        for (int64_t r = rows * i / parts; r < rows * (i + 1) / parts; ++r) {
          attention.Row(r / plan.q.length / plan.q.heads, r / plan.q.length % plan.q.heads, r % plan.q.length, scores);
        }
      };
      if (run.team == nullptr || parts == 1) {
        for (int64_t i = 0; i < parts; ++i) part(i);
      } else {
        auto body = [&](uint32_t i, uint32_t) { part(i); };
        run.team->ParallelFor(static_cast<uint32_t>(parts), body);
      }
      return {};
    };
    return routine;
  });
}

// Pairs of each head's leading elements turned by the angle of their position.
Result<ReferenceRoutine> RotaryEmbedding(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 4));
  const RotaryEmbeddingNode node = ReadRotaryEmbedding(site.node);
  PT_ASSIGN(const Heads x, ReadHeads(site, 0, node.heads));
  const int64_t turned = node.TurnedOf(x.size), half = turned / 2;
  if (turned < 0 || turned > x.size || turned % 2 != 0)
    return site.Invalid("the rotary dim is not an even part of a head");
  const bool by_position = site.has(3);
  const std::vector<int64_t>& cache = site.in[1].dims;
  // Caches for whole heads may stand where a part of each is turned; their leading part counts.
  const int64_t width = cache.empty() ? 0 : cache.back();
  const bool fits = (width == half || width == x.size / 2) &&
                    (by_position ? cache.size() == 2 : cache == std::vector<int64_t>{x.batch, x.length, width});
  if (site.in[2].dims != cache) return site.Invalid("its two caches have different dims");
  if (!fits) return site.Unsupported("has caches of dims " + DimsText(cache) + " that do not fit its input exactly");
  if (site.in[1].type != site.in[0].type || site.in[2].type != site.in[0].type)
    return site.Invalid("its inputs are of different types");
  if (by_position &&
      (site.in[3].type != DataType::kInt64 || site.in[3].dims != std::vector<int64_t>{x.batch, x.length}))
    return site.Invalid("the positions are not one int64 a token");
  PT_CHECK_OK(site.Out(0, site.in[0].type, site.in[0].dims));
  const bool interleaved = node.interleaved;
  const int64_t positions = by_position ? cache[0] : 0;
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      for (int64_t token = 0; token < x.batch * x.length; ++token) {
        const int64_t position = by_position ? run.in<int64_t>(3)[token] : token;
        if (by_position && (position < 0 || position >= positions)) {
          return MakeError(ErrorCode::kInvalidInput, "reference.index",
                           "RotaryEmbedding: position " + std::to_string(position) + " does not exist");
        }
        for (int64_t h = 0; h < x.heads; ++h) {
          const int64_t at = x.row(token / x.length, h, token % x.length);
          const T* in = run.in<T>(0) + at;
          T* out = run.out<T>() + at;
          for (int64_t i = 0; i < half; ++i) {
            const int64_t a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : i + half;
            const T cosine = run.in<T>(1)[position * width + i], sine = run.in<T>(2)[position * width + i];
            const T left = in[a], right = in[b];
            out[a] = cosine * left - sine * right;
            out[b] = sine * left + cosine * right;
          }
          std::copy(in + turned, in + x.size, out + turned);
        }
      }
      return {};
    }};
  });
}

// Writes `update` into a copy of the cache at each batch entry's position.
Result<ReferenceRoutine> TensorScatter(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 3));
  const std::vector<int64_t>&cache = site.in[0].dims, &update = site.in[1].dims;
  PT_ASSIGN(const int64_t axis, OrInvalid(ReadAxis(site.node, site.opset, site.in[0].dims.size()), site));
  const auto at = static_cast<size_t>(axis);
  std::vector<int64_t> expected = cache;
  if (axis == 0 || update.size() != cache.size() || update[at] > cache[at])
    return site.Invalid("the update does not fit the cache");
  expected[at] = update[at];
  if (update != expected || site.in[1].type != site.in[0].type)
    return site.Invalid("the update does not fit the cache");
  if (site.has(2) && (site.in[2].type != DataType::kInt64 || site.in[2].dims != std::vector<int64_t>{cache[0]}))
    return site.Invalid("the positions are not one int64 a batch entry");
  PT_ASSIGN(const bool circular, OrInvalid(IsCircular(site.node), site));
  PT_CHECK_OK(site.Out(0, site.in[0].type, cache));
  int64_t outer = 1, inner = 1;
  for (size_t d = 1; d < cache.size(); ++d) (d < at ? outer : inner) *= d == at ? 1 : cache[d];
  const int64_t batch = cache[0], length = cache[at], steps = update[at];
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, count = site.in[0].count()](const TensorCall& run) -> Status {
      T* out = run.out<T>();
      if (run.in<T>(0) != out) std::copy(run.in<T>(0), run.in<T>(0) + count, out);
      for (int64_t row = 0; row < batch * outer; ++row) {
        const int64_t start = run.in<int64_t>(2) != nullptr ? run.in<int64_t>(2)[row / outer] : 0;
        if (start < 0 || (!circular && start > length - steps)) {
          return MakeError(ErrorCode::kInvalidInput, "reference.index",
                           "TensorScatter: position " + std::to_string(start) + " is outside the cache");
        }
        for (int64_t s = 0; s < steps; ++s) {
          const int64_t to = (start % length + s) % length;
          std::copy_n(run.in<T>(1) + (row * steps + s) * inner, inner, out + (row * length + to) * inner);
        }
      }
      return {};
    }};
  });
}

constexpr std::array kAttentionOperators = {
    ReferenceRow{.op = "Attention", .make = Attention, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "RotaryEmbedding", .make = RotaryEmbedding, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "TensorScatter", .make = TensorScatter},
};

}  // namespace

std::span<const ReferenceRow> AttentionOperators() { return kAttentionOperators; }

}  // namespace pt::reference
