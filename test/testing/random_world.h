// Small random instances over machines that differ in what makes bounds and proofs hard.
#pragma once

#include "test/testing/planning_world.h"

namespace pt::testing {

enum class MachineKind : uint8_t {
  kHost,         // two cores and a unit of both
  kQueue,        // with an accelerator, whose launches go on while it works, so they hide
  kTwoStreams,   // with one that has two streams
  kSharedQueue,  // with one whose two streams ask for half of it each
  kContention,   // two cores that slow each other
  kFourCores,    // four, as units of one, two and four
};
inline constexpr MachineKind kMachineKinds[] = {MachineKind::kHost,       MachineKind::kQueue,
                                                MachineKind::kTwoStreams, MachineKind::kSharedQueue,
                                                MachineKind::kContention, MachineKind::kFourCores};

// Operators, candidates and times by seed; every third has blocked forms.
World RandomWorld(uint64_t seed, size_t nodes, MachineKind machine);

// Inception's blocks, and times that depend on the place in the block only: all but the first are alike.
World RepeatedBlocks(size_t blocks, const WorldOptions& options = {});

}  // namespace pt::testing
