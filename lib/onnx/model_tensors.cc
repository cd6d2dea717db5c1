#include "lib/onnx/model_tensors.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <unordered_set>

#include "lib/onnx/declared_types.h"
#include "lib/onnx/nested_nodes.h"
#include "lib/onnx/repeated_constants.h"
#include "lib/onnx/tensor_from_proto.h"
#include "lib/onnx/tensor_to_proto.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

constexpr std::string_view kKeyPrefix = "pt:tensor:";

Error TensorError(const std::string& where, const std::string& what) {
  return LoadError(ErrorCode::kInvalidInput, "onnx.tensor", where + ": " + what);
}

Result<int64_t> ParseNonNegative(const std::string& text, const std::string& where, const char* key) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || text.empty() || value < 0) {
    return TensorError(where, std::string("external data: ") + key + " \"" + text.substr(0, 40) +
                                  "\" is not a number from 0 to 2^63-1");
  }
  return value;
}

struct ExternalRange {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;  // to the end
};

Result<ExternalRange> ReadExternalEntries(const proto::TensorProto& tensor, const std::string& where) {
  ExternalRange range;
  std::unordered_set<std::string> seen;
  for (const auto& entry : tensor.external_data()) {
    const std::string& key = entry.key();
    if (!seen.insert(key).second) return TensorError(where, "external data: key \"" + key + "\" is there twice");
    if (key == "location") {
      range.location = entry.value();
    } else if (key == "offset") {
      PT_ASSIGN(range.offset, ParseNonNegative(entry.value(), where, "offset"));
    } else if (key == "length") {
      PT_ASSIGN(range.length, ParseNonNegative(entry.value(), where, "length"));
    } else if (key != "checksum" && key != "basepath") {  // the one is not required, the other never used
      return TensorError(where, "external data: unknown key \"" + key.substr(0, 80) + "\"");
    }
  }
  if (!seen.contains("location")) return TensorError(where, "external data: no location");
  return range;
}

// A row-major tensor of zeros, after the size is known to be allowed.
Result<std::string> ZeroBytes(int64_t bytes, uint64_t& budget, const std::string& where) {
  if (static_cast<uint64_t>(bytes) > budget) {
    return LoadError(ErrorCode::kInvalidInput, "onnx.limit",
                     where + ": dense it needs " + std::to_string(bytes) +
                         " bytes, of the limit for sparse tensors are left " + std::to_string(budget));
  }
  budget -= static_cast<uint64_t>(bytes);
  return std::string(static_cast<size_t>(bytes), '\0');
}

void ClearData(proto::TensorProto& tensor) {
  tensor.clear_raw_data();
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_string_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.clear_doc_string();
}

template <typename Visit>
void VisitTensors(proto::AttributeProto& attribute, const Visit& visit) {
  if (attribute.has_t()) visit(*attribute.mutable_t());
  for (proto::TensorProto& tensor : *attribute.mutable_tensors()) visit(tensor);
}

template <typename IsKept>
void KeepInputs(proto::GraphProto& graph, const IsKept& is_kept) {
  proto::GraphProto kept;
  for (proto::ValueInfoProto& input : *graph.mutable_input()) {
    if (is_kept(input.name())) kept.add_input()->Swap(&input);
  }
  graph.mutable_input()->Swap(kept.mutable_input());
}

// Which of the inputs with a default are given nevertheless.
std::unordered_set<std::string> GivenDefaults(const proto::GraphProto& graph, std::span<const std::string> with_default,
                                              const LoadOptions& options) {
  const std::unordered_set<std::string_view> has_default(with_default.begin(), with_default.end());
  const size_t count = static_cast<size_t>(graph.input_size());
  // As many as there are without a default are these.
  const size_t by_position =
      options.given_count > count - with_default.size() ? std::min(options.given_count, count) : 0;
  std::unordered_set<std::string> given;
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = graph.input(static_cast<int>(i)).name();
    if (has_default.contains(name) && (i < by_position || options.given_inputs.contains(name))) given.insert(name);
  }
  return given;
}

}  // namespace

struct ModelTensors::Context {
  ExternalData& external;
  const LeftInFile* left;
  const Limits& limits;
  std::vector<std::string>& warnings;
  uint64_t dense_budget;  // bytes that sparse tensors may still grow to
};

Result<Tensor> ModelTensors::Take(proto::TensorProto& tensor, const std::string& where, Context& context) {
  if (tensor.data_location() != proto::TensorProto::EXTERNAL) return TakeTensor(tensor, where, context.limits);
  PT_ASSIGN(const ExternalRange range, ReadExternalEntries(tensor, where));
  const auto type = static_cast<DataType>(tensor.data_type());
  if (tensor.data_type() <= 0 || tensor.data_type() > 255 || BitsOf(type) == 0) {
    return TensorError(where, "element type " + std::to_string(tensor.data_type()) + " cannot be kept in another file");
  }
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  if (context.limits.rank != 0 && dims.size() > context.limits.rank)
    return TensorError(where, "rank " + std::to_string(dims.size()) + " is over the limit");
  const auto in_context = [&](Error error) {
    error.message = where + ": " + error.message;
    return error;
  };
  const auto needed = TensorByteCount(type, dims);
  if (!needed.ok()) return in_context(needed.error());
  if (range.length >= 0 && range.length != *needed) {
    return TensorError(where, "its dims need " + std::to_string(*needed) + " bytes, its external data has length " +
                                  std::to_string(range.length));
  }
  auto bytes = context.external.Read(range.location, range.offset, *needed);
  if (!bytes.ok()) return in_context(bytes.error());
  const auto view = std::as_bytes(std::span(**bytes));
  return Tensor::FromShared(type, std::move(dims), std::move(*bytes), view);
}

Result<Tensor> ModelTensors::Densify(proto::SparseTensorProto& sparse, const std::string& where, Context& context) {
  PT_ASSIGN(const Tensor values, Take(*sparse.mutable_values(), where + " (values)", context));
  PT_ASSIGN(const Tensor indices, Take(*sparse.mutable_indices(), where + " (indices)", context));
  const std::vector<int64_t> dims(sparse.dims().begin(), sparse.dims().end());
  const int64_t element_bytes = BytesOf(values.type());
  if (element_bytes == 0) {
    return LoadError(ErrorCode::kUnsupported, "onnx.sparse",
                     where + ": sparse tensors of " + std::string(DataTypeName(values.type())) + " are not supported");
  }
  if (dims.empty() || (context.limits.rank != 0 && dims.size() > context.limits.rank))
    return TensorError(where, "rank " + std::to_string(dims.size()) + " is invalid");
  PT_ASSIGN(const int64_t byte_count, TensorByteCount(values.type(), dims));
  const int64_t count = values.element_count(), rank = static_cast<int64_t>(dims.size());
  const bool linear = indices.rank() == 1;
  const bool fits = linear || (indices.rank() == 2 && indices.dims()[1] == rank);
  if (!fits || values.rank() != 1 || indices.type() != DataType::kInt64 || indices.dims()[0] != count) {
    return TensorError(where, "values and indices of a sparse tensor do not fit each other");
  }
  PT_ASSIGN(std::string bytes, ZeroBytes(byte_count, context.dense_budget, where));
  const auto index = indices.values<int64_t>();
  int64_t previous = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    if (linear) {
      at = index[static_cast<size_t>(i)];
    } else {
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t x = index[static_cast<size_t>(i * rank + d)];
        if (x < 0 || x >= dims[static_cast<size_t>(d)])
          return TensorError(where,
                             "index " + std::to_string(x) + " of axis " + std::to_string(d) + " is out of range");
        at = at * dims[static_cast<size_t>(d)] + x;
      }
    }
    if (at < 0 || at >= byte_count / element_bytes)
      return TensorError(where, "index " + std::to_string(at) + " is out of range");
    if (at <= previous) return TensorError(where, "index " + std::to_string(at) + " is not in ascending order");
    previous = at;
    std::memcpy(bytes.data() + at * element_bytes, values.bytes().data() + i * element_bytes,
                static_cast<size_t>(element_bytes));
  }
  return Tensor::FromBytes(values.type(), dims, std::move(bytes));
}

// The proto that goes on through libonnx: small tensors with their data, others with type and dims
// only.
void ModelTensors::LeaveInProto(const Tensor& tensor, proto::TensorProto& left) {
  ClearData(left);
  if (IsSmall(tensor)) {
    TensorToProto(tensor, left);
  } else {
    DescribeTensor(tensor, left);
  }
}

Status ModelTensors::TakeAttributeTensor(proto::TensorProto& tensor, const std::string& where, Context& context) {
  PT_ASSIGN(Tensor taken, Take(tensor, where, context));
  LeaveInAttribute(std::move(taken), tensor);
  return {};
}

// The same in an attribute, where a name says which one a large tensor is.
void ModelTensors::LeaveInAttribute(Tensor tensor, proto::TensorProto& left) {
  LeaveInProto(tensor, left);
  left.clear_name();
  if (IsSmall(tensor)) return;
  left.set_name(std::string(kKeyPrefix) + std::to_string(attribute_tensors_.size()));
  attribute_tensors_.push_back(std::move(tensor));
}

Status ModelTensors::TakeAttribute(proto::AttributeProto& attribute, const std::string& where, Context& context) {
  if (attribute.has_t()) PT_CHECK_OK(TakeAttributeTensor(*attribute.mutable_t(), where, context));
  for (proto::TensorProto& tensor : *attribute.mutable_tensors())
    PT_CHECK_OK(TakeAttributeTensor(tensor, where, context));
  if (attribute.has_sparse_tensor()) {
    PT_ASSIGN(Tensor dense, Densify(*attribute.mutable_sparse_tensor(), where, context));
    attribute.clear_sparse_tensor();
    LeaveInAttribute(std::move(dense), *attribute.mutable_t());
  }
  if (attribute.has_g()) PT_CHECK_OK(TakeGraph(*attribute.mutable_g(), context));
  for (proto::GraphProto& graph : *attribute.mutable_graphs()) PT_CHECK_OK(TakeGraph(graph, context));
  // Whoever passes on a sparse tensor, or reads one, finds a dense one.
  if (attribute.type() == proto::AttributeProto::SPARSE_TENSOR) attribute.set_type(proto::AttributeProto::TENSOR);
  return {};
}

Status ModelTensors::TakeNode(proto::NodeProto& node, Context& context) {
  for (proto::AttributeProto& attribute : *node.mutable_attribute()) {
    const std::string where = "attribute " + attribute.name() + " of " + node.op_type() +
                              (node.output_size() > 0 ? " " + node.output(0) : "");
    PT_CHECK_OK(TakeAttribute(attribute, where, context));
    if (node.op_type() == "Constant" && attribute.name() == "sparse_value") attribute.set_name("value");
  }
  return {};
}

// In the graph's order, each with its name.
Status ModelTensors::TakeInitializers(proto::GraphProto& graph, Context& context, bool is_main,
                                      std::vector<std::pair<std::string, Tensor>>& taken) {
  struct First {
    size_t place, taken;
  };
  std::unordered_map<std::string, First> first;
  size_t given = 0;
  const auto add = [&](const std::string& name, Tensor tensor) -> Status {
    const size_t place = given++;
    if (name.empty())
      return LoadError(ErrorCode::kInvalidInput, "onnx.tensor",
                       "an initialiser of graph \"" + graph.name() + "\" has no name");
    const auto [at, is_new] = first.emplace(name, First{place, taken.size()});
    if (is_new) {
      taken.emplace_back(name, std::move(tensor));
      return {};
    }
    const std::string twice = "initialiser \"" + name + "\" of graph \"" + graph.name() + "\" is given twice, as #" +
                              std::to_string(at->second.place) + " and as #" + std::to_string(place);
    if (!SameTensor(taken[at->second.taken].second, tensor))
      return LoadError(ErrorCode::kInvalidInput, "onnx.duplicate", twice + ", with different data");
    context.warnings.push_back(twice + "; the data is the same");
    return {};
  };
  const LeftInFile* left = is_main ? context.left : nullptr;
  if (left != nullptr && left->raw_data.size() != static_cast<size_t>(graph.initializer_size())) {
    return LoadError(ErrorCode::kInternal, "onnx.internal", "what was cut out does not fit the initialisers");
  }
  for (int i = 0; i < graph.initializer_size(); ++i) {
    proto::TensorProto& tensor = *graph.mutable_initializer(i);
    const std::string where = "initialiser \"" + tensor.name() + "\"";
    const auto range = left == nullptr ? std::nullopt : left->raw_data[static_cast<size_t>(i)];
    const auto read = [&](std::span<std::byte> to) { return left->file.ReadAt(range->offset, to); };
    PT_ASSIGN(Tensor value,
              range ? TakeTensorRead(tensor, where, context.limits, range->bytes, read) : Take(tensor, where, context));
    PT_CHECK_OK(add(tensor.name(), std::move(value)));
  }
  for (proto::SparseTensorProto& sparse : *graph.mutable_sparse_initializer()) {
    const std::string& name = sparse.values().name();
    PT_ASSIGN(Tensor value, Densify(sparse, "sparse initialiser \"" + name + "\"", context));
    PT_CHECK_OK(add(name, std::move(value)));
  }
  return {};
}

// Initialisers become Constant nodes. Dropped from the inputs: before IR 4 every initialiser had to stand there.
Status ModelTensors::TakeGraph(proto::GraphProto& graph, Context& context) {
  for (proto::NodeProto& node : *graph.mutable_node()) PT_CHECK_OK(TakeNode(node, context));
  std::vector<std::pair<std::string, Tensor>> taken;
  PT_CHECK_OK(TakeInitializers(graph, context, false, taken));
  PT_CHECK_OK(CheckInitializers(graph, taken));
  if (taken.empty()) return {};
  std::unordered_set<std::string_view> known;
  for (const auto& named : taken) known.insert(named.first);
  KeepInputs(graph, [&](const std::string& name) { return !known.contains(name); });
  Nodes nodes;
  nodes.Reserve(static_cast<int>(taken.size()) + graph.node_size());
  for (auto& [name, tensor] : taken) {
    proto::NodeProto& node = *nodes.Add();
    node.set_op_type("Constant");
    node.add_output(name);
    proto::AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(proto::AttributeProto::TENSOR);
    LeaveInAttribute(std::move(tensor), *value.mutable_t());
  }
  for (proto::NodeProto& node : *graph.mutable_node()) nodes.Add()->Swap(&node);
  graph.mutable_node()->Swap(&nodes);
  graph.clear_initializer();
  graph.clear_sparse_initializer();
  return {};
}

Status ModelTensors::TakeMainGraph(proto::GraphProto& graph, Context& context, const LoadOptions& options,
                                   LoadReport& report) {
  for (proto::NodeProto& node : *graph.mutable_node()) PT_CHECK_OK(TakeNode(node, context));
  std::vector<std::pair<std::string, Tensor>> taken;
  PT_CHECK_OK(TakeInitializers(graph, context, true, taken));
  PT_CHECK_OK(CheckInitializers(graph, taken));
  std::unordered_set<std::string_view> known;
  for (const auto& named : taken) known.insert(named.first);
  for (const proto::ValueInfoProto& input : graph.input()) {
    if (known.contains(input.name())) report.inputs_with_default.push_back(input.name());
  }
  const std::unordered_set<std::string> given = GivenDefaults(graph, report.inputs_with_default, options);
  KeepInputs(graph, [&](const std::string& name) { return given.contains(name) || !known.contains(name); });
  graph.clear_initializer();
  graph.clear_sparse_initializer();
  graph.mutable_initializer()->Reserve(static_cast<int>(taken.size()));
  for (auto& [name, tensor] : taken) {
    if (given.contains(name)) {
      report.defaults.emplace(name, std::move(tensor));
    } else {
      AddInitializer(graph, name, std::move(tensor));
    }
  }
  return {};
}

void ModelTensors::AddInitializer(proto::GraphProto& graph, const std::string& name, Tensor tensor) {
  proto::TensorProto& placeholder = *graph.add_initializer();
  placeholder.set_name(name);
  LeaveInProto(tensor, placeholder);
  initializers_.emplace(name, std::move(tensor));
}

Status ModelTensors::TakeFrom(proto::ModelProto& model, ExternalData& external, const LeftInFile* left,
                              const LoadOptions& options, LoadReport& report) {
  const Limits& limits = options.limits;
  Context context{external, left, limits, report.warnings,
                  limits.densified_bytes == 0 ? UINT64_MAX : limits.densified_bytes};
  for (proto::FunctionProto& function : *model.mutable_functions()) {
    for (proto::NodeProto& node : *function.mutable_node()) PT_CHECK_OK(TakeNode(node, context));
    for (proto::AttributeProto& attribute : *function.mutable_attribute_proto())
      PT_CHECK_OK(TakeAttribute(attribute, "default of attribute " + attribute.name(), context));
  }
  return TakeMainGraph(*model.mutable_graph(), context, options, report);
}

const Tensor* ModelTensors::initializer(const std::string& name) const {
  const auto at = initializers_.find(name);
  return at == initializers_.end() ? nullptr : &at->second;
}

const Tensor* ModelTensors::placeholder(const proto::TensorProto& tensor) const {
  if (!tensor.name().starts_with(kKeyPrefix)) return nullptr;
  size_t key = 0;
  const char* const end = tensor.name().data() + tensor.name().size();
  const auto [stop, code] = std::from_chars(tensor.name().data() + kKeyPrefix.size(), end, key);
  return code == std::errc() && stop == end && key < attribute_tensors_.size() ? &attribute_tensors_[key] : nullptr;
}

void ModelTensors::SetPlaceholderDims(proto::ModelProto& model, bool empty) const {
  const auto set = [&](proto::TensorProto& proto, const Tensor* tensor) {
    if (tensor == nullptr || IsSmall(*tensor)) return;
    if (empty) {
      DescribeAsEmpty(proto);
    } else {
      DescribeTensor(*tensor, proto);
    }
  };
  for (proto::TensorProto& tensor : *model.mutable_graph()->mutable_initializer())
    set(tensor, initializer(tensor.name()));
  const auto visit = [&](proto::TensorProto& tensor) { set(tensor, placeholder(tensor)); };
  const auto visit_node = [&](proto::NodeProto& node) {
    for (proto::AttributeProto& attribute : *node.mutable_attribute()) VisitTensors(attribute, visit);
  };
  VisitNodes(*model.mutable_graph()->mutable_node(), visit_node);
  for (proto::FunctionProto& function : *model.mutable_functions()) {
    VisitNodes(function, visit_node);
    for (proto::AttributeProto& attribute : *function.mutable_attribute_proto()) VisitTensors(attribute, visit);
  }
}

}  // namespace pt
