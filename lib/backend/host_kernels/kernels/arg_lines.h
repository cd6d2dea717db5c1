// Where the greatest or least element of a line lies, for several lines at a time; vectorised.
#pragma once

#include <cstdint>

namespace pt::host {

struct ArgCall {
  const float* x = nullptr;
  int64_t n = 0;       // elements of a line: 1 to 2^31 - 1
  int64_t stride = 0;  // between them
  // Lines side by side: neighbours in x, `y_step` elements apart in y.
  int64_t lines = 1;
  int64_t* y = nullptr;
  int64_t y_step = 1;
  bool most = true, last = false;  // of equals the last
};

// A line whose first element is NaN has it as its result; other NaN are neither greater nor less.
void FindArgs(const ArgCall& call);

}  // namespace pt::host
