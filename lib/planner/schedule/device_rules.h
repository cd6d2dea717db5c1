// DeviceRules: nodes that must share a device, and what devices can keep for good. Planners except for the search know
// neither: what their solutions break is told here.
#pragma once

#include <compare>
#include <limits>
#include <span>
#include <vector>

#include "lib/planner/schedule/schedule.h"

namespace pt {

// What a solution breaks. Less of it is nearer to none.
struct Breach {
  uint64_t apart = 0;  // nodes on another device than the first of those that they must share one with
  uint64_t bytes = 0;  // resident above what devices have, added up
  bool any() const { return apart != 0 || bytes != 0; }
  friend auto operator<=>(const Breach&, const Breach&) = default;
};

// Thread-safe.
class DeviceRules {
 public:
  static constexpr uint64_t kEnough = std::numeric_limits<uint64_t>::max();

  explicit DeviceRules(const Space& space);

  bool empty() const { return !space_.problem().constraints.binds_devices(); }
  // Nodes that must be where this one is, itself among them; none where it is free.
  std::span<const NodeId> mates(NodeId node) const;
  // What the node keeps on its device, and what the device has for that: kEnough where nothing is said.
  uint64_t resident_bytes(NodeId node) const;
  uint64_t cap(DeviceId device) const;

  Breach BreachOf(const Solution& solution) const;
  // Choices that a breach is made of; ascending. None where there is no breach.
  std::vector<uint32_t> Breaching(const Solution& solution) const;
  // Errors: kInfeasible with two nodes that are apart, kOutOfMemory with a device that is over.
  Status Check(const Solution& solution) const;

 private:
  std::vector<DeviceId> DevicesOf(const Solution& solution) const;                 // by node
  std::vector<uint64_t> ResidentOn(const std::vector<DeviceId>& device_of) const;  // by device

  const Space& space_;
  std::vector<uint32_t> class_of_;  // by node: index into Constraints::together, or kNothing
};

}  // namespace pt
