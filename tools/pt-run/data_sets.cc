#include "tools/pt-run/data_sets.h"

#include <algorithm>

#include "partitiontuner/graph/disjoint_union.h"
#include "partitiontuner/onnx/tensor_proto.h"
#include "tools/common/models.h"
#include "tools/common/text.h"

namespace pt::tools {

// A file that may hold an input, read as the tensor that most inputs are; only the model knows what it is.
struct InputFile {
  std::string path;
  Result<Tensor> tensor;
};

// A folder and what it holds.
struct FolderFiles {
  ModelFolder of;
  std::vector<InputFile> files;
};

namespace {

Error NotEveryModel(std::string message, const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ",") + name + "=DIR";
  return MakeError(ErrorCode::kUsage, "usage.value", std::move(message), "--verify " + all + ", or reference");
}

// By index among the first `count` outputs: those of the model, all where it is empty.
std::vector<size_t> OutputsOf(const Graph& graph, size_t count, const std::string& model) {
  std::vector<size_t> outputs;
  for (size_t i = 0; i < count; ++i) {
    const bool its = model.empty() || graph.value(graph.outputs()[i]).name.starts_with(model + kModelSeparator);
    if (its) outputs.push_back(i);
  }
  return outputs;
}

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

// By input of the file: the file that its data is in; null for one that stays at its default. Errors: kInvalidInput
// where a folder does not hold what its model needs.
Result<std::vector<const InputFile*>> FilesByInput(const std::vector<FolderFiles>& folders, const Graph& graph,
                                                   const LoadReport& report, size_t requests) {
  std::vector<const InputFile*> by_input(graph.inputs().size() / requests, nullptr);
  for (const FolderFiles& folder : folders) {
    const std::vector<size_t> by_position =
        InputsByPosition(graph, report, folder.files.size(), requests, folder.of.model);
    if (folder.files.size() != by_position.size()) {
      Error error = MakeError(ErrorCode::kInvalidInput, "test_data.inputs",
                              (folder.of.model.empty() ? "the model" : "model " + folder.of.model) + " has " +
                                  std::to_string(by_position.size()) + " inputs, the folder " +
                                  std::to_string(folder.files.size()));
      error.file = folder.of.folder;
      return error;
    }
    for (size_t i = 0; i < by_position.size(); ++i) by_input[by_position[i]] = &folder.files[i];
  }
  return by_input;
}

// One value for each graph input; what one request needs is given to each.
Result<std::vector<Datum>> InputsFrom(const std::vector<FolderFiles>& folders, const Model& model) {
  const std::span<const ValueId> inputs = model.graph->inputs();
  PT_ASSIGN(const std::vector<const InputFile*> by_input,
            FilesByInput(folders, *model.graph, model.load_report, model.rewrites.requests));
  std::vector<Datum> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t of_one = i % by_input.size();
    if (by_input[of_one] == nullptr) {
      values.emplace_back(model.load_report.defaults.at(model.graph->value(inputs[of_one]).name));
      continue;
    }
    PT_ASSIGN(Datum datum, InputFrom(*by_input[of_one], model.graph->value(inputs[i])));
    values.push_back(std::move(datum));
  }
  return values;
}

// What the folders say that the outputs are, in their order; once for each request.
Result<std::vector<ExpectedTensor>> OutputsFrom(const std::vector<FolderFiles>& folders, const Model& model) {
  const Graph& graph = *model.graph;
  const uint32_t requests = model.rewrites.requests;
  std::vector<ExpectedTensor> of_one;
  for (const FolderFiles& folder : folders) {
    std::vector<ValueType> types;
    for (const size_t output : OutputsOf(graph, graph.outputs().size() / requests, folder.of.model)) {
      types.push_back(graph.value(graph.outputs()[output]).type);
    }
    PT_ASSIGN(const auto expected, LoadExpectedOutputs(folder.of.folder, types));
    of_one.insert(of_one.end(), expected.begin(), expected.end());
  }
  std::vector<ExpectedTensor> all;
  for (uint32_t i = 0; i < requests; ++i) all.insert(all.end(), of_one.begin(), of_one.end());
  return all;
}

// The first file that could not be read as a tensor, which may be why the model was refused.
const InputFile* BrokenIn(const std::vector<FolderFiles>& folders) {
  for (const FolderFiles& folder : folders) {
    for (const InputFile& file : folder.files) {
      if (!file.tensor.ok()) return &file;
    }
  }
  return nullptr;
}

std::vector<int64_t> DimsIn(const InputFile& file) {
  return file.tensor.ok() ? file.tensor->dims() : std::vector<int64_t>();
}

// "DIR", or "a=DIR, b=DIR".
std::string NameOf(std::span<const ModelFolder> folders) {
  std::string name;
  for (const ModelFolder& folder : folders) {
    name += (name.empty() ? "" : ", ") + (folder.model.empty() ? "" : folder.model + "=") + folder.folder;
  }
  return name;
}

}  // namespace

Result<DataSet> DataSets::Read(std::span<const ModelFolder> folders) {
  std::vector<FolderFiles> read;
  Key key;
  for (const ModelFolder& folder : folders) {
    read.push_back({folder, ReadFiles(folder.folder)});
    key.counts.push_back(read.back().files.size());
    for (const InputFile& file : read.back().files) key.dims.push_back(DimsIn(file));
  }
  Result<std::shared_ptr<const ReadyModel>> made = kept_.Get(key, [&] { return Make(read, key.counts); });
  if (!made.ok()) {
    const InputFile* const broken = BrokenIn(read);
    const bool blame_model = broken == nullptr || made.error().code == ErrorCode::kUnsupported;
    return blame_model ? made.error() : broken->tensor.error();
  }
  ready_ = std::move(*made);
  DataSet data;
  data.name = NameOf(folders);
  PT_ASSIGN(data.inputs, InputsFrom(read, *ready_->model));
  PT_ASSIGN(data.expected, OutputsFrom(read, *ready_->model));
  return data;
}

Result<std::shared_ptr<const ReadyModel>> DataSets::Make(const std::vector<FolderFiles>& folders,
                                                         const std::vector<size_t>& counts) {
  PT_ASSIGN(ModelOptions options, flags_.model_options());
  if (folders.size() == 1) options.load.given_count = counts[0];
  std::shared_ptr<const ModelFile>& file = files_[counts];
  if (file == nullptr) {
    PT_ASSIGN(std::vector<ModelToOpen> models, ModelsFrom(flags_.common));
    for (size_t i = 0; i < models.size(); ++i) models[i].given_count = counts[i];
    PT_ASSIGN(file, OpenModels(models, options.load));
  }
  if (folders.size() == 1) {
    for (const InputFile& input : folders[0].files) options.input_dims.push_back(DimsIn(input));
  } else {
    PT_ASSIGN(const auto by_input, FilesByInput(folders, *file->graph, file->load_report, 1));
    for (size_t i = 0; i < by_input.size(); ++i) {
      if (by_input[i] == nullptr) continue;
      AddDimsOf(file->graph->value(file->graph->inputs()[i]), DimsIn(*by_input[i]), options);
    }
  }
  return MakeReady(engine_, *file, options, flags_, suite_, console_);
}

Result<std::vector<std::vector<ModelFolder>>> FolderSets(const RunFlags& flags) {
  std::vector<std::vector<ModelFolder>> sets;
  if (flags.common.models.size() < 2) {
    PT_ASSIGN(const std::vector<std::string> folders, DataSetFolders(flags.verify));
    for (const std::string& folder : folders) sets.push_back({{"", folder}});
    return sets;
  }
  PT_ASSIGN(const std::vector<ModelToOpen> models, ModelsFrom(flags.common));
  PT_ASSIGN(const std::vector<std::string> names, NamesOfModels(models));
  std::map<std::string, std::vector<std::string>> by_model;
  for (const std::string& part : SplitList(flags.verify)) {
    const size_t at = part.find('=');
    const std::string name = part.substr(0, at);
    if (at == std::string::npos || std::ranges::find(names, name) == names.end()) {
      return NotEveryModel("--verify " + part + " is not data of one of the models", names);
    }
    PT_ASSIGN(by_model[name], DataSetFolders(part.substr(at + 1)));
  }
  size_t most = 0;
  for (const auto& [name, folders] : by_model) most = std::max(most, folders.size());
  for (size_t i = 0; i < most; ++i) {
    std::vector<ModelFolder>& set = sets.emplace_back();
    for (const std::string& name : names) {
      if (!by_model.contains(name)) return NotEveryModel("--verify has no data of model " + name, names);
      set.push_back({name, by_model[name][i % by_model[name].size()]});
    }
  }
  if (sets.empty()) return NotEveryModel("--verify names no data", names);
  return sets;
}

}  // namespace pt::tools
