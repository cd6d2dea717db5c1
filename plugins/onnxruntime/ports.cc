#include "plugins/onnxruntime/ports.h"

#include <algorithm>

#include "plugins/onnxruntime/element_types.h"

namespace pt::onnxruntime {
namespace {

Error Differs(const std::string& what) { return OrtError(ErrorCode::kUnsupported, "reading the group: " + what); }

// Inputs or outputs: the same calls under other names.
struct Side {
  const char* name;
  std::span<const ValueId> values;
  OrtStatus*(ORT_API_CALL* count)(const OrtSession*, size_t*);
  OrtStatus*(ORT_API_CALL* name_of)(const OrtSession*, size_t, OrtAllocator*, char**);
  OrtStatus*(ORT_API_CALL* type_of)(const OrtSession*, size_t, OrtTypeInfo**);
};

class PortReader {
 public:
  PortReader(const OrtApi& api, const Graph& group, OrtSession& session)
      : api_(api), group_(group), session_(session) {}

  Status Read(const Side& side, std::vector<std::string>& names) const {
    size_t count = 0;
    PT_CHECK_OK(Checked(side.count(&session_, &count)));
    if (count != side.values.size()) {
      return Differs(std::to_string(count) + " " + side.name + " of " + std::to_string(side.values.size()));
    }
    for (size_t i = 0; i < count; ++i) {
      PT_ASSIGN(std::string name, NameOf(side, i));
      PT_CHECK_OK(CheckType(side, i));
      names.push_back(std::move(name));
    }
    return {};
  }

 private:
  Status Checked(OrtStatus* status) const {
    return onnxruntime::Checked(api_, status, ErrorCode::kUnsupported, "reading the group");
  }

  Result<std::string> NameOf(const Side& side, size_t i) const {
    OrtAllocator* allocator = nullptr;  // the default one, never released
    PT_CHECK_OK(Checked(api_.GetAllocatorWithDefaultOptions(&allocator)));
    char* text = nullptr;
    PT_CHECK_OK(Checked(side.name_of(&session_, i, allocator, &text)));
    std::string name = text;
    PT_CHECK_OK(Checked(api_.AllocatorFree(allocator, text)));
    return name;
  }

  Status CheckType(const Side& side, size_t i) const {
    OrtTypeInfo* made = nullptr;
    PT_CHECK_OK(Checked(side.type_of(&session_, i, &made)));
    const Owned<OrtTypeInfo> type(made, api_.ReleaseTypeInfo);
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;  // part of the type
    PT_CHECK_OK(Checked(api_.CastTypeInfoToTensorInfo(made, &tensor)));
    const Value& value = group_.value(side.values[i]);
    if (tensor == nullptr) return Differs("\"" + value.name + "\" is not a tensor");
    ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    size_t rank = 0;
    PT_CHECK_OK(Checked(api_.GetTensorElementType(tensor, &element)));
    PT_CHECK_OK(Checked(api_.GetDimensionsCount(tensor, &rank)));
    std::vector<int64_t> dims(rank);
    PT_CHECK_OK(Checked(api_.GetDimensions(tensor, dims.data(), rank)));
    const auto wanted = value.type.static_dims();
    if (wanted && element == ElementTypeOf(value.type.type) && std::ranges::equal(dims, *wanted)) return {};
    std::string text;
    for (const int64_t dim : dims) text += (text.empty() ? "" : ",") + std::to_string(dim);
    return Differs("\"" + value.name + "\" (" + ToString(value.type) + ") is taken for type " +
                   std::to_string(element) + " [" + text + "]");
  }

  const OrtApi& api_;
  const Graph& group_;
  OrtSession& session_;
};

}  // namespace

Status ReadPorts(const OrtApi& api, const Graph& group, GroupSession& session) {
  const PortReader reader(api, group, *session.session);
  PT_CHECK_OK(reader.Read(
      {"inputs", group.inputs(), api.SessionGetInputCount, api.SessionGetInputName, api.SessionGetInputTypeInfo},
      session.inputs));
  return reader.Read(
      {"outputs", group.outputs(), api.SessionGetOutputCount, api.SessionGetOutputName, api.SessionGetOutputTypeInfo},
      session.outputs);
}

}  // namespace pt::onnxruntime
