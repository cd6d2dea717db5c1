// Streams: places that run one group at a time side by side, as planners see them that know no widths: the queues of
// asynchronous devices, and single cores of the host.
#pragma once

#include <functional>

#include "lib/planner/schedule/cover_graph.h"
#include "lib/planner/solve.h"

namespace pt {

class Streams {
 public:
  // Of one device, or of all when no name is given; the groups are those of the best single stream, of such as are
  // `usable` (empty: all). Errors: kUsage (no such device), kInfeasible (it cannot run everything).
  static Result<Streams> Make(const Space& space, std::string_view device,
                              const std::function<bool(const Group&)>& usable = {});

  const Solution& cover() const { return cover_; }
  // The cheapest option of the group for each class that has one.
  std::vector<uint32_t> Options(uint32_t group) const;
  // The one of them on a device; kNothing when there is none.
  uint32_t OptionOn(uint32_t group, DeviceId device) const;
  // The time of the cheapest of them.
  int64_t LeastNs(uint32_t group) const;
  // The longest way from the start of each group of the cover to the end, everything at its cheapest and nothing moved.
  std::vector<int64_t> RemainingNs(const CoverGraph& graph) const;
  // From the end of a step on one unit of the option's class to the start of one that waits for it on another; 0 where
  // there is no other.
  int64_t WaitNs(const Option& option) const;
  // The share of its device that the option asks for on the unit, above 0 and at most 1.
  double Demand(const Option& option, UnitId unit) const;

 private:
  Streams(const Space& space, DeviceId device) : space_(&space), device_(device) {}
  bool Allowed(const Option& option) const;

  const Space* space_;
  DeviceId device_;  // invalid: all
  Solution cover_;
};

}  // namespace pt
