#include "plugins/shared/operators.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "partitiontuner/graph/operators/normalizations.h"
#include "partitiontuner/graph/operators/resize.h"
#include "partitiontuner/platform/discover.h"

namespace pt::plugins {
namespace {

constexpr TypeSet kConstants = {DataType::kFloat32, DataType::kInt64, DataType::kInt32, DataType::kBool};

std::string WrongType(const Value& value, const TypeSet& types) {
  const auto dims = value.type.static_dims();
  if (!types.contains(value.type.type)) return "\"" + value.name + "\" is " + ToString(value.type);
  if (dims && std::ranges::find(*dims, 0) == dims->end()) return "";
  return "\"" + value.name + "\" is " + ToString(value.type) + ", no tensor of known dims with elements";
}

bool IsTakenConstant(const Value& value, const TypeSet& types) {
  if (!value.is_constant()) return false;
  const DataType type = value.constant->type();
  return kConstants.contains(type) || types.contains(type);
}

constexpr std::array<std::string_view, 7> kQuantising = {"ConvInteger",   "DequantizeLinear", "DynamicQuantizeLinear",
                                                         "MatMulInteger", "QLinearConv",      "QLinearMatMul",
                                                         "QuantizeLinear"};

}  // namespace

std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId id, std::span<const TakenRow> rows,
                                       bool exact_products) {
  const Node& node = graph.node(id);
  if (!exact_products && std::ranges::find(kQuantising, node.op) != kQuantising.end()) {
    return node.op + ": the processor has no exact products of integers";
  }
  const auto row = std::ranges::lower_bound(rows, std::string_view(node.op), {}, &TakenRow::op);
  if (!node.domain.empty() || row == rows.end() || row->op != node.op) return node.op + " is not here";
  bool computes = false;
  for (const ValueId input : node.inputs) {
    if (!input.valid() || IsTakenConstant(graph.value(input), row->types)) continue;
    computes = true;
    if (std::string fault = WrongType(graph.value(input), row->types); !fault.empty()) return node.op + ": " + fault;
  }
  if (!computes && !row->of_constants) return node.op + ": all its inputs are constants";
  for (const ValueId output : node.outputs) {
    if (!output.valid()) continue;
    if (std::string fault = WrongType(graph.value(output), row->types); !fault.empty()) return node.op + ": " + fault;
  }
  if (row->why_not == nullptr) return std::nullopt;
  const std::string why_not = row->why_not(graph, node);
  return why_not.empty() ? std::nullopt : std::optional(node.op + ": " + why_not);
}

bool HasExactProducts(const Device& host) {
  const auto has = [](const Device& device) {
    return device.has_instructions("avx512_vnni") || device.has_instructions("avx_vnni");
  };
  if (!host.isa.empty()) return has(host);
  Device here;
  here.isa = HostInstructionSets();
  return has(here);
}

std::string WithOneOutput(const Graph&, const Node& node) {
  return node.outputs.size() == 1 ? "" : "only its first output is here";
}

std::string NotTraining(const Graph&, const Node& node) {
  return !ReadBatchNormalization(node).training ? "" : "training is not here";
}

std::string StretchesImages(const Graph& graph, const Node& node) {
  constexpr size_t kRank = 4, kFirstResized = 2;
  constexpr std::array kTaken = {ResizeCoordinates::kHalfPixel, ResizeCoordinates::kPytorchHalfPixel,
                                 ResizeCoordinates::kAlignCorners, ResizeCoordinates::kAsymmetric};
  const auto resize = ReadConstantResize(graph, node);
  if (!resize.ok()) return resize.error().message;
  const ResizeNode& read = resize.value().node;
  if (read.mode == ResizeMode::kCubic || read.antialias || read.exclude_outside) return "its sampling is not here";
  if (std::ranges::find(kTaken, read.coordinates) == kTaken.end()) return "its coordinates are not here";
  if (read.aspect != ResizeAspect::kStretch) return "kept aspect ratios are not here";
  if (!std::ranges::is_sorted(read.axes)) return "axes out of order are not here";
  const auto& dims = resize.value().dims;
  if (dims.size() != kRank) return "only images are here";
  for (size_t i = 0; i < kRank; ++i) {
    if (i < kFirstResized && IsResized(read, dims[i])) return "only the last two dims are resized here";
    // Where the scale leaves part of an element over, runtimes take scales for what the standard takes lengths for.
    constexpr double kPart = 1e-9;
    const double length = static_cast<double>(dims[i].in) * dims[i].scale;
    if (std::abs(length - static_cast<double>(dims[i].out)) > kPart) return "scales that leave part of an element over";
  }
  return "";
}

}  // namespace pt::plugins
