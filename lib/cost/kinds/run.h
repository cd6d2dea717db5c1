// Run: what a candidate takes by itself.
#pragma once

#include <string>

#include "lib/cost/cost_kind.h"

namespace pt {

// The work of that candidate, by its key alone: what other kinds measure of it goes on from there.
NeededKey RunOf(const CostScope& scope, size_t candidate);
// "Conv 'conv1' and 2 more, variant".
std::string RunLabel(const CostScope& scope, const NeededKey& needed);

}  // namespace pt
