#include "lib/onnx/infer_in_file.h"

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include <unordered_map>
#include <vector>

#include "lib/onnx/inference_schemas.h"
#include "lib/onnx/opset_domain.h"
#include "lib/onnx/value_types.h"

namespace pt {
namespace {

// As in InferShapes: libonnx copies all that is visible into every subgraph.
bool FileSubgraphsAreAffordable(const proto::GraphProto& main) {
  constexpr uint64_t kMostCopies = 4'000'000;
  uint64_t copies = 0;
  const auto count = [&](const auto& self, const proto::GraphProto& graph, uint64_t visible) -> void {
    visible += static_cast<uint64_t>(graph.node_size() + graph.initializer_size());
    for (const auto& node : graph.node()) {
      for (const auto& attribute : node.attribute()) {
        if (!attribute.has_g()) continue;
        copies += visible;
        if (copies <= kMostCopies) self(self, attribute.g(), visible);
      }
    }
  };
  count(count, main, 0);
  return copies <= kMostCopies;
}

void InferQuietly(proto::ModelProto& model) {
  const OpsetDomainImports imports(model);
  (void)Fenced(ErrorCode::kInvalidInput, "onnx.inference", "inferring shapes", [&] {
    const proto::ShapeInferenceOptions options(/*check_type=*/false, /*error_mode=*/0,
                                               /*data_propagation=*/true);
    proto::shape_inference::DataValueMap values;
    proto::shape_inference::InferShapes(model, &InferenceSchemas(), options, &values);
  });
}

// What a graph declared of its values.
struct Hints {
  proto::GraphProto* graph;
  google::protobuf::RepeatedPtrField<proto::ValueInfoProto> values;  // outputs too
};

void TakeHints(proto::GraphProto& graph, std::vector<Hints>& taken) {
  Hints& hints = taken.emplace_back(Hints{&graph, {}});
  hints.values.Swap(graph.mutable_value_info());
  for (auto& output : *graph.mutable_output()) {
    if (output.has_type()) *hints.values.Add() = output;
    output.clear_type();
  }
  for (proto::NodeProto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) TakeHints(*attribute.mutable_g(), taken);
      for (auto& inner : *attribute.mutable_graphs()) TakeHints(inner, taken);
    }
  }
}

// Where inference has found no rank.
struct Gap {
  Hints* hints;
  const proto::ValueInfoProto* hint;
};

// False when a hint has another rank than inference found.
bool FindGaps(Hints& hints, std::vector<Gap>& gaps) {
  std::unordered_map<std::string_view, const proto::TypeProto*> found;
  for (const auto& info : hints.graph->value_info()) found[info.name()] = &info.type();
  for (const auto& info : hints.graph->output()) found[info.name()] = &info.type();
  for (const auto& hint : hints.values) {
    const auto at = found.find(hint.name());
    const ValueType says = TypeFromProto(hint.type());
    const ValueType is = at == found.end() ? ValueType() : TypeFromProto(*at->second);
    if (RanksConflict(says, is)) return false;
    const bool unknown = is.type == DataType::kUndefined && is.other.empty();
    if (unknown || (says.ranked && !is.ranked && is.other.empty())) gaps.push_back({&hints, &hint});
  }
  return true;
}

void Fill(const Gap& gap) {
  proto::GraphProto& graph = *gap.hints->graph;
  for (auto& output : *graph.mutable_output()) {
    if (output.name() == gap.hint->name()) {
      *output.mutable_type() = gap.hint->type();
      return;
    }
  }
  for (auto& info : *graph.mutable_value_info()) {
    if (info.name() == gap.hint->name()) {
      *info.mutable_type() = gap.hint->type();
      return;
    }
  }
  *graph.add_value_info() = *gap.hint;
}

}  // namespace

void InferInFile(proto::ModelProto& model) {
  if (!FileSubgraphsAreAffordable(model.graph())) return;
  std::vector<Hints> hints;
  TakeHints(*model.mutable_graph(), hints);
  InferQuietly(model);
  std::vector<Gap> gaps;
  for (Hints& of_graph : hints) {
    if (!FindGaps(of_graph, gaps)) return;
  }
  if (gaps.empty()) return;
  for (const Gap& gap : gaps) Fill(gap);
  InferQuietly(model);
}

}  // namespace pt
