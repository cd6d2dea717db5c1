// RunTimeTensors: the instances of a plan whose size is known only at run time, and their lives. Each gets storage,
// bytes or a Datum, when the step that makes it asks for it, and gives it back when the last step that reads it is
// over, whichever that is. The steps of a plan are ordered by happens-before, so no step reads before or after.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lib/exec/compiled_plan.h"
#include "lib/exec/sync.h"
#include "partitiontuner/backend/datum_view.h"

namespace pt {

class RunTimeTensors {
 public:
  // slots: by instance; of those in question, layout and data are set by runs. Both must outlive this.
  RunTimeTensors(const CompiledPlan& plan, std::span<TensorView> slots);

  bool Contains(InstanceId instance) const;

  // Before a run: sizes and addresses of the caller's inputs, after which steps may run on several threads. `memory`
  // gives all storage until End.
  Status Begin(std::span<const TensorView> inputs, RunMemory& memory);

  // For the step that makes the instance.
  Result<TensorView> Allocate(StepId step, uint32_t output, DataType type, std::span<const int64_t> dims);
  // After a step that succeeded: checks that it made all its outputs as the graph says; what it was the last to read is
  // given back.
  Status FinishStep(StepId step);

  // After a run, the graph's outputs among them are still there until End.
  // The caller keeps the storage of the instance.
  void Keep(InstanceId instance) { taken_[instance.index()] = false; }
  // Gives back what is left, after failures too.
  void End();

 private:
  void Release(InstanceId instance);

  const CompiledPlan& plan_;
  std::span<TensorView> slots_;
  std::vector<Datum> data_;        // by instance: where the slots of those that are a Datum point to
  std::vector<InstanceId> made_;   // by steps
  std::vector<uint32_t> readers_;  // by instance: reads by steps, and one more of a graph output
  // By instance, in this run: has storage to be given back; has a size. Only one step at a time touches an entry.
  std::vector<char> taken_, sized_;
  std::vector<char> has_layout_;                      // by instance: the slot's is of this run or an earlier one
  std::unique_ptr<Atomic<uint32_t>[]> readers_left_;  // by instance
  RunMemory* memory_ = nullptr;
};

// The storage of one step's outputs.
class StepOutputs : public OutputAllocator {
 public:
  StepOutputs(RunTimeTensors& tensors, StepId step) : tensors_(tensors), step_(step) {}
  Result<TensorView> Allocate(uint32_t index, DataType type, std::span<const int64_t> dims) override {
    return tensors_.Allocate(step_, index, type, dims);
  }

 private:
  RunTimeTensors& tensors_;
  StepId step_;
};

}  // namespace pt
