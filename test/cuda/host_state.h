// What a kernel that is compiled for the host and its runner share: written once, for the compiler of the tests and, as
// text, for the kernel's.
#pragma once

// A barrier's number counts those in the kernel's text; a place names a warp's meeting; lines are the text's.
#define PT_HOST_STATE                                                                                                 \
  struct PtIndex {                                                                                                    \
    unsigned x, y, z;                                                                                                 \
  };                                                                                                                  \
  struct PtState {                                                                                                    \
    PtIndex block, thread, block_dim, grid_dim;                                                                       \
    void (*barrier)(unsigned number, unsigned line);                                                                  \
    unsigned long long (*meet)(unsigned place, unsigned line, unsigned lanes, int purpose, unsigned long long value); \
    void (*access)(const void* at, unsigned long bytes, int kind, const void* caller);                                \
    void (*misuse)(const char* what, unsigned line, unsigned long number);                                            \
  };

namespace pt::testing {

PT_HOST_STATE

// What lanes of a warp meet for: from 0 on, to have the value of that lane.
inline constexpr int kToOrderMemory = -1, kToVote = -2;

enum class AccessKind { kRead = 0, kWrite = 1, kAtomic = 2 };

}  // namespace pt::testing
