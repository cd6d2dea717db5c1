// What a DFT or STFT says.
#pragma once

#include <cstdint>

#include "partitiontuner/graph/graph.h"

namespace pt {

struct DftNode {
  bool onesided = false;  // of a real signal: the upper half, which mirrors the lower, is left out
  bool inverse = false;
  int64_t axis = 1;  // before operator set 20, where it became an input; as it is written: below 0, from the back

  friend bool operator==(const DftNode&, const DftNode&) = default;
};
DftNode ReadDft(const Node& node);
// STFT: the upper half of each frame's transform is left out.
bool IsOnesidedStft(const Node& node);

}  // namespace pt
