// Machine: the live counterpart of a Platform: drivers, libraries, weights and the pinned workers. One a process
// is enough; sessions share it. Thread-safe once made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/platform/platform.h"

namespace pt {

class Workers;  // lib/exec: one pinned thread per allowed core

struct MachineOptions {
  uint32_t max_cores = 0;                    // 0 = all allowed
  std::vector<std::string> libraries;        // empty = all built in; unknown or unusable = kDeviceUnusable
  std::vector<std::string> simulated_files;  // platform files of simulated devices
};

class Machine {
 public:
  // kDeviceUnusable also when the system refuses a thread for one of the cores.
  static Result<std::unique_ptr<Machine>> Make(const MachineOptions& options);
  // From parts: a platform, a driver for each of its devices in their order, and libraries in order of preference.
  static Result<std::unique_ptr<Machine>> Assemble(Platform platform,
                                                   std::vector<std::unique_ptr<DeviceDriver>> drivers,
                                                   std::vector<std::unique_ptr<Library>> libraries);
  ~Machine();

  const Platform& platform() const { return platform_; }
  std::span<const std::unique_ptr<Library>> libraries() const { return libraries_; }
  const Library* library(std::string_view name) const;  // null when absent
  DeviceDriver& driver(DeviceId id) const { return *drivers_[id.index()]; }
  WeightStore& weights() const { return *weights_; }
  Workers& workers() const { return *workers_; }

 private:
  Machine();
  Platform platform_;
  std::vector<std::unique_ptr<DeviceDriver>> drivers_;
  std::vector<std::unique_ptr<Library>> libraries_;
  std::unique_ptr<WeightStore> weights_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace pt
