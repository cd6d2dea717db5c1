#include "tools/pt-run/suite_case.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "partitiontuner/engine/test_data.h"

namespace pt::tools {
namespace {

namespace fs = std::filesystem;
constexpr std::array kOutcomes = {CaseOutcome::kPass, CaseOutcome::kFail, CaseOutcome::kUnsupported,
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

void Fields(FieldVisitor& v, SuiteCase& suite_case) {
  v.Field("name", suite_case.name, "its folder within the suite");
  v.Field("model", suite_case.model, "file");
  v.Field("data_sets", suite_case.data_sets, "folders; none: the light form");
  v.Field("light_output", suite_case.light_output, "file");
}

void Fields(FieldVisitor& v, CaseResult& result) {
  v.Word("outcome", result.outcome, kOutcomes, OutcomeName, "what came of it");
  v.Field("reason", result.reason, "one line; empty when it passed");
}

Json ToJson(const SuiteCase& suite_case) { return WriteFields(suite_case); }
Json ToJson(const CaseResult& result) { return WriteFields(result); }

Result<SuiteCase> SuiteCaseFromJson(const Json& json) {
  SuiteCase suite_case;
  PT_CHECK_OK(ReadFields(json, FileSource("case", "suite.case"), suite_case));
  return suite_case;
}

Result<CaseResult> CaseResultFromJson(const Json& json) {
  CaseResult result;
  PT_CHECK_OK(ReadFields(json, FileSource("result", "suite.result"), result));
  return result;
}

}  // namespace pt::tools
