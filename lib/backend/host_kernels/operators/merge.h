// What becomes of an element that an update is written to: scattering operators replace it or combine the two.
#pragma once

#include "lib/backend/host_kernels/operators/indices.h"
#include "lib/backend/visit_bytes.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/visit_type.h"

namespace pt::host {

enum class Merge : uint8_t { kReplace, kAdd, kMul, kMax, kMin };

// Integers wrap around. A NaN is neither greater nor less.
template <Merge merge, typename T>
void MergeInto(T& held, T update) {
  using Arithmetic = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  if constexpr (merge == Merge::kReplace) {
    held = update;
  } else if constexpr (merge == Merge::kAdd) {
    held = static_cast<T>(static_cast<Arithmetic>(held) + static_cast<Arithmetic>(update));
  } else if constexpr (merge == Merge::kMul) {
    held = static_cast<T>(static_cast<Arithmetic>(held) * static_cast<Arithmetic>(update));
  } else if constexpr (merge == Merge::kMax) {
    held = held < update ? update : held;
  } else {
    held = update < held ? update : held;
  }
}

// make.operator()<merge, T>() for the node's attribute "reduction": replaced elements by their size, combined ones
// float32, int32 and int64.
template <typename F>
Result<HostRoutine> VisitMerge(const HostSite& site, DataType type, F&& make) {
  PT_ASSIGN(const ScatterReduction reduction, OrUnsupported(ReadScatterReduction(site.node()), site));
  if (reduction == ScatterReduction::kNone) {
    return VisitBytes(BytesOf(type), [&]<typename T>() -> Result<HostRoutine> {
      return make.template operator()<Merge::kReplace, T>();
    });
  }
  return VisitType(type, [&]<typename T>() -> Result<HostRoutine> {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>) {
      if (reduction == ScatterReduction::kAdd) return make.template operator()<Merge::kAdd, T>();
      if (reduction == ScatterReduction::kMul) return make.template operator()<Merge::kMul, T>();
      if (reduction == ScatterReduction::kMax) return make.template operator()<Merge::kMax, T>();
      if (reduction == ScatterReduction::kMin) return make.template operator()<Merge::kMin, T>();
    }
    return site.Unsupported("it does not combine these elements");
  });
}

}  // namespace pt::host
