// Graphs run by the reference library on two host cores, with sizes that only the run knows.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "partitiontuner/exec/session.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt::testing {

// Sessions of one machine: each graph is planned with its nodes on random units.
class HostLab {
 public:
  HostLab();

  Machine& machine() { return *machine_; }
  std::unique_ptr<Session> Open(std::shared_ptr<const Graph> graph, uint32_t seed, const SessionOptions& options = {});

 private:
  std::unique_ptr<Machine> machine_;
};

// Runs once. Outputs in the graph's order, from the caller's buffers or the report.
Result<std::vector<Tensor>> RunOnce(Session& session, const std::vector<Tensor>& inputs,
                                    const RunOptions& options = {});

// The same for values of all kinds.
Result<std::vector<Datum>> RunData(Session& session, const std::vector<Datum>& inputs, const RunOptions& options = {});

// With types inferred; FAILs when the text or the graph is wrong.
std::shared_ptr<const Graph> TypedGraph(std::string_view text);
std::shared_ptr<const Graph> Typed(GraphBuilder& builder);

}  // namespace pt::testing
