// What sessions on a plugin's device must do, whatever its runtime is: a machine of two cores and that device, which is
// device 1, computes in fp32 and has two units, NAME#0 and NAME#1.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "partitiontuner/backend/backends.h"
#include "partitiontuner/exec/machine.h"

namespace pt::testing {

// The host and the device, whose driver it is, with the reference library and that library.
std::unique_ptr<Machine> MachineWith(Platform platform, std::unique_ptr<DeviceDriver> driver,
                                     std::unique_ptr<Library> library);

// Random plans give the result of the reference library on one core, and the same bits as their sequential twins.
void CheckRandomPlansOnDevice(Machine& machine);
// Runs that end by their deadline, early or late, leave the session usable.
void CheckCancelledRunsOnDevice(Machine& machine);
// Its library offers by the rules of the device: operators, least work, mode. takes_fp16: it would offer in fp16, too,
// where the rules say that the device computes so.
void CheckRulesOfDevice(const Machine& machine, const std::string& library, bool takes_fp16);

// Adds a plugin's devices that files describe, as its AddDevices does. The files are named "device.json".
using AddDescribed = std::function<Status(const DiscoverRequest&, Platform&)>;
Status Describe(const AddDescribed& add, const std::vector<std::string>& files, Platform& platform);
// Files that are refused, and what is said of them.
struct RefusedFiles {
  std::vector<std::string> files;
  const char* says;
};
// Each is refused in those words, and no device is added.
void CheckRefusedFiles(const AddDescribed& add, const std::vector<RefusedFiles>& rows);

}  // namespace pt::testing
