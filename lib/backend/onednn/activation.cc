// Recognises activations that a model spells out as several nodes (x·sigmoid(x),
// 0.5·x·(1+erf(x/√2)), …): the nodes are evaluated as one function of a number and compared with
// the functions oneDNN has. What agrees to float precision over the whole range is that function,
// however it was written.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lib/backend/onednn/pointwise.h"

namespace pt::onednn {
namespace {

constexpr size_t kMostNodes = 8;

double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double Softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }

struct Known {
  dnnl::algorithm algorithm;
  float alpha, beta;
  double (*function)(double);
};
constexpr Known kKnown[] = {
    {dnnl::algorithm::eltwise_swish, 1.0F, 0, [](double x) { return x * Sigmoid(x); }},
    {dnnl::algorithm::eltwise_swish, 1.702F, 0, [](double x) { return x * Sigmoid(1.702 * x); }},
    {dnnl::algorithm::eltwise_gelu_erf, 0, 0, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
    {dnnl::algorithm::eltwise_gelu_tanh, 0, 0,
     [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
    {dnnl::algorithm::eltwise_hardsigmoid, 1.0F / 6, 0.5F, [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {dnnl::algorithm::eltwise_hardswish, 1.0F / 6, 0.5F,
     [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {dnnl::algorithm::eltwise_mish, 0, 0, [](double x) { return x * std::tanh(Softplus(x)); }},
};

double EvaluateBinary(const std::string& op, double a, double b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") return a / b;
  if (op == "Pow") return std::pow(a, b);
  return std::nan("");
}

double EvaluateUnary(const Node& node, double x, double low, double high) {
  const std::string& op = node.op;
  if (op == "Sigmoid") return Sigmoid(x);
  if (op == "Tanh") return std::tanh(x);
  if (op == "Erf") return std::erf(x);
  if (op == "Exp") return std::exp(x);
  if (op == "Neg") return -x;
  if (op == "Softplus") return Softplus(x);
  if (op == "Relu") return std::max(x, 0.0);
  if (op == "Clip") return std::min(std::max(x, low), high);
  if (op == "HardSigmoid") {
    return std::clamp(node.float_or("alpha", 0.2F) * x + node.float_or("beta", 0.5F), 0.0, 1.0);
  }
  return std::nan("");
}

// A set of nodes that computes a function of one number, element by element.
class Region {
 public:
  Region(const Graph& graph, ValueId main) : graph_(graph), main_(main) {}

  const std::vector<NodeId>& nodes() const { return nodes_; }

  // True when every input is main, made inside, or a constant of one element.
  bool Takes(const Node& node) const {
    static constexpr std::string_view kOperators[] = {"Add",     "Sub",      "Mul",  "Div",        "Pow",
                                                      "Sigmoid", "Tanh",     "Erf",  "Exp",        "Neg",
                                                      "Relu",    "Softplus", "Clip", "HardSigmoid"};
    if (!node.domain.empty() || node.outputs.size() != 1 ||
        std::find(std::begin(kOperators), std::end(kOperators), node.op) == std::end(kOperators)) {
      return false;
    }
    if (graph_.value(node.outputs[0]).type != graph_.value(main_).type) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      if (!input.valid() || input == main_ || Makes(input)) return true;
      const Value& value = graph_.value(input);
      return value.constant && value.constant->type() == DataType::kFloat32 && value.constant->element_count() == 1;
    });
  }

  void Add(NodeId node) { nodes_.push_back(node); }

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

  double Evaluate(double x, ValueId result) const {
    std::array<double, kMostNodes> made{};  // by place in nodes_
    const auto at = [&](ValueId value) {
      if (value == main_) return x;
      const auto place = std::find(nodes_.begin(), nodes_.end(), graph_.value(value).producer);
      return made[static_cast<size_t>(place - nodes_.begin())];
    };
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = graph_.node(nodes_[n]);
      const auto input = [&](size_t i, double otherwise) {
        if (i >= node.inputs.size() || !node.inputs[i].valid()) return otherwise;
        const Value& value = graph_.value(node.inputs[i]);
        return value.constant ? static_cast<double>(value.constant->values<float>()[0]) : at(node.inputs[i]);
      };
      const bool binary = node.inputs.size() == 2 && node.op != "Clip";
      made[n] = binary ? EvaluateBinary(node.op, input(0, 0), input(1, 0))
                       : EvaluateUnary(node, input(0, 0), input(1, -HUGE_VAL), input(2, HUGE_VAL));
    }
    return at(result);
  }

 private:
  bool Makes(ValueId value) const { return graph_.value(value).producer.valid() && Has(graph_.value(value).producer); }
  bool NeededOutside(ValueId value) const {
    const Value& v = graph_.value(value);
    return v.is_graph_output || std::any_of(v.uses.begin(), v.uses.end(), [&](Use use) { return !Has(use.node); });
  }

  const Graph& graph_;
  ValueId main_;
  std::vector<NodeId> nodes_;
};

// The first known function that agrees at 161 points from -10 to 10. Each point lies far from the one
// before, so that functions which differ at all mostly part within a few.
const Known* Match(const Region& region, ValueId result) {
  constexpr int kPoints = 161, kMiddle = 80, kStride = 71;
  std::vector<const Known*> left;
  for (const Known& known : kKnown) left.push_back(&known);
  for (int i = 0; i < kPoints && !left.empty(); ++i) {
    const double x = (i * kStride % kPoints - kMiddle) / 8.0 + 0.001;
    const double value = region.Evaluate(x, result);
    std::erase_if(left, [&](const Known* known) {
      const double error = std::abs(value - known->function(x));
      return !(error <= 1e-6 * std::max(1.0, std::abs(x)));  // NaN agrees with nothing
    });
  }
  return left.empty() ? nullptr : left.front();
}

}  // namespace

std::optional<Activation> FindActivation(const Graph& graph, ValueId main, bool closed) {
  const size_t uses = graph.value(main).uses.size();
  if (uses == 0 || uses > kMostNodes || graph.value(main).is_constant() || !IsStaticFloat(graph, main)) {
    return std::nullopt;
  }
  Region region(graph, main);
  std::optional<Activation> best;
  while (region.nodes().size() < kMostNodes) {
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
    if (const Known* known = Match(region, result)) {
      std::vector<NodeId> nodes = region.nodes();
      std::sort(nodes.begin(), nodes.end());
      best = Activation{std::move(nodes), Eltwise(known->algorithm, known->alpha, known->beta), result};
    }
  }
  return best;
}

}  // namespace pt::onednn
