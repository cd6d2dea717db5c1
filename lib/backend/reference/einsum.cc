// Einsum: sums of products over named dims, by plain loops.
#include <array>
#include <cctype>
#include <map>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/strided_read.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

// The equation with "..." spelt out as labels of its own (negative numbers, the last one -1).
using Labels = std::vector<int>;

Result<Labels> ReadTerm(const Site& site, std::string_view term, int64_t rank) {
  Labels labels;
  const size_t dots = term.find("...");
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      const int64_t hidden = rank < 0 ? -rank - 1 : rank - (static_cast<int64_t>(term.size()) - 3);
      for (int64_t h = hidden; h > 0; --h) labels.push_back(static_cast<int>(-h));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels.push_back(term[i]);
    } else {
      return site.Invalid("its equation is malformed");
    }
  }
  return labels;
}

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};

Result<Equation> ReadEquation(const Site& site) {
  std::string text;
  for (char c : site.node.string_or("equation", "")) {
    if (c != ' ') text += c;
  }
  const size_t arrow = text.find("->");
  Equation equation;
  std::string_view left = std::string_view(text).substr(0, arrow);
  for (size_t i = 0; i < site.in.size(); ++i) {
    const size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == site.in.size()))
      return site.Invalid("its equation has another number of terms than inputs");
    PT_ASSIGN(Labels labels, ReadTerm(site, left.substr(0, comma), site.in[i].rank()));
    if (static_cast<int64_t>(labels.size()) != site.in[i].rank()) return site.Invalid("a term does not fit its input");
    equation.inputs.push_back(std::move(labels));
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  int64_t hidden = 0;
  std::map<int, int> uses;
  for (const Labels& labels : equation.inputs) {
    for (int label : labels) {
      if (label < 0) hidden = std::max<int64_t>(hidden, -label);
      ++uses[label];
    }
  }
  if (arrow != std::string::npos) {
    PT_ASSIGN(equation.output, ReadTerm(site, std::string_view(text).substr(arrow + 2), -hidden - 1));
  } else {
    for (int64_t h = hidden; h > 0; --h) equation.output.push_back(static_cast<int>(-h));
    for (const auto& [label, count] : uses) {
      if (label > 0 && count == 1) equation.output.push_back(label);
    }
  }
  return equation;
}

constexpr size_t kMostInputs = 8;

// All labels, the output's first, with each input's stride along them.
struct Loops {
  std::vector<int64_t> dims;
  size_t kept = 0;                            // labels of the output
  std::vector<std::vector<int64_t>> strides;  // [input][label]
};

Result<Loops> MakeLoops(const Site& site, const Equation& equation) {
  Loops loops;
  std::map<int, size_t> place;
  for (int label : equation.output) {
    if (!place.emplace(label, place.size()).second) return site.Invalid("a label of its output is repeated");
  }
  loops.kept = place.size();
  for (const Labels& labels : equation.inputs) {
    for (int label : labels) place.emplace(label, place.size());
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

Result<Routine> Einsum(Site& site) {
  if (site.in.empty() || site.in.size() > kMostInputs) return site.Unsupported("is supported for one to eight inputs");
  PT_CHECK_OK(site.NeedInputs(site.in.size(), site.in.size()));
  for (const TensorFacts& input : site.in) {
    if (input.type != site.in[0].type) return site.Invalid("its inputs are of different types");
  }
  PT_ASSIGN(const Equation equation, ReadEquation(site));
  PT_ASSIGN(const Loops loops, MakeLoops(site, equation));
  PT_CHECK_OK(
      site.Out(0, site.in[0].type, {loops.dims.begin(), loops.dims.begin() + static_cast<ptrdiff_t>(loops.kept)}));
  int64_t outputs = 1, each = 1;
  for (size_t l = 0; l < loops.dims.size(); ++l) (l < loops.kept ? outputs : each) *= loops.dims[l];
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<Routine> {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    return Routine{[=, inputs = site.in.size()](const Run& run) -> Status {
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

constexpr std::array kRows = {
    OperatorRow{.op = "Einsum", .make = Einsum, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const OperatorRow> EinsumOperators() { return kRows; }

}  // namespace pt::reference
