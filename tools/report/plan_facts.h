// What tables and pages say of a plan as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "partitiontuner/plan/plan.h"

namespace pt::tools {

// The fastest of the single devices that a plan is compared with: "single:cpu". Empty, 0: with none.
struct BestSingle {
  std::string name;
  int64_t ns = 0;
};
BestSingle BestSingleOf(const Plan& plan);

struct MoveCounts {
  size_t copies = 0, reorders = 0;
};
MoveCounts CountMoves(const Plan& plan);

}  // namespace pt::tools
