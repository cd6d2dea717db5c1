#include "tools/pt-run/suite_case.h"

#include <algorithm>
#include <filesystem>

#include "partitiontuner/engine/test_data.h"

namespace pt::tools {
namespace {

namespace fs = std::filesystem;
constexpr CaseOutcome kOutcomes[] = {CaseOutcome::kPass, CaseOutcome::kFail, CaseOutcome::kUnsupported,
                                     CaseOutcome::kError};

// The cases that this one folder makes.
void AddCasesOf(const fs::path& root, const fs::path& folder, std::vector<SuiteCase>& cases) {
  std::vector<fs::path> models;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    if (at->path().extension() == ".onnx" && at->is_regular_file(problem)) models.push_back(at->path());
  }
  const std::vector<std::string> sets = FindTestDataSets(folder.string());
  const auto named = std::find(models.begin(), models.end(), folder / "model.onnx");
  if (!sets.empty() && (named != models.end() || models.size() == 1)) {
    const fs::path relative = folder.lexically_relative(root);
    const std::string name = relative.empty() || relative == "."
                                 ? fs::absolute(folder).lexically_normal().filename().string()
                                 : relative.generic_string();
    cases.push_back({name, (named != models.end() ? *named : models[0]).string(), sets, ""});
    return;
  }
  for (const fs::path& model : models) {
    const fs::path output = model.parent_path() / (model.stem().string() + "_output_0.pb");
    if (!fs::exists(output, problem)) continue;
    const fs::path name = (model.parent_path() / model.stem()).lexically_relative(root);
    cases.push_back({name.generic_string(), model.string(), {}, output.string()});
  }
}

}  // namespace

const char* OutcomeName(CaseOutcome outcome) {
  switch (outcome) {
    case CaseOutcome::kPass:
      return "PASS";
    case CaseOutcome::kFail:
      return "FAIL";
    case CaseOutcome::kUnsupported:
      return "UNSUPPORTED";
    case CaseOutcome::kError:
      break;
  }
  return "ERROR";
}

Result<std::vector<SuiteCase>> FindCases(const std::string& folder) {
  std::error_code problem;
  std::vector<SuiteCase> cases;
  fs::recursive_directory_iterator at(folder, problem);
  if (problem) {
    Error error = MakeError(ErrorCode::kInvalidInput, "suite.folder", "cannot read the folder: " + problem.message());
    error.file = folder;
    return error;
  }
  AddCasesOf(folder, folder, cases);
  for (const fs::recursive_directory_iterator end; !problem && at != end; at.increment(problem)) {
    if (at->is_directory(problem) && !at->is_symlink(problem)) AddCasesOf(folder, at->path(), cases);
  }
  std::sort(cases.begin(), cases.end(), [](const SuiteCase& a, const SuiteCase& b) { return a.name < b.name; });
  return cases;
}

Json ToJson(const SuiteCase& suite_case) {
  Json sets = Json::MakeArray();
  for (const std::string& set : suite_case.data_sets) sets.Push(set);
  Json json = Json::MakeObject();
  json.Set("name", suite_case.name);
  json.Set("model", suite_case.model);
  json.Set("data_sets", std::move(sets));
  json.Set("light_output", suite_case.light_output);
  return json;
}

Result<SuiteCase> SuiteCaseFromJson(const Json& json) {
  SuiteCase suite_case;
  PT_ASSIGN(suite_case.name, JsonString(json, "name", "case"));
  PT_ASSIGN(suite_case.model, JsonString(json, "model", "case"));
  PT_ASSIGN(suite_case.light_output, JsonString(json, "light_output", "case"));
  PT_ASSIGN(const Json::Array* sets, JsonArray(json, "data_sets", "case"));
  for (const Json& set : *sets) {
    if (set.as_string() != nullptr) suite_case.data_sets.push_back(*set.as_string());
  }
  return suite_case;
}

Json ToJson(const CaseResult& result) {
  Json json = Json::MakeObject();
  json.Set("outcome", OutcomeName(result.outcome));
  json.Set("reason", result.reason);
  return json;
}

Result<CaseResult> CaseResultFromJson(const Json& json) {
  CaseResult result;
  PT_ASSIGN(const std::string outcome, JsonString(json, "outcome", "result"));
  PT_ASSIGN(result.reason, JsonString(json, "reason", "result"));
  for (const CaseOutcome known : kOutcomes) {
    if (outcome == OutcomeName(known)) result.outcome = known;
  }
  return result;
}

}  // namespace pt::tools
