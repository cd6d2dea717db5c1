#include "partitiontuner/platform/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace pt {
namespace {

constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

size_t WholeCores(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return kUnlimited;
  return static_cast<size_t>(std::max<int64_t>(1, quota / period));
}

// Version 2: "max 100000" or "150000 100000".
size_t QuotaOfFolder(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  int64_t period = 0;
  if (!(file >> quota >> period) || quota == "max") return kUnlimited;
  std::istringstream number(quota);
  int64_t value = 0;
  return number >> value ? WholeCores(value, period) : kUnlimited;
}

size_t QuotaOfOldFolder(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  int64_t quota = -1, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return kUnlimited;
  return WholeCores(quota, period);
}

// The least of a folder and its parents down to the mount point.
size_t LeastUpwards(const std::string& mount, std::string path, size_t (*quota)(const std::string&)) {
  size_t least = quota(mount);
  while (path.size() > 1) {
    least = std::min(least, quota(mount + path));
    path.resize(path.find_last_of('/'));
  }
  return least;
}

}  // namespace

size_t CpuQuota(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  size_t least = kUnlimited;
  for (std::string line; std::getline(groups, line);) {  // "0::/path" or "4:cpu,cpuacct:/path"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    const std::string mount = root + "/sys/fs/cgroup";
    if (controllers == ",,") {
      least = std::min(least, LeastUpwards(mount, path, QuotaOfFolder));
    } else if (controllers.find(",cpu,") != std::string::npos) {
      least = std::min(least, LeastUpwards(mount + "/cpu", path, QuotaOfOldFolder));
    }
  }
  return least;
}

}  // namespace pt
