#include "tools/pt-plan/plan_flags.h"

#include <CLI/CLI.hpp>

#include "tools/common/flag_rules.h"
#include "tools/common/models.h"
#include "tools/pt-plan/export.h"

namespace pt::tools {

void AddFlags(CLI::App& app, PlanFlags& flags) {
  AddCommonFlags(app, flags.common);
  AddRunLimits(app, flags.common);
  AddCrashFlags(app, flags.crash);
  const auto list = [&](const char* name, std::vector<std::string>& to, const char* text, const char* help) {
    app.add_option(name, to, help)
        ->option_text(text)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group("Plan");
  };
  app.add_option("-o,--output", flags.output, "write the plan there (- for standard output)")
      ->option_text("FILE")
      ->group("Plan");
  std::string planners = "which planner: NAME or NAME:ARGUMENT, such as random:7\nof";
  for (const Planner& planner : Planners()) planners += " " + std::string(planner.name);
  app.add_option("--planner", flags.planner, planners)->option_text("NAME")->group("Plan");
  app.add_option("--profile", flags.profile, "costs from a profile file instead of the database")
      ->option_text("FILE.json")
      ->group("Plan");
  app.add_option("--workload", flags.workload, "a graph, its machine and all times as data, instead of a model")
      ->option_text("FILE.json")
      ->group("Plan");
  app.add_option("--effort", flags.effort, "evaluations the search may spend (the planner's choice)")
      ->option_text("N")
      ->group("Plan");
  app.add_option("--seed", flags.seed, "of the search (1)")->option_text("N")->group(kMoreGroup);
  app.add_option("--time-limit", flags.time_limit, "stop searching then")->option_text("TIME")->group("Plan");
  app.add_option("--margin", flags.margin,
                 "what a split must gain over the best single device\n(more than the noise of that prediction, which "
                 "is the default, or 0 for any gain)")
      ->option_text("noise|0")
      ->check(OneOf({"noise", "0"}))
      ->group("Plan");
  app.add_option("--finalists", flags.finalists,
                 "run the best K plans of all planners, and keep the fastest\n(in turns; the fastest beyond the noise)")
      ->option_text("K")
      ->group("Plan");
  app.add_option("--refine", flags.refine,
                 "plan anew from what the steps of the last plan took, N times\n(while it ran; the fastest is kept)")
      ->option_text("N")
      ->group("Plan");
  app.add_option("--split-critical", flags.split_critical,
                 "try to split operators on the critical path, N of them\n(measures their parts, keeps what gains)")
      ->option_text("N")
      ->group("Plan");
  app.add_option("--rate", flags.rate,
                 "plan for that many requests a second: which plan, and how\nits runs share the cores (confirmed by "
                 "requests that are sent)")
      ->option_text("R")
      ->group("Plan");
  app.add_option(
         "--p99", flags.p99,
         "with --rate: the 99th percentile of their latencies must be below\n(exit 10 where it is not, with the "
         "highest rate that is met)")
      ->option_text("TIME")
      ->group("Plan");
  app.add_flag("--no-confirm", flags.no_confirm, "with --rate: by prediction alone, nothing runs")->group("Plan");
  app.add_option("--arrivals", flags.arrivals, "with --rate: poisson or fixed gaps between requests (poisson)")
      ->option_text("poisson|fixed")
      ->check(OneOf({"poisson", "fixed"}))
      ->group(kMoreGroup);
  app.add_option("--queue", flags.queue, "with --rate: requests that may wait; one more is refused (64)")
      ->option_text("N")
      ->check(CLI::Range(0, 1 << 20))
      ->group(kMoreGroup);
  app.add_option("--duration", flags.duration, "with --rate: how long requests are sent to each plan (2s)")
      ->option_text("TIME")
      ->group(kMoreGroup);
  list("--place", flags.place, "NODE=WHERE",
       "nodes that must run on a device or unit class\n(by index, or by a glob over names)");
  list("--forbid", flags.forbid, "NODE=WHERE", "nodes that must not run there");
  list("--lend", flags.lend, "NAME=DEVICE", "model inputs and outputs (glob) that the caller has on a device");
  list("--memory", flags.memory, "DEVICE=SIZE",
       "most that the plan's tensors may take there\n(such as cpu=64MiB or acc:0=2GiB; repeatable)");
  list("--calibrate", flags.calibrate, "DIR",
       "folder of data for --precision auto\n(of input_N.pb, or of test_data_set_*; random without)");
  app.add_flag("--no-estimates", flags.no_estimates, "use measured costs only")->group(kMoreGroup);
  app.add_flag("--baselines", flags.baselines, "every planner's predicted makespan, the bound and the gap")
      ->group("Ask");
  app.add_flag("--pareto", flags.pareto,
               "makespan against peak memory: plans with ever less\n(-o 'plan-%.json' writes each, numbered)")
      ->group("Ask");
  app.add_option("--export", flags.export_to,
                 "draw the plan: timelines to FILE.svg, the graph to FILE.dot\n(or all of --baselines; the graph by "
                 "unit; ort-streams: write its streams to -o as ONNX Runtime reads them)")
      ->option_text("FILE | ort-streams")
      ->group("Ask");
  app.add_option("--html", flags.html,
                 "write the plan as a page: timelines, steps and why\n(one file; with --diff both plans)")
      ->option_text("FILE.html")
      ->group("Ask");
  app.add_option("--annotate", flags.annotate,
                 "write the model with notes on the plan at its nodes\n(unit, step, library, times: Netron shows them)")
      ->option_text("FILE.onnx")
      ->group("Ask");
  app.add_option("--export-group", flags.export_group,
                 "write what that step computes to -o, as an ONNX model\n(of the plan, or of --check's file)")
      ->option_text("STEP")
      ->group("Ask");
  app.add_option("--diff", flags.diff, "what differs between two plan files (no model)")
      ->option_text("A B")
      ->expected(2)
      ->group("Ask");
  app.add_option("--check", flags.check, "is this plan legal, and does it fit model and machine?")
      ->option_text("PLAN")
      ->group("Ask");
  list("--explain", flags.explain, "NODE", "why these nodes are where they are\n(by index, or by a glob over names)");
  app.get_option("--explain")->group("Ask");
}

namespace {

// What --export-group and ort-streams take a plan from: one that this call makes and no more, or --check's file.
std::vector<std::string_view> MoreThanAPlan() {
  return {"--finalists", "--refine",  "--split-critical", "--baselines",
          "--pareto",    "--explain", "--workload",       "--diff"};
}

std::vector<FlagRule> Rules() {
  return {
      {.flag = "--precision auto", .excludes = {"--baselines", "--explain"}, .why = "it makes one plan"},
      {.flag = "--finalists", .excludes = {"--precision auto", "--baselines", "--explain"}},
      {.flag = "--refine", .excludes = {"--precision auto", "--baselines", "--explain"}},
      {.flag = "--split-critical",
       .excludes = {"--precision auto", "--finalists", "--refine", "--baselines", "--pareto", "--explain",
                    "--workload"},
       .hint = "what it keeps is a --rewrite that goes with all of them"},
      {.flag = "--pareto", .excludes = {"--precision auto", "--finalists", "--refine", "--baselines", "--explain"}},
      {.flag = "--calibrate", .needs = {"--precision auto"}, .why = "it is data for that"},
      {.flag = "--profile", .excludes = {"--db"}},
      {.flag = "--diff", .excludes = {"model", "--workload"}, .why = "it compares two plan files"},
      {.flag = "--workload",
       .excludes = {"model",     "--db",        "--profile",   "--no-estimates", "--platform", "--devices",
                    "--threads", "--libraries", "--precision", "--max-error",    "--nan",      "--dim",
                    "--shape",   "--input",     "--calibrate", "--finalists",    "--refine",   "--pareto",
                    "--lend",    "--memory",    "--check",     "--explain"},
       .why = "it holds graph, machine and times, and nothing of it can run"},
      {.flag = "--export-group",
       .needs = {"-o"},
       .why = "it writes a model",
       .hint = "pt-plan {model} --export-group {--export-group} -o part.onnx"},
      {.flag = "--export-group", .excludes = {"--export"}, .why = "one writes a step, the other draws a plan"},
      {.flag = "--export-group",
       .excludes = MoreThanAPlan(),
       .hint = "write such a plan with -o, then name it: --check PLAN --export-group STEP"},
      {.flag = "--export ort-streams",
       .needs = {"-o"},
       .why = "it writes a file",
       .hint = "pt-plan {model} --export ort-streams -o streams.json"},
      {.flag = "--export ort-streams",
       .excludes = MoreThanAPlan(),
       .hint = "write such a plan with -o, then name it: --check PLAN --export ort-streams"},
      {.flag = "--html",
       .excludes = {"--pareto", "--explain", "--baselines", "--workload", "--check", "--export-group",
                    "--export ort-streams"},
       .why = "it shows the one plan that this call makes"},
      {.flag = "--annotate",
       .excludes = {"--pareto", "--explain", "--baselines", "--workload", "--diff", "--export-group",
                    "--export ort-streams"},
       .why = "it notes the one plan that this call makes or checks"},
      {.flag = "--rate",
       .excludes = {"--precision auto", "--finalists", "--refine", "--split-critical", "--baselines", "--pareto",
                    "--explain", "--workload", "--diff", "--check", "--export", "--export-group", "--html",
                    "--annotate"},
       .why = "it makes and runs plans of its own",
       .hint = "write its plan with -o, then look at that: --check PLAN"},
      {.flag = "--p99", .needs = {"--rate"}},
      {.flag = "--no-confirm", .needs = {"--rate"}},
      {.flag = "--arrivals", .needs = {"--rate"}},
      {.flag = "--queue", .needs = {"--rate"}},
      {.flag = "--duration", .needs = {"--rate"}, .why = "it is how long requests are sent"},
      {.flag = "--duration", .excludes = {"--no-confirm"}, .why = "nothing is sent without a confirmation"},
      {.flag = "--export", .excludes = {"--pareto", "--explain"}, .why = "it draws the plans that this call makes"},
  };
}

}  // namespace

Status CheckFlags(const CLI::App& app, const PlanFlags& flags) {
  PT_CHECK_OK(CheckFlagRules(app, Rules()));
  for (const char* flag : {"--annotate", "--export ort-streams", "--calibrate"}) {
    if (IsGiven(app, flag)) PT_CHECK_OK(CheckOneModel(flags.common, flag));
  }
  if (flags.pareto && !flags.output.empty() && flags.output.find('%') == std::string::npos) {
    return MakeError(ErrorCode::kUsage, "usage.combination",
                     "--pareto writes several plans: -o needs a '%' where their numbers go, as in plan-%.json");
  }
  return CheckExport(flags);
}

}  // namespace pt::tools
