// Machine::Make: from options to a machine, in the order in which one thing needs the other: backends, the platform
// that their device kinds find, the libraries that serve it, and what runs on it.
#include <algorithm>

#include "lib/exec/device_table.h"
#include "lib/exec/lost_devices.h"
#include "lib/exec/plugin_guard.h"
#include "lib/exec/plugins.h"
#include "lib/exec/workers.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/exec/machine.h"
#include "partitiontuner/exec/watched_library.h"
#include "partitiontuner/support/closest_word.h"

namespace pt {

// Hidden: what the standard library instantiates for its lambdas would leave this library as symbols.
class [[gnu::visibility("hidden")]] MachineMaker {
 public:
  MachineMaker(const MachineOptions& options, Machine& machine) : options_(options), machine_(machine) {
    machine_.faults_ = std::make_shared<FaultLog>();
  }

  Status Make() {
    PT_CHECK_OK(FindBackends());
    PT_CHECK_OK(FindPlatform());
    PT_CHECK_OK(CheckLibraryNames());
    PT_CHECK_OK(ChooseLibraries());
    PT_CHECK_OK(RefuseIdlePlugins());
    ReportPlugins();
    PT_CHECK_OK(machine_.CheckPlugins());
    return machine_.elsewhere_.empty() ? MakeRunningParts() : Status();
  }

 private:
  // A backend, and where it came from.
  struct Member {
    Backend backend;
    bool plugin = false;
    bool named = false;  // a plugin that somebody asked for, by name or by describing a device of its kinds
    PluginReport report;
    bool serves = false;  // one of its libraries was chosen, or could have been; or it found a device
  };

  Status FindBackends() {
    for (const Backend& backend : BuiltInBackends()) members_.push_back({backend, false, false, {}, true});
    PT_ASSIGN(FoundPlugins found, FindPlugins(options_));
    machine_.plugins_ = std::move(found.refused);
    for (LoadedPlugin& plugin : found.loaded) {
      Member member{{}, true, plugin.named, std::move(plugin.report), false};
      machine_.objects_.push_back(std::move(plugin.object));
      const Status added = AddPlugin(*plugin.entry, member);
      if (added.ok()) {
        members_.push_back(std::move(member));
      } else {
        PT_CHECK_OK(Refuse(member, added.error()));
      }
    }
    return {};
  }

  // Names are how plans, profiles and platform files speak of libraries and devices, so each may stand once.
  Status AddPlugin(const PluginEntry& entry, Member& member) {
    PT_ASSIGN(member.backend,
              CallPlugin(member.report.name, "its entry", [&]() -> Result<Backend> { return entry.make_backend(); }));
    for (const Member& other : members_) {
      for (const LibraryRow& row : member.backend.libraries) {
        if (Has(other.backend.libraries, row.name)) return NameTaken("library", row.name);
      }
      for (const DeviceKind& kind : member.backend.device_kinds) {
        if (Has(other.backend.device_kinds, kind.name)) return NameTaken("device kind", kind.name);
        if (kind.host) return MakeError(ErrorCode::kDeviceUnusable, "plugin.host", "it claims to be the host");
      }
    }
    return {};
  }

  template <typename Row>
  static bool Has(const std::vector<Row>& rows, std::string_view name) {
    return std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  }

  static Error NameTaken(const char* what, std::string_view name) {
    return MakeError(ErrorCode::kDeviceUnusable, "plugin.name",
                     "its " + std::string(what) + " '" + std::string(name) + "' has a name that is taken");
  }

  // A plugin that cannot be used is an error only where it was asked for; else a reason in the list.
  Status Refuse(Member & member, const Error& why) {
    if (member.named) {
      Error error = why;
      error.message = "the plugin '" + member.report.name + "' cannot be used: " + error.message;
      error.file = member.report.path;
      error.device = member.report.name;
      return error;
    }
    member.report.refused = why.message;
    machine_.plugins_.push_back(member.report);
    return {};
  }

  std::vector<DeviceKind> Kinds() const {
    std::vector<DeviceKind> kinds;
    for (const Member& member : members_) {
      kinds.insert(kinds.end(), member.backend.device_kinds.begin(), member.backend.device_kinds.end());
    }
    return kinds;
  }

  Status FindPlatform() {
    PT_ASSIGN(PlatformFiles files, ReadPlatformFiles(Kinds(), options_.platform_files));
    uint32_t max_cores = options_.max_cores;
    if (files.whole) {
      if (max_cores > 0) {
        return MakeError(ErrorCode::kUsage, "platform.cores",
                         files.whole_file + " describes a whole machine, so the number of cores cannot be limited",
                         "leave out --threads, or write a file with it: --threads N --print-platform");
      }
      max_cores = static_cast<uint32_t>(std::ranges::count_if(
          files.whole->resources, [](const Resource& resource) { return resource.core.has_value(); }));
    }
    Platform found;
    std::vector<Member> usable;
    for (Member& member : members_) {
      const Status status = FindDevicesOf(member, max_cores, files, found);
      if (status.ok()) {
        usable.push_back(std::move(member));
      } else if (member.plugin) {
        PT_CHECK_OK(Refuse(member, status.error()));
      } else {
        return status;
      }
    }
    members_ = std::move(usable);
    PT_CHECK_OK(DropUnnamedDevices(files, found));
    machine_.platform_ = std::move(found);
    if (files.whole) AdoptWhole(files);
    return CheckPlatform(machine_.platform_);
  }

  Status DropUnnamedDevices(const PlatformFiles& files, Platform& found) const {
    const Platform& known = files.whole ? *files.whole : found;
    for (const std::string& name : options_.devices) {
      if (FindDevice(known, name).valid()) continue;
      std::string names;
      std::vector<std::string_view> words;
      for (const Device& device : known.devices) {
        names += (names.empty() ? "" : ", ") + device.name;
        words.push_back(device.name);
      }
      return Unusable(name, "device.unknown",
                      "unknown device '" + name + "'" + MeantBy(name, words) + "; found: " + names + RefusedPlugins(),
                      "--list-devices shows what can be used; simulated devices are given as sim:FILE");
    }
    if (options_.devices.empty()) return {};
    std::vector<bool> keep;
    for (size_t i = 0; i < found.devices.size(); ++i) {
      const Device& device = found.devices[i];
      keep.push_back(IsHost(DeviceId(i)) || files.described.contains(device.kind) ||
                     std::ranges::find(options_.devices, device.name) != options_.devices.end());
    }
    found = KeepDevices(found, keep);
    return {};
  }

  // "; plugin cuda: reason", for errors about what such a plugin might have brought.
  std::string RefusedPlugins() const {
    std::string text;
    for (const PluginReport& plugin : machine_.plugins_) text += "; plugin " + plugin.name + ": " + plugin.refused;
    return text;
  }

  static Status FindDevicesOf(Member & member, uint32_t max_cores, const PlatformFiles& files, Platform& found) {
    Platform attempt = found;
    for (const DeviceKind& kind : member.backend.device_kinds) {
      DiscoverRequest request{max_cores, {}};
      if (const auto at = files.described.find(kind.name); at != files.described.end()) {
        request.described = at->second;
        member.named = true;
      }
      PT_CHECK_OK(CallPlugin(member.report.name, "DeviceKind::discover",
                             [&]() -> Status { return Discover(kind, request, attempt); }));
    }
    member.serves = member.serves || attempt.devices.size() > found.devices.size();
    found = std::move(attempt);
    return {};
  }

  // The file's machine is this one where nothing but simulated devices differs; then the workers run on the cores that
  // this process may use, whatever their numbers were where the file was written.
  void AdoptWhole(PlatformFiles & files) {
    const Platform here = std::move(machine_.platform_);
    machine_.platform_ = std::move(*files.whole);
    std::vector<bool> real;
    for (const Device& device : machine_.platform_.devices) real.push_back(!device.simulated);
    for (const std::string& line : PlatformDifferences(KeepDevices(machine_.platform_, real), here)) {
      machine_.elsewhere_ += "\n  " + line;
    }
    if (!machine_.elsewhere_.empty()) {
      machine_.elsewhere_ = files.whole_file + " describes another machine than this one:" + machine_.elsewhere_;
      host_here_ = here;
      return;
    }
    for (Resource& resource : machine_.platform_.resources) {
      const auto same = std::ranges::find(here.resources, resource.name, &Resource::name);
      if (resource.core && same != here.resources.end()) resource = *same;
    }
  }

  Status CheckLibraryNames() const {
    for (const std::string& name : options_.libraries) {
      std::string known;
      std::vector<std::string_view> words;
      for (const Member& member : members_) {
        for (const LibraryRow& row : member.backend.libraries) {
          words.push_back(row.name);
          known += (known.empty() ? "" : ", ") + std::string(row.name);
        }
      }
      if (std::ranges::find(words, name) != words.end()) continue;
      return Unusable(
          name, "library.unknown",
          "unknown library '" + name + "'" + MeantBy(name, words) + "; expected one of " + known + RefusedPlugins());
    }
    return {};
  }

  // "; did you mean 'onednn'?" where something is near.
  static std::string MeantBy(std::string_view name, std::span<const std::string_view> known) {
    const std::string_view closest = ClosestWord(name, known);
    return closest.empty() ? "" : "; did you mean '" + std::string(closest) + "'?";
  }

  static Error Unusable(std::string_view library, const char* id, std::string message, std::string hint = {}) {
    Error error = MakeError(ErrorCode::kDeviceUnusable, id, std::move(message), std::move(hint));
    error.device = library;
    return error;
  }

  static bool ServesAny(const Library& library, const Platform& platform) {
    for (size_t i = 0; i < platform.devices.size(); ++i) {
      if (library.Serves(platform, DeviceId(i))) return true;
    }
    return false;
  }

  // All that serve the platform, or just those that were named; naming one that cannot be used is an error.
  Status ChooseLibraries() {
    for (Member& member : members_) {
      for (const LibraryRow& row : member.backend.libraries) PT_CHECK_OK(Consider(member, row));
    }
    return {};
  }

  Status Consider(Member & member, const LibraryRow& row) {
    const bool named = std::ranges::find(options_.libraries, row.name) != options_.libraries.end();
    const bool wanted = named || options_.libraries.empty();
    if (!wanted && !member.plugin) return {};
    PT_ASSIGN(std::unique_ptr<Library> library, MakeLibrary(member, row));
    if (ServesAny(*library, machine_.platform_)) {
      member.serves = true;
      if (!wanted) return {};
      if (options_.kernel_watch != nullptr) library = MakeWatchedLibrary(std::move(library), *options_.kernel_watch);
      machine_.libraries_.push_back(std::move(library));
      return {};
    }
    const std::string name(row.name);
    if (named) return Unusable(name, "library.unusable", "the library '" + name + "' serves no device of this machine");
    // Left out in silence, it would be missing from every plan for the other machine.
    if (wanted && host_here_ && library->Serves(*host_here_, kHostDevice)) {
      return Unusable(name, "library.elsewhere",
                      "the library '" + name + "' can say what it offers on this processor (" +
                          host_here_->device(kHostDevice).isa + "), not what it would offer on that of " +
                          options_.platform_files.front() + " (" + machine_.platform_.device(kHostDevice).isa + ")",
                      "plan on a machine with the same instruction sets, or name other libraries with --libraries");
    }
    return {};
  }

  Result<std::unique_ptr<Library>> MakeLibrary(const Member& member, const LibraryRow& row) {
    if (!member.plugin) return row.make();
    PT_ASSIGN(std::unique_ptr<Library> library,
              CallPlugin(member.report.name, "LibraryRow::make",
                         [&]() -> Result<std::unique_ptr<Library>> { return row.make(); }));
    return MakeGuardedLibrary(member.report.name, std::move(library), machine_.faults_);
  }

  Status RefuseIdlePlugins() {
    for (Member& member : members_) {
      if (!member.plugin || member.serves) continue;
      const Error why = MakeError(ErrorCode::kDeviceUnusable, "plugin.no_device",
                                  "it finds no device on this machine and its libraries serve none");
      PT_CHECK_OK(Refuse(member, why));
      member.plugin = false;
    }
    return {};
  }

  void ReportPlugins() {
    for (Member& member : members_) {
      if (!member.plugin) continue;
      for (const DeviceKind& kind : member.backend.device_kinds) member.report.device_kinds.emplace_back(kind.name);
      for (const LibraryRow& row : member.backend.libraries) member.report.libraries.emplace_back(row.name);
      machine_.plugins_.push_back(member.report);
    }
  }

  Status MakeRunningParts() {
    const std::vector<DeviceKind> kinds = Kinds();
    for (auto& [device, rates] : machine_.platform_.simulated) {
      rates.real_clock = options_.simulated_clock == SimulatedClock::kReal;
      rates.faults = options_.simulated_faults;
    }
    for (size_t i = 0; i < machine_.platform_.devices.size(); ++i) {
      const std::string& name = machine_.platform_.devices[i].name;
      PT_ASSIGN(std::unique_ptr<DeviceDriver> driver, CallPlugin(name, "DeviceKind::make_driver", [&] {
                  return MakeDriver(kinds, machine_.platform_, DeviceId(i));
                }));
      machine_.drivers_.push_back(std::move(driver));
    }
    machine_.weights_ = MakeWeightStore();
    machine_.lost_devices_ = std::make_unique<LostDevices>(machine_.platform_.devices.size());
    PT_ASSIGN(machine_.workers_, Workers::Make(machine_.platform_, Workers::StartThread, options_.pins));
    return {};
  }

  const MachineOptions& options_;
  Machine& machine_;
  std::vector<Member> members_;
  std::optional<Platform> host_here_;  // of this machine, where the platform is another one's
};

Result<std::unique_ptr<Machine>> Machine::Make(const MachineOptions& options) {
  std::unique_ptr<Machine> machine(new Machine);
  PT_CHECK_OK(MachineMaker(options, *machine).Make());
  return machine;
}

}  // namespace pt
