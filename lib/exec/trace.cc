#include "partitiontuner/exec/trace.h"

#include <algorithm>
#include <map>

namespace pt {
namespace {

// A step's time on one core, for adding up what the cores did.
struct Span {
  int64_t start_ns = 0, end_ns = 0;
  int64_t wait_ns = 0;
  bool leads = false;
  double* share = nullptr;
};

}  // namespace

TraceShares SharesOf(const Trace& trace, const Platform& platform, const Plan& plan) {
  TraceShares shares;
  std::map<ResourceId, std::vector<Span>> cores;
  for (const TraceEvent& event : trace.events) {
    const Work& work = plan.steps[event.step.index()].work;
    double* share = std::holds_alternative<RunGroup>(work) ? &shares.kernels
                    : std::holds_alternative<Copy>(work)   ? &shares.copies
                                                           : &shares.reorders;
    bool leads = true;
    for (const auto& [resource, amount] : platform.unit(event.unit).uses) {
      if (!platform.resources[resource.index()].core) continue;
      cores[resource].push_back({event.start_ns, event.end_ns, event.wait_ns, leads, share});
      leads = false;
    }
  }
  const double whole = static_cast<double>(trace.run_ns) * static_cast<double>(cores.size());
  if (whole <= 0) return shares;
  for (auto& [core, spans] : cores) {
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
    int64_t free_since = 0;
    for (const Span& span : spans) {
      *span.share += static_cast<double>(span.end_ns - span.start_ns) / whole;
      // A helper does nothing but wait for its leader; of a leader's gap the rest is dispatch.
      const int64_t gap = std::max<int64_t>(0, span.start_ns - free_since);
      const int64_t waited = span.leads ? std::min(gap, span.wait_ns) : gap;
      shares.waits += static_cast<double>(waited) / whole;
      free_since = std::max(free_since, span.end_ns);
    }
    shares.waits += static_cast<double>(std::max<int64_t>(0, trace.run_ns - free_since)) / whole;
  }
  shares.overhead = std::max(0.0, 1.0 - shares.kernels - shares.reorders - shares.copies - shares.waits);
  return shares;
}

}  // namespace pt
