// What the writer and the reader of plans as JSON share.
#pragma once

#include <string_view>

#include "partitiontuner/plan/plan.h"

namespace pt {

inline constexpr std::string_view kPlanFormat = "partitiontuner plan";
inline constexpr int64_t kPlanMajor = 1;
inline constexpr int64_t kPlanMinor = 8;

inline std::string_view ElisionName(Elision elision) {
  switch (elision) {
    case Elision::kNone:
      return "none";
    case Elision::kViewOfInput:
      return "view_of_input";
    case Elision::kSlicesOfOutput:
      return "slices_of_output";
  }
  return "none";
}

}  // namespace pt
