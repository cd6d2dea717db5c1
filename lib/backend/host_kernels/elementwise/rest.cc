#include "lib/backend/host_kernels/elementwise/rest.h"

#include <algorithm>

namespace pt::host {

std::vector<uint32_t> ElementwiseRest::in_place() const {
  std::vector<uint32_t> inputs;
  for (uint32_t i : part.in_place) {
    if (i > 0) inputs.push_back(static_cast<uint32_t>(places[i - 1]));
  }
  return inputs;
}

Result<ElementwiseRest> ReadElementwiseRest(const HostSite& site, std::span<const NodeId> rest, ValueId made,
                                            const TensorLayout& layout) {
  HostSite inner{site.graph, {rest.begin(), rest.end()}, {}, site.out, 1};
  HostOperand result;
  result.value = made;
  result.layout = layout;
  inner.in.push_back(std::move(result));
  ElementwiseRest read;
  read.element_bytes = static_cast<uint64_t>(BytesOf(layout.type));
  for (NodeId id : rest) {
    for (ValueId value : site.graph.node(id).inputs) {
      const auto operand = std::ranges::find(site.in, value, &HostOperand::value);
      if (!value.valid() || operand == site.in.end()) continue;
      const auto place = static_cast<size_t>(operand - site.in.begin());
      if (std::ranges::find(read.places, place) != read.places.end()) continue;
      read.places.push_back(place);
      inner.in.push_back(*operand);
    }
  }
  if (inner.in.size() > ElementwiseRest::kMostOperands)
    return site.Unsupported("what follows it reads too many values");
  PT_ASSIGN(read.part, MakeElementwisePart(inner));
  return read;
}

RestRunner::RestRunner(const ElementwiseRest& rest, const HostCall& run, std::byte* slots)
    : rest_(rest), run_(run), slots_(slots) {
  for (size_t i = 0; i < rest.places.size(); ++i) in_[i + 1] = run.in[rest.places[i]];
  rest.part.enter(Inner(), slots);
}

// The rest counts elements from the first one of the result.
void RestRunner::Run(const void* stretch, int64_t begin, int64_t n) {
  const auto address = reinterpret_cast<uintptr_t>(stretch) - static_cast<uintptr_t>(begin) * rest_.element_bytes;
  in_[0] = reinterpret_cast<const void*>(address);
  rest_.part.run(Inner(), slots_, begin, begin + n);
}

}  // namespace pt::host
