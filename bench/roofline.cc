// How much of the processor's peak each step of a plan reaches: runs the plan and prints, for every kernel, its
// shortest time, its arithmetic and traffic, and its share of the peak of the cores it runs on, measured before and
// after.
//
//   bench_roofline MODEL PLAN [DIM=VALUE]...
//
// Arithmetic is that of the operator as ONNX defines it: Winograd's convolutions need less and may pass 100 %.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/model_run.h"
#include "bench/peak.h"

namespace {

struct Line {
  std::string what;
  double us = 0, gflops = 0, gbytes = 0;  // time; work
  double cores = 1;
};

std::string Describe(const pt::Graph& graph, const pt::Candidate& candidate) {
  std::string text = candidate.library + " ";
  for (pt::NodeId node : candidate.nodes) text += (node == candidate.nodes[0] ? "" : "+") + graph.node(node).op;
  if (!candidate.variant.empty()) text += " " + candidate.variant;
  const auto dims = graph.value(graph.node(candidate.nodes.back()).outputs[0]).type.static_dims();
  text += " [";
  for (size_t d = 0; dims && d < dims->size(); ++d) text += (d == 0 ? "" : "x") + std::to_string((*dims)[d]);
  return text + "]";
}

std::vector<Line> LinesOf(const pt::Session& session) {
  const auto plan = session.plan();
  const std::vector<pt::StepCounter> counters = session.StepCounters();
  std::vector<Line> lines;
  for (size_t s = 0; s < plan->steps.size(); ++s) {
    const auto* run = std::get_if<pt::RunGroup>(&plan->steps[s].work);
    if (run == nullptr || counters[s].runs == 0) continue;
    const pt::Candidate& candidate = plan->candidates[run->candidate.index()];
    const pt::WorkSize work = pt::WorkSizeOf(session.graph(), candidate.nodes);
    const pt::Platform& platform = session.machine().platform();
    lines.push_back({Describe(session.graph(), candidate), static_cast<double>(counters[s].min_ns) / 1e3,
                     work.flops / 1e9, work.bytes / 1e9,
                     static_cast<double>(platform.unit_class(candidate.unit_class).cores)});
  }
  return lines;
}

// Runs the plan so often that each step shows its shortest time.
pt::Result<std::vector<Line>> Run(int argc, char** argv) {
  constexpr int kRuns = 50;
  pt::EngineOptions engine_options;
  engine_options.db_path = "none";
  PT_ASSIGN(const auto engine, pt::Engine::Make(engine_options));
  PT_ASSIGN(const pt::ModelOptions options, pt::bench::OptionsFrom(argc, argv));
  PT_ASSIGN(const auto model, engine->Load(argv[1], options));
  PT_ASSIGN(const pt::Plan plan, pt::bench::ReadPlan(argv[2]));
  PT_ASSIGN(const auto session, engine->MakeSession(*model, plan));
  PT_ASSIGN(const auto inputs, pt::bench::Buffers::For(session->graph(), session->graph().inputs()));
  PT_ASSIGN(const auto outputs, pt::bench::Buffers::For(session->graph(), session->graph().outputs()));
  for (int i = 0; i < kRuns; ++i) {
    PT_ASSIGN(const pt::RunReport run, session->Run(inputs.tensors(), outputs.tensors()));
    (void)run;
  }
  return LinesOf(*session);
}

pt::Status Measure(int argc, char** argv) {
  double peak = pt::bench::PeakGflops();
  PT_ASSIGN(std::vector<Line> lines, Run(argc, argv));
  peak = std::max(peak, pt::bench::PeakGflops());
  std::ranges::stable_sort(lines, [](const Line& a, const Line& b) { return a.us * a.cores > b.us * b.cores; });
  double time = 0, flops = 0;
  for (const Line& line : lines) time += line.us * line.cores, flops += line.gflops;
  std::printf("peak of one core %.0f GFLOP/s; all kernels %.0f us of core time, %.1f %% of the peak\n\n", peak, time,
              100 * flops / (time / 1e6) / peak);
  std::printf("%10s %6s %9s %8s %8s %7s  kernel\n", "us", "cores", "of time", "GFLOP/s", "GB/s", "of peak");
  for (const Line& line : lines) {
    const double seconds = line.us / 1e6;
    std::printf("%10.1f %6.0f %7.1f %% %8.1f %8.1f %5.1f %%  %s\n", line.us, line.cores,
                100 * line.us * line.cores / time, line.gflops / seconds, line.gbytes / seconds,
                100 * line.gflops / seconds / (peak * line.cores), line.what.c_str());
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: bench_roofline MODEL PLAN [DIM=VALUE]...\n"), 2;
  if (const pt::Status status = Measure(argc, argv); !status.ok()) {
    return std::fprintf(stderr, "%s\n", ToString(status.error()).c_str()), 1;
  }
  return 0;
}
