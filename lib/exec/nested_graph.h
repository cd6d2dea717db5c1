// Nested graphs of control flow: compiled once with the step that holds them, run step by step on its team.
#pragma once

#include <memory>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/exec/session.h"

namespace pt {

// For steps of that unit, which must be the host's. The machine must outlive what it compiles; `options` are those of
// the session. keep_nan: as the plan of these steps has it.
class NestedCompiler : public SubgraphCompiler {
 public:
  NestedCompiler(Machine& machine, UnitId unit, const SessionOptions& options, bool keep_nan)
      : machine_(machine), unit_(unit), options_(options), keep_nan_(keep_nan) {}
  Result<std::shared_ptr<const CompiledSubgraph>> Compile(std::shared_ptr<const Graph> graph) override;
  // What the graphs compiled so far have of a run state's memory, each bound once; graphs within them included.
  uint64_t bytes() const { return bytes_; }

 private:
  Result<Plan> PlanOf(const Graph& graph) const;

  Machine& machine_;
  UnitId unit_;
  const SessionOptions& options_;
  bool keep_nan_;
  uint64_t bytes_ = 0;
};

}  // namespace pt
