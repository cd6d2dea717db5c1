#include "partitiontuner/cost/work_features.h"

#include <algorithm>

#include "lib/cost/key_reader.h"
#include "partitiontuner/candidate/layout.h"

namespace pt {
namespace {

constexpr std::array<std::string_view, kWorkFeatureCount> kNames = {
    "flops",       "bytes",          "input_bytes", "constant_bytes", "output_bytes", "inner_bytes",     "stored_bytes",
    "input_batch", "input_channels", "input_space", "input_row",      "output_batch", "output_channels", "output_space",
    "output_row",  "kernel",         "stride",      "groups",         "nodes",        "reuse_kib"};
static_assert(!kNames.back().empty(), "every feature has a name");

double Product(std::span<const int64_t> dims) {
  double product = 1;
  for (const int64_t dim : dims) product *= static_cast<double>(dim);
  return product;
}

constexpr double kMostWork = 1e18;

double PlainBytes(const KeyTensor& tensor) { return Product(tensor.dims) * BitsOf(tensor.type) / 8.0; }

double StoredBytes(const KeyForm& form, const std::vector<int64_t>& dims) {
  const Result<Layout> layout = LayoutFromString(form.layout);
  if (!layout.ok()) return 0;
  const Result<TensorLayout> tensor = DenseLayout(form.storage, dims, *layout);
  if (!tensor.ok()) return 0;
  const Result<uint64_t> bytes = BytesOf(*tensor);
  return bytes.ok() ? static_cast<double>(*bytes) : 0.0;
}

std::string FormText(const KeyForm& form) {
  return std::string(DataTypeName(form.storage)) + ":" + std::string(form.layout) + (form.quantised ? "q" : "");
}

// Four features from `first` on.
void AddShape(WorkFeature first, const std::vector<int64_t>& dims, WorkFeatures& features) {
  const auto dim = [&](size_t i) { return i < dims.size() ? static_cast<double>(dims[i]) : 1.0; };
  double* values = &features[first];
  values[0] = dim(0);
  values[1] = dim(1);
  values[2] = dims.size() > 2 ? Product(std::span(dims).subspan(2)) : 1.0;
  values[3] = dims.empty() ? 1.0 : static_cast<double>(dims.back());
}

void AddStored(const std::vector<KeyForm>& forms, char kind, const RunKey& key, WorkFeatures& features) {
  for (size_t i = 0; i < forms.size(); ++i) {
    const KeyTensor* tensor = key.find(kind + std::to_string(i));
    if (tensor != nullptr) features[WorkFeature::kStoredBytes] += StoredBytes(forms[i], tensor->dims);
  }
}

WorkFeature TrafficOf(std::string_view name, const KeyTensor& tensor) {
  if (tensor.constant) return WorkFeature::kConstantBytes;
  if (name.starts_with('i')) return WorkFeature::kInputBytes;
  return name.starts_with('o') ? WorkFeature::kOutputBytes : WorkFeature::kInnerBytes;
}

// Product of the integers of the first node that has this attribute.
std::optional<double> FirstProduct(const RunKey& key, std::string_view attribute) {
  for (const KeyNode& node : key.nodes) {
    const auto at = node.attributes.find(attribute);
    if (at == node.attributes.end()) continue;
    const std::string list =
        at->second.starts_with('[') ? std::string(at->second) : "[" + std::string(at->second) + "]";
    if (const auto numbers = ReadIntegers(list)) return Product(*numbers);
  }
  return std::nullopt;
}

// kernel_shape may be left out: the weights have it then.
double KernelOf(const RunKey& key) {
  if (const std::optional<double> given = FirstProduct(key, "kernel_shape")) return *given;
  for (const auto& [name, tensor] : key.tensors) {
    if (tensor.constant && tensor.dims.size() > 2) return Product(std::span(tensor.dims).subspan(2));
  }
  return 1;
}

// With the attribute that says which way it goes through memory, if it has one.
std::string OperatorText(const KeyNode& node) {
  std::string text(node.op);
  for (const std::string_view attribute : {"perm", "axis"}) {
    const auto at = node.attributes.find(attribute);
    if (at != node.attributes.end()) text += " " + std::string(attribute) + "=" + std::string(at->second);
  }
  return text;
}

WorkFeatures OfRun(const RunKey& key) {
  WorkFeatures features;
  features.style = std::string(key.variant) + " elision " + std::string(key.elision);
  for (const std::vector<KeyForm>* forms : {&key.in, &key.out}) {
    features.style += forms == &key.in ? " in" : " out";
    for (const KeyForm& form : *forms) features.style += " " + FormText(form);
  }
  for (const KeyNode& node : key.nodes) {
    features.operators += (features.operators.empty() ? "" : ", ") + OperatorText(node);
  }
  for (const auto& [name, tensor] : key.tensors) features[TrafficOf(name, tensor)] += PlainBytes(tensor);
  AddStored(key.in, 'i', key, features);
  AddStored(key.out, 'o', key, features);
  if (const KeyTensor* input = key.find("i0")) AddShape(WorkFeature::kInputBatch, input->dims, features);
  if (const KeyTensor* output = key.find("o0")) AddShape(WorkFeature::kOutputBatch, output->dims, features);
  features[WorkFeature::kKernel] = KernelOf(key);
  features[WorkFeature::kStride] = FirstProduct(key, "strides").value_or(1);
  features[WorkFeature::kGroups] = FirstProduct(key, "group").value_or(1);
  features[WorkFeature::kNodes] = static_cast<double>(key.nodes.size());
  features[WorkFeature::kReuseKib] = static_cast<double>(key.reuse_kib);
  return features;
}

WorkFeatures OfReorder(const ReorderKeyWords& key) {
  WorkFeatures features;
  features.style = FormText(key.from) + " > " + FormText(key.to);
  features[WorkFeature::kInputBytes] = PlainBytes({false, key.from.storage, key.dims});
  features[WorkFeature::kOutputBytes] = PlainBytes({false, key.to.storage, key.dims});
  features[WorkFeature::kStoredBytes] = StoredBytes(key.from, key.dims) + StoredBytes(key.to, key.dims);
  AddShape(WorkFeature::kInputBatch, key.dims, features);
  AddShape(WorkFeature::kOutputBatch, key.dims, features);
  features[WorkFeature::kReuseKib] = static_cast<double>(key.reuse_kib);
  return features;
}

}  // namespace

std::string_view WorkFeatureName(WorkFeature feature) { return kNames[static_cast<size_t>(feature)]; }

WorkFeatures FeaturesOf(std::string_view key_text, double flops, double bytes) {
  WorkFeatures features;
  if (const auto run = ReadRunKey(key_text)) {
    features = OfRun(*run);
  } else if (const auto reorder = ReadReorderKey(key_text)) {
    features = OfReorder(*reorder);
  }
  features[WorkFeature::kFlops] = flops;
  features[WorkFeature::kBytes] = bytes;
  // A profile may come from anywhere: what is not an amount says nothing.
  for (double& value : features.values) value = value > 0 ? std::min(value, kMostWork) : 0;
  return features;
}

}  // namespace pt
