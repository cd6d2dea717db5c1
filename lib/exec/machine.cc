#include "partitiontuner/exec/machine.h"

#include "lib/exec/lost_devices.h"
#include "lib/exec/plugin_guard.h"
#include "lib/exec/shared_object.h"
#include "lib/exec/workers.h"

namespace pt {

Machine::Machine() = default;

Machine::~Machine() {
  if (lost_devices_ == nullptr) return;
  // The driver of a device that still works would wait for it, perhaps for ever.
  const bool at_work = lost_devices_->IsAnyAtWork();
  for (size_t i = 0; at_work && i < drivers_.size(); ++i) {
    if (lost_devices_->IsLost(DeviceId(i))) static_cast<void>(drivers_[i].release());
  }
  for (size_t i = 0; at_work && i < objects_.size(); ++i) static_cast<void>(objects_[i].release());  // its code
  lost_devices_.reset();
}

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
  machine->lost_devices_ = std::make_unique<LostDevices>(machine->platform_.devices.size());
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
