// TeamPool: oneDNN's thread pool on the team that a step runs on. Synchronous; a nested parallel
// region runs inline on the calling core. A prebuilt oneDNN with threads of its own cannot be lent
// a pool: there every primitive runs on the calling core alone, which is right, but wide units gain
// nothing.
#pragma once

#include <memory>

#include "oneapi/dnnl/dnnl.hpp"
#include "oneapi/dnnl/dnnl_threadpool.hpp"
#include "partitiontuner/backend/backend.h"

namespace pt::onednn {

class TeamPool final : public dnnl::threadpool_interop::threadpool_iface {
 public:
  // The team of the run that is about to start; null = the calling core alone.
  void set_team(Team* team) { team_ = team; }

  int get_num_threads() const override;
  bool get_in_parallel() const override;
  void parallel_for(int n, const std::function<void(int, int)>& fn) override;
  uint64_t get_flags() const override { return 0; }

 private:
  Team* team_ = nullptr;
};

// A stream whose primitives run on the pool, which must outlive it.
dnnl::stream MakeStream(const dnnl::engine& engine, TeamPool& pool);

// Keeps oneDNN's own threads, where it has any, from running beside ours; null where it has none.
class ForeignThreads;
struct ForeignThreadsDeleter {
  void operator()(ForeignThreads* threads) const;
};
using ForeignThreadsStopped = std::unique_ptr<ForeignThreads, ForeignThreadsDeleter>;
ForeignThreadsStopped StopForeignThreads();

// Primitives made on this thread within the scope are made for `width` cores.
class ConcurrencyScope {
 public:
  explicit ConcurrencyScope(uint32_t width);
  ~ConcurrencyScope();
  ConcurrencyScope(const ConcurrencyScope&) = delete;
  ConcurrencyScope& operator=(const ConcurrencyScope&) = delete;

 private:
  int before_ = 0;
};

}  // namespace pt::onednn
