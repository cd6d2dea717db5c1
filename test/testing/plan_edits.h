// Changes plans as a person may who knows the rules: other orders, units and places that mean the same.
#pragma once

#include <random>

#include "partitiontuner/plan/plan.h"

namespace pt::testing {

// Makes every wait explicit that a step's instances or bytes call for, so that lists no longer imply any.
void SpellOutWaits(Plan& plan);
// Any order that the waits allow. Wants the waits spelled out.
void ReorderSteps(Plan& plan, std::mt19937_64& random);
// Every step on any unit of its class. Wants the waits spelled out.
void SwapUnits(const Platform& platform, Plan& plan, std::mt19937_64& random);
// Instances that share their bytes for convenience get bytes of their own; then gaps open in the arenas, and they grow.
void MoveApart(const Graph& graph, Plan& plan, std::mt19937_64& random);

}  // namespace pt::testing
