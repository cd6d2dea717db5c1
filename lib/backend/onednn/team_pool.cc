#include "lib/backend/onednn/team_pool.h"

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_TBB
#include <tbb/global_control.h>
#elif DNNL_CPU_RUNTIME != DNNL_RUNTIME_THREADPOOL && DNNL_CPU_RUNTIME != DNNL_RUNTIME_SEQ
#error "oneDNN must be built with its thread pool runtime, with TBB or without threads"
#endif

namespace pt::onednn {
namespace {

// oneDNN asks from whatever thread it is on, without context: only the thread itself can know.
thread_local bool in_parallel = false;

}  // namespace

int TeamPool::get_num_threads() const { return team_ == nullptr ? 1 : static_cast<int>(team_->width()); }

bool TeamPool::get_in_parallel() const { return in_parallel; }

void TeamPool::parallel_for(int n, const std::function<void(int, int)>& fn) {
  if (n <= 0) return;
  if (n == 1 || in_parallel || team_ == nullptr) {
    for (int i = 0; i < n; ++i) fn(i, n);
    return;
  }
  auto body = [&fn](uint32_t i, uint32_t count) {
    const bool before = in_parallel;
    in_parallel = true;
    fn(static_cast<int>(i), static_cast<int>(count));
    in_parallel = before;
  };
  team_->ParallelFor(static_cast<uint32_t>(n), body);
}

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_THREADPOOL

class ForeignThreads {};
ForeignThreadsStopped StopForeignThreads() { return nullptr; }

dnnl::stream MakeStream(const dnnl::engine& engine, TeamPool& pool) {
  return dnnl::threadpool_interop::make_stream(engine, &pool);
}

ConcurrencyScope::ConcurrencyScope(uint32_t width) {
  dnnl_threadpool_interop_get_max_concurrency(&before_);
  dnnl_threadpool_interop_set_max_concurrency(static_cast<int>(width));
}

ConcurrencyScope::~ConcurrencyScope() { dnnl_threadpool_interop_set_max_concurrency(before_); }

#else

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_TBB
class ForeignThreads {
  tbb::global_control one_thread_{tbb::global_control::max_allowed_parallelism, 1};
};
#else
class ForeignThreads {};
#endif
ForeignThreadsStopped StopForeignThreads() { return ForeignThreadsStopped(new ForeignThreads); }

dnnl::stream MakeStream(const dnnl::engine& engine, TeamPool&) { return dnnl::stream(engine); }

ConcurrencyScope::ConcurrencyScope(uint32_t) {}
ConcurrencyScope::~ConcurrencyScope() { static_cast<void>(before_); }

#endif

void ForeignThreadsDeleter::operator()(ForeignThreads* threads) const { delete threads; }

}  // namespace pt::onednn
