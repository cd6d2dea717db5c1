#include "partitiontuner/engine/several_models.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "partitiontuner/graph/disjoint_union.h"
#include "partitiontuner/support/caught.h"

namespace pt {
namespace {

Status CheckNameOfModel(const std::string& name) {
  if (name.find(kModelSeparator) == std::string::npos && name.find('=') == std::string::npos) return {};
  return MakeError(ErrorCode::kUsage, "models.name", "\"" + name + "\" cannot name a model: it holds '/' or '='",
                   "a name such as detector");
}

// What the options say of this model, in its own words.
LoadOptions OptionsFor(const ModelToOpen& model, const std::string& name, const LoadOptions& options) {
  LoadOptions own = options;
  own.given_count = model.given_count;
  own.given_inputs.clear();
  const std::string front = name + kModelSeparator;
  for (const std::string& input : options.given_inputs) {
    if (input.starts_with(front)) own.given_inputs.insert(input.substr(front.size()));
  }
  return own;
}

// What happened to each, in the words of the whole.
void AddReport(const std::string& model, const LoadReport& of_one, LoadReport& report) {
  report.file_bytes += of_one.file_bytes;
  report.unknown_fields += of_one.unknown_fields;
  report.ir_version = std::max(report.ir_version, of_one.ir_version);
  report.file_opset = std::max(report.file_opset, of_one.file_opset);
  report.opset = of_one.opset;
  report.inlined_functions += of_one.inlined_functions;
  for (const std::string& input : of_one.inputs_with_default) {
    report.inputs_with_default.push_back(NameIn(model, input));
  }
  for (const auto& [input, tensor] : of_one.defaults) report.defaults.emplace(NameIn(model, input), tensor);
  for (const std::string& warning : of_one.warnings) report.warnings.push_back(model + ": " + warning);
  for (const auto& [value, type] : of_one.declared_types) {
    report.declared_types.emplace(NameIn(model, value), TypeIn(model, type));
  }
}

Status CheckNodes(std::span<const NamedGraph> graphs, const Limits& limits) {
  uint64_t nodes = 0;
  for (const NamedGraph& graph : graphs) nodes += graph.graph->nodes().size();
  if (limits.nodes == 0 || nodes <= limits.nodes) return {};
  return MakeError(ErrorCode::kInvalidInput, "models.limit",
                   "the models have " + std::to_string(nodes) + " nodes together, over the limit of " +
                       std::to_string(limits.nodes));
}

}  // namespace

Result<std::vector<std::string>> NamesOfModels(const std::vector<ModelToOpen>& models) {
  std::set<std::string> taken;
  for (const ModelToOpen& model : models) {
    if (model.name.empty()) continue;
    PT_CHECK_OK(CheckNameOfModel(model.name));
    if (taken.insert(model.name).second) continue;
    return MakeError(ErrorCode::kUsage, "models.name", "two models are called \"" + model.name + "\"",
                     "give each a name of its own");
  }
  std::vector<std::string> names;
  for (const ModelToOpen& model : models) {
    if (!model.name.empty()) {
      names.push_back(model.name);
      continue;
    }
    std::string stem = std::filesystem::path(model.path).stem().string();
    std::ranges::replace(stem, '=', '_');
    if (stem.empty()) stem = "model";
    std::string name = stem;
    for (int number = 2; !taken.insert(name).second; ++number) name = stem + "-" + std::to_string(number);
    names.push_back(std::move(name));
  }
  return names;
}

Result<std::shared_ptr<const ModelFile>> OpenModels(const std::vector<ModelToOpen>& models,
                                                    const LoadOptions& options) try {
  if (models.empty()) return MakeError(ErrorCode::kUsage, "models.none", "no model was given");
  if (models.size() == 1 && models[0].name.empty()) {
    LoadOptions alone = options;
    alone.given_count = models[0].given_count;
    return OpenModel(models[0].path, alone);
  }
  if (models.size() == 1) {
    return MakeError(ErrorCode::kUsage, "models.name",
                     "a single model has no name in front of its own: \"" + models[0].name + "\"",
                     "leave out the name, or give another model");
  }
  PT_ASSIGN(const std::vector<std::string> names, NamesOfModels(models));
  auto joined = std::make_shared<ModelFile>();
  std::vector<std::shared_ptr<const ModelFile>> files;
  std::vector<NamedGraph> graphs;
  for (size_t i = 0; i < models.size(); ++i) {
    PT_ASSIGN(std::shared_ptr<const ModelFile> file,
              OpenModel(models[i].path, OptionsFor(models[i], names[i], options)));
    AddReport(names[i], file->load_report, joined->load_report);
    joined->path += (i == 0 ? "" : " + ") + models[i].path;
    joined->models.push_back({names[i], models[i].path, ToHex(ModelHash(*file->graph))});
    graphs.push_back({names[i], file->graph.get()});
    files.push_back(std::move(file));
  }
  PT_CHECK_OK(CheckNodes(graphs, options.limits));
  PT_ASSIGN(Graph graph, DisjointUnion(graphs));
  joined->graph = std::make_shared<const Graph>(std::move(graph));
  return std::shared_ptr<const ModelFile>(std::move(joined));
} catch (...) {
  return Caught("model", "read several models");
}

std::vector<ModelToOpen> ModelsOf(const Plan& plan) {
  std::vector<ModelToOpen> models;
  for (const NamedModel& model : plan.made_for.models) models.push_back({model.file, model.name});
  return models;
}

std::vector<std::string> ModelDifferences(const Model& model, const Plan& plan) {
  const std::vector<NamedModel>&then = plan.made_for.models, &now = model.models;
  std::vector<std::string> lines;
  const auto list = [](const std::vector<NamedModel>& models) {
    std::string text;
    for (const NamedModel& one : models) text += (text.empty() ? "" : ", ") + one.name;
    return text.empty() ? "one model" : text;
  };
  if (!std::ranges::equal(then, now, {}, &NamedModel::name, &NamedModel::name)) {
    lines.push_back("models: plan made for " + list(then) + ", now " + list(now));
    return lines;
  }
  for (size_t i = 0; i < now.size(); ++i) {
    if (then[i].hash == now[i].hash) continue;
    const auto other = std::ranges::find(then, now[i].hash, &NamedModel::hash);
    lines.push_back("model " + now[i].name + ": " + now[i].file + " is not what " + then[i].file + " was" +
                    (other != then.end() ? ", but what the plan knows as " + other->name : "") + " (plan made for " +
                    then[i].hash + ", this is " + now[i].hash + ")");
  }
  return lines;
}

}  // namespace pt
