// pt-run: runs a model by a plan; measures, verifies, compares.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "partitiontuner/plan/plan_precision.h"
#include "partitiontuner/planner/dispatch.h"
#include "tools/common/commands.h"
#include "tools/common/machine_questions.h"
#include "tools/common/memory_caps.h"
#include "tools/common/text.h"
#include "tools/pt-run/carry.h"
#include "tools/pt-run/run_flags.h"

namespace pt::tools {

Result<ModelOptions> RunFlags::model_options() const {
  PT_ASSIGN(ModelOptions options, ModelOptionsOf(common));
  options.cancel = cancel;
  // What is carried into is an input, whether or not it has a default. Either side may hold any character.
  for (const std::string& text : carry) {
    for (size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1)) {
      options.load.given_inputs.insert(text.substr(at + 1));
    }
  }
  if (given_plan == nullptr) return options;
  PT_ASSIGN(ModelOptions of_plan, OptionsOf(*given_plan));
  options.default_dims = std::move(of_plan.default_dims);
  options.load.given_inputs.merge(of_plan.load.given_inputs);
  return options;
}

Result<PlanSource> RunFlags::plan_source(const Platform& platform) const {
  PlanSource source;
  source.profile_command = CommandFor("pt-profile", common);
  source.plan_command = CommandFor("pt-plan", common);
  source.plan_file = plan;
  source.plan = given_plan;
  if (!common.precision.empty()) {
    PT_ASSIGN(source.precision, AllowedPrecision(common));
  }
  if (!common.max_error.empty()) {
    PT_ASSIGN(source.max_error, MaxErrorOf(common));
  }
  source.keep_nan = common.keep_nan();
  source.wants_budget = common.wants_budget();
  source.planner = dispatch.empty() ? planner : std::string(kDispatchPrefix) + dispatch;
  source.options.seed = seed;
  PT_ASSIGN(source.options.constraints.memory_caps, MemoryCapsOf(memory, platform));
  return source;
}

std::optional<std::chrono::nanoseconds> RunFlags::deadline_for(const Plan& of) const {
  const std::chrono::nanoseconds time = deadline.value_or(PatienceFor(of));
  return time.count() > 0 ? std::optional(time) : std::nullopt;
}

SessionOptions RunFlags::session_options(bool suite) const {
  SessionOptions options;
  options.run_bytes = run_bytes;
  options.sequential = sequential;
  options.capture = !no_capture;
  options.max_run_states = std::max(options.max_run_states, concurrency);
  options.flush_denormals = denormals.empty() ? !suite : denormals == "flush";
  return options;
}

Result<SessionOptions> RunFlags::session_options(const Platform& platform, const Plan& of, bool suite) const {
  SessionOptions options = session_options(suite);
  PT_ASSIGN(const MemoryCaps caps, MemoryCapsOf(memory, platform));
  PT_CHECK_OK(HoldToCaps(caps, platform, of, options));
  return options;
}

Result<MeasureLength> MeasureLengthOf(const RunFlags& flags) {
  MeasureLength length;
  if (!flags.duration.empty() && flags.iterations > 0) {
    return MakeError(ErrorCode::kUsage, "usage.combination", "--duration and --iterations exclude each other");
  }
  length.iterations = flags.iterations;
  PT_ASSIGN(length.duration, ParseDuration(flags.duration.empty() ? "2s" : flags.duration, "--duration"));
  return length;
}

namespace {

void AddFlags(CLI::App& app, RunFlags& flags) {
  AddCommonFlags(app, flags.common);
  AddRunLimits(app, flags.common);
  AddCrashFlags(app, flags.crash);
  app.add_option("--plan", flags.plan, "plan file made by pt-plan")->option_text("FILE")->group("Plan");
  app.add_option("--planner", flags.planner, "make the plan now, for instance search, single:cpu, random:7")
      ->option_text("NAME")
      ->group("Plan");
  app.add_option("--dispatch", flags.dispatch, "no plan: decide while running which ready step goes to which free unit")
      ->option_text("operator|path")
      ->group("Plan");
  app.add_flag("--sequential", flags.sequential, "one step after another: the plan's sequential twin")->group("Plan");
  app.add_flag("--no-capture", flags.no_capture, "enqueue every step of a device anew in each run, record nothing")
      ->group(kMoreGroup);
  app.add_option("--duration", flags.duration, "measure that long, for instance 0.3s (2s)")
      ->option_text("TIME")
      ->group("Run");
  app.add_option("--iterations", flags.iterations, "measure that many runs instead")->option_text("N")->group("Run");
  app.add_option("--compare", flags.compare,
                 "measure several planners, or dispatch:RULE, in turns; speedup over the first")
      ->option_text("PLANNER,...")
      ->group("Run");
  app.add_flag("--aa", flags.same,
               "measure the plan against itself, in turns: differences below what it shows are noise")
      ->group("Run");
  app.add_option("--concurrency", flags.concurrency, "run N callers at once, alternating with one: runs per second")
      ->option_text("N")
      ->check(CLI::Range(1, 1024))
      ->group("Run");
  app.add_option("--carry", flags.carry,
                 "each run takes this output of the run before as that input, zeros or --input at first (repeatable)")
      ->option_text("OUT=IN")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Run");
  app.add_option("--shape-set", flags.shape_sets,
                 "measure at these sizes, several sets in turns: dims by name and shapes of inputs, with commas "
                 "between them (repeatable)")
      ->option_text("batch=4,x=4x16")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Run");
  app.add_option("--sessions", flags.sessions, "with --shape-set: sessions that are kept (8)")
      ->option_text("N")
      ->check(CLI::Range(1, 1024))
      ->group(kMoreGroup);
  app.add_option("--memory", flags.memory,
                 "most that a run may take there, such as cpu=64MiB or acc:0=2GiB: more is refused (repeatable)")
      ->option_text("DEVICE=SIZE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Run");
  app.add_option("--trace", flags.trace, "write a trace of one run (opens in Perfetto)")
      ->option_text("FILE.json")
      ->group("Run");
  app.add_flag("--residuals", flags.residuals, "what makes the run slower or faster than predicted, and in which steps")
      ->group("Run");
  app.add_option("--save-outputs", flags.save_outputs, "write output_N.npy there; .pb for 4 and 2 bits")
      ->option_text("DIR")
      ->group("Run");
  app.add_option("--percentiles", flags.percentiles, "percentiles of the table")
      ->option_text("50,90,99")
      ->group(kMoreGroup);
  app.add_option("--seed", flags.seed, "of random inputs and planners (1)")->option_text("N")->group(kMoreGroup);
  app.add_option("--denormals", flags.denormals, "keep or flush (flush; keep in a suite)")
      ->option_text("MODE")
      ->check(OneOf({"keep", "flush"}))
      ->group(kMoreGroup);
  app.add_option("--verify", flags.verify, "compare outputs with a test_data_set folder, or with the reference library")
      ->option_text("DIR|reference")
      ->group("Prove");
  app.add_option("--suite", flags.suite, "verify every case below a folder")->option_text("FOLDER")->group("Prove");
  app.add_option("--only", flags.only, "only the cases of the suite whose name matches")
      ->option_text("GLOB")
      ->group("Prove");
  app.add_flag("--twin", flags.twin, "with --verify or --suite: must equal the sequential twin bit for bit")
      ->group("Prove");
  app.add_option("--rtol", flags.rtol, "relative tolerance instead of the type's")->option_text("X")->group(kMoreGroup);
  app.add_option("--atol", flags.atol, "absolute tolerance instead of the type's")->option_text("X")->group(kMoreGroup);
  app.add_option("--case-timeout", flags.case_timeout, "time for one case of a suite (60s)")
      ->option_text("TIME")
      ->group(kMoreGroup);
  app.add_flag("--suite-worker", flags.suite_worker)->group("");
}

// As --constant takes them.
std::vector<std::string> ConstantsOf(const MadeFor& made_for) {
  std::vector<std::string> constants;
  for (const auto& [setting, value] : made_for.settings) {
    if (!setting.starts_with(kConstantSetting)) continue;
    constants.push_back(setting.substr(kConstantSetting.size()) + "=" + value);
  }
  return constants;
}

// The graph is rewritten as the plan was made for, inputs are constant and NaN is kept as there, unless the flags say
// how.
Status ReadPlan(RunFlags& flags) {
  if (flags.plan.empty()) return {};
  PT_ASSIGN(Plan plan, LoadPlan(flags.plan));
  const auto rewrite = plan.made_for.settings.find("rewrite");
  if (flags.common.rewrite.empty() && rewrite != plan.made_for.settings.end()) flags.common.rewrite = rewrite->second;
  if (flags.common.constants.empty()) flags.common.constants = ConstantsOf(plan.made_for);
  PT_ASSIGN(const bool keeps_nan, MustKeepNan(plan));
  if (flags.common.nan.empty() && keeps_nan) flags.common.nan = kKeepNan;
  flags.given_plan = std::make_shared<const Plan>(std::move(plan));
  return {};
}

Status ReadLimits(RunFlags& flags) {
  PT_ASSIGN(flags.deadline, DeadlineOf(flags.common));
  PT_ASSIGN(flags.run_bytes, RunBytesOf(flags.common));
  return {};
}

// What runs that decide cannot do, or what says how to run in another way.
Status CheckDispatch(const RunFlags& flags) {
  const auto excluded = [](const std::string& flag, std::string hint) {
    return MakeError(ErrorCode::kUsage, "usage.combination", "--dispatch and " + flag + " exclude each other",
                     std::move(hint));
  };
  if (flags.planner.starts_with(kDispatchPrefix)) {
    const std::string rule = flags.planner.substr(kDispatchPrefix.size());
    return excluded("--planner", "--dispatch " + rule + " instead of --planner " + flags.planner);
  }
  if (flags.dispatch.empty()) return {};
  PT_CHECK_OK(DispatchRuleNamed(flags.dispatch));
  if (!flags.plan.empty()) return excluded("--plan", "a plan has decided everything");
  if (!flags.planner.empty()) return excluded("--planner", "--compare measures both in turns");
  if (!flags.compare.empty()) {
    return excluded("--compare", "--compare dispatch:" + flags.dispatch + "," + flags.compare);
  }
  if (flags.sequential) return excluded("--sequential", "--planner " + flags.dispatch + " has a sequential twin");
  if (flags.twin) return excluded("--twin", "--planner " + flags.dispatch + " has a sequential twin");
  if (!flags.trace.empty()) return excluded("--trace", "trace a plan: --planner " + flags.dispatch);
  if (flags.residuals) return excluded("--residuals", "nothing is predicted of runs that decide");
  if (!flags.suite.empty()) return excluded("--suite", "--verify for a single model");
  return {};
}

// The plan against itself is one measurement of its own.
Status CheckSame(const RunFlags& flags) {
  const bool alone = flags.compare.empty() && flags.verify.empty() && flags.suite.empty() && flags.concurrency == 0 &&
                     flags.trace.empty() && flags.save_outputs.empty() && !flags.residuals;
  if (!flags.same || alone) return {};
  return MakeError(ErrorCode::kUsage, "usage.combination",
                   "--aa cannot be combined with --compare, --concurrency, --verify, --suite, --trace, --residuals or "
                   "--save-outputs");
}

// A plan file is of one size, and so is what else these flags look at.
Status CheckShapeSets(const RunFlags& flags) {
  if (flags.shape_sets.empty()) return {};
  const std::pair<const char*, bool> others[] = {
      {"--plan", !flags.plan.empty()},
      {"--dispatch", !flags.dispatch.empty()},
      {"--compare", !flags.compare.empty()},
      {"--aa", flags.same},
      {"--concurrency", flags.concurrency > 0},
      {"--carry", !flags.carry.empty()},
      {"--memory", !flags.memory.empty()},
      {"--trace", !flags.trace.empty()},
      {"--residuals", flags.residuals},
      {"--save-outputs", !flags.save_outputs.empty()},
      {"--verify", !flags.verify.empty()},
      {"--suite", !flags.suite.empty()},
      {"--precision auto", flags.common.wants_budget()},
  };
  for (const auto& [flag, given] : others) {
    if (!given) continue;
    return MakeError(ErrorCode::kUsage, "usage.combination",
                     "--shape-set and " + std::string(flag) + " exclude each other", "one size: --dim and --shape");
  }
  return {};
}

int Main(int argc, char** argv) {
  Console console("pt-run");
  RunFlags flags;
  CLI::App app("Runs an ONNX model by a plan: measures, verifies, compares.", "pt-run");
  AddFlags(app, flags);
  if (const auto code = ParseFlags(app, flags.common, argc, argv, console)) return *code;
  if (!flags.plan.empty() && !flags.planner.empty()) {
    return console.Fail(MakeError(ErrorCode::kUsage, "usage.combination", "--plan and --planner exclude each other"));
  }
  if (const Status dispatch = CheckDispatch(flags); !dispatch.ok()) return console.Fail(dispatch.error());
  if (const Status sets = CheckShapeSets(flags); !sets.ok()) return console.Fail(sets.error());
  if (const Status carry = CheckCarry(flags); !carry.ok()) return console.Fail(carry.error());
  if (const Status same = CheckSame(flags); !same.ok()) return console.Fail(same.error());
  if (flags.concurrency > 0 && !(flags.compare.empty() && flags.verify.empty() && flags.suite.empty() &&
                                 flags.trace.empty() && flags.save_outputs.empty())) {
    return console.Fail(
        MakeError(ErrorCode::kUsage, "usage.combination",
                  "--concurrency cannot be combined with --compare, --verify, --suite, --trace or --save-outputs"));
  }
  if (flags.residuals &&
      !(flags.compare.empty() && flags.verify.empty() && flags.suite.empty() && flags.concurrency == 0)) {
    return console.Fail(MakeError(ErrorCode::kUsage, "usage.combination",
                                  "--residuals cannot be combined with --compare, --verify, --suite or --concurrency"));
  }
  if (flags.common.wants_budget() && !flags.suite.empty()) {
    return console.Fail(MakeError(ErrorCode::kUsage, "usage.combination",
                                  "--precision auto needs plans that pt-plan makes: it does not go with --suite"));
  }
  const auto length = MeasureLengthOf(flags);
  if (!length.ok()) return console.Fail(length.error());
  if (const Status limits = ReadLimits(flags); !limits.ok()) return console.Fail(limits.error());
  if (flags.suite_worker) return ServeSuite(flags, console);  // its crash is the case's
  const auto crash_retry = CrashRetry::Make(flags.crash, argc, argv, console);
  if (!crash_retry.ok()) return console.Fail(crash_retry.error());
  flags.common.kernel_watch = crash_retry->get();
  const InterruptWatch interrupt;
  flags.cancel = &interrupt.token();
  if (const auto code = AnswerMachineQuestions(flags.common, console)) return *code;
  if (const Status status = CheckDatabase(flags.common); !status.ok()) return console.Fail(status.error());
  if (const Status status = ReadPlan(flags); !status.ok()) return console.Fail(status.error());
  if (!flags.suite.empty()) return RunSuite(flags, argc, argv, console, interrupt);
  if (!flags.shape_sets.empty()) return RunShapeSets(flags, console, interrupt);
  if (!flags.verify.empty()) return RunVerified(flags, console, interrupt);
  if (flags.concurrency > 0) return RunConcurrent(flags, console, interrupt);
  if (!flags.compare.empty() || flags.same) return RunCompared(flags, console, interrupt);
  return RunMeasured(flags, console, interrupt);
}

}  // namespace
}  // namespace pt::tools

int main(int argc, char** argv) { return pt::tools::Main(argc, argv); }
