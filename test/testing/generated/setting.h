// Settings: the ways in which a drawn graph goes from the text to outputs, all of which must lead to the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "partitiontuner/candidate/candidate.h"

namespace pt::testing {

struct Setting {
  enum class Way : uint8_t {
    kCandidates,  // each candidate of each library alone, without a plan
    kPlan,        // a planner's plan, from its JSON, in a session
    kDispatch,    // decided in the run
  } way = Way::kPlan;
  std::string planner;    // of plans; the rule of what is decided in the run
  std::string favourite;  // library whose candidates cost next to nothing; empty: all cost what they cost at random
  bool simplified = true;
  bool nested = false;   // some nodes in an If, Loop or Scan, by cost_seed
  bool unsized = false;  // some sizes are known in the run alone, by cost_seed
  MathMode math = MathMode::kFp32;
  uint32_t cores = 2;
  bool device = false;
  bool split = false;  // one node that can be in parts is
  uint64_t cost_seed = 1;
};
std::string ToString(const Setting& setting);

// Those of a drawn graph: all planners, libraries and machines take turns.
std::vector<Setting> SettingsOf(uint64_t seed);

}  // namespace pt::testing
