// Subject: one candidate or reorder, compiled and bound to memory of its device, that can be run again and again.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lib/profiler/fault.h"
#include "lib/profiler/input_data.h"
#include "partitiontuner/exec/machine.h"

namespace pt {

class Subject {
 public:
  // What an input holds before every sample, and where. Only on host-like devices may the host touch the buffer.
  struct Input {
    DeviceBuffer* buffer;
    std::unique_ptr<DeviceBuffer> fresh;  // the host's memory, from where the device copies without a stop
    bool is_callers = false;              // CallersTensors
  };
  struct Output {
    DeviceBuffer* buffer;
    bool is_callers = false;
  };

  // On the device of that unit class; context: of the runner it will be timed with. All must outlive the subject.
  Subject(Machine& machine, UnitClassId unit_class, CompileContext context);
  ~Subject();

  // One of these once. The inputs hold nothing yet.
  Status MakeCandidate(const Graph& graph, const Candidate& candidate);
  Status MakeReorder(std::span<const int64_t> dims, const Form& from, const Form& to);

  // One execution, or on asynchronous devices its launch.
  Status Enqueue(Stream& stream);

  // The kernel computes on threads of its own: the unit's other cores are to sleep meanwhile.
  bool brings_threads() const { return kernel_->brings_threads(); }

  // Whose the error was that a call has just returned; kElsewhere as long as the kernel has made none.
  Origin origin() const { return origin_; }
  // For a runner that was told of an error later.
  void set_origin(Origin origin) { origin_ = origin; }
  // A device that hangs may still use it all: lost on purpose rather than freed.
  void Abandon();

  std::span<const Input> inputs() const { return inputs_; }
  std::span<const Output> outputs() const { return outputs_; }  // except for those that lie in an input
  // Packed by the library, on the device.
  std::span<const std::shared_ptr<DeviceBuffer>> packed_constants() const;
  // As the model holds them, on the host.
  std::span<const std::span<const std::byte>> plain_constants() const { return plain_constants_; }
  // What one execution reads and writes, constants included.
  size_t touched_bytes() const { return touched_bytes_; }

 private:
  class NotingWeightStore;

  Result<DeviceBuffer*> Allocate(uint64_t bytes);
  Result<TensorView> AddInput(const TensorLayout& layout, ValueRange range, bool is_callers = false);
  Result<TensorView> AddOutput(const TensorLayout& layout, bool is_callers = false);
  Status AddOutputs(const Graph& graph, const Candidate& candidate, std::span<const uint32_t> callers,
                    std::span<const TensorView> in, std::vector<TensorView>& out);
  Status Bind(std::vector<TensorView> in, std::vector<TensorView> out);
  Status OfKernel(Status status);

  Machine& machine_;
  const UnitClassId unit_class_;
  DeviceDriver& driver_;
  Origin origin_ = Origin::kElsewhere;
  std::unique_ptr<NotingWeightStore> weights_;
  std::vector<TensorView> in_, out_;  // the slots that the kernel is bound to
  CompileContext context_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<std::span<const std::byte>> plain_constants_;
  size_t touched_bytes_ = 0;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<BoundKernel> bound_;
};

}  // namespace pt
