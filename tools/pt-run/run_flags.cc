#include "tools/pt-run/run_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "partitiontuner/planner/dispatch.h"
#include "tools/common/commands.h"
#include "tools/common/flag_rules.h"
#include "tools/common/memory_caps.h"
#include "tools/common/text.h"
#include "tools/pt-run/carry.h"

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
  if (choice.given_plan == nullptr) return options;
  PT_ASSIGN(ModelOptions of_plan, OptionsOf(*choice.given_plan));
  options.default_dims = std::move(of_plan.default_dims);
  options.load.given_inputs.merge(of_plan.load.given_inputs);
  return options;
}

Result<PlanSource> RunFlags::plan_source(const Platform& platform) const {
  PlanSource source;
  source.profile_command = CommandFor("pt-profile", common);
  source.plan_command = CommandFor("pt-plan", common);
  source.plan_file = choice.plan;
  source.plan = choice.given_plan;
  if (!common.precision.empty()) {
    PT_ASSIGN(source.precision, AllowedPrecision(common));
  }
  if (!common.max_error.empty()) {
    PT_ASSIGN(source.max_error, MaxErrorOf(common));
  }
  source.keep_nan = common.keep_nan();
  source.wants_budget = common.wants_budget();
  source.planner = choice.dispatch.empty() ? choice.planner : std::string(kDispatchPrefix) + choice.dispatch;
  source.options.seed = seed;
  PT_ASSIGN(source.options.constraints.memory_caps, MemoryCapsOf(choice.memory, platform));
  return source;
}

std::optional<std::chrono::nanoseconds> RunFlags::deadline_for(const Plan& of) const {
  const std::chrono::nanoseconds time = deadline.value_or(PatienceFor(of));
  return time.count() > 0 ? std::optional(time) : std::nullopt;
}

SessionOptions RunFlags::session_options(bool suite) const {
  SessionOptions options;
  options.run_bytes = run_bytes;
  options.sequential = choice.sequential;
  options.capture = !no_capture;
  // Plans that are compared, with each other or with their prediction, run as planned: one that is done by one thread
  // tells nothing of itself.
  const bool as_planned = alone == "never" || (alone.empty() && (same || residuals || !compare.empty()));
  options.alone = as_planned ? AloneRuns::kNever : AloneRunsNamed(alone).value_or(AloneRuns::kAuto);
  options.max_run_states = std::max({options.max_run_states, concurrency, in_flight});
  options.flush_denormals = denormals.empty() ? !suite : denormals == "flush";
  return options;
}

Result<SessionOptions> RunFlags::session_options(const Platform& platform, const Plan& of, bool suite) const {
  SessionOptions options = session_options(suite);
  PT_ASSIGN(const std::optional<RequestSetting> requests, requests_of(of));
  if (requests) requests->ApplyTo(options);
  PT_ASSIGN(const MemoryCaps caps, MemoryCapsOf(choice.memory, platform));
  PT_CHECK_OK(HoldToCaps(caps, platform, of, options));
  return options;
}

Result<std::optional<RequestSetting>> RunFlags::requests_of(const Plan& of) const {
  if (rate.empty() && find_rate.empty()) return std::optional<RequestSetting>();
  PT_ASSIGN(std::optional<RequestSetting> requests, RequestSettingOf(of));
  if (!requests) return requests;
  if (!alone.empty()) requests->alone = session_options(false).alone;
  if (in_flight > 0) requests->in_flight = in_flight;
  return requests;
}

Result<MeasureLength> MeasureLengthOf(const RunFlags& flags) {
  MeasureLength length;
  length.iterations = flags.iterations;
  PT_ASSIGN(length.duration, ParseDuration(flags.duration.empty() ? "2s" : flags.duration, "--duration"));
  return length;
}

void AddFlags(CLI::App& app, RunFlags& flags) {
  AddCommonFlags(app, flags.common);
  AddRunLimits(app, flags.common);
  AddCrashFlags(app, flags.crash);
  app.add_option("--plan", flags.choice.plan, "plan file made by pt-plan")->option_text("FILE")->group("Plan");
  app.add_option("--planner", flags.choice.planner, "make the plan now, for instance search, single:cpu, random:7")
      ->option_text("NAME")
      ->group("Plan");
  app.add_option("--dispatch", flags.choice.dispatch,
                 "no plan: decide while running what goes where\n(which ready step to which free unit)")
      ->option_text("operator|path")
      ->group("Plan");
  app.add_flag("--sequential", flags.choice.sequential, "one step after another: the plan's sequential twin")
      ->group("Plan");
  app.add_option("--alone", flags.alone,
                 "the calling thread does every step itself, on plans for several cores: where that\n(is faster: auto; "
                 "never where plans are compared); any-core: plans for one too, on any core")
      ->option_text("auto | never | always | any-core")
      ->check(OneOf({"auto", "never", "always", "any-core"}))
      ->group(kMoreGroup);
  app.add_flag("--no-capture", flags.no_capture, "enqueue every step of a device anew in each run, record nothing")
      ->group(kMoreGroup);
  app.add_option("--duration", flags.duration, "measure that long, for instance 0.3s (2s)")
      ->option_text("TIME")
      ->group("Run");
  app.add_option("--iterations", flags.iterations, "measure that many runs instead")->option_text("N")->group("Run");
  app.add_option("--compare", flags.compare,
                 "measure several planners in turns; speedup over the first\n(or dispatch:RULE)")
      ->option_text("PLANNER,...")
      ->group("Run");
  app.add_flag("--aa", flags.same,
               "measure the plan against itself, in turns\n(differences below what it shows are noise)")
      ->group("Run");
  app.add_option("--concurrency", flags.concurrency, "run N callers at once, alternating with one: runs per second")
      ->option_text("N")
      ->check(CLI::Range(1, 1024))
      ->group("Run");
  app.add_option("--rate", flags.rate,
                 "requests that many a second, at their own times, through a queue\n(latencies from when each was due; "
                 "several rates: one after another)")
      ->option_text("R,...")
      ->group("Run");
  app.add_option("--find-rate", flags.find_rate,
                 "the highest rate of such requests at which this holds, by trials of --duration each")
      ->option_text("p99<20ms")
      ->group("Run");
  app.add_option("--arrivals", flags.arrivals,
                 "with --rate, --find-rate: poisson or fixed gaps between requests (poisson)")
      ->option_text("poisson|fixed")
      ->check(OneOf({"poisson", "fixed"}))
      ->group(kMoreGroup);
  app.add_option("--inflight", flags.in_flight, "with --rate, --find-rate: runs at once (one a core of the plan)")
      ->option_text("N")
      ->check(CLI::Range(1, 1024))
      ->group(kMoreGroup);
  app.add_option("--queue", flags.queue, "with --rate, --find-rate: requests that may wait; one more is refused (64)")
      ->option_text("N")
      ->check(CLI::Range(0, 1 << 20))
      ->group(kMoreGroup);
  app.add_option("--carry", flags.carry,
                 "each run takes that output of the run before as that input\n(zeros or --input at first; repeatable)")
      ->option_text("OUT=IN")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Run");
  app.add_option("--shape-set", flags.shape_sets,
                 "measure at these sizes, several sets in turns\n(dims by name and shapes of inputs, with commas "
                 "between them; repeatable)")
      ->option_text("batch=4,x=4x16")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Run");
  app.add_option("--sessions", flags.sessions, "with --shape-set: sessions that are kept (8)")
      ->option_text("N")
      ->check(CLI::Range(1, 1024))
      ->group(kMoreGroup);
  app.add_option(
         "--memory", flags.choice.memory,
         "most memory that a run may take there, such as cpu=64MiB\n(or acc:0=2GiB: more is refused; repeatable)")
      ->option_text("DEVICE=SIZE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Run");
  app.add_option("--trace", flags.trace, "write a trace of one run (opens in Perfetto)")
      ->option_text("FILE.json")
      ->group("Run");
  app.add_option("--html", flags.html, "write plan and runs as a page: predicted above measured\n(one file)")
      ->option_text("FILE.html")
      ->group("Run");
  app.add_option(
         "--assert", flags.assertions,
         "exit 10 unless the runs show it at 95 %: a percentile,\nor with --compare the speedup of the last plan, "
         "as in speedup>=1.05 (repeatable)")
      ->option_text("'p99<5ms'")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Run");
  app.add_flag("--residuals", flags.residuals,
               "what makes the run slower or faster than predicted\n(and in which steps)")
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
  app.add_option(
         "--verify", flags.verify,
         "compare outputs with a test_data_set, or the reference library\n(of several models NAME=DIR of each, with "
         "commas between them)")
      ->option_text("DIR|reference")
      ->group("Prove");
  app.add_flag("--bisect", flags.bisect,
               "which value goes wrong first, by the reference library\n(and the step, node and library that made it)")
      ->group("Prove");
  app.add_option("--suite", flags.suite, "verify every case below a folder")->option_text("FOLDER")->group("Prove");
  app.add_option("--only", flags.only, "only the cases of the suite whose name matches")
      ->option_text("GLOB")
      ->group("Prove");
  app.add_flag("--twin", flags.choice.twin, "with --verify or --suite: must equal the sequential twin\n(bit for bit)")
      ->group("Prove");
  app.add_option("--rtol", flags.rtol, "relative tolerance instead of the type's")->option_text("X")->group(kMoreGroup);
  app.add_option("--atol", flags.atol, "absolute tolerance instead of the type's")->option_text("X")->group(kMoreGroup);
  app.add_option("--case-timeout", flags.case_timeout, "time for one case of a suite (60s)")
      ->option_text("TIME")
      ->group(kMoreGroup);
  app.add_flag("--suite-worker", flags.suite_worker)->group("");
}

namespace {

std::vector<FlagRule> Rules() {
  // What measures or looks at something else than requests to one plan.
  const std::vector<std::string_view> not_with_requests = {"--concurrency", "--compare",   "--aa",           "--carry",
                                                           "--shape-set",   "--verify",    "--bisect",       "--suite",
                                                           "--trace",       "--residuals", "--save-outputs", "--html"};
  return {
      {.flag = "--plan", .excludes = {"--planner"}, .why = "one reads a plan, the other makes one"},
      {.flag = "--dispatch", .excludes = {"--plan"}, .why = "a plan has decided everything"},
      {.flag = "--dispatch", .excludes = {"--planner"}, .hint = "--compare measures both in turns"},
      {.flag = "--dispatch", .excludes = {"--compare"}, .hint = "--compare dispatch:{--dispatch},{--compare}"},
      {.flag = "--dispatch",
       .excludes = {"--sequential", "--twin"},
       .hint = "--planner {--dispatch} has a sequential twin"},
      {.flag = "--dispatch", .excludes = {"--trace"}, .hint = "trace a plan: --planner {--dispatch}"},
      {.flag = "--dispatch", .excludes = {"--residuals"}, .why = "nothing is predicted of runs that decide"},
      {.flag = "--dispatch", .excludes = {"--suite"}, .hint = "--verify for a single model"},
      // A plan file is of one size, and so is what else these flags look at.
      {.flag = "--shape-set",
       .excludes = {"--plan", "--dispatch", "--compare", "--aa", "--concurrency", "--carry", "--memory", "--trace",
                    "--residuals", "--save-outputs", "--verify", "--suite", "--precision auto"},
       .hint = "one size: --dim and --shape"},
      {.flag = "--carry", .excludes = {"--concurrency", "--suite"}},
      {.flag = "--rate", .excludes = not_with_requests, .why = "it measures requests to one plan"},
      {.flag = "--find-rate", .excludes = not_with_requests, .why = "it measures requests to one plan"},
      {.flag = "--find-rate", .excludes = {"--rate", "--iterations", "--assert"}, .why = "it chooses them itself"},
      {.flag = "--inflight", .needs = {"--rate", "--find-rate"}},
      {.flag = "--queue", .needs = {"--rate", "--find-rate"}},
      {.flag = "--arrivals", .needs = {"--rate", "--find-rate"}},
      // The plan against itself is one measurement of its own.
      {.flag = "--aa",
       .excludes = {"--compare", "--concurrency", "--verify", "--suite", "--trace", "--residuals", "--save-outputs"}},
      {.flag = "--concurrency", .excludes = {"--compare", "--verify", "--suite", "--trace", "--save-outputs"}},
      {.flag = "--html",
       .excludes = {"--dispatch", "--shape-set", "--aa", "--compare", "--concurrency", "--verify", "--suite"},
       .why = "it shows runs of one plan"},
      {.flag = "--residuals", .excludes = {"--compare", "--verify", "--suite", "--concurrency"}},
      {.flag = "--assert", .excludes = {"--shape-set", "--aa", "--concurrency", "--verify", "--suite"}},
      {.flag = "--bisect",
       .excludes = {"--dispatch", "--shape-set", "--verify", "--suite", "--twin", "--carry", "--concurrency",
                    "--compare", "--aa", "--assert", "--trace", "--residuals", "--html", "--save-outputs"},
       .why = "it looks at one run of one plan"},
      {.flag = "--precision auto", .excludes = {"--suite"}, .why = "it needs plans that pt-plan makes"},
      {.flag = "--duration", .excludes = {"--iterations"}},
  };
}

}  // namespace

Status CheckFlags(const CLI::App& app, const RunFlags& flags) {
  if (flags.choice.planner.starts_with(kDispatchPrefix)) {
    const std::string rule = flags.choice.planner.substr(kDispatchPrefix.size());
    return MakeError(ErrorCode::kUsage, "usage.value", "--planner " + flags.choice.planner + " is not a planner",
                     "--dispatch " + rule);
  }
  PT_CHECK_OK(CheckFlagRules(app, Rules()));
  if (!flags.choice.dispatch.empty()) PT_CHECK_OK(DispatchRuleNamed(flags.choice.dispatch));
  return CheckCarry(flags);
}

}  // namespace pt::tools
