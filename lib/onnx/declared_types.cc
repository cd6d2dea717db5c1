#include "lib/onnx/declared_types.h"

#include <string_view>
#include <vector>

#include "lib/onnx/value_types.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt {
namespace {

std::string Contradiction(const std::string& what, const ValueType& says, const ValueType& is, const std::string& how) {
  return what + " is declared as " + ToString(says) + " but is " + ToString(is) + ": " + how;
}

}  // namespace

DeclaredTypes DeclaredTypesOf(const proto::GraphProto& graph) {
  DeclaredTypes declared;
  for (const auto& info : graph.value_info()) declared[info.name()] = TypeFromProto(info.type());
  for (const auto& info : graph.output()) declared[info.name()] = TypeFromProto(info.type());
  for (const auto& info : graph.input()) declared[info.name()] = TypeFromProto(info.type());
  return declared;
}

Status CheckInitializers(const proto::GraphProto& graph, std::span<const std::pair<std::string, Tensor>> initializers) {
  std::unordered_map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, tensor] : initializers) by_name.emplace(name, &tensor);
  const auto check = [&](const proto::ValueInfoProto& info) -> Status {
    const auto at = by_name.find(info.name());
    if (at == by_name.end()) return {};
    const ValueType says = TypeFromProto(info.type()), is = StaticType(at->second->type(), at->second->dims());
    std::string conflict = KindConflict(says, is);
    if (conflict.empty() && RanksConflict(says, is)) conflict = "another rank";
    if (conflict.empty() && DimsConflict(says, is)) conflict = "another dim";
    if (conflict.empty()) return {};
    return LoadError(ErrorCode::kInvalidInput, "onnx.declared_type",
                     Contradiction("initialiser \"" + info.name() + "\"", says, is, conflict));
  };
  for (const auto& info : graph.value_info()) PT_CHECK_OK(check(info));
  for (const auto& info : graph.output()) PT_CHECK_OK(check(info));
  for (const auto& info : graph.input()) PT_CHECK_OK(check(info));
  return {};
}

Result<Graph> MergeDeclared(Graph graph, const DeclaredTypes& declared, LoadReport& report) {
  std::vector<std::pair<ValueId, ValueType>> learned;
  bool ranks_hold = true;
  for (size_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    const auto at = declared.find(value.name);
    if (at == declared.end() || (!value.is_constant() && !value.producer.valid())) continue;
    const ValueType& says = at->second;
    const ValueType& is = value.type;
    const std::string label = "value \"" + value.name + "\"";
    if (const std::string conflict = KindConflict(says, is); !conflict.empty()) {
      return LoadError(ErrorCode::kInvalidInput, "onnx.declared_type", Contradiction(label, says, is, conflict),
                       value.producer.valid() ? NodeLabel(graph, value.producer) : std::string());
    }
    const bool other_rank = RanksConflict(says, is);
    ranks_hold = ranks_hold && !other_rank;
    if (other_rank || DimsConflict(says, is))
      report.warnings.push_back(label + " is declared as " + ToString(says) + " but is " + ToString(is));
    if (!is.is_static() && says.other.empty()) report.declared_types.emplace(value.name, says);
    if (is.type == DataType::kUndefined && is.other.empty()) {
      ValueType known = says;  // the kind helps, the numbers are not to be trusted
      for (Dim& dim : known.dims) dim = {};
      learned.emplace_back(ValueId(i), std::move(known));
    }
  }
  if (learned.empty()) return graph;
  GraphBuilder builder(graph);
  for (auto& [id, type] : learned) {
    if (!ranks_hold) type.ranked = false, type.dims.clear();
    builder.value(id).type = std::move(type);
  }
  return builder.Build();
}

}  // namespace pt
