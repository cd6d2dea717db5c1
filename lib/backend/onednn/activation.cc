// Recognises activations that a model spells out as several nodes (x·sigmoid(x), 0.5·x·(1+erf(x/√2)), …): the nodes are
// brought into normal form, which a row of the table below must equal, whatever the order of operations and the placing
// of constants. At the infinities and for NaN, where algebra does not hold, the nodes are evaluated.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lib/backend/onednn/pointwise.h"
#include "lib/backend/onednn/unary.h"

namespace pt::onednn {
namespace {

using Function = Formula::Function;

constexpr size_t kMostActivationNodes = 8;

// What a value inside is: a function of main, and what it gives where main is +inf, -inf and NaN.
struct Traced {
  MaybeFormula formula;
  std::array<double, 3> edges{};
};

Traced TracedConstant(double value) { return {Formula::Constant(value), {value, value, value}}; }

bool SameEdges(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](double l, double r) { return Near(l, r) || (std::isnan(l) && std::isnan(r)); });
}

struct BinaryOperator {
  std::string_view op;
  MaybeFormula (*formula)(const Formula&, const Formula&);
  double (*value)(double, double);
};
constexpr BinaryOperator kBinary[] = {
    {"Add", Sum, [](double a, double b) { return a + b; }},
    {"Sub",
     [](const Formula& a, const Formula& b) {
       const MaybeFormula negative = Scaled(b, -1);
       return negative ? Sum(a, *negative) : std::nullopt;
     },
     [](double a, double b) { return a - b; }},
    {"Mul", Product, [](double a, double b) { return a * b; }},
    {"Div",
     [](const Formula& a, const Formula& b) {
       const MaybeFormula inverse = Inverse(b);
       return inverse ? Product(a, *inverse) : std::nullopt;
     },
     [](double a, double b) { return a / b; }},
    {"Pow", [](const Formula& a, const Formula& b) { return b.is_constant() ? Power(a, b.plain[0]) : std::nullopt; },
     [](double a, double b) { return std::pow(a, b); }},
};

const BinaryOperator* FindBinary(const Node& node) {
  const auto* found = std::find_if(std::begin(kBinary), std::end(kBinary),
                                   [&](const BinaryOperator& row) { return row.op == node.op; });
  return found == std::end(kBinary) ? nullptr : found;
}

bool IsPartOfActivations(const Node& node) {
  if (!node.domain.empty() || node.outputs.size() != 1) return false;
  const UnaryOperator* unary = FindUnary(node);
  return (unary != nullptr && unary->formula != nullptr) || (FindBinary(node) != nullptr && node.inputs.size() == 2);
}

// A set of nodes that computes a function of one number, element by element.
class Region {
 public:
  Region(const Graph& graph, ValueId main) : graph_(graph), main_(main) {}

  const std::vector<NodeId>& nodes() const { return nodes_; }

  // True when every input is main, made inside, or a constant of one element.
  bool Takes(const Node& node) const {
    if (!IsPartOfActivations(node) || graph_.value(node.outputs[0]).type != graph_.value(main_).type) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      if (!input.valid() || input == main_ || Makes(input)) return true;
      const Value& value = graph_.value(input);
      return value.constant && value.constant->type() == DataType::kFloat32 && value.constant->element_count() == 1;
    });
  }

  void Add(NodeId node) {
    traced_.push_back(Trace(graph_.node(node)));
    nodes_.push_back(node);
  }

  bool Has(NodeId node) const { return std::find(nodes_.begin(), nodes_.end(), node) != nodes_.end(); }

  // The one value that is needed outside; invalid when there are several, or main itself is and may
  // not be.
  ValueId Result(bool closed) const {
    if (closed && NeededOutside(main_)) return {};
    ValueId result;
    for (NodeId node : nodes_) {
      const ValueId made = graph_.node(node).outputs[0];
      if (!NeededOutside(made)) continue;
      if (result.valid()) return {};
      result = made;
    }
    return result;
  }

  Traced TracedValue(ValueId value) const {
    if (value == main_) return {Formula::X(), {HUGE_VAL, -HUGE_VAL, std::nan("")}};
    if (const auto& constant = graph_.value(value).constant) return TracedConstant(constant->values<float>()[0]);
    const auto place = std::find(nodes_.begin(), nodes_.end(), graph_.value(value).producer);
    return traced_[static_cast<size_t>(place - nodes_.begin())];
  }

 private:
  bool Makes(ValueId value) const { return graph_.value(value).producer.valid() && Has(graph_.value(value).producer); }
  bool NeededOutside(ValueId value) const {
    const Value& v = graph_.value(value);
    return v.is_graph_output || std::any_of(v.uses.begin(), v.uses.end(), [&](Use use) { return !Has(use.node); });
  }

  Traced Trace(const Node& node) const {
    if (node.inputs.empty() || !node.inputs[0].valid()) return {};
    const Traced first = TracedValue(node.inputs[0]);
    Traced result;
    if (const UnaryOperator* unary = FindUnary(node)) {
      if (first.formula) result.formula = unary->formula(graph_, node, *first.formula);
      for (size_t i = 0; i < first.edges.size(); ++i) result.edges[i] = unary->value(graph_, node, first.edges[i]);
      return result;
    }
    if (!node.inputs[1].valid()) return {};
    const BinaryOperator* binary = FindBinary(node);
    const Traced second = TracedValue(node.inputs[1]);
    if (first.formula && second.formula) result.formula = binary->formula(*first.formula, *second.formula);
    for (size_t i = 0; i < first.edges.size(); ++i) result.edges[i] = binary->value(first.edges[i], second.edges[i]);
    return result;
  }

  const Graph& graph_;
  ValueId main_;
  std::vector<NodeId> nodes_;
  std::vector<Traced> traced_;  // by place in nodes_
};

// x·(without + with·f(linear·x + cubic·x³)). A linear coefficient of 0 stands for any positive one, which is alpha.
struct Known {
  dnnl::algorithm algorithm;
  Function function;
  double without, with, linear, cubic;
};
constexpr double kCubic = 0.044715;
const double kRoot = std::sqrt(2 / M_PI);
const Known kKnown[] = {
    {dnnl::algorithm::eltwise_swish, Function::kSigmoid, 0, 1, 0, 0},
    {dnnl::algorithm::eltwise_gelu_erf, Function::kErf, 0.5, 0.5, std::sqrt(0.5), 0},
    {dnnl::algorithm::eltwise_gelu_tanh, Function::kTanh, 0.5, 0.5, kRoot, kRoot* kCubic},
    {dnnl::algorithm::eltwise_gelu_tanh, Function::kSigmoid, 0, 1, 2 * kRoot, 2 * kRoot* kCubic},
    {dnnl::algorithm::eltwise_mish, Function::kTanhSoftplus, 0, 1, 1, 0},
};

std::optional<Pointwise> MatchProduct(const Formula& formula) {
  for (const Known& known : kKnown) {
    const double linear = known.linear == 0 ? formula.argument[1] : known.linear;
    if (formula.function == known.function && linear > 0 && Near(formula.plain, {0, known.without, 0, 0}) &&
        Near(formula.times, {0, known.with, 0, 0}) && Near(formula.argument, {0, linear, 0, known.cubic})) {
      return Eltwise(known.algorithm, known.linear == 0 ? static_cast<float>(linear) : 0);
    }
  }
  return std::nullopt;
}

// shift + slope·clip(x, low, high) = clip(slope·x + shift, 0, 1), alone or times x.
std::optional<Pointwise> MatchHard(const Formula& formula) {
  if (formula.function != Function::kClip) return std::nullopt;
  const size_t power = formula.times[1] != 0 ? 1 : 0;
  const double slope = formula.times[power], shift = formula.plain[power];
  Formula::Polynomial plain{}, times{};
  plain[power] = shift;
  times[power] = slope;
  if (!(slope > 0) || !Near(formula.plain, plain) || !Near(formula.times, times)) return std::nullopt;
  if (!Near(formula.low * slope, -shift) || !Near(formula.high * slope, 1 - shift)) return std::nullopt;
  return Eltwise(power == 1 ? dnnl::algorithm::eltwise_hardswish : dnnl::algorithm::eltwise_hardsigmoid,
                 static_cast<float>(slope), static_cast<float>(shift));
}

std::optional<Pointwise> Match(const Traced& traced) {
  if (!traced.formula) return std::nullopt;
  if (auto hard = MatchHard(*traced.formula)) {
    const bool product = hard->algorithm == dnnl::algorithm::eltwise_hardswish;
    const std::array<double, 3> edges =
        product ? std::array{HUGE_VAL, std::nan(""), std::nan("")} : std::array{1.0, 0.0, std::nan("")};
    return SameEdges(traced.edges, edges) ? hard : std::nullopt;
  }
  // All of them times a function that falls to zero at the left.
  if (!SameEdges(traced.edges, {HUGE_VAL, std::nan(""), std::nan("")})) return std::nullopt;
  return MatchProduct(*traced.formula);
}

}  // namespace

std::optional<Activation> FindActivation(const Graph& graph, ValueId main, bool closed) {
  const size_t uses = graph.value(main).uses.size();
  if (uses == 0 || uses > kMostActivationNodes || graph.value(main).is_constant() || !IsStaticFloat(graph, main)) {
    return std::nullopt;
  }
  Region region(graph, main);
  std::optional<Activation> best;
  while (region.nodes().size() < kMostActivationNodes) {
    // The first node, in graph order, that uses what is there and nothing else.
    NodeId next;
    auto consider = [&](ValueId value) {
      for (const Use& use : graph.value(value).uses) {
        if (region.Has(use.node) || (next.valid() && next < use.node)) continue;
        if (region.Takes(graph.node(use.node))) next = use.node;
      }
    };
    consider(main);
    for (NodeId node : region.nodes()) consider(graph.node(node).outputs[0]);
    if (!next.valid()) break;
    region.Add(next);
    if (region.nodes().size() < 2) continue;
    const ValueId result = region.Result(closed);
    if (!result.valid()) continue;
    if (auto op = Match(region.TracedValue(result))) {
      std::vector<NodeId> nodes = region.nodes();
      std::sort(nodes.begin(), nodes.end());
      best = Activation{std::move(nodes), std::move(*op), result};
    }
  }
  return best;
}

}  // namespace pt::onednn
