// How memory is shared among the cores that prepare it.
#include "lib/profiler/host_caches.h"

#include <catch2/catch_test_macros.hpp>

namespace pt::host_caches_test {
namespace {

TEST_CASE("HostCaches, StretchesCoverAllBytesOnceAndShareNoCacheLine", "[profiler]") {
  for (const size_t cores : {1, 2, 3, 8}) {
    for (const size_t bytes : {0, 1, 63, 64, 65, 128, 1000, 4096, 1 << 20, (1 << 20) + 1}) {
      CAPTURE(cores, bytes);
      size_t covered = 0;
      for (size_t core = 0; core < cores; ++core) {
        const auto [begin, end] = StretchOf(core, cores, bytes);
        CHECK(begin == covered);
        CHECK(begin <= end);
        CHECK((begin % 64 == 0 || begin == bytes));
        covered = end;
      }
      CHECK(covered == bytes);
    }
  }
}

}  // namespace
}  // namespace pt::host_caches_test
