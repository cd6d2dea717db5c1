// The host as it is found; nothing here knows how many cores it has.
#include "partitiontuner/platform/discover.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <limits>

#include "partitiontuner/platform/cpu_quota.h"
#include "partitiontuner/support/file.h"

namespace pt::discover_test {

TEST_CASE("DiscoverHost, HasEverySingleCoreAndAllOfThem", "[platform]") {
  const Platform platform = DiscoverHost().value();
  REQUIRE(CheckPlatform(platform).ok());
  const size_t cores = platform.resources.size();
  REQUIRE(cores >= 1);
  CHECK(platform.device(DeviceId(0u)).name == "cpu");
  CHECK_FALSE(platform.device(DeviceId(0u)).fingerprint.empty());
  size_t singles = 0, widest = 0;
  for (const Unit& unit : platform.units) {
    singles += unit.uses.size() == 1 ? 1 : 0;
    widest = std::max(widest, unit.uses.size());
  }
  CHECK(singles == cores);
  CHECK(widest == cores);
  CHECK(PlatformFingerprint(DiscoverHost().value()) == PlatformFingerprint(platform));
}

TEST_CASE("DiscoverHost, MayBeLimitedToFewerCores", "[platform]") {
  const Platform one = DiscoverHost({.max_cores = 1}).value();
  CHECK(one.resources.size() == 1);
  CHECK(one.units.size() == 1);
  CHECK(one.units[0].name == "cpu[0]");
  CHECK(one.unit_classes[0].name == "cpu/1");
}

TEST_CASE("SimulatedDevice, TheShippedAcceleratorFitsThisHost", "[platform]") {
  const std::string path = std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json";
  Platform platform = DiscoverHost().value();
  const Json json = ParseJson(ReadFile(path, 0).value(), path).value();
  REQUIRE(AddSimulatedDevice(platform, json, path).ok());
  CHECK(FindUnit(platform, "sim:0#0").valid());
  CHECK(platform.simulated.at(DeviceId(1u)).families.at("Conv").flops_per_ns == 800);
}

TEST_CASE("DiscoverHost, CoresOfSeveralMemoryNodesSayWhichIsTheirs", "[platform]") {
  if (DiscoverHost().value().resources.size() < 2) SKIP("needs two cores");
  const auto nodes_of = [](const char* topology) {
    setenv("HWLOC_SYNTHETIC", topology, 1);
    const Platform platform = DiscoverHost({2}).value();
    unsetenv("HWLOC_SYNTHETIC");
    std::vector<std::optional<uint32_t>> nodes;
    for (const Resource& resource : platform.resources) nodes.push_back(resource.node);
    return nodes;
  };
  CHECK(nodes_of("node:2 core:1 pu:1") == std::vector<std::optional<uint32_t>>{0, 1});
  CHECK(nodes_of("node:1 core:2 pu:1") == std::vector<std::optional<uint32_t>>{std::nullopt, std::nullopt});
}

TEST_CASE("CpuQuota, IsTheLeastOnTheWayToTheRoot", "[platform]") {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(PT_BINARY_DIR) / "test-cpu-quota";
  fs::remove_all(root);
  const auto write = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  CHECK(CpuQuota(root.string()) == kNone);
  write("proc/self/cgroup", "0::/a/b\n");
  CHECK(CpuQuota(root.string()) == kNone);
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK(CpuQuota(root.string()) == kNone);
  write("sys/fs/cgroup/a/cpu.max", "350000 100000\n");
  CHECK(CpuQuota(root.string()) == 3);
  write("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  CHECK(CpuQuota(root.string()) == 1);
  write("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/c\n0::/\n");
  CHECK(CpuQuota(root.string()) == kNone);
  write("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "200000\n");
  write("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  CHECK(CpuQuota(root.string()) == 2);
  fs::remove_all(root);
}

}  // namespace pt::discover_test
