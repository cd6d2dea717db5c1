// From a file to what planners see: the steps of Engine::Load.
#pragma once

#include <memory>

#include "partitiontuner/engine/model.h"
#include "partitiontuner/exec/machine.h"

namespace pt {

// keep_reference: candidates of the reference library stay even where another library serves.
Result<std::shared_ptr<const Model>> LoadModel(const std::string& path, const ModelOptions& options,
                                               const Machine& machine, bool keep_reference);
Result<std::shared_ptr<const Model>> LoadModel(const ModelFile& file, const ModelOptions& options,
                                               const Machine& machine, bool keep_reference);

// Engine::Split, of a model that was loaded to plan.
Result<std::shared_ptr<const Model>> SplitModel(const Model& model, const NodeSplit& split, const Machine& machine,
                                                bool keep_reference);

}  // namespace pt
