// How often a randomised test repeats itself.
#pragma once

#include <cstdint>

namespace pt::testing {

// Of so many rounds, those that this build runs: all, but a quarter of them under sanitizers, where each takes ten to
// forty times as long and what they look for shows in any.
constexpr uint64_t Rounds(uint64_t all) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return (all + 3) / 4;
#else
  return all;
#endif
}

}  // namespace pt::testing
