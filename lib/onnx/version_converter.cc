#include "lib/onnx/version_converter.h"

#include <onnx/common/ir_pb_converter.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "lib/onnx/definitions.h"

namespace pt {
namespace {

namespace conversion = proto::version_conversion;
using conversion::Adapter;

// From opset `from` to the next one, nodes of `op` are written differently.
struct OpsetChange {
  std::string_view op;
  int64_t from = 0;
  std::unique_ptr<Adapter> (*make)(const OpsetChange& change) = nullptr;

  std::string Name() const { return std::string(op); }
};

template <typename T>
std::unique_ptr<Adapter> Plain(const OpsetChange&) {
  return std::make_unique<T>();
}

template <typename T>
std::unique_ptr<Adapter> Named(const OpsetChange& change) {
  return std::make_unique<T>(change.Name());
}

template <typename T, auto... kMore>
std::unique_ptr<Adapter> Between(const OpsetChange& change) {
  return std::make_unique<T>(change.Name(), proto::OpSetID(change.from), proto::OpSetID(change.from + 1), kMore...);
}

std::unique_ptr<Adapter> Generic(const OpsetChange& change, conversion::NodeTransformerFunction function) {
  return std::make_unique<conversion::GenericAdapter>(change.Name().c_str(), change.from, change.from + 1,
                                                      std::move(function));
}

std::unique_ptr<Adapter> NoConsumedInputs(const OpsetChange& change) {
  return Generic(change, conversion::RemoveAttribute(proto::kconsumed_inputs));
}

std::unique_ptr<Adapter> NoTest(const OpsetChange& change) {
  return Generic(change, conversion::RemoveAttributeNotEq(proto::kis_test, 0));
}

std::unique_ptr<Adapter> NoSpatial(const OpsetChange& change) {
  return Generic(change, conversion::RemoveAttribute(proto::kspatial, 1));
}

std::unique_ptr<Adapter> FirstLayout(const OpsetChange& change) {
  return Generic(change, conversion::SetAttribute(proto::klayout, 0));
}

std::unique_ptr<Adapter> ChannelAxis(const OpsetChange& change) {
  return Generic(change, conversion::SetAttributeIfAbsent(proto::kaxis, 1));
}

std::unique_ptr<Adapter> OutputHalfPixel(const OpsetChange& change) {
  return Generic(change, conversion::SetAttribute(proto::kcoordinate_transformation_mode, "output_half_pixel"));
}

std::unique_ptr<Adapter> FloorMode(const OpsetChange& change) {
  return Generic(change, conversion::SetAttribute(proto::kceil_mode, 0));
}

// What libonnx has not written; it says so when it meets such a node.
std::unique_ptr<Adapter> Missing(const OpsetChange& change) {
  throw std::runtime_error("libonnx has no adapter for " + change.Name() + " from opset " +
                           std::to_string(change.from) + " to " + std::to_string(change.from + 1));
}

constexpr auto kNewAxes = Between<conversion::AxesAttributeToInput>;
constexpr auto kNewBroadcast = Between<conversion::BroadcastForwardCompatibility>;

// All of libonnx's adapters on the way up that do anything, and those that are missing. A test holds what they do, and
// that nothing else does anything, to libonnx's converter.
constexpr OpsetChange kChanges[] = {
    {"GlobalLpPool", 1, Missing},
    {"LpPool", 1, Missing},
    {"Pad", 1, Missing},
    {"Split", 1, Missing},
    {"GRU", 2, Missing},
    {"Concat", 3, ChannelAxis},
    {"Reshape", 4, Plain<conversion::Reshape_4_5>},
    {"Abs", 5, NoConsumedInputs},
    {"Add", 5, NoConsumedInputs},
    {"BatchNormalization", 5, NoConsumedInputs},
    {"Cast", 5, Missing},
    {"Ceil", 5, NoConsumedInputs},
    {"Clip", 5, NoConsumedInputs},
    {"Div", 5, NoConsumedInputs},
    {"Dropout", 5, NoConsumedInputs},
    {"Elu", 5, NoConsumedInputs},
    {"Exp", 5, NoConsumedInputs},
    {"Floor", 5, NoConsumedInputs},
    {"HardSigmoid", 5, NoConsumedInputs},
    {"InstanceNormalization", 5, NoConsumedInputs},
    {"LeakyRelu", 5, NoConsumedInputs},
    {"Log", 5, NoConsumedInputs},
    {"Max", 5, NoConsumedInputs},
    {"Mean", 5, NoConsumedInputs},
    {"Min", 5, NoConsumedInputs},
    {"Mul", 5, NoConsumedInputs},
    {"Neg", 5, NoConsumedInputs},
    {"PRelu", 5, NoConsumedInputs},
    {"Reciprocal", 5, NoConsumedInputs},
    {"Relu", 5, NoConsumedInputs},
    {"Selu", 5, NoConsumedInputs},
    {"Sigmoid", 5, NoConsumedInputs},
    {"Sqrt", 5, NoConsumedInputs},
    {"Sub", 5, NoConsumedInputs},
    {"Sum", 5, NoConsumedInputs},
    {"Tanh", 5, NoConsumedInputs},
    {"Tile", 5, Missing},
    {"Add", 6, kNewBroadcast},
    {"And", 6, Missing},
    {"BatchNormalization", 6, NoTest},
    {"Div", 6, kNewBroadcast},
    {"Dropout", 6, NoTest},
    {"Equal", 6, Missing},
    {"GRU", 6, Missing},
    {"Gemm", 6, Plain<conversion::Gemm_6_7>},
    {"Greater", 6, Missing},
    {"LSTM", 6, Missing},
    {"Less", 6, Missing},
    {"Mul", 6, kNewBroadcast},
    {"Or", 6, Missing},
    {"Pow", 6, kNewBroadcast},
    {"RNN", 6, Missing},
    {"Sub", 6, kNewBroadcast},
    {"Upsample", 6, Plain<conversion::Upsample_6_7>},
    {"Xor", 6, Missing},
    {"BatchNormalization", 8, NoSpatial},
    {"Scan", 8, Plain<conversion::Scan_8_9>},
    {"Upsample", 8, Plain<conversion::Upsample_8_9>},
    {"Slice", 9, Plain<conversion::Slice_9_10>},
    {"TopK", 9, Plain<conversion::TopK_9_10>},
    {"Upsample", 9, Plain<conversion::Upsample_9_10>},
    {"Clip", 10, Plain<conversion::Clip_10_11>},
    {"Pad", 10, Plain<conversion::Pad_10_11>},
    {"Resize", 10, Plain<conversion::Resize_10_11>},
    {"Scatter", 10, Plain<conversion::Scatter_10_11>},
    {"Dropout", 11, Plain<conversion::Dropout_11_12>},
    {"LogSoftmax", 12, Named<conversion::Softmax_12_13>},
    {"ReduceSum", 12, kNewAxes},
    {"Softmax", 12, Named<conversion::Softmax_12_13>},
    {"Split", 12, Plain<conversion::Split_12_13>},
    {"Squeeze", 12, kNewAxes},
    {"Unsqueeze", 12, kNewAxes},
    {"BatchNormalization", 13, Plain<conversion::BatchNormalization_13_14>},
    {"GRU", 13, FirstLayout},
    {"LSTM", 13, FirstLayout},
    {"RNN", 13, FirstLayout},
    {"RoiAlign", 15, OutputHalfPixel},
    {"LpPool", 17, FloorMode},
    {"ReduceL1", 17, kNewAxes},
    {"ReduceL2", 17, kNewAxes},
    {"ReduceLogSum", 17, kNewAxes},
    {"ReduceLogSumExp", 17, kNewAxes},
    {"ReduceMax", 17, kNewAxes},
    {"ReduceMean", 17, kNewAxes},
    {"ReduceMin", 17, kNewAxes},
    {"ReduceProd", 17, kNewAxes},
    {"ReduceSumSquare", 17, kNewAxes},
    {"Split", 17, Plain<conversion::Split_17_18>},
    {"DFT", 19, Between<conversion::AxisAttributeToInput, 2, 1>},
    {"GridSample", 19, Plain<conversion::GridSample_19_20>},
};

constexpr int64_t kLastOpset = 25;  // up to which kChanges says all there is

bool IsDefinedAnew(std::string_view op, int64_t opset) { return DefinitionOpset(op, opset) == opset; }

const OpsetChange* ChangeFrom(std::string_view op, int64_t from) {
  const auto* const at =
      std::ranges::find_if(kChanges, [&](const OpsetChange& c) { return c.op == op && c.from == from; });
  return at == std::end(kChanges) ? nullptr : at;
}

bool IsOnnxOperator(const proto::Node& node) {
  const std::string op = node.kind().toString();
  return IsDefaultDomain(node.domain()) && op != "Undefined" && op != "Captured";
}

void StepUp(const std::shared_ptr<proto::Graph>& graph, int64_t from) {
  for (auto at = graph->begin(); at != graph->end(); ++at) {
    if (!IsOnnxOperator(**at)) continue;
    const std::string op = at->kind().toString();
    const OpsetChange* const change = IsDefinedAnew(op, from + 1) ? ChangeFrom(op, from) : nullptr;
    if (change == nullptr) continue;
    // What took the node's place is the next opset's already.
    at = proto::graph_node_list_iterator(change->make(*change)->adapt(graph, *at), proto::kNextDirection);
  }
  for (proto::OpSetID& opset : graph->opset_versions_mutable()) {
    if (IsDefaultDomain(opset.domain())) opset.incrementVersion(1);
  }
}

proto::ModelProto ConvertUp(const proto::ModelProto& model, int64_t from, int64_t to) {
  const std::shared_ptr<proto::Graph> graph(proto::ImportModelProto(model));
  for (int64_t opset = from; opset < to; ++opset) StepUp(graph, opset);
  proto::ModelProto converted = proto::PrepareOutput(model);
  proto::ExportModelProto(&converted, graph);
  return converted;
}

}  // namespace

bool StaysAsItIs(std::string_view op, int64_t from, int64_t to) {
  if (from > to || to > kLastOpset || DefinitionOpset(op, from) == 0) return false;
  for (int64_t opset = from; opset < to; ++opset) {
    if (IsDefinedAnew(op, opset + 1) && ChangeFrom(op, opset) != nullptr) return false;
  }
  return true;
}

proto::ModelProto VersionConverter::Convert(const proto::ModelProto& model) const {
  if (from_ <= to_ && to_ <= kLastOpset) return ConvertUp(model, from_, to_);
  static const conversion::DefaultVersionConverter libonnx;  // the first that is needed serves all
  return libonnx.convert_version(model, proto::OpSetID(from_), proto::OpSetID(to_));
}

}  // namespace pt
