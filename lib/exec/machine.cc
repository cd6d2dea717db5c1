#include "partitiontuner/exec/machine.h"

#include <algorithm>

#include "lib/exec/workers.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/platform/discover.h"
#include "partitiontuner/support/file.h"

namespace pt {
namespace {

bool ServesAny(const Library& library, const Platform& platform) {
  for (size_t i = 0; i < platform.devices.size(); ++i) {
    if (library.Serves(platform, DeviceId(i))) return true;
  }
  return false;
}

Error UnknownLibrary(const std::string& name) {
  std::string known;
  for (const LibraryRow& row : BuiltInLibraries()) known += (known.empty() ? "" : ", ") + std::string(row.name);
  Error error =
      MakeError(ErrorCode::kDeviceUnusable, "library.unknown", "there is no library '" + name + "'", "known: " + known);
  error.device = name;
  return error;
}

// All that serve the platform, or just those that were named; naming one that cannot be used is an error.
Result<std::vector<std::unique_ptr<Library>>> ChooseLibraries(const std::vector<std::string>& named,
                                                              const Platform& platform) {
  std::vector<std::unique_ptr<Library>> chosen;
  for (const std::string& name : named) {
    const auto rows = BuiltInLibraries();
    if (std::none_of(rows.begin(), rows.end(), [&](const LibraryRow& row) { return row.name == name; })) {
      return UnknownLibrary(name);
    }
  }
  for (const LibraryRow& row : BuiltInLibraries()) {
    const bool wanted = std::find(named.begin(), named.end(), row.name) != named.end();
    if (!named.empty() && !wanted) continue;
    std::unique_ptr<Library> library = row.make();
    if (ServesAny(*library, platform)) {
      chosen.push_back(std::move(library));
    } else if (wanted) {
      Error error = MakeError(ErrorCode::kDeviceUnusable, "library.unusable",
                              "the library '" + std::string(row.name) + "' serves no device of this machine");
      error.device = std::string(row.name);
      return error;
    }
  }
  return chosen;
}

std::unique_ptr<DeviceDriver> BuiltInDriver(const Platform& platform, DeviceId id) {
  return platform.device(id).simulated ? MakeSimulatedDriver(platform, id) : MakeHostDriver(id);
}

}  // namespace

Machine::Machine() = default;
Machine::~Machine() = default;

Result<std::unique_ptr<Machine>> Machine::Make(const MachineOptions& options) {
  PT_ASSIGN(Platform platform, DiscoverHost({options.max_cores}));
  const Limits limits;
  for (const std::string& file : options.simulated_files) {
    PT_ASSIGN(const std::string text, ReadFile(file, limits.profile_bytes));
    PT_ASSIGN(const Json description, ParseJson(text, file, limits));
    PT_CHECK_OK(AddSimulatedDevice(platform, description, file));
  }
  PT_ASSIGN(std::vector<std::unique_ptr<Library>> libraries, ChooseLibraries(options.libraries, platform));
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  for (size_t i = 0; i < platform.devices.size(); ++i) drivers.push_back(BuiltInDriver(platform, DeviceId(i)));
  return Assemble(std::move(platform), std::move(drivers), std::move(libraries));
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
  PT_ASSIGN(machine->workers_, Workers::Make(machine->platform_));
  return machine;
}

const Library* Machine::library(std::string_view name) const {
  for (const std::unique_ptr<Library>& library : libraries_) {
    if (library->name() == name) return library.get();
  }
  return nullptr;
}

}  // namespace pt
