// What it takes to come from nothing to a first result, in one fresh process: prints one line of JSON with
// milliseconds by stage and memory in MiB. bench/startup.py runs it in turns with others and prints the table.
//
//   bench_startup MODEL PLAN [DIM=VALUE]...
//
// start    from the program's launch to main: loading the shared libraries; needs STARTED_NS=<CLOCK_MONOTONIC> in
//          the environment, else 0
// machine  finding devices, making the engine
// load     reading and simplifying the model
// plan     reading the plan
// compile  making the session: checking, packing weights, compiling
// first    the first run; second the next one
// peak     largest resident memory of the process; bare: at main; own: after the runs without what files back, so
//          without the pages of shared libraries
#include <chrono>
#include <cstdio>

#include "bench/model_run.h"
#include "bench/startup_report.h"

namespace {

using pt::bench::Buffers;
using pt::bench::OptionsFrom;
using pt::bench::ReadPlan;
using pt::bench::StartupReport;
using pt::bench::StatusMib;

pt::Status Measure(int argc, char** argv, StartupReport& report) {
  report.Add("bare", StatusMib("VmHWM:"));
  report.Add("bare_own", StatusMib("RssAnon:"));
  PT_ASSIGN(const pt::ModelOptions options, OptionsFrom(argc, argv));
  report.Skip();
  pt::EngineOptions engine_options;
  engine_options.db_path = "none";
  PT_ASSIGN(const auto engine, pt::Engine::Make(engine_options));
  report.Stage("machine");
  PT_ASSIGN(const auto model, engine->Load(argv[1], options));
  report.Stage("load");
  report.Add("peak_load", StatusMib("VmHWM:"));
  report.Skip();
  PT_ASSIGN(const pt::Plan plan, ReadPlan(argv[2]));
  report.Stage("plan");
  PT_ASSIGN(const auto session, engine->MakeSession(*model, plan));
  report.Stage("compile");
  const pt::Graph& graph = session->graph();
  PT_ASSIGN(const Buffers inputs, Buffers::For(graph, graph.inputs()));
  PT_ASSIGN(const Buffers outputs, Buffers::For(graph, graph.outputs()));
  report.Skip();
  for (const char* name : {"first", "second"}) {
    PT_ASSIGN(const pt::RunReport run, session->Run(inputs.tensors(), outputs.tensors()));
    (void)run;
    report.Stage(name);
  }
  report.Add("peak", StatusMib("VmHWM:"));
  report.Add("own", StatusMib("RssAnon:"));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  StartupReport report(StartupReport::Clock::now());
  if (argc < 3) return std::fprintf(stderr, "usage: bench_startup MODEL PLAN [DIM=VALUE]...\n"), 2;
  if (const pt::Status status = Measure(argc, argv, report); !status.ok()) {
    return std::fprintf(stderr, "%s\n", ToString(status.error()).c_str()), 1;
  }
  report.Print();
  return 0;
}
