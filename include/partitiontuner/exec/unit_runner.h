// UnitRunner: runs a function on the cores of one host unit as a step of a run would: on the unit's leading worker with
// its team, all other cores of the machine waiting as they do in a run. For measuring; sessions do not use it.
//
//   auto runner = pt::UnitRunner::Make(machine, unit).value();
//   auto kernel = library.Compile(graph, candidate, in, out, runner->compile_context()).value();
//   auto bound = kernel->Bind(...).value();
//   runner->Run([&](Stream& stream) { clock(); bound->Enqueue(StaticRun(stream)); clock(); return Status(); });
#pragma once

#include <functional>
#include <memory>

#include "partitiontuner/exec/machine.h"

namespace pt {

class UnitRunner {
 public:
  // kUsage when the unit is not a host unit. The machine must outlive the runner.
  static Result<std::unique_ptr<UnitRunner>> Make(Machine& machine, UnitId unit, bool flush_denormals = true);
  ~UnitRunner();

  // Takes all cores of the machine (behind runs already queued), runs `body` once on the unit's leading core and
  // returns its status. The body may call ParallelFor on stream.team() and enqueue bound kernels, as often as it likes:
  // keep whole sample series inside one body, so that the cores stay warm. One call at a time. `park`: the unit's other
  // cores sleep while they have nothing to do, as for kernels that bring threads of their own.
  Status Run(const std::function<Status(Stream&)>& body, bool park = false);
  // The same while the machine's other cores do something: `others` is called on each of them, with its number among
  // them, beside the body; it is to return soon after over() says so. The body does not wait for them to begin.
  using Others = std::function<void(uint32_t number, const std::function<bool()>& over)>;
  Status RunBeside(const Others& others, const std::function<Status(Stream&)>& body, bool park = false);

  // For compiling kernels that this unit runs.
  CompileContext compile_context() const;

 private:
  struct State;
  explicit UnitRunner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The costs of the executor itself. Nanoseconds for `count` of them in a row.
// Steps of a run on one host unit whose kernels do nothing: reading the instruction, gathering and releasing the team,
// the clock that counts the step's time.
Result<int64_t> TimeEmptySteps(Machine& machine, UnitId unit, uint32_t count);
// Hand-overs from a step on one host unit to a waiting one on another and back: 2 * count of them.
Result<int64_t> TimeHandOvers(Machine& machine, UnitId from, UnitId to, uint32_t count);

}  // namespace pt
