#include "partitiontuner/engine/tolerance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/visit_type.h"

namespace pt {
namespace {

constexpr double kWithinOneAbsolute = 0x1p-22;

bool IsOneOf(const Node& node, std::span<const std::string_view> names) {
  return node.domain.empty() && std::ranges::find(names, node.op) != names.end();
}

// Results lie within [-1, 1] whatever comes in.
bool IsWithinOne(const Node& node) {
  static constexpr std::array<std::string_view, 8> kNames = {"Cos", "Erf",     "HardSigmoid", "Sigmoid",
                                                             "Sin", "Softmax", "Softsign",    "Tanh"};
  return IsOneOf(node, kNames);
}

// Each number of the result is one of the data inputs' or 0, or lies between two of these: a difference of the data is
// no larger behind it.
bool PassesNumbersOn(const Node& node) {
  static constexpr std::array<std::string_view, 23> kNames = {
      "Cast",          "Clip",     "Concat",  "DepthToSpace", "DequantizeLinear", "Dropout",   "Expand",  "Flatten",
      "GlobalMaxPool", "Identity", "MaxPool", "Pad",          "ReduceMax",        "Relu",      "Reshape", "Slice",
      "SpaceToDepth",  "Split",    "Squeeze", "Tile",         "Transpose",        "Unsqueeze", "Gather"};
  return IsOneOf(node, kNames);
}

// A product that quantises its result by inputs 6 and 7.
bool IsQLinear(const Node& node) {
  return node.domain.empty() && (node.op == "QLinearConv" || node.op == "QLinearMatMul") && node.inputs.size() > 6;
}

// Where the numbers of an output come from that are only moved and picked on the way.
struct Origins {
  std::vector<NodeId> nodes;  // that make them
  bool others = false;        // some are a constant's or an input's
};

Origins OriginsOf(const Graph& graph, ValueId output, bool through_dequantisation) {
  Origins origins;
  std::vector<bool> seen(graph.nodes().size(), false);
  std::vector<ValueId> open{output};
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (!value.valid() || !graph.value(value).producer.valid()) {
      origins.others = true;
      continue;
    }
    const NodeId id = graph.value(value).producer;
    if (seen[id.index()]) continue;
    seen[id.index()] = true;
    const Node& node = graph.node(id);
    if (!PassesNumbersOn(node) || node.inputs.empty() || (IsDequantisation(node) && !through_dequantisation)) {
      origins.nodes.push_back(id);
      continue;
    }
    const size_t data = node.op == "Concat" ? node.inputs.size() : 1;
    open.insert(open.end(), node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(data));
  }
  return origins;
}

bool IsSmallFloat(DataType type) { return IsFloating(type) && BitsOf(type) <= 8; }

// What values on the way to some outputs are rounded to.
struct Roundings {
  MathMode coarsest = MathMode::kFp32;
  bool quantised = false;

  void Add(const Graph& graph, const Node& node) {
    quantised =
        quantised || IsQuantisation(node) || node.op.starts_with("QLinear") || node.op.starts_with("DynamicQuantize");
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      const DataType type = graph.value(output).type.type;
      if (type == DataType::kBfloat16) coarsest = MathMode::kBf16;
      if (type == DataType::kFloat16 && coarsest == MathMode::kFp32) coarsest = MathMode::kFp16;
      quantised = quantised || IsSmallFloat(type);
    }
  }
};

// By value: depends on what a run is given. Numbers that constants alone make are the same for everybody who rounds
// them as the file says.
std::vector<bool> ValuesOfRuns(const Graph& graph) {
  std::vector<bool> varies(graph.values().size(), false);
  for (const ValueId id : graph.inputs()) varies[id.index()] = true;
  for (const ValueId id : graph.captured()) varies[id.index()] = true;
  for (const Node& node : graph.nodes()) {
    const bool any =
        std::ranges::any_of(node.inputs, [&](ValueId input) { return input.valid() && varies[input.index()]; });
    for (const ValueId output : node.outputs) {
      if (output.valid()) varies[output.index()] = any;
    }
  }
  return varies;
}

void AddRoundings(const Graph& graph, std::span<const ValueId> outputs, Roundings& roundings) {
  const std::vector<bool> varies = ValuesOfRuns(graph);
  std::vector<bool> needed(graph.nodes().size(), false);
  const auto need = [&](ValueId id) {
    if (id.valid() && varies[id.index()] && graph.value(id).producer.valid()) {
      needed[graph.value(id).producer.index()] = true;
    }
  };
  for (const ValueId output : outputs) need(output);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    if (!needed[i]) continue;
    const Node& node = graph.nodes()[i];
    roundings.Add(graph, node);
    for (const ValueId input : node.inputs) need(input);
    for (const Subgraph& nested : node.subgraphs) AddRoundings(*nested.graph, nested.graph->outputs(), roundings);
  }
}

std::string MathReason(MathMode inside, MathMode math, DataType output) {
  const bool by_plan = RelativeTolerance(math, DataType::kFloat32) > RelativeTolerance(inside, DataType::kFloat32);
  if (by_plan) return "the plan computes in " + std::string(MathModeName(math));
  if (inside == MathMode::kFp32) return "fp32 math";
  const DataType type = inside == MathMode::kBf16 ? DataType::kBfloat16 : DataType::kFloat16;
  return std::string(DataTypeName(type)) + (type == output ? "" : " inside");
}

}  // namespace

double QuantisationStep(const Graph& graph, const Node& node) {
  const bool by_product = IsQLinear(node);
  if (!by_product && (!IsQuantisation(node) || node.inputs.size() < 2)) return 0;
  const auto& scale = graph.value(node.inputs[by_product ? 6 : 1]).constant;
  if (!scale) return 0;
  double step = 0;
  VisitType(scale->type(), [&]<typename T>() {
    if constexpr (kIsFloat<T>) {
      for (const T& x : scale->values<T>()) step = std::max(step, std::fabs(NumberOf<double>(x)));
    }
  });
  return step;
}

ReasonedTolerance ToleranceOf(const Graph& graph, ValueId output, MathMode math) {
  const DataType type = graph.value(output).type.type;
  Roundings roundings;
  AddRoundings(graph, {&output, 1}, roundings);
  ReasonedTolerance result;
  result.quantised = roundings.quantised;
  Tolerance& tolerance = result.tolerance;
  tolerance.relative = std::max(RelativeTolerance(math, type), RelativeTolerance(roundings.coarsest, type));
  result.reason = MathReason(roundings.coarsest, math, type);
  const bool real = RelativeTolerance(MathMode::kFp32, type) > 0;
  const Origins origins = OriginsOf(graph, output, real);
  if (!real) {
    const auto quantises_so = [&](NodeId id) {
      const Node& node = graph.node(id);
      return (IsQuantisation(node) || IsQLinear(node)) && graph.value(node.outputs[0]).type.type == type;
    };
    if (IsInteger(type) && std::ranges::any_of(origins.nodes, quantises_so)) tolerance.integer_steps = 1;
    result.reason = tolerance.integer_steps > 0 ? "one step of the quantisation" : "exact";
    return result;
  }
  for (const NodeId origin : origins.nodes) {
    // A hair more than the step: the difference of two dequantised neighbours is rounded.
    tolerance.absolute = std::max(tolerance.absolute, QuantisationStep(graph, graph.node(origin)) * (1 + 1e-5));
  }
  const auto is_within_one = [&](NodeId id) { return IsWithinOne(graph.node(id)); };
  if (tolerance.absolute > 0) {
    result.reason += ", one step of the last quantisation";
  } else if (!origins.others && std::ranges::all_of(origins.nodes, is_within_one)) {
    tolerance.absolute = kWithinOneAbsolute;
    result.reason += ", results within 1";
  }
  return result;
}

Tolerance OperatorTestTolerance() { return {Tolerance::Kind::kElementwise, 1e-3, 1e-7, 0}; }

}  // namespace pt
