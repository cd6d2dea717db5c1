// CompiledPlan: everything about a session that no run changes: kernels, where tensors lie, the cores' instructions.
// Shared by the session's run states.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/exec/memory_nodes.h"
#include "lib/exec/program.h"
#include "lib/exec/tensor_places.h"
#include "partitiontuner/exec/session.h"

namespace pt {

// Of bytes, to be held against a limit.
inline uint64_t SaturatedSum(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

struct CompiledStep {
  UnitId unit;
  std::shared_ptr<const Kernel> kernel;  // null: a copy, or nothing to do
  std::vector<InstanceId> in, out;
  uint64_t scratch_offset = 0, scratch_bytes = 0;  // planned, in the arena of the unit's device
  // Copies: the driver that moves the bytes, and the device on its other side.
  DeviceDriver* copier = nullptr;
  CopyDirection direction = CopyDirection::kToDevice;
  DeviceId peer;
  bool staged = false;          // it reads a buffer of the caller: by way of a copy that the device may hold on to
  int64_t known_ns = 0;         // on devices with a virtual clock
  int64_t known_launch_ns = 0;  // likewise, of its launch by itself
  double demand = 0;            // see TimedStep
};

struct CompiledPlan {
  CompiledPlan(std::shared_ptr<const Graph> g, const Plan& p, Machine& m, const SessionOptions& o)
      : graph(std::move(g)), plan(p), machine(m), options(o) {}

  std::shared_ptr<const Graph> graph;
  Plan plan;
  Machine& machine;
  SessionOptions options;
  TensorPlaces places;
  std::vector<NodeRange> node_ranges;
  std::map<uint32_t, std::unique_ptr<WeightsNear>> weights_near;  // by memory node: kernels may ask them in the run
  Program program;
  std::vector<CompiledStep> steps;
  // By the caller's input and output: the steps that read or write it.
  std::vector<std::vector<StepId>> input_steps, output_steps;
  std::vector<DeviceId> devices;  // those that are not the host and have steps
  uint64_t staging_bytes = 0;     // of a run state, on the host
  uint64_t nested_bytes = 0;      // likewise, of the graphs that steps hold
  bool simulated = false;         // some unit in use has times from a file
  bool virtual_clock = false;     // and lives no time on the wall clock: the run's times are put together afterwards
  bool dynamic_boundary = false;  // some input or output of the graph has no size before the run
  uint64_t run_time_bytes = 0;    // what run_bytes leaves for sizes known only at run time; 0 = no limit
  // Of sessions that decide in the run: what about. The plan's steps are then all that may run.
  std::optional<DispatchTable> dispatch;

  const Unit& unit(StepId step) const { return machine.platform().unit(steps[step.index()].unit); }
  bool asynchronous(StepId step) const { return !machine.platform().unit_class(unit(step).unit_class).on_host(); }
  DeviceDriver& driver(StepId step) const {
    return machine.driver(machine.platform().device_of(steps[step.index()].unit));
  }
  bool can_capture(DeviceId device) const {
    return machine.platform().device(device).captures && machine.driver(device).CanCapture();
  }
  // The device's steps form segments.
  bool captures(DeviceId device) const { return options.capture && !options.sequential && can_capture(device); }
};

// Errors as Session::Create.
Result<std::unique_ptr<CompiledPlan>> CompilePlan(std::shared_ptr<const Graph> graph, const Plan& plan,
                                                  Machine& machine, const SessionOptions& options);

// What runs decide by, with all that may run compiled; the program has cores but no instructions. Errors as
// Session::CreateDispatch.
Result<std::unique_ptr<CompiledPlan>> CompileDispatch(std::shared_ptr<const Graph> graph, const DispatchPlan& dispatch,
                                                      Machine& machine, const SessionOptions& options);

// The kernels and places of a legal plan of host steps, without instructions: for graphs that run within a step.
Result<std::unique_ptr<CompiledPlan>> CompileSteps(std::shared_ptr<const Graph> graph, const Plan& plan,
                                                   Machine& machine, const SessionOptions& options);

// "step 12 (Conv conv1/7x7 (#3)) on cpu[0]", for messages.
std::string StepLabel(const CompiledPlan& plan, StepId step);

}  // namespace pt
