#include "tools/pt-run/data_sets.h"

#include <algorithm>

#include "partitiontuner/onnx/tensor_proto.h"

namespace pt::tools {
namespace {

// A file that may hold an input, read as the tensor that most inputs are; only the model knows what it is.
struct InputFile {
  std::string path;
  Result<Tensor> tensor;
};

std::vector<InputFile> ReadFiles(const std::string& folder) {
  std::vector<InputFile> files;
  for (std::string& path : InputFilesOf(folder)) {
    Result<Tensor> tensor = LoadTensorProto(path);
    files.push_back({std::move(path), std::move(tensor)});
  }
  return files;
}

Result<Datum> InputFrom(const InputFile& file, const Value& input) {
  if (!input.type.other.empty()) return LoadValueProto(file.path, input.type);
  if (!file.tensor.ok()) return file.tensor.error();
  PT_CHECK_OK(CheckGiven(input, *file.tensor));
  return Datum(*file.tensor);
}

// One value for each graph input; what one request needs is given to each.
Result<std::vector<Datum>> InputsFrom(const std::vector<InputFile>& files, const Model& model,
                                      const std::string& folder) {
  const std::span<const ValueId> inputs = model.graph->inputs();
  const size_t of_one = inputs.size() / model.rewrites.requests;
  const std::vector<size_t> by_position =
      InputsByPosition(*model.graph, model.load_report, files.size(), model.rewrites.requests);
  if (files.size() != by_position.size()) {
    Error error = MakeError(
        ErrorCode::kInvalidInput, "test_data.inputs",
        "the model has " + std::to_string(by_position.size()) + " inputs, the folder " + std::to_string(files.size()));
    error.file = folder;
    return error;
  }
  std::vector<Datum> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto at = std::ranges::find(by_position, i % of_one);
    if (at == by_position.end()) {
      values.emplace_back(model.load_report.defaults.at(model.graph->value(inputs[i % of_one]).name));
      continue;
    }
    PT_ASSIGN(Datum datum,
              InputFrom(files[static_cast<size_t>(at - by_position.begin())], model.graph->value(inputs[i])));
    values.push_back(std::move(datum));
  }
  return values;
}

}  // namespace

Result<DataSet> DataSets::Read(const std::string& folder) {
  PT_ASSIGN(ModelOptions options, flags_.model_options());
  const std::vector<InputFile> files = ReadFiles(folder);
  options.load.given_count = files.size();
  for (const InputFile& file : files) {
    options.input_dims.push_back(file.tensor.ok() ? file.tensor->dims() : std::vector<int64_t>());
  }
  Result<std::shared_ptr<const ReadyModel>> made = kept_.Get(options.input_dims, [&] { return Make(options); });
  if (!made.ok()) {
    const auto broken = std::find_if(files.begin(), files.end(), [](const InputFile& f) { return !f.tensor.ok(); });
    const bool blame_model = broken == files.end() || made.error().code == ErrorCode::kUnsupported;
    return blame_model ? made.error() : broken->tensor.error();
  }
  ready_ = std::move(*made);
  const Graph& graph = *ready_->model->graph;
  DataSet data;
  data.name = folder;
  PT_ASSIGN(data.inputs, InputsFrom(files, *ready_->model, folder));
  const uint32_t requests = ready_->model->rewrites.requests;
  std::vector<ValueType> types;
  for (size_t i = 0; i < graph.outputs().size() / requests; ++i) types.push_back(graph.value(graph.outputs()[i]).type);
  PT_ASSIGN(const auto expected, LoadExpectedOutputs(folder, types));
  for (uint32_t i = 0; i < requests; ++i) data.expected.insert(data.expected.end(), expected.begin(), expected.end());
  return data;
}

Result<std::shared_ptr<const ReadyModel>> DataSets::Make(const ModelOptions& options) {
  std::shared_ptr<const ModelFile>& file = files_[options.load.given_count];
  if (file == nullptr) {
    PT_ASSIGN(file, OpenModel(flags_.common.model, options.load));
  }
  return MakeReady(engine_, *file, options, flags_, suite_, console_);
}

}  // namespace pt::tools
