#include "tools/common/host_checks.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "partitiontuner/platform/cpu_quota.h"
#include "tools/common/text.h"

namespace pt::tools {
namespace {

// The first line of one of the system's files; nothing where there is none.
std::optional<std::string> LineOf(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

// The value behind "name : " or "name:" in a file of such lines.
std::optional<std::string> FieldOf(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    const size_t colon = line.find(':', name.size());
    const size_t value = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (value != std::string::npos) return line.substr(value);
  }
  return std::nullopt;
}

class Checks {
 public:
  Checks(const Platform& platform, const std::string& root) : platform_(platform), root_(root) {}

  std::vector<HostCheck> Make() {
    Processor();
    Cores();
    Clock();
    Load();
    Memory();
    Denormals();
    Locks();
    return std::move(checks_);
  }

 private:
  void Add(const char* topic, std::string state, std::string advice = {}) {
    checks_.push_back({topic, std::move(state), std::move(advice)});
  }

  void Processor() {
    const std::string model = FieldOf(root_ + "/proc/cpuinfo", "model name").value_or("a processor without a name");
    Add("processor", model + " (" + platform_.device(kHostDevice).isa + ")");
  }

  void Cores() {
    size_t used = 0;
    for (const Resource& resource : platform_.resources) used += resource.core.has_value();
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t quota = CpuQuota(root_);
    std::string state = std::to_string(used) + " used of " + std::to_string(online) + " online";
    if (quota != std::numeric_limits<size_t>::max()) {
      state += "; the control group grants the time of " + std::to_string(quota);
      Add("cores", state,
          "with a quota cores are taken away in the middle of work: a cpuset of whole cores measures better");
      return;
    }
    Add("cores", state + "; no quota");
  }

  // Of the cores that are used: they may differ.
  void Clock() {
    std::set<std::string> governors;
    for (const Resource& resource : platform_.resources) {
      if (!resource.core) continue;
      const auto governor =
          LineOf(root_ + "/sys/devices/system/cpu/cpu" + std::to_string(*resource.core) + "/cpufreq/scaling_governor");
      if (governor) governors.insert(*governor);
    }
    std::string names;
    for (const std::string& governor : governors) names += (names.empty() ? "" : ", ") + governor;
    const bool steady = governors == std::set<std::string>{"performance"};
    if (names.empty()) names = "not told by the system (a virtual machine mostly)";
    Add("governor", names,
        governors.empty() || steady
            ? ""
            : "clocks change while something is measured: cpupower frequency-set -g performance");
    const auto boost = LineOf(root_ + "/sys/devices/system/cpu/cpufreq/boost");
    const auto no_turbo = LineOf(root_ + "/sys/devices/system/cpu/intel_pstate/no_turbo");
    if (boost || no_turbo)
      Add("boost", boost == "0" || no_turbo == "1" ? "off" : "on: times depend on how warm the processor is");
    if (const auto smt = LineOf(root_ + "/sys/devices/system/cpu/smt/active")) {
      Add("hyper-threading", *smt == "1" ? "on" : "off");
    }
  }

  void Load() {
    const auto line = LineOf(root_ + "/proc/loadavg");
    if (!line) return;
    std::istringstream in(*line);
    double load = 0;
    if (!(in >> load)) return;
    Add("load", Fixed(load, 2) + " in the last minute",
        load > 0.5 ? "other work runs on this machine: what is measured meanwhile is noisy" : "");
  }

  void Memory() {
    const auto available = FieldOf(root_ + "/proc/meminfo", "MemAvailable");
    const auto total = FieldOf(root_ + "/proc/meminfo", "MemTotal");
    if (available && total) Add("memory", *available + " available of " + *total);
    if (const auto pages = LineOf(root_ + "/sys/kernel/mm/transparent_hugepage/enabled")) {
      const bool never = pages->find("[never]") != std::string::npos;
      Add("huge pages", *pages,
          never ? "tensors lie in pages of 4 KiB: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled" : "");
    }
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
      Add("locked memory",
          limit.rlim_cur == RLIM_INFINITY
              ? "no limit"
              : ShortBytes(limit.rlim_cur) + " (devices may want more for copies without a stop: ulimit -l)");
    }
  }

  void Denormals() {
    Add("denormals", "flushed to zero in runs and while measuring; pt-run --denormals keep computes with them, slowly");
  }

  // Where the files lie that keep two profilers apart.
  void Locks() {
    std::error_code no_folder;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(no_folder);
    const bool usable = !no_folder && access(folder.c_str(), W_OK | X_OK) == 0;
    Add("lock files", no_folder ? no_folder.message() : folder.string(),
        usable ? "" : "nothing can be measured without them: set TMPDIR to a folder that can be written");
  }

  const Platform& platform_;
  const std::string root_;
  std::vector<HostCheck> checks_;
};

}  // namespace

std::vector<HostCheck> CheckHost(const Platform& platform, const std::string& root) {
  return Checks(platform, root).Make();
}

}  // namespace pt::tools
