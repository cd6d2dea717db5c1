// A machine with a host and CUDA devices, and whole runs on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "test/cuda/cuda_lab.h"

namespace pt::testing {

// The reference library on the host, those of the plugin on every device of the lab. The lab may be gone before it.
struct CudaMachine {
  // text: the graph, with all types (graph_text.h).
  CudaMachine(const GpuLab& lab, const std::string& text);
  CudaMachine(const GpuLab& lab, std::shared_ptr<const Graph> graph);

  // Node i on units[i], in graph order.
  Plan PlanOn(const std::vector<const char*>& units) const;
  std::unique_ptr<Session> Create(const Plan& plan, const SessionOptions& options = {}) const;

  std::unique_ptr<Machine> machine;
  std::shared_ptr<const Graph> graph;
};

Result<RunReport> RunOnce(Session& session, std::vector<Buffer>& inputs, std::vector<Buffer>& outputs,
                          const RunOptions& options = {});

// "" when a run's outputs are the reference library's, else the difference or the error. Inputs depend on `start`.
std::string FaultOf(Session& session, float start, const RunOptions& options = {});

// A random graph by a random plan over host cores and streams of the first two devices: captured, step by step and one
// after another.
void CheckRandomPlan(const GpuLab& lab, uint32_t seed);

}  // namespace pt::testing
