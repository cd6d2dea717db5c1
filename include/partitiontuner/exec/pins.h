// Pins: which threads of a run are kept on one core each.
#pragma once

#include <cstdint>

namespace pt {

enum class Pins : uint8_t {
  kAuto,  // those that work together; a caller who runs alone goes where the system has a core to spare
  kCore,  // that one as well, to the first core of its plan
  kNone,  // none: the system places them
};

}  // namespace pt
