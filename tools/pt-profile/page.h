// The page of --html: what operators and groups take, and how far that can be relied on.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/engine/engine.h"
#include "tools/common/flags.h"

namespace pt::tools {

// What one call has measured, and what it knows by now.
struct ProfiledModel {
  const Model& model;
  const Machine& machine;
  const Profile& profile;
  const CostModel& costs;  // of measurements alone
  const MeasureReport& report;
  int64_t elapsed_ns = 0;
  std::vector<std::pair<std::string, std::string>> went_down;  // what a process went down at, and the reason
};
Status WriteProfilePage(const std::string& file, const CommonFlags& flags, const ProfiledModel& profiled);

}  // namespace pt::tools
