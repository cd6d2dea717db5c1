// DeviceWatch: asks devices for their clocks and temperature between measurements.
#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "partitiontuner/exec/machine.h"
#include "partitiontuner/profiler/measure.h"

namespace pt {

class DeviceWatch {
 public:
  // The machine must outlive it.
  explicit DeviceWatch(Machine& machine) : machine_(machine) {}

  // Something was just measured there: a device at rest has other clocks. Asks it now and then, not each time.
  void Note(DeviceId device);
  // Asks every device that was noted once more.
  std::vector<DeviceStates> Close();

 private:
  struct Watched {
    DeviceStates states;
    std::chrono::steady_clock::time_point ask_again;
  };
  void Ask(DeviceId device, Watched& watched);

  Machine& machine_;
  std::map<DeviceId, Watched> watched_;  // those that tell
};

}  // namespace pt
