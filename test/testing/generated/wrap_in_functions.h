// A drawn graph as a model whose parts are functions: runs of nodes become bodies, bodies call bodies, attributes
// become the functions', with defaults and without, and parts stand in branches of If. What it computes stays.
#pragma once

#include <cstdint>

#include "test/testing/function_model.h"
#include "test/testing/generated/drawn_case.h"

namespace pt::testing {

// All follows from the seed. Nodes of the graph have no nested graphs.
FunctionModel WrapInFunctions(const DrawnCase& drawn, uint64_t seed);

}  // namespace pt::testing
