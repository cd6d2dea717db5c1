#include "lib/backend/host_kernels/operators/reduced_dims.h"

#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/reductions.h"

namespace pt::host {

Result<ReducedDims> ReadReducedDims(const HostSite& site) {
  const HostOperand &x = site.in[0], &y = site.out[0];
  PT_ASSIGN(const std::vector<bool> reduced,
            OrUnsupported(pt::ReadReducedDims(site.graph, site.node(), x.dims().size()), site));
  const bool keep = KeepsReducedDims(site.node());
  std::vector<int64_t> expected;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d] || keep) expected.push_back(reduced[d] ? 1 : x.dims()[d]);
  }
  PT_CHECK_OK(site.NeedOutput(0, x.type(), expected));
  ReducedDims dims;
  size_t to = expected.size();
  for (size_t d = reduced.size(); d-- > 0;) {
    if (!reduced[d] || keep) --to;
    if (reduced[d]) {
      dims.folded.Push(x.dims()[d], {x.strides()[d]});
    } else {
      dims.kept.Push(x.dims()[d], {x.strides()[d], y.strides()[to]});
    }
  }
  return dims;
}

}  // namespace pt::host
