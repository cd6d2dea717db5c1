#include "partitiontuner/exec/machine.h"

#include "lib/exec/plugin_guard.h"
#include "lib/exec/shared_object.h"
#include "lib/exec/workers.h"

namespace pt {

Machine::Machine() = default;
Machine::~Machine() = default;

Result<std::unique_ptr<Machine>> Machine::Assemble(Platform platform,
                                                   std::vector<std::unique_ptr<DeviceDriver>> drivers,
                                                   std::vector<std::unique_ptr<Library>> libraries) {
  PT_CHECK_OK(CheckPlatform(platform));
  if (drivers.size() != platform.devices.size()) {
    return MakeError(ErrorCode::kUsage, "machine.drivers",
                     std::to_string(platform.devices.size()) + " devices need as many drivers, not " +
                         std::to_string(drivers.size()));
  }
  std::unique_ptr<Machine> machine(new Machine);
  machine->platform_ = std::move(platform);
  machine->drivers_ = std::move(drivers);
  machine->libraries_ = std::move(libraries);
  machine->weights_ = MakeWeightStore();
  PT_ASSIGN(machine->workers_, Workers::Make(machine->platform_));
  return machine;
}

const Library* Machine::library(std::string_view name) const {
  for (const std::unique_ptr<Library>& library : libraries_) {
    if (library->name() == name) return library.get();
  }
  return nullptr;
}

Status Machine::CheckRunsHere() const {
  if (elsewhere_.empty()) return {};
  return MakeError(ErrorCode::kDeviceUnusable, "machine.elsewhere", elsewhere_,
                   "plans can be made for it here; measure and run on that machine");
}

Status Machine::CheckPlugins() const { return faults_ ? faults_->first() : Status(); }

}  // namespace pt
