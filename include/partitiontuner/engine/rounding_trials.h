// What roundings alone change at a model's outputs, on the data at hand: runs of the reference library, one as it is
// and others whose numbers lie four times as far from the first one's as those of right libraries do. Where numbers are
// quantised on the way, the smallest difference may move one of them to the next integer, and that moves others further
// on: no bound by types says how far, but such runs do.
#pragma once

#include <memory>

#include "partitiontuner/engine/model.h"
#include "partitiontuner/exec/machine.h"
#include "partitiontuner/exec/session.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

class RoundingTrials {
 public:
  // A session of one trial; its machine outlives it. Runs as any other session does.
  struct Trial {
    std::unique_ptr<Machine> machine;
    std::unique_ptr<Session> session;
  };

  // Loads the model for the reference library alone. max_cores: as in MachineOptions. Errors: those of Engine::Load.
  static Result<RoundingTrials> Make(const ModelFile& file, const ModelOptions& options, uint32_t max_cores);

  const std::shared_ptr<const Model>& model() const { return model_; }
  // Trial 0 rounds as the reference library does, every other one in its own way, the same each time. watch: of the
  // trial's machine, which it outlives; may be null.
  Result<Trial> Open(uint64_t trial, const SessionOptions& options = {}, KernelWatch* watch = nullptr) const;

 private:
  uint32_t max_cores_ = 0;
  std::shared_ptr<const Model> model_;
  Plan plan_;  // legal in every trial: their libraries offer the same
};

}  // namespace pt
