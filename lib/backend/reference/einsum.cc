// Einsum: sums of products over named dims, by plain loops.
#include "partitiontuner/graph/operators/einsum.h"

#include <array>
#include <map>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/strided_read.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

constexpr size_t kMostInputs = 8;

// All labels, the output's first, with each input's stride along them.
struct Loops {
  std::vector<int64_t> dims;
  size_t kept = 0;                            // labels of the output
  std::vector<std::vector<int64_t>> strides;  // [input][label]
};

Result<Loops> MakeLoops(const ReferenceSite& site, const EinsumNode& equation) {
  Loops loops;
  std::map<char, size_t> place;
  for (const char label : equation.output) {
    if (!place.emplace(label, place.size()).second) return site.Invalid("a label of its output is repeated");
  }
  loops.kept = place.size();
  for (const std::string& labels : equation.inputs) {
    for (const char label : labels) place.emplace(label, place.size());
  }
  if (place.size() > kMaxRank) return site.Unsupported("has too many labels");
  loops.dims.assign(place.size(), -1);
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    loops.strides.emplace_back(place.size(), 0);
    const std::vector<int64_t> strides = DenseStrides(site.in[i].dims);
    for (size_t d = 0; d < equation.inputs[i].size(); ++d) {
      const size_t at = place.at(equation.inputs[i][d]);
      const int64_t dim = site.in[i].dims[d];
      if (loops.dims[at] != -1 && loops.dims[at] != dim && dim != 1 && loops.dims[at] != 1)
        return site.Invalid("a label has different dims");
      loops.dims[at] = loops.dims[at] == -1 || loops.dims[at] == 1 ? dim : loops.dims[at];
      if (dim != 1) loops.strides[i][at] += strides[d];
    }
  }
  for (size_t l = 0; l < loops.kept; ++l) {
    if (loops.dims[l] == -1) return site.Invalid("its output has a label that no input has");
  }
  return loops;
}

Result<ReferenceRoutine> Einsum(ReferenceSite& site) {
  if (site.in.empty() || site.in.size() > kMostInputs) return site.Unsupported("is supported for one to eight inputs");
  PT_CHECK_OK(site.NeedInputs(site.in.size(), site.in.size()));
  for (const TensorFacts& input : site.in) {
    if (input.type != site.in[0].type) return site.Invalid("its inputs are of different types");
  }
  std::vector<size_t> ranks;
  for (const TensorFacts& input : site.in) ranks.push_back(input.dims.size());
  PT_ASSIGN(const EinsumNode equation, OrInvalid(ReadEinsum(site.node, ranks), site));
  PT_ASSIGN(const Loops loops, MakeLoops(site, equation));
  PT_CHECK_OK(
      site.Out(0, site.in[0].type, {loops.dims.begin(), loops.dims.begin() + static_cast<ptrdiff_t>(loops.kept)}));
  int64_t outputs = 1, each = 1;
  for (size_t l = 0; l < loops.dims.size(); ++l) (l < loops.kept ? outputs : each) *= loops.dims[l];
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    return ReferenceRoutine{[=, inputs = site.in.size()](const TensorCall& run) -> Status {
      ParallelRanges(run.team, outputs, static_cast<double>(each) * 3, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) {
          std::array<int64_t, kMostInputs> base{};
          int64_t rest = o;
          for (size_t l = loops.kept; l-- > 0;) {
            for (size_t i = 0; i < inputs; ++i) base[i] += rest % loops.dims[l] * loops.strides[i][l];
            rest /= loops.dims[l];
          }
          Sum sum{};
          for (int64_t e = 0; e < each; ++e) {
            std::array<int64_t, kMostInputs> at = base;
            rest = e;
            for (size_t l = loops.dims.size(); l-- > loops.kept;) {
              for (size_t i = 0; i < inputs; ++i) at[i] += rest % loops.dims[l] * loops.strides[i][l];
              rest /= loops.dims[l];
            }
            Sum product{1};
            for (size_t i = 0; i < inputs; ++i) product *= static_cast<Sum>(run.in<T>(i)[at[i]]);
            sum += product;
          }
          run.out<T>()[o] = static_cast<T>(sum);
        }
      });
      return {};
    }};
  });
}

constexpr std::array kEinsumOperators = {
    ReferenceRow{.op = "Einsum", .make = Einsum, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const ReferenceRow> EinsumOperators() { return kEinsumOperators; }

}  // namespace pt::reference
