// Input data as the flags give it, and the memory in which a run finds its inputs and leaves its
// outputs.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/exec/lent_buffer.h"

namespace pt::tools {

// What --input says. Nothing given: random numbers in [-1, 1].
struct GivenInputs {
  std::vector<Tensor> by_position;        // from a folder of input_N.pb
  std::map<std::string, Tensor> by_name;  // from INPUT=@FILE
  double random_low = -1, random_high = 1;
  bool random_range_given = false;
};
Result<GivenInputs> ReadInputs(const std::vector<std::string>& flags);
Result<Tensor> LoadTensorFile(const std::string& path);  // .npy or .pb

// Adds the dims of the given data to what the model is specialised with; --shape wins.
void AddDims(const GivenInputs& given, ModelOptions& options);

// One tensor for each graph input: the given one, or random numbers that are the same for the same
// seed. Random indices stay within what they index. Errors: kInvalidInput (type or dims differ from
// the model's, unknown name), kUnsupported (dims still unknown, or a type that cannot be drawn).
Result<std::vector<Tensor>> MakeInputs(const Graph& graph, const GivenInputs& given, uint64_t seed);

// Memory for the inputs (copied in) or outputs of a session, on the devices where its plan wants them.
class RunBuffers {
 public:
  static Result<RunBuffers> ForInputs(const Session& session, std::span<const Tensor> tensors);
  static Result<RunBuffers> ForOutputs(const Session& session);  // none where dims are unknown

  std::span<const LentTensor> tensors() const { return tensors_; }
  // What the buffers hold now; outputs that have none, since their size was known only in the run, from its report.
  Result<std::vector<Tensor>> Copy(const RunReport& report) const;

 private:
  Status Add(const Session& session, ValueId value);
  std::vector<std::optional<LentBuffer>> memory_;
  std::vector<LentTensor> tensors_;
};

}  // namespace pt::tools
