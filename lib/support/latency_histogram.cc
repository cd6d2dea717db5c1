#include "partitiontuner/support/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pt {
namespace {

constexpr int kBits = 7;
constexpr uint64_t kPart = 1u << kBits;  // buckets a power of two; values below have one each
constexpr size_t kBuckets = kPart * (64 - kBits);

size_t BucketOf(uint64_t value) {
  if (value < kPart) return value;
  const int shift = static_cast<int>(std::bit_width(value)) - 1 - kBits;
  return kPart * static_cast<size_t>(shift) + (value >> shift);
}

// The greatest value that belongs there.
uint64_t LastOf(size_t bucket) {
  if (bucket < kPart) return bucket;
  const auto shift = static_cast<int>(bucket / kPart) - 1;
  return ((bucket % kPart + kPart + 1) << shift) - 1;
}

}  // namespace

LatencyHistogram::LatencyHistogram() : buckets_(kBuckets) {}

void LatencyHistogram::Record(int64_t ns) {
  const int64_t value = std::max<int64_t>(ns, 0);
  ++buckets_[BucketOf(static_cast<uint64_t>(value))];
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value);
  ++count_;
}

void LatencyHistogram::Add(const LatencyHistogram& other) {
  if (other.count_ == 0) return;
  for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

double LatencyHistogram::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

int64_t LatencyHistogram::Ranked(uint64_t k) const {
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= k) return std::clamp(static_cast<int64_t>(LastOf(i)), min_, max_);
  }
  return max_;
}

int64_t LatencyHistogram::Percentile(double percent) const {
  if (count_ == 0) return 0;
  const double rank = std::ceil(percent / 100 * static_cast<double>(count_));
  return Ranked(std::clamp<uint64_t>(static_cast<uint64_t>(std::max(rank, 1.0)), 1, count_));
}

}  // namespace pt
