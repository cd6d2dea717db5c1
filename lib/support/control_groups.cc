#include "partitiontuner/support/control_groups.h"

#include <algorithm>
#include <fstream>
#include <limits>

namespace pt {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// The least of a folder and its parents down to the mount point.
uint64_t LeastUpwards(const std::string& mount, std::string path, GroupLimit limit) {
  uint64_t least = limit(mount);
  while (path.size() > 1) {
    least = std::min(least, limit(mount + path));
    path.resize(path.find_last_of('/'));
  }
  return least;
}

uint64_t NumberIn(const std::string& path) {
  std::ifstream file(path);
  uint64_t bytes = 0;
  return file >> bytes ? bytes : kUnlimited;  // "max" is not a number
}

uint64_t UnifiedMemory(const std::string& folder) { return NumberIn(folder + "/memory.max"); }
uint64_t SeparateMemory(const std::string& folder) { return NumberIn(folder + "/memory.limit_in_bytes"); }

// "MemTotal:       24689012 kB"
uint64_t InstalledMemory(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string name;
  uint64_t kilobytes = 0;
  return file >> name >> kilobytes && name == "MemTotal:" ? kilobytes * 1024 : kUnlimited;
}

}  // namespace

uint64_t LeastGroupLimit(const std::string& root, std::string_view controller, GroupLimit unified,
                         GroupLimit separate) {
  std::ifstream groups(root + "/proc/self/cgroup");
  const std::string wanted = "," + std::string(controller) + ",";
  uint64_t least = kUnlimited;
  for (std::string line; std::getline(groups, line);) {  // "0::/path" or "4:cpu,cpuacct:/path"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    const std::string mount = root + "/sys/fs/cgroup";
    if (controllers == ",,") {
      least = std::min(least, LeastUpwards(mount, path, unified));
    } else if (controllers.find(wanted) != std::string::npos) {
      least = std::min(least, LeastUpwards(mount + "/" + std::string(controller), path, separate));
    }
  }
  return least;
}

uint64_t MachineMemory(const std::string& root) {
  return std::min(InstalledMemory(root), LeastGroupLimit(root, "memory", UnifiedMemory, SeparateMemory));
}

}  // namespace pt
