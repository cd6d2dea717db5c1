// Nested graphs of control flow: compiled once with the step that holds them, run node by node on its team.
#pragma once

#include <memory>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/exec/machine.h"

namespace pt {

// For steps of that unit, which must be the host's. The machine must outlive what it compiles.
class NestedCompiler : public SubgraphCompiler {
 public:
  NestedCompiler(Machine& machine, UnitId unit) : machine_(machine), unit_(unit) {}
  Result<std::shared_ptr<const CompiledSubgraph>> Compile(std::shared_ptr<const Graph> graph) override;

 private:
  Machine& machine_;
  UnitId unit_;
};

}  // namespace pt
