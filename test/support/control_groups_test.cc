#include "partitiontuner/support/control_groups.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "test/testing/test_data.h"

namespace pt::control_groups_test {
namespace {

TEST_CASE("MachineMemory, IsTheLeastOfTheMachineAndTheGroupsAround", "[support]") {
  const testing::TemporaryFolder folder;
  const auto write = [&](const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder.path() + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  CHECK(MachineMemory(folder.path()) == UINT64_MAX);
  write("proc/meminfo", "MemTotal:       1000 kB\nMemFree:  10 kB\n");
  CHECK(MachineMemory(folder.path()) == 1'024'000);
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  CHECK(MachineMemory(folder.path()) == 1'024'000);
  write("sys/fs/cgroup/a/memory.max", "5000\n");
  CHECK(MachineMemory(folder.path()) == 5000);
  write("proc/self/cgroup", "4:memory:/m\n0::/\n");
  write("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "4000\n");
  CHECK(MachineMemory(folder.path()) == 4000);
}

}  // namespace
}  // namespace pt::control_groups_test
