#include "tools/common/inputs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numbers>
#include <set>

#include "partitiontuner/engine/npy.h"
#include "partitiontuner/engine/test_data.h"
#include "partitiontuner/graph/index_inputs.h"
#include "partitiontuner/graph/visit_type.h"
#include "partitiontuner/onnx/tensor_proto.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/closest_word.h"
#include "partitiontuner/support/dims_text.h"
#include "partitiontuner/support/random.h"
#include "tools/common/text.h"

namespace pt::tools {
namespace {

// Integers that select from an axis must lie within it. Follows the input to whoever indexes with
// it, through operators that keep the numbers; the least extent met, or nothing when it indexes
// nothing.
std::optional<int64_t> IndexExtent(const Graph& graph, ValueId input) {
  constexpr std::string_view kKeepsNumbers[] = {"Cast",      "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Identity",
                                                "Transpose", "Concat",  "Slice",     "Split",   "Expand"};
  std::optional<int64_t> extent;
  std::vector<ValueId> open = {input};
  std::set<ValueId> seen(open.begin(), open.end());
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    for (const Use& use : graph.value(value).uses) {
      const Node& node = graph.node(use.node);
      if (const std::optional<int64_t> most = MostIndex(graph, node, use.input)) {
        extent = std::min(extent.value_or(*most + 1), *most + 1);
      } else if (std::ranges::find(kKeepsNumbers, node.op) != std::end(kKeepsNumbers)) {
        for (const ValueId output : node.outputs) {
          if (output.valid() && seen.insert(output).second) open.push_back(output);
        }
      }
    }
  }
  return extent;
}

double RandomReal(const GivenInputs& given, Random& random) {
  if (!given.standard_normal) return random.Uniform(given.random_low, given.random_high);
  // Box and Muller; from (0, 1] since the logarithm of zero is none.
  const double radius = std::sqrt(-2 * std::log(1 - random.Uniform(0, 1)));
  return radius * std::cos(2 * std::numbers::pi * random.Uniform(0, 1));
}

Result<Tensor> RandomTensor(const Graph& graph, ValueId id, const std::vector<int64_t>& dims, const GivenInputs& given,
                            Random& random) {
  const Value& value = graph.value(id);
  const DataType type = value.type.type;
  const auto count = CheckedProduct(dims);
  if (!VisitType(type, []<typename T>() { return kIsNumber<T>; })) {
    return MakeError(
        ErrorCode::kUnsupported, "input.random_type",
        "no random numbers of type " + std::string(DataTypeName(type)) + " for input \"" + value.name + "\"",
        "--input " + value.name + "=@FILE.pb");
  }
  if (!count || !CheckedMul(*count, BytesOf(type))) {
    return MakeError(ErrorCode::kOutOfMemory, "input.size", "input \"" + value.name + "\" is too large");
  }
  const auto extent = IsInteger(type) ? IndexExtent(graph, id) : std::nullopt;
  int64_t low = 0, high = 1;
  if (type != DataType::kBool && given.random_range_given) {
    low = static_cast<int64_t>(given.random_low);
    high = static_cast<int64_t>(given.random_high);
  }
  if (extent) low = 0, high = std::max<int64_t>(*extent - 1, 0);
  std::string bytes(static_cast<size_t>(*count * BytesOf(type)), '\0');
  VisitType(type, [&]<typename T>() {
    if constexpr (kIsNumber<T>) {
      for (int64_t i = 0; i < *count; ++i) {
        const T drawn = kIsFloat<T> ? ElementOf<T>(RandomReal(given, random))
                                    : ElementOf<T>(low + static_cast<int64_t>(random.Below(static_cast<uint64_t>(
                                                             std::max<int64_t>(high - low, 0) + 1))));
        std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof drawn, &drawn, sizeof drawn);
      }
    }
  });
  return Tensor::FromBytes(type, dims, std::move(bytes));
}

Error Wrong(std::string message) { return MakeError(ErrorCode::kInvalidInput, "input.mismatch", std::move(message)); }

}  // namespace

Result<Tensor> LoadTensorFile(const std::string& path) {
  if (path.ends_with(".npy")) return LoadNpy(path);
  if (path.ends_with(".pb")) return LoadTensorProto(path);
  Error error = MakeError(ErrorCode::kUsage, "input.form", "input files end in .npy or .pb");
  error.file = path;
  return error;
}

Result<GivenInputs> ReadInputs(const std::vector<std::string>& flags) {
  GivenInputs given;
  for (const std::string& flag : flags) {
    if (flag == "random") continue;
    if (flag.starts_with("random[") && flag.ends_with(']')) {
      const std::vector<std::string> ends = SplitList(std::string_view(flag).substr(7, flag.size() - 8));
      if (ends.size() != 2)
        return MakeError(ErrorCode::kUsage, "usage.value", "--input " + flag + " is not random[LO,HI]");
      PT_ASSIGN(given.random_low, ParseNumber(ends[0], "--input random"));
      PT_ASSIGN(given.random_high, ParseNumber(ends[1], "--input random"));
      if (given.random_high < given.random_low) {
        return MakeError(ErrorCode::kUsage, "usage.value", "--input " + flag + ": the second number is smaller");
      }
      given.random_range_given = true;
      continue;
    }
    if (const size_t at = flag.rfind("=@"); at != std::string::npos) {
      PT_ASSIGN(Tensor tensor, LoadTensorFile(flag.substr(at + 2)));
      given.by_name.insert_or_assign(flag.substr(0, at), std::move(tensor));
      continue;
    }
    const std::optional<ModelFolder> folder = FolderFrom(flag);
    if (!folder) {
      return MakeError(ErrorCode::kUsage, "usage.value",
                       "--input " + flag + " is neither a folder nor NAME=DIR nor INPUT=@FILE nor random[LO,HI]",
                       "--input x=@data.npy, or the folder that holds input_0.pb");
    }
    std::vector<Tensor>& data = folder->model.empty() ? given.by_position : given.by_model[folder->model];
    for (const std::string& path : InputFilesOf(folder->folder)) {
      PT_ASSIGN(Tensor tensor, LoadTensorProto(path));
      data.push_back(std::move(tensor));
    }
  }
  return given;
}

std::optional<ModelFolder> FolderFrom(const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::is_directory(text, ignored)) return ModelFolder{"", text};
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || !std::filesystem::is_directory(text.substr(at + 1), ignored)) return {};
  return ModelFolder{text.substr(0, at), text.substr(at + 1)};
}

std::vector<std::string> InputFilesOf(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  while (true) {
    std::string path = (std::filesystem::path(folder) / ("input_" + std::to_string(files.size()) + ".pb")).string();
    if (!std::filesystem::exists(path, ignored)) return files;
    files.push_back(std::move(path));
  }
}

Status CheckGiven(const Value& input, const Tensor& given) {
  const auto dims = input.type.static_dims();
  // A scalar is often saved as one element of rank 1.
  const bool scalar = dims && dims->empty() && given.element_count() == 1;
  if (given.type() == input.type.type && (!dims || *dims == given.dims() || scalar)) return {};
  return Wrong("input \"" + input.name + "\" is " + ToString(input.type) + ", the given data is " +
               std::string(DataTypeName(given.type())) + DimsText(given.dims()));
}

namespace {

// Data for one request is given to each.
const Tensor* DataByPosition(const Model& model, const GivenInputs& given, size_t input) {
  const size_t count = given.by_position.size(), of_one = model.graph->inputs().size() / model.rewrites.requests;
  if (count > of_one) return input < count ? &given.by_position[input] : nullptr;
  const std::vector<size_t> by_position =
      InputsByPosition(*model.graph, model.load_report, count, model.rewrites.requests);
  const auto at = std::ranges::find(by_position, input % of_one);
  const size_t position = static_cast<size_t>(at - by_position.begin());
  return position < count ? &given.by_position[position] : nullptr;
}

}  // namespace

const Tensor* DataOf(const Model& model, const GivenInputs& given, size_t input) {
  const Graph& graph = *model.graph;
  const auto named = given.by_name.find(graph.value(graph.inputs()[input]).name);
  if (named != given.by_name.end()) return &named->second;
  if (const Tensor* const by_position = DataByPosition(model, given, input)) return by_position;
  if (model.constant_inputs[input]) return &*model.constant_inputs[input];
  const size_t of_one = graph.inputs().size() / model.rewrites.requests;
  const auto by_default = model.load_report.defaults.find(graph.value(graph.inputs()[input % of_one]).name);
  return by_default == model.load_report.defaults.end() ? nullptr : &by_default->second;
}

Result<std::vector<std::string>> DataSetFolders(const std::string& folder) {
  std::error_code ignored;
  const std::filesystem::path path(folder);
  if (!std::filesystem::is_directory(path, ignored)) {
    Error error = MakeError(ErrorCode::kInvalidInput, "test_data.folder", "no such folder",
                            "the folder that holds input_0.pb, or one of test_data_set_* folders");
    error.file = folder;
    return error;
  }
  const bool holds_data = std::filesystem::exists(path / "input_0.pb", ignored) ||
                          std::filesystem::exists(path / "output_0.pb", ignored) ||
                          std::filesystem::exists(path / "output_0.sample.json", ignored);
  std::vector<std::string> folders = FindTestDataSets(folder);
  if (holds_data || folders.empty()) folders = {folder};
  return folders;
}

Result<std::vector<Tensor>> DataSetInputs(const Model& model, const GivenInputs& given, const std::string& folder) {
  const size_t wanted =
      InputsByPosition(*model.graph, model.load_report, given.by_position.size(), model.rewrites.requests).size();
  if (given.by_position.size() != wanted) {
    Error error = MakeError(
        ErrorCode::kInvalidInput, "test_data.inputs",
        "the model has " + std::to_string(wanted) + " inputs, the folder " + std::to_string(given.by_position.size()));
    error.file = folder;
    return error;
  }
  return MakeInputs(model, given, 0);
}

void AddDimsOf(const Value& input, const std::vector<int64_t>& dims, ModelOptions& options) {
  options.load.given_inputs.insert(input.name);
  if (!input.type.other.empty()) return;  // no tensor: its file says nothing of dims
  // A scalar is often saved as one element of rank 1.
  const bool scalar = input.type.ranked && input.type.dims.empty() && CheckedProduct(dims) == 1;
  if (!scalar) options.shapes.emplace(input.name, dims);
}

void AddDims(const GivenInputs& given, ModelOptions& options) {
  for (const auto& [name, tensor] : given.by_name) {
    options.shapes.emplace(name, tensor.dims());
    options.load.given_inputs.insert(name);
  }
  for (const Tensor& tensor : given.by_position) options.input_dims.push_back(tensor.dims());
  if (!given.by_position.empty()) options.load.given_count = given.by_position.size();
}

Result<std::vector<Tensor>> MakeInputs(const Model& model, const GivenInputs& given, uint64_t seed) {
  const Graph& graph = *model.graph;
  if (given.by_position.size() > graph.inputs().size()) {
    return Wrong(std::to_string(given.by_position.size()) + " inputs were given, the model has " +
                 std::to_string(graph.inputs().size()));
  }
  for (const auto& given_input : given.by_name) {
    const std::string& name = given_input.first;
    if (std::ranges::none_of(graph.inputs(), [&](ValueId id) { return graph.value(id).name == name; })) {
      std::string known;
      std::vector<std::string_view> names;
      for (const ValueId id : graph.inputs()) {
        known += (known.empty() ? "" : ", ") + graph.value(id).name;
        names.push_back(graph.value(id).name);
      }
      const std::string_view closest = ClosestWord(name, names);
      return MakeError(ErrorCode::kUsage, "input.unknown",
                       "the model has no input \"" + name + "\"" +
                           (closest.empty() ? "" : "; did you mean \"" + std::string(closest) + "\"?"),
                       "its inputs: " + known);
    }
  }
  Random random(seed);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    const auto dims = value.type.static_dims();
    const Tensor* const found = DataOf(model, given, i);
    if (found == nullptr) {
      if (!dims) {
        return MakeError(ErrorCode::kUnsupported, "input.dims",
                         "input \"" + value.name + "\" is " + ToString(value.type) + ": no data can be drawn for it");
      }
      PT_ASSIGN(Tensor tensor, RandomTensor(graph, graph.inputs()[i], *dims, given, random));
      inputs.push_back(std::move(tensor));
      continue;
    }
    PT_CHECK_OK(CheckGiven(value, *found));
    inputs.push_back(*found);
  }
  return inputs;
}

}  // namespace pt::tools
