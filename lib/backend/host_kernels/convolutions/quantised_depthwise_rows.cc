// The loops of quantised_depthwise_tiles-inl.h for each set of instructions.
#include "lib/backend/host_kernels/convolutions/quantised_depthwise_rows.h"

#include <algorithm>
#include <cstring>

#define PT_INTEGER_LOOPS "lib/backend/host_kernels/convolutions/quantised_depthwise_tiles-inl.h"
#define PT_INTEGER_NAMESPACE quantised_depthwise
#include "lib/backend/host_kernels/kernels/foreach_integer_set-inl.h"

namespace pt::host {

std::vector<QuantisedDepthwiseRows> QuantisedDepthwiseRowsOfProcessor() {
  std::vector<QuantisedDepthwiseRows> all;
  quantised_depthwise::ForEachOfProcessor([&](const QuantisedDepthwiseRows& found) { all.push_back(found); });
  return all;
}

QuantisedDepthwiseRows FindQuantisedDepthwiseRows() { return QuantisedDepthwiseRowsOfProcessor().front(); }

}  // namespace pt::host
