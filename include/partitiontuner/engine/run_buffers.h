// Runs on tensors and other values: the memory in which a run finds its inputs and leaves its outputs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "partitiontuner/exec/lent_buffer.h"
#include "partitiontuner/exec/session.h"

namespace pt {

// Memory for the inputs (copied in) or outputs of a session, on the devices where its plan wants them.
class RunBuffers {
 public:
  // In the order of the graph's inputs. Errors: kInvalidInput (another number of values, type or dims than the graph
  // has; one element is taken for a scalar), and those of LentBuffer.
  static Result<RunBuffers> ForInputs(const Session& session, std::span<const Datum> values);
  static Result<RunBuffers> ForInputs(const Session& session, std::span<const Tensor> tensors);
  static Result<RunBuffers> ForOutputs(const Session& session);  // none for what has no size before the run

  std::span<const LentTensor> tensors() const { return tensors_; }
  // What the buffers hold now; outputs that have none, since their size was not known until run time, from its report.
  Result<std::vector<Datum>> CopyData(const RunReport& report) const;
  // The same; kUnsupported where one is not a tensor.
  Result<std::vector<Tensor>> Copy(const RunReport& report) const;

 private:
  Status Add(const Session& session, ValueId value, const std::vector<int64_t>& dims);
  void AddDatum(Datum datum);
  std::vector<std::optional<LentBuffer>> memory_;
  std::vector<std::shared_ptr<const Datum>> data_;  // inputs that are not buffers
  std::vector<LentTensor> tensors_;
};

// kUnsupported where one is not a tensor.
Result<std::vector<Tensor>> TensorsOf(std::span<const Datum> values);

// One run in buffers of its own; inputs and outputs in the order of the graph's. Errors: those of the above and of
// Session::Run.
Result<std::vector<Datum>> RunData(Session& session, std::span<const Datum> inputs, const RunOptions& options = {});
// The same; kUnsupported where an output is not a tensor.
Result<std::vector<Tensor>> RunTensors(Session& session, std::span<const Tensor> inputs,
                                       const RunOptions& options = {});

}  // namespace pt
