#include "partitiontuner/support/aligned_bytes.h"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <vector>

#include "partitiontuner/support/alignment.h"

namespace pt::aligned_bytes_test {
namespace {

TEST_CASE("AlignedBytes, AreAlignedOfTheirSizeAndLiveByTheirOwner", "[support]") {
  for (const uint64_t bytes : {1, 63, 64, 65, 4096, 65537, (8 << 20) + 1}) {
    auto made = AllocateAligned(bytes);
    REQUIRE(made.ok());
    CHECK(made->bytes.size() == bytes);
    CHECK(reinterpret_cast<uintptr_t>(made->bytes.data()) % kTensorAlignment == 0);
    const std::shared_ptr<void> owner = made->owner;
    const std::span<std::byte> kept = made->bytes;
    made = AlignedBytes();
    std::memset(kept.data(), 7, kept.size());
    CHECK(kept.back() == std::byte{7});
  }
}

TEST_CASE("AlignedBytes, OfNothingAreNothing", "[support]") {
  const auto made = AllocateAligned(0);
  REQUIRE(made.ok());
  CHECK(made->bytes.empty());
  CHECK(made->owner == nullptr);
}

TEST_CASE("AlignedBytes, MoreThanThereAreAreRefused", "[support]") {
  std::vector<uint64_t> sizes = {UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 63};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their allocators end the process
  sizes.push_back(uint64_t{1} << 60);
#endif
  for (const uint64_t bytes : sizes) {
    const auto made = AllocateAligned(bytes);
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().code == ErrorCode::kOutOfMemory);
  }
}

}  // namespace
}  // namespace pt::aligned_bytes_test
