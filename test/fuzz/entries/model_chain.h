// The chain from the bytes of a model to its plan, under limits that make every run of a fuzzer short.
#pragma once

#include <memory>
#include <string_view>

#include "partitiontuner/engine/engine.h"

namespace pt::testing {

// One host core, with all libraries of this build; no database.
Engine& FuzzEngine();
// Another such engine without a library; "" for none. Owned by the caller.
std::unique_ptr<Engine> MakeFuzzEngine(std::string_view without);
const LoadOptions& FuzzLoadOptions();
const SessionOptions& FuzzSessionOptions();
// A second at most.
const RunOptions& FuzzRunOptions();

// Loaded with both graphs: as the file has it, and as it is planned. Dims that the file leaves open are 2.
Result<std::shared_ptr<const Model>> FuzzLoad(std::string_view bytes);
Result<Plan> FuzzPlan(const Model& model);

}  // namespace pt::testing
