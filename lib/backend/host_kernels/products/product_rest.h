// What is element-wise behind a product, computed of each stretch of its result before that leaves the cache.
#pragma once

#include <array>
#include <vector>

#include "lib/backend/host_kernels/elementwise/expression.h"

namespace pt::host {

struct ProductRest {
  static constexpr size_t kMostOperands = 16;

  ElementwisePart part;
  std::vector<size_t> places;  // of its inputs behind the product's result, in the site's
  uint64_t element_bytes = 4;  // of the product's result

  // Inputs of the site that the result of the rest may lie on.
  std::vector<uint32_t> in_place() const;
};

// `made`: the product's result, which lies as given in each stretch: without gaps. kUnsupported where the rest does not
// run on it.
Result<ProductRest> ReadProductRest(const HostSite& site, std::span<const NodeId> rest, ValueId made,
                                    const TensorLayout& layout);

// One part of the work. Must not outlive what it is made of.
class RestRunner {
 public:
  RestRunner(const ProductRest& rest, const HostCall& run, std::byte* slots);
  // n elements from `begin` on, which lie at `stretch`.
  void Run(const void* stretch, int64_t begin, int64_t n);

 private:
  HostCall Inner() const { return {std::span(in_).first(rest_.places.size() + 1), run_.out, nullptr, nullptr}; }

  const ProductRest& rest_;
  const HostCall& run_;
  std::byte* slots_;
  std::array<const void*, ProductRest::kMostOperands> in_{};
};

}  // namespace pt::host
