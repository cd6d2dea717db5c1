// Machine: the live counterpart of a Platform: drivers, libraries, weights and the pinned workers. One a process
// is enough; sessions share it. Thread-safe once made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/exec/pins.h"
#include "partitiontuner/platform/platform.h"

namespace pt {

class FaultLog;  // lib/exec: what plugins threw
class KernelWatch;
class LostDevices;   // lib/exec: devices that hung
class SharedObject;  // lib/exec: a plugin's file, open
class Workers;       // lib/exec: one pinned thread per allowed core

struct MachineOptions {
  uint32_t max_cores = 0;              // 0 = all allowed
  std::vector<std::string> libraries;  // empty = all there are; unknown or unusable = kDeviceUnusable
  // Names of the devices to use; one that is not there is an error (kDeviceUnusable). Empty = all that are found. The
  // host and the devices that platform_files describe are always used.
  std::vector<std::string> devices;
  // Files that describe devices (profiles/*.json), or one file of a whole machine (ToJson of a Platform, which tools
  // print with --print-platform). With the latter the machine is the file's: where it is not the one this process runs
  // on, it is good for planning only.
  std::vector<std::string> platform_files;
  // The clock of simulated devices.
  SimulatedClock simulated_clock = SimulatedClock::kVirtual;
  SimulatedFaults simulated_faults = {};  // of every simulated device
  // Folders of plugins; empty = DefaultPluginFolders().
  std::vector<std::string> plugin_paths;
  // Plugins by name: these alone, and each must be usable (kDeviceUnusable with the reason). Empty = all that can be
  // used; {"none"} = none.
  std::vector<std::string> plugins;
  Pins pins = Pins::kAuto;
  // Learns of the first calls of all kernels (exec/kernel_watch.h), and outlives the machine; null: no watch.
  KernelWatch* kernel_watch = nullptr;
};

// The folders of PARTITIONTUNER_PLUGIN_PATH, with ':' between them; without it partitiontuner/plugins beside this
// library.
std::vector<std::string> DefaultPluginFolders();
std::vector<std::string> SplitFolders(std::string_view text);  // "a:b" as {"a", "b"}

// What became of a plugin that was found.
struct PluginReport {
  std::string name;  // its own, or its file's where it did not get to say one
  std::string path;
  std::string refused;  // why it is not used; empty = it is
  std::vector<std::string> device_kinds, libraries;
};

class Machine {
 public:
  // Asks every kind of device of every backend what there is, built-in ones first, then those of plugins.
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
  std::span<const PluginReport> plugins() const { return plugins_; }

  // Whether this is the machine that the process runs on. kDeviceUnusable, with the differences, when it was read from
  // a file of another one: plans can be made for it, nothing can be measured or run, and it has none of the parts
  // below.
  Status CheckRunsHere() const;
  DeviceDriver& driver(DeviceId id) const { return *drivers_[id.index()]; }
  WeightStore& weights() const { return *weights_; }
  Workers& workers() const { return *workers_; }
  LostDevices& lost_devices() const { return *lost_devices_; }

  // What a plugin's library threw where its interface has no way to report it (enumeration); kInternal. What it
  // answered is then incomplete.
  Status CheckPlugins() const;

 private:
  friend class MachineMaker;  // lib/exec: what Make does
  Machine();
  std::vector<std::unique_ptr<SharedObject>> objects_;  // first, since the code of all others may lie in them
  std::shared_ptr<FaultLog> faults_;
  std::vector<PluginReport> plugins_;
  std::string elsewhere_;  // why plans for this machine cannot run here; empty = they can
  Platform platform_;
  std::vector<std::unique_ptr<DeviceDriver>> drivers_;
  std::vector<std::unique_ptr<Library>> libraries_;
  std::unique_ptr<WeightStore> weights_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<LostDevices> lost_devices_;
};

}  // namespace pt
