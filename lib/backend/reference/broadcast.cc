#include "lib/backend/reference/broadcast.h"

#include <algorithm>

#include "partitiontuner/support/dims_text.h"

namespace pt::reference {

Result<std::vector<int64_t>> BroadcastDims(const ReferenceSite& site, std::span<const TensorFacts> inputs) {
  size_t rank = 0;
  for (const TensorFacts& input : inputs) rank = std::max(rank, input.dims.size());
  std::vector<int64_t> dims(rank, 1);
  for (const TensorFacts& input : inputs) {
    const size_t lead = rank - input.dims.size();
    for (size_t d = 0; d < input.dims.size(); ++d) {
      int64_t& dim = dims[lead + d];
      if (input.dims[d] == 1 || input.dims[d] == dim) continue;
      if (dim != 1) {
        std::string all;
        for (const TensorFacts& each : inputs) all += (all.empty() ? "" : " and ") + DimsText(each.dims);
        return site.Invalid("dims " + all + " do not broadcast");
      }
      dim = input.dims[d];
    }
  }
  return dims;
}

void MergeDims(std::span<const std::vector<int64_t>> inputs, const std::vector<int64_t>& out,
               std::vector<int64_t>& dims, std::span<std::vector<int64_t>> strides) {
  const size_t n = inputs.size();
  // Strides per output dim, 0 where an input repeats; dims of 1 vanish.
  for (size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 1) continue;
    std::vector<int64_t> here(n, 0);
    for (size_t k = 0; k < n; ++k) {
      const size_t lead = out.size() - inputs[k].size();
      if (d < lead || inputs[k][d - lead] == 1) continue;
      here[k] = 1;
      for (size_t e = d - lead + 1; e < inputs[k].size(); ++e) here[k] *= inputs[k][e];
    }
    bool merges = !dims.empty();
    for (size_t k = 0; k < n && merges; ++k) merges = strides[k].back() == here[k] * out[d];
    if (merges) {
      dims.back() *= out[d];
      for (size_t k = 0; k < n; ++k) strides[k].back() = here[k];
    } else {
      dims.push_back(out[d]);
      for (size_t k = 0; k < n; ++k) strides[k].push_back(here[k]);
    }
  }
  if (dims.empty()) {
    dims.push_back(1);
    for (size_t k = 0; k < n; ++k) strides[k].push_back(0);
  }
}

}  // namespace pt::reference
