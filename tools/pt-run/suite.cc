// pt-run --suite: every case below a folder, each in a child process, one line a case.
#include <csignal>
#include <map>

#include "partitiontuner/support/text.h"
#include "tools/common/text.h"
#include "tools/pt-run/run_flags.h"
#include "tools/pt-run/suite_case.h"
#include "tools/pt-run/suite_process.h"

namespace pt::tools {
namespace {

struct Totals {
  std::map<CaseOutcome, int64_t> count;

  int64_t of(CaseOutcome outcome) const {
    const auto found = count.find(outcome);
    return found == count.end() ? 0 : found->second;
  }
  std::string Line() const {
    const auto text = [&](CaseOutcome outcome) { return std::to_string(of(outcome)); };
    return text(CaseOutcome::kPass) + " passed, " + text(CaseOutcome::kFail) + " failed, " +
           text(CaseOutcome::kUnsupported) + " unsupported, " + text(CaseOutcome::kError) + " errors";
  }
  bool clean() const { return of(CaseOutcome::kFail) == 0 && of(CaseOutcome::kError) == 0; }
};

// The child gets the same flags; the cases come later, one by one.
std::vector<std::string> WorkerArguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  arguments.push_back("--suite-worker");
  return arguments;
}

class Suite {
 public:
  Suite(std::vector<std::string> arguments, std::chrono::nanoseconds timeout, const CancelToken& cancel)
      : arguments_(std::move(arguments)), timeout_(timeout), cancel_(cancel) {}

  // An error only when no case could run at all: the child's own reason, such as an unusable
  // library.
  Result<CaseResult> Run(const SuiteCase& suite_case) {
    if (!child_.running()) {
      PT_ASSIGN(const std::string greeting, child_.Start(arguments_, timeout_, cancel_));
      PT_CHECK_OK(Greeted(greeting));
    }
    const auto answer = child_.Ask(WriteJson(ToJson(suite_case), -1), timeout_, cancel_);
    if (!answer.ok()) return CaseResult{CaseOutcome::kError, answer.error().message};
    PT_ASSIGN(const Json json, ParseJson(*answer, "answer of the child process"));
    return CaseResultFromJson(json);
  }

 private:
  static Status Greeted(const std::string& line) {
    PT_ASSIGN(const Json json, ParseJson(line, "answer of the child process"));
    const Json* const code = json.find("code");
    if (code == nullptr || code->as_int() == nullptr) return {};
    const auto text = [&](const char* key) {
      const Json* const value = json.find(key);
      return value != nullptr && value->as_string() != nullptr ? *value->as_string() : std::string();
    };
    Error error = MakeError(static_cast<ErrorCode>(*code->as_int()), text("id"), text("message"), text("hint"));
    error.file = text("file");
    error.device = text("device");
    return error;
  }

  std::vector<std::string> arguments_;
  std::chrono::nanoseconds timeout_;
  const CancelToken& cancel_;
  SuiteProcess child_;
};

Result<int> RunCases(const RunFlags& flags, int argc, char** argv, Console& console, const InterruptWatch& interrupt) {
  PT_ASSIGN(const auto timeout, ParseDuration(flags.case_timeout, "--case-timeout"));
  PT_ASSIGN(const std::vector<SuiteCase> all, FindCases(flags.suite));
  std::vector<const SuiteCase*> cases;
  for (const SuiteCase& suite_case : all) {
    const std::string last = suite_case.name.substr(suite_case.name.rfind('/') + 1);
    if (MatchesGlob(suite_case.name, flags.only) || MatchesGlob(last, flags.only)) cases.push_back(&suite_case);
  }
  if (cases.empty()) {
    // Nothing verified must never look like everything verified.
    Error error =
        MakeError(ErrorCode::kInvalidInput, "suite.empty",
                  all.empty() ? "no cases: no folder with model.onnx and "
                                "test_data_set_*, no NAME.onnx with NAME_output_0.pb"
                              : "none of the " + std::to_string(all.size()) + " cases matches \"" + flags.only + "\"");
    error.file = flags.suite;
    return error;
  }
  Suite suite(WorkerArguments(argc, argv), timeout, interrupt.token());
  Totals totals;
  Json rows = Json::MakeArray();
  for (size_t i = 0; i < cases.size(); ++i) {
    console.ShowCount(i, cases.size(), cases[i]->name);
    PT_ASSIGN(const CaseResult result, suite.Run(*cases[i]));
    if (interrupt.token().cancelled()) break;
    ++totals.count[result.outcome];
    if (flags.common.json()) {
      Json row = Json::MakeObject();
      row.Set("name", cases[i]->name);
      row.Set("result", OutcomeName(result.outcome));
      row.Set("reason", result.reason);
      rows.Push(std::move(row));
      continue;
    }
    console.EndProgress();
    PT_CHECK_OK(WriteOut(std::string(OutcomeName(result.outcome)) + " " + cases[i]->name +
                         (result.reason.empty() ? "" : ": " + result.reason) + "\n"));
  }
  console.EndProgress();
  if (flags.common.json()) {
    Json json = Json::MakeObject();
    json.Set("cases", std::move(rows));
    for (const auto& [key, outcome] :
         {std::pair("passed", CaseOutcome::kPass), std::pair("failed", CaseOutcome::kFail),
          std::pair("unsupported", CaseOutcome::kUnsupported), std::pair("errors", CaseOutcome::kError)}) {
      json.Set(key, totals.of(outcome));
    }
    json.Set("complete", !interrupt.token().cancelled());
    PT_CHECK_OK(WriteOut(WriteJson(json) + "\n"));
  } else {
    PT_CHECK_OK(WriteOut(totals.Line() + "\n"));
  }
  if (interrupt.token().cancelled()) return interrupt.exit_code();
  return totals.clean() ? 0 : static_cast<int>(ErrorCode::kMismatch);
}

}  // namespace

int RunSuite(const RunFlags& flags, int argc, char** argv, Console& console, const InterruptWatch& interrupt) {
  std::signal(SIGPIPE, SIG_IGN);  // a child that crashes between two cases is found by reading
  const Result<int> result = RunCases(flags, argc, argv, console, interrupt);
  if (result.ok()) return *result;
  if (!interrupt.token().cancelled()) return console.Fail(result.error());
  console.Note("interrupted");
  return interrupt.exit_code();
}

}  // namespace pt::tools
