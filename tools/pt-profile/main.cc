// pt-profile: measures every operator and fusible group of a model on every unit of the machine.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "partitiontuner/cost/needed_keys.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "tools/common/commands.h"
#include "tools/common/flag_rules.h"
#include "tools/common/flags.h"
#include "tools/common/inputs.h"
#include "tools/common/interrupt.h"
#include "tools/common/machine_questions.h"
#include "tools/common/models.h"
#include "tools/common/page_facts.h"
#include "tools/common/prepare.h"
#include "tools/common/text.h"
#include "tools/pt-profile/feature_tables.h"
#include "tools/pt-profile/import.h"
#include "tools/pt-profile/isolation.h"
#include "tools/pt-profile/operator_table.h"
#include "tools/pt-profile/page.h"
#include "tools/pt-profile/shard.h"
#include "tools/pt-profile/validate.h"
#include "tools/pt-profile/watch_page.h"

namespace pt::tools {
namespace {

struct ProfileFlags {
  CommonFlags common;
  std::string output, html, features, budget, max_noise = "2%", max_time, refresh, shard, isolate = "none",
                                              key_timeout = "120s";
  std::vector<std::string> imports;
  uint32_t min_samples = 0;
  bool dry_run = false, require_stable = false, validate = false;
  bool isolate_worker = false;  // this is the child process
};

void AddFlags(CLI::App& app, ProfileFlags& flags) {
  AddCommonFlags(app, flags.common);
  app.add_option("-o,--output", flags.output, "write the profile there (- for standard output)")
      ->option_text("FILE.json")
      ->group("Profile");
  app.add_option("--html", flags.html, "write a page: what takes how long, by which ways\n(one file)")
      ->option_text("FILE.html")
      ->group("Profile");
  app.add_option("--features", flags.features,
                 "write what predictions are made from there\n(and the dependencies of the nodes beside it)")
      ->option_text("FILE.csv")
      ->group("Profile");
  app.add_option("--import", flags.imports,
                 "put the measurements of a profile or of another\ndatabase, or of all in a folder, into the database")
      ->option_text("FILE | FOLDER")
      ->allow_extra_args(false)
      ->group("Profile");
  app.add_option(
         "--budget", flags.budget,
         "measure about that long, for instance 60s (no limit)\n(everything once, then as exactly as time permits)")
      ->option_text("TIME")
      ->group("Profile");
  app.add_option("--refresh", flags.refresh, "measure what matches again (glob over keys, * for all)")
      ->option_text("GLOB")
      ->group("Profile");
  app.add_option("--shard", flags.shard,
                 "measure part I (from 0) of N alone, where machines share the work\n(N alone: I is the number of the "
                 "Slurm or Kubernetes task)")
      ->option_text("I/N")
      ->group("Profile");
  app.add_option("--isolate", flags.isolate,
                 "process: measure in a child process (none)\n(where a kernel that crashes or hangs fails alone)")
      ->option_text("process | none")
      ->check(OneOf({"process", "none"}))
      ->group("Profile");
  app.add_option("--key-timeout", flags.key_timeout,
                 "with --isolate process: what is compiled, or sampled a few times, longer than that has failed (120s)")
      ->option_text("TIME")
      ->group(kMoreGroup);
  app.add_flag("--isolate-worker", flags.isolate_worker)->group("");
  app.add_flag("--validate", flags.validate,
               "say how well the database predicts its measurements\n(from the others; needs no model)")
      ->group("Profile");
  app.add_flag("--dry-run", flags.dry_run, "say what would be measured")->group("Profile");
  app.add_flag("--require-stable", flags.require_stable, "exit 10 when a measurement is noisier than --max-noise")
      ->group("Profile");
  app.add_option("--max-noise", flags.max_noise, "aim at this noise of each median (2%)")
      ->option_text("SHARE")
      ->group(kMoreGroup);
  app.add_option("--min-samples", flags.min_samples, "samples of each measurement at least")
      ->option_text("N")
      ->group(kMoreGroup);
  app.add_option("--max-time", flags.max_time, "time for each measurement at most")
      ->option_text("TIME")
      ->group(kMoreGroup);
}

std::vector<FlagRule> Rules() {
  return {{.flag = "--validate", .excludes = {"model"}, .why = "it is about all of a database"},
          {.flag = "--validate", .excludes = {"--db none"}, .why = "it reads a database"},
          {.flag = "--import", .excludes = {"--db none"}, .why = "it writes to a database"},
          {.flag = "--html", .needs = {"model"}, .why = "it shows what a model takes"},
          {.flag = "--html", .excludes = {"--dry-run", "--validate"}, .why = "it shows what was measured"},
          {.flag = "--shard", .needs = {"model"}, .why = "it is a part of what a model needs"}};
}

Result<MeasureOptions> MeasureOptionsOf(const ProfileFlags& flags, const CancelToken& cancel) {
  MeasureOptions options;
  options.cancel = &cancel;
  options.refresh = flags.refresh;
  PT_ASSIGN(options.shard, ParseShard(flags.shard));
  PT_ASSIGN(options.max_noise, ParseShare(flags.max_noise, "--max-noise"));
  if (flags.min_samples > 0) options.min_samples = flags.min_samples;
  if (!flags.max_time.empty()) {
    PT_ASSIGN(options.max_time_per_key, ParseDuration(flags.max_time, "--max-time"));
  }
  if (!flags.budget.empty()) {
    PT_ASSIGN(options.budget, ParseDuration(flags.budget, "--budget"));
    if (options.budget.count() == 0)
      return MakeError(ErrorCode::kUsage, "usage.value", "--budget must be longer than nothing");
  }
  return options;
}

// The memory that the process which watches this one has, and what earlier ones went down at.
struct Isolation {
  std::unique_ptr<WatchPage> page;
  std::vector<Culprit> culprits;
};

// Of a process that --isolate process has started; empty in all others. It ends with the one that watches it.
Result<Isolation> JoinIsolation(const ProfileFlags& flags) {
  Isolation isolation;
  if (!flags.isolate_worker) return isolation;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  PT_ASSIGN(isolation.page, WatchPage::Inherited());
  PT_ASSIGN(isolation.culprits, isolation.page->Culprits());
  return isolation;
}

void Apply(const Isolation& isolation, MeasureOptions& options) {
  options.watch = isolation.page.get();
  for (const Culprit& culprit : isolation.culprits) options.faults.emplace(culprit.key, culprit.fault);
}

Json CulpritsJson(const Isolation& isolation) {
  Json rows = Json::MakeArray();
  for (const Culprit& culprit : isolation.culprits) {
    Json row = Json::MakeObject();
    row.Set("what", culprit.label);
    row.Set("reason", culprit.fault.what);
    rows.Push(std::move(row));
  }
  return rows;
}

Json StateJson(const DeviceState& state) {
  Json json = Json::MakeObject();
  if (state.clock_mhz > 0) json.Set("clock_mhz", state.clock_mhz);
  if (state.memory_clock_mhz > 0) json.Set("memory_clock_mhz", state.memory_clock_mhz);
  if (state.celsius > 0) json.Set("celsius", state.celsius);
  return json;
}

Json DevicesJson(std::span<const DeviceStates> devices) {
  Json rows = Json::MakeArray();
  for (const DeviceStates& device : devices) {
    Json row = Json::MakeObject();
    row.Set("device", device.device);
    row.Set("first", StateJson(device.first));
    row.Set("last", StateJson(device.last));
    if (device.fastest_mhz > 0) {
      row.Set("slowest_mhz", device.slowest_mhz);
      row.Set("fastest_mhz", device.fastest_mhz);
    }
    Json throttled = Json::MakeArray();
    for (const std::string& reason : device.throttled) throttled.Push(reason);
    row.Set("throttled", std::move(throttled));
    rows.Push(std::move(row));
  }
  return rows;
}

// Beside the versions that a profile names: in which state devices were measured for it.
void AddDevices(std::span<const DeviceStates> devices, Profile& profile) {
  for (const DeviceStates& device : devices) {
    profile.environment["state of " + device.device + ", first"] = ToString(device.first);
    profile.environment["state of " + device.device + ", last"] = ToString(device.last);
    const std::string fault = FaultOf(device);
    if (!fault.empty()) profile.environment["state of " + device.device + ", doubts"] = fault;
  }
}

void TellDevices(std::span<const DeviceStates> devices, const Console& console) {
  for (const DeviceStates& device : devices) {
    console.Detail(device.device + ": " + ToString(device.first) + " at the beginning, " + ToString(device.last) +
                   " at the end");
    const std::string fault = FaultOf(device);
    if (!fault.empty()) {
      console.Warn(device.device + ": " + fault + "; times that were measured meanwhile do not compare well");
    }
  }
}

Json ReportJson(const MeasureReport& report) {
  Json json = Json::MakeObject();
  json.Set("needed", static_cast<int64_t>(report.needed));
  json.Set("measured", static_cast<int64_t>(report.measured));
  json.Set("reused", static_cast<int64_t>(report.reused));
  json.Set("failed", static_cast<int64_t>(report.failed));
  if (report.in_other_shards > 0) json.Set("in_other_shards", static_cast<int64_t>(report.in_other_shards));
  json.Set("missing", static_cast<int64_t>(report.missing));
  json.Set("skipped", static_cast<int64_t>(report.skipped));
  if (report.skipped > 0) json.Set("skip_reason", report.skip_reason);
  json.Set("noisy", static_cast<int64_t>(report.noisy));
  json.Set("median_noise", report.median_noise);
  json.Set("worst_noise", report.worst_noise);
  json.Set("worst_key", report.worst_key);
  if (!report.devices.empty()) json.Set("devices", DevicesJson(report.devices));
  json.Set("status", report.interrupted ? "interrupted" : report.missing > 0 ? "partial" : "complete");
  return json;
}

std::string ReportLine(const MeasureReport& report, int64_t elapsed_ns) {
  std::string line = "profile: " + std::to_string(report.needed - report.missing) + " of " +
                     std::to_string(report.needed) + " measurements (" + std::to_string(report.reused) + " reused, " +
                     std::to_string(report.failed) + " not possible), " + ShortTime(elapsed_ns);
  if (report.in_other_shards > 0) line += ", " + std::to_string(report.in_other_shards) + " belong to other shards";
  if (report.measured > 0)
    line += ", median noise " + Percent(report.median_noise) + ", worst " + Percent(report.worst_noise);
  return line;
}

Status WriteFeatures(const ProfileFlags& flags, const Machine& machine, const Model& model, const Profile& profile) {
  if (flags.features.empty()) return {};
  const Platform platform = MeasuredPlatform(machine);
  const std::map<std::string, std::string> versions = LibraryVersions(machine);
  const FeatureSource source{*model.graph, platform, model.candidates, versions, profile};
  PT_CHECK_OK(WriteTo(flags.features, FeatureTable(source)));
  return WriteTo(DependencyFileOf(flags.features), DependencyTable(*model.graph));
}

Result<int> DryRun(const ProfileFlags& flags, Engine& engine, const Model& model, const Shard& shard) {
  const Machine& machine = engine.machine();
  auto needed = NeededKeys(*model.graph, MeasuredPlatform(machine), model.candidates, LibraryVersions(machine));
  std::erase_if(needed, [&](const NeededKey& key) { return !IsInShard(*model.graph, model.candidates, key, shard); });
  PT_ASSIGN(const Profile profile, engine.ProfileOf(model));
  PT_CHECK_OK(WriteFeatures(flags, machine, model, profile));
  size_t known = 0;
  for (const NeededKey& key : needed) known += profile.find(key.key.hash) != nullptr;
  if (flags.common.json()) {
    Json json = Json::MakeObject();
    json.Set("needed", static_cast<int64_t>(needed.size()));
    json.Set("known", static_cast<int64_t>(known));
    PT_CHECK_OK(WriteOut(WriteJson(json) + "\n"));
  } else {
    PT_CHECK_OK(WriteOut(std::to_string(needed.size()) + " measurements needed, " + std::to_string(known) +
                         " of them known, " + std::to_string(needed.size() - known) + " to be measured\n"));
  }
  return 0;
}

Result<int> Measure(const ProfileFlags& flags, Console& console, const InterruptWatch& interrupt) {
  if (flags.common.db == "none" && flags.output.empty() && !flags.dry_run) {
    console.Warn("--db none and no -o: the measurements will be forgotten");
  }
  if (flags.features == "-") {
    return MakeError(ErrorCode::kUsage, "usage.value",
                     "--features writes two files and cannot write to standard output", "name a file");
  }
  PT_ASSIGN(const Isolation isolation, JoinIsolation(flags));
  PT_ASSIGN(MeasureOptions options, MeasureOptionsOf(flags, interrupt.token()));
  Apply(isolation, options);
  PT_ASSIGN(ModelOptions model_options, ModelOptionsOf(flags.common));
  PT_ASSIGN(GivenInputs given, ReadInputs(flags.common.inputs));
  if (!CheckDatabase(flags.common).ok()) console.Note("note: " + flags.common.db + " is a new database");
  PT_ASSIGN(const std::unique_ptr<Engine> engine, MakeEngine(flags.common));
  PT_ASSIGN(const std::shared_ptr<const Model> model, LoadGiven(*engine, flags.common, given, model_options));
  WarnOfModel(*model, console);
  NotePrecision(*model, console);
  NoteDevicesLeftOut(*model, engine->machine().platform(), console);
  if (flags.dry_run) return DryRun(flags, *engine, *model, options.shard);

  const auto start = std::chrono::steady_clock::now();
  Result<MeasureReport> measured =
      engine->MeasureModel(*model, options, [&](const MeasureProgress& progress) { console.ShowProgress(progress); });
  console.EndProgress();
  if (!measured.ok()) return measured.error();
  const MeasureReport& report = *measured;
  const int64_t elapsed_ns = (std::chrono::steady_clock::now() - start).count();

  PT_ASSIGN(Profile profile, engine->ProfileOf(*model));
  AddDevices(report.devices, profile);
  if (!flags.output.empty()) PT_CHECK_OK(WriteTo(flags.output, ProfileText(profile)));
  PT_CHECK_OK(WriteFeatures(flags, engine->machine(), *model, profile));
  PlanOptions measured_only;
  measured_only.allow_estimates = false;
  PT_ASSIGN(const std::unique_ptr<CostModel> costs, engine->CostsOf(*model, measured_only));
  ProfiledModel profiled{*model, engine->machine(), profile, *costs, report, elapsed_ns, {}};
  for (const Culprit& culprit : isolation.culprits) profiled.went_down.emplace_back(culprit.label, culprit.fault.what);
  PT_CHECK_OK(WriteProfilePage(flags.html, flags.common, profiled));
  const OperatorTable table(*model, engine->machine().platform(), *costs);
  if (flags.output != "-") {
    Json json = ReportJson(report);
    if (isolation.page != nullptr) json.Set("went_down", CulpritsJson(isolation));
    if (flags.common.json()) json.Set("operators", table.AsJson());
    PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(json) + "\n" : table.Text(console.verbosity() > 0)));
  }
  console.Note(ReportLine(report, elapsed_ns));
  TellDevices(report.devices, console);
  if (report.noisy > 0) {
    console.Warn(std::to_string(report.noisy) + " measurements are noisier than " + Percent(options.max_noise) +
                 " (worst " + Percent(report.worst_noise) + "): other work on the machine, or a changing clock");
  }
  if (report.skipped > 0) {
    console.Warn(
        std::to_string(report.skipped) +
        " measurements could not be made this time and are tried again by the same command: " + report.skip_reason);
  }
  if (report.interrupted) {
    console.Note("interrupted; what was measured is kept, the same command goes on from there");
    return interrupt.exit_code();
  }
  if (report.missing > 0) {
    console.Warn(std::to_string(report.missing) + " measurements are missing" +
                 (report.out_of_budget ? ": the budget is over" : "") + "; the same command goes on from there");
    return static_cast<int>(ErrorCode::kPartial);
  }
  return flags.require_stable && report.noisy > 0 ? static_cast<int>(ErrorCode::kAssertionFailed) : 0;
}

Result<int> MeasureIsolated(const ProfileFlags& flags, int argc, char** argv, Console& console,
                            const InterruptWatch& interrupt) {
  IsolationOptions options;
  options.arguments.assign(argv, argv + argc);
  options.arguments.push_back("--isolate-worker");
  PT_ASSIGN(options.key_timeout, ParseDuration(flags.key_timeout, "--key-timeout"));
  if (!flags.budget.empty()) {
    PT_ASSIGN(options.budget, ParseDuration(flags.budget, "--budget"));
  }
  return RunIsolated(options, console, interrupt);
}

int Main(int argc, char** argv) {
  Console console("pt-profile");
  ProfileFlags flags;
  CLI::App app("Measures the operators and fusible groups of an ONNX model on every unit of this machine.",
               "pt-profile");
  AddFlags(app, flags);
  if (const auto code = ParseFlags(app, flags.common, argc, argv, console)) return *code;
  const InterruptWatch interrupt;
  if (const auto code = AnswerMachineQuestions(flags.common, console)) return *code;
  if (const Status status = CheckFlagRules(app, Rules()); !status.ok()) return console.Fail(status.error());
  for (const std::string& file : {flags.output, flags.features}) {
    if (const Status status = CheckWritable(file); !status.ok()) return console.Fail(status.error());
  }
  if (const Status status = CheckPageFile(flags.html); !status.ok()) return console.Fail(status.error());
  const bool isolates = flags.isolate == "process" && !flags.isolate_worker && !flags.dry_run && !flags.validate;
  if (!flags.imports.empty() && !flags.isolate_worker) {
    const Status status = ImportProfiles(flags.imports, flags.common.db, console);
    if (!status.ok()) return console.Fail(status.error());
    if (flags.common.models.empty()) return 0;
  }
  if (flags.validate) {
    const Status status = PrintPredictionErrors(flags.common.db, flags.common.json());
    return status.ok() ? 0 : console.Fail(status.error());
  }
  const Result<int> result =
      isolates ? MeasureIsolated(flags, argc, argv, console, interrupt) : Measure(flags, console, interrupt);
  return result.ok() ? *result : console.Fail(result.error());
}

}  // namespace
}  // namespace pt::tools

int main(int argc, char** argv) { return pt::tools::Main(argc, argv); }
