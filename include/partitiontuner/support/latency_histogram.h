// LatencyHistogram: any number of times in memory of a fixed size, for percentiles of services that never end. Buckets
// as in HdrHistogram (Gil Tene): every power of two is cut into 128 equal ones, so that a value is known to 0.8 %.
#pragma once

#include <cstdint>
#include <vector>

namespace pt {

class LatencyHistogram {
 public:
  LatencyHistogram();

  void Record(int64_t ns);  // below 0 counts as 0
  void Add(const LatencyHistogram& other);

  uint64_t count() const { return count_; }
  int64_t min() const { return min_; }  // exact, as are the next two; 0 of none
  int64_t max() const { return max_; }
  double mean() const;

  // The k-th smallest, the smallest being 1; k is at most count(). Never less than the true value, and no more than
  // 0.8 % above it.
  int64_t Ranked(uint64_t k) const;
  // By nearest rank, from 0 to 100; 0 of none.
  int64_t Percentile(double percent) const;

 private:
  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  int64_t min_ = 0, max_ = 0;
  double sum_ = 0;
};

}  // namespace pt
