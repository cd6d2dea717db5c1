#include "lib/onnx/check_model.h"

#include <onnx/checker.h>

#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/onnx/definitions.h"
#include "lib/onnx/opset_domain.h"

namespace pt {

namespace {

std::unordered_map<std::string, int> VersionsOf(const proto::FunctionProto& function) {
  std::unordered_map<std::string, int> versions;
  for (const auto& import : function.opset_import()) versions[import.domain()] = static_cast<int>(import.version());
  if (const auto own = DefaultOpset(function)) versions[OpsetDomain(*own)] = static_cast<int>(*own);
  return versions;
}

// What libonnx's check_model does of a model without functions, of versions that are in range, with
// definitions that are made as they are needed.
void CheckMainGraph(const proto::ModelProto& model) {
  constexpr int64_t kFirstWithOpsets = 3;
  if (model.ir_version() < kFirstWithOpsets)
    throw std::runtime_error("models of IR version 1 and 2 do not say which opset they use");
  std::unordered_set<std::string> keys;
  for (const auto& entry : model.metadata_props()) {
    if (!keys.insert(entry.key()).second)
      throw std::runtime_error("metadata_props has the key \"" + entry.key() + "\" twice");
  }
  std::unordered_map<std::string, int> versions;
  for (const auto& import : model.opset_import()) versions[import.domain()] = static_cast<int>(import.version());
  proto::checker::CheckerContext context;
  context.set_schema_registry(&Definitions());
  context.set_ir_version(static_cast<int>(model.ir_version()));
  context.set_opset_imports(versions);
  proto::checker::check_graph(model.graph(), context, proto::checker::LexicalScopeContext());
}

// Throws what libonnx throws.
void CheckFenced(proto::ModelProto& model) {
  // Functions on their own, each by its own opset: together with them the checker refuses chains of a hundred calls,
  // and operators of another opset than the model's.
  google::protobuf::RepeatedPtrField<proto::FunctionProto> functions;
  functions.Swap(model.mutable_functions());
  try {
    CheckMainGraph(model);
    for (const proto::FunctionProto& function : functions) {
      proto::checker::CheckerContext context;
      context.set_schema_registry(&Definitions());
      context.set_ir_version(static_cast<int>(model.ir_version()));
      context.set_opset_imports(VersionsOf(function));
      context.set_skip_opset_compatibility_check(true);
      proto::checker::check_function(function, context, proto::checker::LexicalScopeContext());
    }
  } catch (...) {
    functions.Swap(model.mutable_functions());
    throw;
  }
  functions.Swap(model.mutable_functions());
}

}  // namespace

Status CheckModel(proto::ModelProto& model) {
  // The checker also wants a shape for every input and output; leaving it out means an unknown
  // rank.
  std::vector<proto::TypeProto::Tensor*> without_shape;
  std::vector<proto::ValueInfoProto*> without_type;
  const auto complete = [&](proto::ValueInfoProto& info) {
    if (!info.has_type() || info.type().value_case() == proto::TypeProto::VALUE_NOT_SET) {
      without_type.push_back(&info);
      info.mutable_type()->mutable_tensor_type()->set_elem_type(1);
      info.mutable_type()->mutable_tensor_type()->mutable_shape();
    } else if (info.type().has_tensor_type() && !info.type().tensor_type().has_shape()) {
      without_shape.push_back(info.mutable_type()->mutable_tensor_type());
      without_shape.back()->mutable_shape();
    }
  };
  for (auto& info : *model.mutable_graph()->mutable_output()) complete(info);
  for (auto& info : *model.mutable_graph()->mutable_input()) {
    if (info.has_type()) complete(info);
  }
  Status status;
  {
    const OpsetDomainImports imports(model);
    status = Fenced(ErrorCode::kInvalidInput, "onnx.check", "checking", [&] { CheckFenced(model); });
  }
  for (auto* type : without_shape) type->clear_shape();
  for (auto* info : without_type) info->clear_type();
  if (status.ok()) return {};
  Error error = std::move(status).error();
  const bool unknown = error.message.find("No Op registered for") != std::string::npos ||
                       error.message.find("is deprecated in domain_version") != std::string::npos;
  if (unknown) {
    error.code = ErrorCode::kUnsupported;
    error.id = "onnx.unknown_op";
  }
  return error;
}

}  // namespace pt
