// Which seeds a test by night runs.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace pt::testing {

struct Seeds {
  uint64_t first = 1, count = 0;
};

// Those of the environment's PT_SEEDS=FIRST:COUNT, to take a part or to repeat one; else all.
inline Seeds SeedsOfNight(Seeds all) {
  if (const char* part = std::getenv("PT_SEEDS"); part != nullptr) {
    REQUIRE(std::sscanf(part, "%" SCNu64 ":%" SCNu64, &all.first, &all.count) == 2);
  }
  return all;
}

}  // namespace pt::testing
