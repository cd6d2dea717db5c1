#include "tools/common/models.h"

#include <algorithm>
#include <filesystem>

#include "partitiontuner/graph/disjoint_union.h"
#include "tools/common/text.h"

namespace pt::tools {
namespace {

namespace fs = std::filesystem;

bool Exists(const std::string& path) {
  std::error_code problem;
  return fs::exists(path, problem);
}

// Paths may hold '=' too: a word that is a file is that file.
ModelToOpen ModelFrom(const std::string& word) {
  const size_t at = word.find('=');
  if (at == std::string::npos || at == 0 || word.find('/') < at || Exists(word)) return {word};
  return {word.substr(at + 1), word.substr(0, at)};
}

Error NoSuchModel(const std::string& name, const std::vector<NamedModel>& models) {
  std::string known;
  for (const NamedModel& model : models) known += (known.empty() ? "" : ", ") + model.name;
  return MakeError(ErrorCode::kUsage, "input.model", "--input " + name + "=DIR: no model is called \"" + name + "\"",
                   "one of " + known);
}

Status CheckWhoseDataItIs(const std::vector<ModelToOpen>& models, const GivenInputs& given) {
  if (models.size() > 1 && !given.by_position.empty()) {
    return MakeError(ErrorCode::kUsage, "input.model", "--input DIR does not say which of the models its data is for",
                     "--input NAME=DIR for each; names are those of the files, or of NAME=FILE");
  }
  if (models.size() == 1 && !given.by_model.empty()) {
    return MakeError(ErrorCode::kUsage, "input.model",
                     "--input " + given.by_model.begin()->first + "=DIR is data of one among several models",
                     "--input DIR");
  }
  return {};
}

// The data of one model goes to its inputs by their names.
Status NameData(const ModelFile& file, const std::string& model, const std::vector<Tensor>& data, GivenInputs& given,
                ModelOptions& options) {
  if (std::ranges::find(file.models, model, &NamedModel::name) == file.models.end()) {
    return NoSuchModel(model, file.models);
  }
  const std::vector<size_t> inputs = InputsByPosition(*file.graph, file.load_report, data.size(), 1, model);
  if (data.size() > inputs.size()) {
    return MakeError(ErrorCode::kInvalidInput, "input.mismatch",
                     "--input " + model + "=DIR holds data for " + std::to_string(data.size()) +
                         " inputs, but that model has " + std::to_string(inputs.size()));
  }
  for (size_t i = 0; i < data.size(); ++i) {
    const Value& input = file.graph->value(file.graph->inputs()[inputs[i]]);
    if (!given.by_name.emplace(input.name, data[i]).second) continue;
    AddDimsOf(input, data[i].dims(), options);
  }
  return {};
}

}  // namespace

Result<std::vector<ModelToOpen>> ModelsFrom(const CommonFlags& flags) {
  std::vector<ModelToOpen> models;
  std::string missing;
  for (const std::string& word : flags.models) {
    models.push_back(ModelFrom(word));
    if (models.size() > 1 && !Exists(models.back().path)) missing += " " + word;
  }
  if (!missing.empty()) {
    return MakeError(ErrorCode::kUsage, "usage.model", "not files, so too many:" + missing,
                     "each word that is not a flag is a model, FILE or NAME=FILE; see --help");
  }
  if (models.size() > 1) PT_CHECK_OK(NamesOfModels(models));
  return models;
}

Result<std::shared_ptr<const ModelFile>> OpenGiven(const CommonFlags& flags, GivenInputs& given,
                                                   ModelOptions& options) {
  PT_ASSIGN(std::vector<ModelToOpen> models, ModelsFrom(flags));
  PT_CHECK_OK(CheckWhoseDataItIs(models, given));
  AddDims(given, options);
  if (models.size() == 1) {
    models[0].given_count = given.by_position.size();
  } else {
    PT_ASSIGN(const std::vector<std::string> names, NamesOfModels(models));
    for (size_t i = 0; i < models.size(); ++i) {
      const auto data = given.by_model.find(names[i]);
      if (data != given.by_model.end()) models[i].given_count = data->second.size();
    }
  }
  PT_ASSIGN(std::shared_ptr<const ModelFile> file, OpenModels(models, options.load));
  for (const auto& [model, data] : given.by_model) PT_CHECK_OK(NameData(*file, model, data, given, options));
  given.by_model.clear();
  return file;
}

Result<std::shared_ptr<const Model>> LoadGiven(Engine& engine, const CommonFlags& flags, GivenInputs& given,
                                               ModelOptions& options) {
  PT_ASSIGN(const std::vector<ModelToOpen> models, ModelsFrom(flags));
  if (models.size() == 1 && models[0].name.empty()) {
    // Straight to what is planned: weights that passes replace are not kept meanwhile.
    PT_CHECK_OK(CheckWhoseDataItIs(models, given));
    AddDims(given, options);
    return engine.Load(models[0].path, options);
  }
  PT_ASSIGN(const std::shared_ptr<const ModelFile> file, OpenGiven(flags, given, options));
  return engine.Load(*file, options);
}

Status CheckOneModel(const CommonFlags& flags, std::string_view flag) {
  if (flags.models.size() < 2) return {};
  return MakeError(
      ErrorCode::kUsage, "usage.combination",
      std::string(flag) + " works on one model, and " + std::to_string(flags.models.size()) + " were given");
}

Status TakeModelsOf(const Plan& plan, const std::string& plan_file, CommonFlags& flags) {
  if (!flags.models.empty()) return {};
  std::vector<std::string> words;
  for (const ModelToOpen& model : ModelsOf(plan)) {
    const fs::path beside = fs::path(plan_file).parent_path() / fs::path(model.path).filename();
    const std::string found = Exists(model.path) ? model.path : Exists(beside.string()) ? beside.string() : "";
    if (found.empty()) {
      Error error = MakeError(
          ErrorCode::kInvalidInput, "plan.model",
          "the plan's model " + model.name + " was " + model.path + ", which is not there, nor beside the plan",
          "name the plan's models, in its order, each as NAME=FILE");
      error.file = plan_file;
      return error;
    }
    words.push_back(model.name + "=" + found);
  }
  flags.models = std::move(words);
  return {};
}

}  // namespace pt::tools
