// pt-run MODEL --verify: outputs against test data or against the reference library.
#include <cmath>
#include <filesystem>

#include "tools/common/text.h"
#include "tools/pt-run/data_sets.h"
#include "tools/pt-run/rounding_noise.h"
#include "tools/pt-run/runner.h"

namespace pt::tools {
namespace {

struct SetReport {
  std::string name;
  std::vector<OutputVerdict> verdicts;
  bool twin_equal = true;
};

Json ReportJson(const SetReport& report, bool twin) {
  Json outputs = Json::MakeArray();
  for (const OutputVerdict& verdict : report.verdicts) {
    Json row = Json::MakeObject();
    row.Set("name", verdict.name);
    row.Set("pass", verdict.comparison.equal);
    row.Set("max_abs", verdict.comparison.max_abs);
    row.Set("max_rel", verdict.comparison.max_rel);
    row.Set("nan", verdict.comparison.nan_count);
    row.Set("nan_differences", verdict.comparison.nan_differences);
    row.Set("nan_alone", DiffersInNanAlone(verdict.comparison));
    row.Set("compared", verdict.comparison.compared);
    row.Set("rtol", verdict.tolerance.relative);
    row.Set("atol", verdict.tolerance.absolute);
    row.Set("tolerance", verdict.reason);
    if (std::isfinite(verdict.comparison.of_tolerance)) row.Set("of_tolerance", verdict.comparison.of_tolerance);
    row.Set("reason", verdict.comparison.reason);
    outputs.Push(std::move(row));
  }
  Json json = Json::MakeObject();
  json.Set("data", report.name);
  json.Set("outputs", std::move(outputs));
  if (twin) json.Set("twin_equal", report.twin_equal);
  return json;
}

std::string ReportText(const SetReport& report, const RunFlags& flags) {
  std::string text;
  for (const OutputVerdict& verdict : report.verdicts) {
    const Comparison& c = verdict.comparison;
    text += std::string(c.equal ? "pass" : "FAIL") + "  " + verdict.name + ": max abs " + Brief(c.max_abs) +
            ", max rel " + Brief(c.max_rel) + ", NaN " + std::to_string(c.nan_count) + ", " +
            std::to_string(c.compared) + " values (" + ToleranceText(verdict) + ")" +
            (c.equal ? "" : ": " + DifferenceText(verdict, flags)) + "\n";
  }
  if (flags.choice.twin)
    text += report.twin_equal ? "pass  equal to the sequential twin bit for bit\n"
                              : "FAIL  differs from the sequential twin\n";
  return text;
}

// The runs that are judged: what they were made with, as far back as a state comes from.
class JudgedRuns {
 public:
  JudgedRuns(std::vector<Carry> carries, const RunFlags& flags, const CancelToken& cancel)
      : carries_(carries), flags_(flags), cancel_(cancel), runs_(std::move(carries)) {}

  Result<SetReport> Judge(const std::shared_ptr<const ReadyModel>& ready, const DataSet& data) {
    SetReport report;
    report.name = data.name;
    if (carries_.empty()) past_.clear();
    past_.push_back({ready, data.inputs});
    PT_ASSIGN(const RunOutputs outputs, runs_.Next(ready, data.inputs, cancel_));
    report.twin_equal = outputs.twin_equal;
    PT_ASSIGN(report.verdicts, JudgeOutputs(*ready, outputs.values, data.expected, false, flags_,
                                            [&] { return MeasureRoundingNoise(past_, carries_, flags_, cancel_); }));
    return report;
  }

 private:
  std::vector<Carry> carries_;
  const RunFlags& flags_;
  const CancelToken& cancel_;
  RunsInARow runs_;
  std::vector<PastRun> past_;
};

Result<std::vector<SetReport>> VerifyFolders(const RunFlags& flags, Engine& engine, const Console& console,
                                             const CancelToken& cancel) {
  PT_ASSIGN(const std::vector<std::vector<ModelFolder>> folder_sets, FolderSets(flags));
  DataSets sets(engine, flags, false, console);
  std::vector<SetReport> reports;
  std::optional<JudgedRuns> runs;
  for (const std::vector<ModelFolder>& folders : folder_sets) {
    PT_ASSIGN(const DataSet data, sets.Read(folders));
    if (!runs) {
      PT_ASSIGN(std::vector<Carry> carries, CarriesOf(flags, *sets.ready()->model, data.inputs));
      runs.emplace(std::move(carries), flags, cancel);
    }
    PT_ASSIGN(SetReport report, runs->Judge(sets.ready(), data));
    reports.push_back(std::move(report));
  }
  return reports;
}

// Runs of --verify reference with --carry, unless --iterations says how many.
constexpr uint64_t kCarriedRuns = 4;

// The same inputs through the plan and through the reference library alone. With --carry several times in a row, each
// by its own state.
Result<std::vector<SetReport>> VerifyReference(const RunFlags& flags, Engine& engine, const Console& console,
                                               const CancelToken& cancel) {
  PT_ASSIGN(const GivenRun given, MakeGivenRun(engine, flags, console));
  const std::shared_ptr<const ReadyModel>& ready = given.ready;
  DataSet data;
  data.inputs.assign(given.inputs.begin(), given.inputs.end());

  EngineOptions reference_options;
  reference_options.machine.max_cores = flags.common.threads;
  reference_options.machine.libraries = {"reference"};
  reference_options.db_path = "none";
  PT_ASSIGN(const std::unique_ptr<Engine> reference, Engine::Make(reference_options));
  RunFlags plain = flags;
  plain.choice = {};
  if (plain.denormals.empty()) plain.denormals = "flush";  // as in the run that is judged
  // The reference computes the model as it is, as often as there are requests.
  ModelOptions options = ready->options;
  options.rewrites = Rewrites{{}, 1, options.rewrites.requests};
  PT_ASSIGN(const std::shared_ptr<const ReadyModel> oracle,
            MakeReady(*reference, ready->file, options, plain, true, console));
  PT_ASSIGN(const std::vector<Carry> carries, CarriesOf(flags, *ready->model, given.data, given.inputs));
  RunsInARow oracle_runs(carries);
  JudgedRuns runs(carries, flags, cancel);
  const uint64_t count = carries.empty() ? 1 : flags.iterations > 0 ? flags.iterations : kCarriedRuns;
  std::vector<SetReport> reports;
  for (uint64_t run = 0; run < count; ++run) {
    PT_ASSIGN(const RunOutputs expected, oracle_runs.Next(oracle, data.inputs, cancel));
    data.name = count == 1 ? "reference" : "reference, run " + std::to_string(run + 1);
    data.expected = ExpectedFrom(expected.values);
    PT_ASSIGN(SetReport report, runs.Judge(ready, data));
    reports.push_back(std::move(report));
  }
  return reports;
}

Result<int> Verified(const RunFlags& flags, const Console& console, const CancelToken& cancel) {
  PT_ASSIGN(const ModelOptions checked_early, flags.model_options());
  (void)checked_early;
  PT_ASSIGN(const std::unique_ptr<Engine> engine, MakeEngine(flags.common));
  PT_ASSIGN(const std::vector<SetReport> reports, flags.verify == "reference"
                                                      ? VerifyReference(flags, *engine, console, cancel)
                                                      : VerifyFolders(flags, *engine, console, cancel));
  bool pass = true;
  Json sets = Json::MakeArray();
  std::string text;
  for (const SetReport& report : reports) {
    pass = pass && report.twin_equal && AllEqual(report.verdicts);
    sets.Push(ReportJson(report, flags.choice.twin));
    if (reports.size() > 1) text += report.name + "\n";
    text += ReportText(report, flags);
  }
  text += pass ? "PASS\n" : "FAIL\n";
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model());
  json.Set("pass", pass);
  json.Set("data_sets", std::move(sets));
  PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(json) + "\n" : text));
  return pass ? 0 : static_cast<int>(ErrorCode::kMismatch);
}

}  // namespace

int RunVerified(const RunFlags& flags, Console& console, const InterruptWatch& interrupt) {
  return Finish(Verified(flags, console, interrupt.token()), console, interrupt);
}

}  // namespace pt::tools
