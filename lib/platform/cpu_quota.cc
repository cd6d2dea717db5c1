#include "partitiontuner/platform/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "partitiontuner/support/control_groups.h"

namespace pt {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

uint64_t WholeCores(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return kUnlimited;
  return static_cast<uint64_t>(std::max<int64_t>(1, quota / period));
}

// Version 2: "max 100000" or "150000 100000".
uint64_t QuotaOfFolder(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  int64_t period = 0;
  if (!(file >> quota >> period) || quota == "max") return kUnlimited;
  std::istringstream number(quota);
  int64_t value = 0;
  return number >> value ? WholeCores(value, period) : kUnlimited;
}

uint64_t QuotaOfOldFolder(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  int64_t quota = -1, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return kUnlimited;
  return WholeCores(quota, period);
}

}  // namespace

size_t CpuQuota(const std::string& root) { return LeastGroupLimit(root, "cpu", QuotaOfFolder, QuotaOfOldFolder); }

}  // namespace pt
