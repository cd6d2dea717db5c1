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
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "bench/model_run.h"

namespace {

using pt::bench::Buffers;
using pt::bench::OptionsFrom;
using pt::bench::ReadPlan;
using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

// A line of /proc/self/status in MiB; 0 when it is not there.
double StatusMib(const char* key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::strtod(line.c_str() + std::strlen(key), nullptr) / 1024;
  }
  return 0;
}

double StartMilliseconds(Clock::time_point now) {
  const char* started = std::getenv("STARTED_NS");
  if (started == nullptr) return 0;
  return Milliseconds(now.time_since_epoch() - std::chrono::nanoseconds(std::atoll(started)));
}

class Report {
 public:
  explicit Report(Clock::time_point main) : last_(main) { Add("start", StartMilliseconds(main)); }
  void Add(const char* name, double value) {
    char number[64];
    std::snprintf(number, sizeof number, "%s\"%s\": %.3f", text_.empty() ? "" : ", ", name, value);
    text_ += number;
  }
  // The time since the last stage ended.
  void Stage(const char* name) {
    const Clock::time_point now = Clock::now();
    Add(name, Milliseconds(now - last_));
    last_ = Clock::now();
  }
  void Skip() { last_ = Clock::now(); }
  void Print() const { std::printf("{%s}\n", text_.c_str()); }

 private:
  Clock::time_point last_;
  std::string text_;
};

pt::Status Measure(int argc, char** argv, Report& report) {
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
  Report report(Clock::now());
  if (argc < 3) return std::fprintf(stderr, "usage: bench_startup MODEL PLAN [DIM=VALUE]...\n"), 2;
  if (const pt::Status status = Measure(argc, argv, report); !status.ok()) {
    return std::fprintf(stderr, "%s\n", ToString(status.error()).c_str()), 1;
  }
  report.Print();
  return 0;
}
