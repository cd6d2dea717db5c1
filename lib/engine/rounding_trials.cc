#include "partitiontuner/engine/rounding_trials.h"

#include "lib/engine/load_model.h"
#include "lib/engine/make_plan.h"
#include "lib/engine/rough_costs.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/backend/shaken_library.h"
#include "partitiontuner/exec/watched_library.h"
#include "partitiontuner/platform/discover.h"

namespace pt {
namespace {

// What moves a number to the next integer in one run of many must show in few.
constexpr double kFarther = 4;

Result<std::unique_ptr<Machine>> MachineOf(uint64_t trial, uint32_t max_cores, KernelWatch* watch) {
  PT_ASSIGN(Platform host, DiscoverHost({max_cores}));
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(kHostDevice));
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeShakenLibrary(MakeReferenceLibrary(), trial, kFarther));
  if (watch != nullptr) libraries.front() = MakeWatchedLibrary(std::move(libraries.front()), *watch);
  return Machine::Assemble(std::move(host), std::move(drivers), std::move(libraries));
}

}  // namespace

Result<RoundingTrials> RoundingTrials::Make(const ModelFile& file, const ModelOptions& options, uint32_t max_cores) {
  RoundingTrials trials;
  trials.max_cores_ = max_cores;
  PT_ASSIGN(const std::unique_ptr<Machine> machine, MachineOf(0, max_cores, nullptr));
  PT_ASSIGN(trials.model_, LoadModel(file, options, *machine, true));
  const std::unique_ptr<CostModel> costs = MakeRoughCosts(*trials.model_->graph, *machine);
  PlanOptions plan_options;
  plan_options.planner = "single:cpu";
  PT_ASSIGN(trials.plan_, MakeModelPlan(*trials.model_, *machine, *costs, {}, plan_options, nullptr, nullptr));
  return trials;
}

Result<RoundingTrials::Trial> RoundingTrials::Open(uint64_t trial, const SessionOptions& options,
                                                   KernelWatch* watch) const {
  Trial opened;
  PT_ASSIGN(opened.machine, MachineOf(trial, max_cores_, watch));
  SessionOptions with_constants = options;
  if (!model_->constants.empty()) with_constants.constant_inputs = model_->constant_inputs;
  PT_ASSIGN(opened.session, Session::Create(model_->graph, plan_, *opened.machine, with_constants));
  return opened;
}

}  // namespace pt
