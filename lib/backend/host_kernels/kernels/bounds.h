// Bounds: between what results are kept.
#pragma once

namespace pt::host {

// low <= high; infinite where there is none. NaN stays NaN.
struct Bounds {
  float low = 0, high = 0;
};

}  // namespace pt::host
