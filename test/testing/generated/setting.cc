#include "test/testing/generated/setting.h"

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/planner/planner_names.h"
#include "partitiontuner/support/random.h"
#include "test/testing/test_machine.h"

namespace pt::testing {
namespace {

// Of the host, so that they take turns whatever the machine.
std::vector<std::string> Planners(uint64_t seed) {
  std::vector<std::string> names = PlannerNames(MakeTestPlatform(1, false), seed);
  names.push_back("exact");
  return names;
}

std::vector<std::string> Libraries() {
  std::vector<std::string> names = {""};
  for (const LibraryRow& row : BuiltInLibraries()) names.emplace_back(row.name);
  return names;
}

}  // namespace

std::string ToString(const Setting& setting) {
  std::string text = setting.way == Setting::Way::kCandidates ? "candidates one by one"
                     : setting.way == Setting::Way::kPlan     ? "plan by " + setting.planner
                                                              : "decided in the run by " + setting.planner;
  text += setting.simplified ? ", with passes" : ", without passes";
  text += ", " + std::string(MathModeName(setting.math)) + ", cores: " + std::to_string(setting.cores);
  if (setting.device) text += ", and a simulated device";
  if (setting.unsized) text += ", sizes of the run";
  if (setting.nested) text += ", nested";
  if (setting.split) text += ", one node in parts";
  if (!setting.favourite.empty()) text += ", favouring " + setting.favourite;
  return text + ", costs by seed " + std::to_string(setting.cost_seed);
}

std::vector<Setting> SettingsOf(uint64_t seed) {
  const std::vector<std::string> libraries = Libraries();
  Random random(SplitMix(seed ^ 0x5e771465));
  const auto draw = [&](uint64_t planner) {
    Setting setting;
    const std::vector<std::string> planners = Planners(random.Below(1000));
    setting.planner = planners[planner % planners.size()];
    setting.favourite = libraries[random.Below(libraries.size())];
    setting.simplified = random.Below(3) != 0;
    setting.cores = random.Below(3) == 0 ? 1 : 2;
    setting.device = random.Below(3) == 0;
    setting.math = random.Below(5) == 0 ? MathMode::kBf16 : MathMode::kFp32;
    setting.split = random.Below(5) == 0;
    setting.cost_seed = random.Below(1'000'000);
    setting.nested = random.Below(3) == 0;
    setting.unsized = random.Below(4) == 0;
    return setting;
  };
  std::vector<Setting> settings;
  // Two planners in turn, and random plans, which go ways that nobody would choose.
  settings.push_back(draw(2 * seed));
  settings.push_back(draw(2 * seed + 1));
  for (int i = 0; i < 2; ++i) {
    Setting setting = draw(0);
    setting.planner = "random:" + std::to_string(random.Below(1000));
    settings.push_back(setting);
  }
  if (seed % 4 == 0) {
    Setting setting = draw(0);
    setting.way = Setting::Way::kDispatch;
    setting.planner = random.Below(2) == 0 ? "operator" : "path";
    setting.device = false;   // a virtual clock does not pass while a run decides
    setting.unsized = false;  // and all sizes have to be known before
    settings.push_back(setting);
  }
  if (seed % 2 == 0) {
    Setting setting = draw(0);
    setting.way = Setting::Way::kCandidates;
    setting.device = false;   // its kernels run on its own streams only
    setting.nested = false;   // sessions alone run nested graphs
    setting.unsized = false;  // and allocate what a run sizes
    settings.push_back(setting);
  }
  return settings;
}

}  // namespace pt::testing
