// What is element-wise behind another kernel, computed of each stretch of its result before that leaves the cache.
#pragma once

#include <array>
#include <vector>

#include "lib/backend/host_kernels/elementwise/expression.h"

namespace pt::host {

struct ElementwiseRest {
  static constexpr size_t kMostOperands = 16;

  ElementwisePart part;
  std::vector<size_t> places;  // of its inputs behind that kernel's result, in the site's
  uint64_t element_bytes = 4;  // of that result

  // Inputs of the site that the result of the rest may lie on.
  std::vector<uint32_t> in_place() const;
};

// `made`: the kernel's result, which lies as given in each stretch: without gaps. kUnsupported where the rest does not
// run on it.
Result<ElementwiseRest> ReadElementwiseRest(const HostSite& site, std::span<const NodeId> rest, ValueId made,
                                            const TensorLayout& layout);

// One part of the work. Must not outlive what it is made of.
class RestRunner {
 public:
  RestRunner(const ElementwiseRest& rest, const HostCall& run, std::byte* slots);
  // n elements from `begin` on, which lie at `stretch`.
  void Run(const void* stretch, int64_t begin, int64_t n);

 private:
  HostCall Inner() const { return {std::span(in_).first(rest_.places.size() + 1), run_.out, nullptr, nullptr}; }

  const ElementwiseRest& rest_;
  const HostCall& run_;
  std::byte* slots_;
  std::array<const void*, ElementwiseRest::kMostOperands> in_{};
};

}  // namespace pt::host
