#include "partitiontuner/planner/planner_names.h"

#include "partitiontuner/planner/planner.h"

namespace pt {

std::vector<std::string> PlannerNames(const Platform& platform, uint64_t seed) {
  std::vector<std::string> names;
  for (const Planner& planner : Planners()) {
    if (planner.name == "single") {
      for (const Device& device : platform.devices) names.push_back("single:" + device.name);
    } else if (planner.name == "random") {
      names.push_back("random:" + std::to_string(seed));
    } else if (planner.name != "exact") {  // takes small models only, and those for long; search starts from it
      names.emplace_back(planner.name);
      if (!planner.variant.empty()) names.push_back(names.back() + ":" + std::string(planner.variant));
    }
  }
  return names;
}

}  // namespace pt
