// The cases of a suite and their outcomes, and both as lines of JSON between parent and child
// process.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/support/fields.h"

namespace pt::tools {

struct SuiteCase {
  std::string name, model;
  std::vector<std::string> data_sets;  // folders; empty: the light form
  std::string light_output;            // NAME_output_0.pb; the inputs are arange(n)/n
};

enum class CaseOutcome { kPass, kFail, kUnsupported, kError };
const char* OutcomeName(CaseOutcome outcome);  // "PASS"

struct CaseResult {
  CaseOutcome outcome = CaseOutcome::kError;
  std::string reason;  // one line; empty when it passed
};

// All cases below the folder, sorted by name: a folder with model.onnx (or one .onnx file) and
// test_data_set_*, or a file NAME.onnx beside NAME_output_0.pb. Links are not followed.
// kInvalidInput when the folder cannot be read.
Result<std::vector<SuiteCase>> FindCases(const std::string& folder);

void Fields(FieldVisitor& v, SuiteCase& suite_case);
void Fields(FieldVisitor& v, CaseResult& result);
Json ToJson(const SuiteCase& suite_case);
Result<SuiteCase> SuiteCaseFromJson(const Json& json);
Json ToJson(const CaseResult& result);
Result<CaseResult> CaseResultFromJson(const Json& json);

}  // namespace pt::tools
