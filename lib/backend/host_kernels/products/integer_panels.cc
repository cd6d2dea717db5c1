// The loops of integer_tiles-inl.h for each set of instructions.
#include "lib/backend/host_kernels/products/integer_panels.h"

#include <algorithm>
#include <cstring>

#define PT_INTEGER_LOOPS "lib/backend/host_kernels/products/integer_tiles-inl.h"
#define PT_INTEGER_NAMESPACE integer_panels
#include "lib/backend/host_kernels/kernels/foreach_integer_set-inl.h"

namespace pt::host {

std::vector<IntegerPanels> IntegerPanelsOfProcessor() {
  std::vector<IntegerPanels> all;
  integer_panels::ForEachOfProcessor([&](const IntegerPanels& found) { all.push_back(found); });
  return all;
}

IntegerPanels FindIntegerPanels() { return IntegerPanelsOfProcessor().front(); }

}  // namespace pt::host
