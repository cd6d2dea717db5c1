// --carry OUT=IN: outputs that become inputs of the next run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "partitiontuner/engine/carried_runs.h"
#include "tools/common/inputs.h"
#include "tools/pt-run/verdict.h"

namespace pt::tools {

// kUsage for what is not OUT=IN. Names are looked at when the model is there.
Status CheckCarry(const RunFlags& flags);

// What the flags say; the first run finds what `inputs` has of the data that was given, else zeros. Errors: kUsage.
Result<std::vector<Carry>> CarriesOf(const RunFlags& flags, const Model& model, const GivenInputs& given,
                                     const std::vector<Tensor>& inputs);
// The first run finds these inputs.
Result<std::vector<Carry>> CarriesOf(const RunFlags& flags, const Model& model, const std::vector<Datum>& inputs);

// Runs in a row, and of the sequential twin where there is one. The model may be made ready anew in between, for inputs
// of other dims: the state goes on. Without carries each run is by itself.
class RunsInARow {
 public:
  explicit RunsInARow(std::vector<Carry> carries) : carries_(std::move(carries)) {}

  Result<RunOutputs> Next(const std::shared_ptr<const ReadyModel>& ready, const std::vector<Datum>& inputs,
                          const CancelToken& cancel);

 private:
  Status MoveTo(const std::shared_ptr<const ReadyModel>& ready);

  std::vector<Carry> carries_;
  std::shared_ptr<const ReadyModel> ready_;  // that the runs are of
  std::optional<CarriedRuns> runs_, twin_;
};

}  // namespace pt::tools
