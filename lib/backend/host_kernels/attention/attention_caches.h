// Caches of keys and values: the past with new tokens behind it, written where attention then reads them.
#pragma once

#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

// [batch, heads, length, size], elements of the last dim beside each other, float32.
struct CachePart {
  size_t place = 0;  // into HostSite::in; of the whole, into HostSite::out
  std::vector<int64_t> dims, strides;
};

struct AttentionCache {
  std::optional<CachePart> past;
  CachePart fresh, present;
};

// kUnsupported where types or dims do not fit each other.
Status CheckCache(const HostSite& site, const AttentionCache& cache);

// Writes what the caches are after the run.
void WriteCaches(std::span<const AttentionCache> caches, const HostCall& run);

}  // namespace pt::host
