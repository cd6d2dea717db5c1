#include "lib/backend/host_kernels/attention/attention_caches.h"

#include <cstring>

#include "lib/backend/host/parallel.h"

namespace pt::host {
namespace {

bool IsRows(const CachePart& part, const HostOperand& operand) {
  return operand.type() == DataType::kFloat32 && part.dims.size() == 4 && (part.strides[3] == 1 || part.dims[3] <= 1);
}

// Rows of one head of one entry, to row `first` of the whole.
void CopyHead(const CachePart& from, const float* data, const AttentionCache& cache, float* to, int64_t head,
              int64_t first) {
  const CachePart& present = cache.present;
  const int64_t heads = present.dims[1], b = head / heads, h = head % heads, rows = from.dims[2], size = from.dims[3];
  const float* source = data + b * from.strides[0] + h * from.strides[1];
  float* target = to + b * present.strides[0] + h * present.strides[1] + first * present.strides[2];
  if (from.strides[2] == size && present.strides[2] == size) {
    std::memcpy(target, source, static_cast<size_t>(rows * size) * sizeof(float));
    return;
  }
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(target + r * present.strides[2], source + r * from.strides[2],
                static_cast<size_t>(size) * sizeof(float));
}

}  // namespace

Status CheckCache(const HostSite& site, const AttentionCache& cache) {
  const CachePart &fresh = cache.fresh, &present = cache.present;
  std::vector<int64_t> whole = fresh.dims;
  bool fits = IsRows(fresh, site.in[fresh.place]) && IsRows(present, site.out[present.place]);
  if (fits && cache.past) {
    std::vector<int64_t> past = cache.past->dims;
    fits = IsRows(*cache.past, site.in[cache.past->place]);
    whole[2] += past[2];
    past[2] = fresh.dims[2];
    fits = fits && past == fresh.dims;
  }
  if (fits && present.dims == whole) return {};
  return site.Unsupported("its cache of keys and values is not of float32 rows that fit each other");
}

void WriteCaches(std::span<const AttentionCache> caches, const HostCall& run) {
  for (const AttentionCache& cache : caches) {
    const std::vector<int64_t>& dims = cache.present.dims;
    const int64_t past = cache.past ? cache.past->dims[2] : 0;
    if (dims[2] * dims[3] == 0) continue;
    const double work = static_cast<double>(dims[2] * dims[3]) * 0.2;
    ParallelShares(run.team, dims[0] * dims[1], work, [&](int64_t begin, int64_t end) {
      for (int64_t head = begin; head < end; ++head) {
        auto* to = run.output<float>(cache.present.place);
        if (past > 0) CopyHead(*cache.past, run.input<float>(cache.past->place), cache, to, head, 0);
        if (cache.fresh.dims[2] > 0) CopyHead(cache.fresh, run.input<float>(cache.fresh.place), cache, to, head, past);
      }
    });
  }
}

}  // namespace pt::host
