// Resize (Upsample in old opsets): nearest, linear and cubic, one dim after another.
#include "partitiontuner/graph/operators/resize.h"

#include <algorithm>
#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

// One dim: output index o is the sum of weights[k] · input[sources[k]] for k in [first[o], first[o + 1]). The tables
// lie in memory of the caller: scales may not be known until run time.
struct DimPass {
  int64_t outer = 1, in = 1, out = 1, inner = 1;
  int64_t capacity = 0;  // taps
  int64_t* first = nullptr;
  int64_t* sources = nullptr;
  double* weights = nullptr;
  bool* outside = nullptr;  // the extrapolation value instead
  int64_t taps = 0;

  void Add(int64_t source, double weight) {
    if (taps == capacity) return;  // never: capacity is the most that any allowed scale needs
    sources[taps] = source;
    weights[taps++] = weight;
  }
  static uint64_t Bytes(int64_t out, int64_t capacity) {
    return (static_cast<uint64_t>(out + 1 + 2 * capacity) * 8 + static_cast<uint64_t>(out) + 63) / 64 * 64;
  }
  void Place(std::byte* memory) {
    first = reinterpret_cast<int64_t*>(memory);
    sources = first + out + 1;
    weights = reinterpret_cast<double*>(sources + capacity);
    outside = reinterpret_cast<bool*>(weights + capacity);
  }
};

// The taps of one output index reach this far on either side, stretched when shrinking with antialias.
int64_t MostTaps(const ResizeNode& node, int64_t in, int64_t out) {
  if (node.mode == ResizeMode::kNearest) return out;
  const int64_t reach = node.mode == ResizeMode::kLinear ? 1 : 2;
  return out * (2 * reach + 1) + (node.antialias ? 4 * reach * (in + 1) : 0);
}

// Fills the tables of a placed pass.
void FillPass(const ResizeNode& node, const ResizedAxis& dim, DimPass& pass) {
  pass.taps = 0;
  for (int64_t o = 0; o < pass.out; ++o) {
    pass.first[o] = pass.taps;
    const double source = SourceOf(node, dim, o);
    pass.outside[o] = IsOutside(node, dim, source);
    ForTaps(node, dim, pass.outside[o] ? 0 : source, [&](int64_t at, double weight) { pass.Add(at, weight); });
  }
  pass.first[pass.out] = pass.taps;
}

// In between passes the values are W (wider than T, so that rounding happens once).
template <typename From, typename To>
void RunPass(const DimPass& p, double extrapolation, const From* in, To* out, Team* team) {
  ParallelRanges(team, p.outer * p.out, static_cast<double>(p.inner) * 2 + 5, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t o = row % p.out;
      const From* from = in + row / p.out * p.in * p.inner;
      To* to = out + row * p.inner;
      if (p.outside[o]) {
        std::fill(to, to + p.inner, static_cast<To>(extrapolation));
        continue;
      }
      const int64_t first = p.first[o], last = p.first[o + 1];
      for (int64_t i = 0; i < p.inner; ++i) {
        if (last - first == 1 && p.weights[first] == 1) {
          const From x = from[p.sources[first] * p.inner + i];
          // A sum of the pass before is cut off as any other; what no pass has changed is moved.
          to[i] = std::is_floating_point_v<From> ? ResizedElement<To>(static_cast<double>(x)) : static_cast<To>(x);
          continue;
        }
        double sum = 0;
        for (int64_t k = first; k < last; ++k) {
          sum += p.weights[k] * static_cast<double>(from[p.sources[k] * p.inner + i]);
        }
        to[i] = ResizedElement<To>(sum);
      }
    }
  });
}

// The inputs that say the size, in the order of FindResizedAxes.
enum SizeInput : uint8_t { kRegion, kScales, kSizes };

struct ResizePlan {
  ResizeNode node;
  std::vector<int64_t> in, out;
  std::array<int, 3> inputs{-1, -1, -1};  // of the node; -1: not given, or empty
  std::array<DataType, 3> types{};
  std::array<int64_t, 3> counts{};
  std::vector<size_t> dims;     // which need a pass, in order
  std::vector<DimPass> passes;  // one each, without tables
  uint64_t table_bytes = 0;
  int64_t count = 0, largest = 0;  // elements of the input, of what lies between passes
};

using Target = std::array<ResizedAxis, kMaxRank>;

// What region, scales and sizes ask for; false when they are out of range. data: of each of them.
bool FindTarget(const ResizePlan& plan, const std::array<const void*, 3>& data, Target& target) {
  std::array<std::array<double, 2 * kMaxRank>, 3> numbers;
  std::array<std::span<const double>, 3> given;
  for (size_t k = 0; k < data.size(); ++k) {
    const auto count = static_cast<size_t>(plan.counts[k]);
    if (plan.inputs[k] < 0) continue;
    if (count > numbers[k].size()) return false;
    for (size_t i = 0; i < count; ++i) {
      numbers[k][i] = LoadAs<double>(plan.types[k], data[k], static_cast<int64_t>(i));
    }
    given[k] = std::span<const double>(numbers[k]).first(count);
  }
  for (size_t d = 0; d < plan.in.size(); ++d) target[d].in = plan.in[d];
  return FindResizedAxes(plan.node, given[kRegion], given[kScales], given[kSizes],
                         std::span(target).first(plan.in.size()));
}

// Which dims change, and what their passes look like without the tables.
void PlanPasses(ResizePlan& plan, const Target* known) {
  std::vector<int64_t> now = plan.in;
  plan.count = 1;
  for (int64_t dim : now) plan.count *= dim;
  for (size_t d = 0; d < now.size(); ++d) {
    const bool named = std::ranges::find(plan.node.axes, d) != plan.node.axes.end();
    if (known != nullptr ? !IsResized(plan.node, (*known)[d]) : plan.in[d] == plan.out[d] && !named) continue;
    DimPass pass;
    pass.in = plan.in[d];
    pass.out = plan.out[d];
    pass.capacity = MostTaps(plan.node, pass.in, pass.out);
    now[d] = plan.out[d];
    int64_t count = 1;
    for (size_t e = 0; e < now.size(); ++e) {
      count *= now[e];
      if (e != d) (e < d ? pass.outer : pass.inner) *= now[e];
    }
    plan.largest = std::max(plan.largest, count);
    plan.table_bytes += DimPass::Bytes(pass.out, pass.capacity);
    plan.dims.push_back(d);
    plan.passes.push_back(pass);
  }
}

template <typename T>
ReferenceRoutine ResizeRoutine(ResizePlan plan) {
  using W = std::conditional_t<std::is_same_v<T, float>, float, double>;
  ReferenceRoutine routine;
  const uint64_t half = (static_cast<uint64_t>(plan.largest) * sizeof(W) + 63) / 64 * 64;
  routine.scratch_bytes = plan.table_bytes + 2 * half;
  routine.run = [plan = std::move(plan), half](const TensorCall& run) -> Status {
    std::array<const void*, 3> data{};
    for (size_t k = 0; k < data.size(); ++k) {
      if (plan.inputs[k] >= 0) data[k] = run.in<void>(static_cast<size_t>(plan.inputs[k]));
    }
    Target target;
    bool fits = FindTarget(plan, data, target);
    for (size_t d = 0; fits && d < plan.out.size(); ++d) fits = target[d].out == plan.out[d];
    if (!fits) {
      return MakeError(ErrorCode::kInvalidInput, "reference.shape", "Resize: the size is not the one planned for");
    }
    W* now = reinterpret_cast<W*>(run.scratch + plan.table_bytes);
    W* next = reinterpret_cast<W*>(run.scratch + plan.table_bytes + half);
    std::byte* tables = run.scratch;
    const size_t passes = plan.passes.size();
    if (passes == 0) std::copy(run.in<T>(0), run.in<T>(0) + plan.count, run.out<T>());
    for (size_t i = 0; i < passes; ++i) {
      DimPass pass = plan.passes[i];
      const size_t d = plan.dims[i];
      pass.Place(tables);
      tables += DimPass::Bytes(pass.out, pass.capacity);
      FillPass(plan.node, target[d], pass);
      const double extrapolation = plan.node.extrapolation;
      if (i == 0 && passes == 1) {
        RunPass(pass, extrapolation, run.in<T>(0), run.out<T>(), run.team);
      } else if (i == 0) {
        RunPass(pass, extrapolation, run.in<T>(0), now, run.team);
      } else if (i + 1 == passes) {
        RunPass(pass, extrapolation, now, run.out<T>(), run.team);
      } else {
        RunPass(pass, extrapolation, now, next, run.team);
        std::swap(now, next);
      }
    }
    return {};
  };
  return routine;
}

// *known is false when one of the inputs that say the size is not known until run time.
Result<ResizePlan> ReadPlan(const ReferenceSite& site, bool* known) {
  ResizePlan plan;
  plan.in = site.in[0].dims;
  Result<ResizeNode> node = ReadResizeNode(site.node, site.opset, plan.in.size());
  if (!node.ok()) return site.Invalid(node.error().message);
  plan.node = std::move(*node);
  const std::array<int, 3> inputs{plan.node.region_input, plan.node.scales_input, plan.node.sizes_input};
  for (size_t k = 0; k < inputs.size(); ++k) {
    const auto i = static_cast<size_t>(inputs[k]);
    if (inputs[k] < 0 || !site.has(i) || site.in[i].count() == 0) continue;
    plan.inputs[k] = inputs[k];
    plan.types[k] = site.in[i].type;
    plan.counts[k] = site.in[i].count();
    *known = *known && site.is_constant(i);
  }
  if (plan.inputs[kRegion] >= 0 && plan.counts[kRegion] != static_cast<int64_t>(2 * plan.node.axes.size())) {
    return site.Invalid("roi does not fit the axes");
  }
  const size_t given = plan.inputs[kSizes] >= 0    ? static_cast<size_t>(plan.counts[kSizes])
                       : plan.inputs[kScales] >= 0 ? static_cast<size_t>(plan.counts[kScales])
                                                   : plan.node.attribute_scales.size();
  if (given != plan.node.axes.size()) return site.Invalid("scales or sizes do not fit the axes");
  return plan;
}

Result<ReferenceRoutine> Resize(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 4));
  for (size_t i = 1; i < site.in.size(); ++i) PT_CHECK_OK(NeedLoadable(site, i));
  bool known = true;
  PT_ASSIGN(ResizePlan plan, ReadPlan(site, &known));
  Target target;
  if (known) {
    std::array<const void*, 3> data{};
    for (size_t k = 0; k < data.size(); ++k) {
      if (plan.inputs[k] >= 0) data[k] = site.in[static_cast<size_t>(plan.inputs[k])].constant->bytes().data();
    }
    if (!FindTarget(plan, data, target)) return site.Invalid("a scale or size is out of range");
    for (size_t d = 0; d < plan.in.size(); ++d) plan.out.push_back(target[d].out);
  } else {
    PT_CHECK_OK(site.OutFromGraph(0, site.in[0].type, site.in[0].rank()));
    plan.out = site.out[0].dims;
  }
  PT_CHECK_OK(site.Out(0, site.in[0].type, plan.out));
  for (size_t d = 0; d < plan.in.size(); ++d) {
    if (plan.in[d] == 0 && plan.out[d] != 0) return site.Invalid("an empty dim cannot be resized");
  }
  PlanPasses(plan, known ? &target : nullptr);
  return VisitNumbers(site, site.in[0].type,
                      [&]<typename T>() -> Result<ReferenceRoutine> { return ResizeRoutine<T>(std::move(plan)); });
}

constexpr std::array kResizeOperators = {
    ReferenceRow{.op = "Resize", .make = Resize, .feeding = Feeding::kWidened, .since = 10},
    ReferenceRow{.op = "Upsample", .make = Resize, .feeding = Feeding::kWidened, .until = 9},
};

}  // namespace

std::span<const ReferenceRow> ResizeOperators() { return kResizeOperators; }

}  // namespace pt::reference
