// CarriedRuns: runs of a session one after another, in which outputs become inputs of the next run: the state of a
// recurrent model that is called frame by frame. Not the session, which has no memory of earlier runs: many CarriedRuns
// may share one, each with a state of its own.
//
//   std::vector<pt::Carry> carries = {{"stateN", "state"}};  // zeros at first
//   auto runs = pt::CarriedRuns::Make(*session, std::move(carries)).value();
//   for (...) runs.Run(inputs, outputs).value();             // the entries of "state" and "stateN" are not looked at
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/exec/lent_buffer.h"
#include "partitiontuner/exec/session.h"

namespace pt {

// An output that an input of the next run is. One output may be carried into several inputs.
struct Carry {
  std::string output, input;
  std::optional<Datum> initial = {};  // what the first run finds, and the first one after Reset; nothing: zeros
};

// One caller at a time.
class CarriedRuns {
 public:
  // The session outlives it. Errors: kUsage (a name that the model does not have, an input carried into twice, types or
  // dims that cannot be equal, an output and its input on different devices), kInvalidInput (an initial value that is
  // not of the input's type), kUnsupported (zeros for an input that has no size before the run or holds no numbers),
  // and those of LentBuffer.
  static Result<CarriedRuns> Make(Session& session, std::vector<Carry> carries);

  // Session::Run: in the order of the graph's inputs and outputs, entries of what is carried not looked at. The state
  // becomes that of this run when it succeeds; a run that fails, is cancelled or ends too late leaves that of the last
  // good one. Outputs of a size known before the run are carried without copying. Errors: those of Session::Run;
  // kRunFailed for a state whose size, known only now, is not the input's.
  Result<RunReport> Run(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs,
                        const RunOptions& options = {});

  // The next run begins with the initial values again.
  Status Reset();

  std::span<const Carry> carries() const { return carries_; }
  // What the next run finds in the input of that carry. Copies what lies in a buffer.
  Result<Datum> State(size_t carry) const;
  // What RunBuffers::CopyData says of the last good run, carried outputs included. After at least one.
  Result<std::vector<Datum>> CopyData(const RunBuffers& outputs, const RunReport& report) const;
  // One run in buffers of its own; entries of carried inputs are not looked at, carried outputs are among the result.
  Result<std::vector<Datum>> RunData(std::span<const Datum> inputs, const RunOptions& options = {});

 private:
  // Written and read in turns: a run reads one buffer and writes the other. None for what has no size before the run.
  struct Output {
    size_t index = 0;  // in the graph's outputs
    std::vector<LentBuffer> memory;
    std::optional<Datum> kept;  // of the last good run, where there is no buffer
  };
  struct Input {
    size_t index = 0;  // in the graph's inputs
    size_t from = 0;   // in outputs_
    Datum initial;
    // Of what has a size before the run: the initial value; later what the output left, where that has no buffers.
    std::optional<LentBuffer> memory;
  };

  explicit CarriedRuns(Session& session) : session_(&session) {}
  Status Add(const Carry& carry);
  Result<size_t> AddOutput(size_t index);
  const Value& ValueOf(const Input& input) const;
  LentTensor StateTensor(const Input& input) const;
  Result<Datum> StateOf(const Output& output) const;
  Status CheckState(const RunReport& report) const;
  Status Keep(const RunReport& report);

  Session* session_;
  std::vector<Carry> carries_;
  std::vector<Output> outputs_;
  std::vector<Input> inputs_;                         // by carry
  bool started_ = false;                              // the state is that of a run
  size_t at_ = 0;                                     // which memory of the outputs holds it
  std::vector<LentTensor> run_inputs_, run_outputs_;  // of one run; kept for their memory
};

}  // namespace pt
