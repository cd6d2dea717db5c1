// Host memory: what is wished onto a memory node keeps its contents, and the wish ends with the buffer.
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "partitiontuner/backend/devices.h"

namespace pt::host_memory_test {
namespace {

// The policy of the page at that address; nullopt where the system does not say.
std::optional<int> PolicyAt(const void* address) {
  int policy = -1;
  if (syscall(SYS_get_mempolicy, &policy, nullptr, 0, address, MPOL_F_ADDR) != 0) return std::nullopt;
  return policy;
}

}  // namespace

TEST_CASE("HostMemory, AWishForAMemoryNodeKeepsTheContents", "[backend]") {
  const auto driver = MakeHostDriver(DeviceId(0u));
  constexpr uint64_t kBytes = 3 << 20;
  for (const uint32_t node : {0u, 63u, 64u, 5000u}) {  // all but the first absent here as a rule
    CAPTURE(node);
    const auto buffer = driver->Allocate(kBytes).value();
    auto* bytes = static_cast<unsigned char*>(buffer->data());
    std::memset(bytes, 0x5a, kBytes);
    driver->PlaceNear(*buffer, 100, kBytes - 200, node);
    CHECK(std::all_of(bytes, bytes + kBytes, [](unsigned char byte) { return byte == 0x5a; }));
    std::memset(bytes, 0x3c, kBytes);
    CHECK(std::all_of(bytes, bytes + kBytes, [](unsigned char byte) { return byte == 0x3c; }));
  }
  const auto empty = driver->Allocate(0).value();
  driver->PlaceNear(*empty, 0, 0, 0);
  const auto small = driver->Allocate(64).value();
  driver->PlaceNear(*small, 0, 64, 0);  // no whole page
}

TEST_CASE("HostMemory, TheWishCoversWholePagesOnlyAndEndsWithTheBuffer", "[backend]") {
  const auto driver = MakeHostDriver(DeviceId(0u));
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  auto buffer = driver->Allocate(16 * page).value();
  auto* bytes = static_cast<std::byte*>(buffer->data());
  std::memset(bytes, 0, 16 * page);
  const std::optional<int> before = PolicyAt(bytes + 8 * page);
  driver->PlaceNear(*buffer, 4 * page, 8 * page, 0);
  if (!before || PolicyAt(bytes + 8 * page) == before) SKIP("the system keeps memory policies to itself");
  CHECK(PolicyAt(bytes + 8 * page) == MPOL_PREFERRED);
  CHECK(PolicyAt(bytes + page) == before);
  CHECK(PolicyAt(bytes + 14 * page) == before);
  buffer.reset();
  // The allocator may give the same pages to somebody else.
  const auto next = driver->Allocate(16 * page).value();
  auto* next_bytes = static_cast<std::byte*>(next->data());
  std::memset(next_bytes, 0, 16 * page);
  for (uint64_t i = 0; i < 16; ++i) CHECK(PolicyAt(next_bytes + i * page) == before);
}

}  // namespace pt::host_memory_test
