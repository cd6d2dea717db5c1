// Space: what planners choose from, indexed once: options (usable candidates with their times) by group and node,
// the places and forms each value can be in (slots), and what moving between them costs. Read-only once made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "lib/planner/deadline.h"
#include "lib/planner/schedule/slot_set.h"
#include "partitiontuner/plan/memory_plan.h"
#include "partitiontuner/plan/timeline.h"
#include "partitiontuner/planner/planner.h"

namespace pt {

inline constexpr int64_t kImpossible = INT64_MAX / 4;  // more than any sum of times
// Of times up to kImpossible, and no more than that: sums of impossible times must not overflow.
inline int64_t AddNs(int64_t a, int64_t b) { return std::min(a + b, kImpossible); }
inline constexpr uint32_t kNothing = UINT32_MAX;

// A place and form of a value: device * forms + form.
using Slot = uint16_t;

// A usable candidate. Slots are places of its values: see ValueSlots.
struct Option {
  uint32_t candidate = 0;  // index into the problem's candidates
  uint32_t group = 0;
  UnitClassId unit_class;
  DeviceId device;
  int64_t run_ns = 0, overhead_ns = 0;
  int64_t launch_ns = 0;            // the overhead, where a step is launched by itself
  double fetch_share = 1;           // see CostModel
  double demand = 0;                // see TimedStep
  std::vector<Slot> in, out;        // slots, parallel to the group's in and out
  std::vector<uint8_t> overwrites;  // indices into in: required aliases
  bool view = false;                // its output may be a view of its first input
  bool slices = false;              // its inputs may be slices of its output
  bool likely_elided = false;       // view or slices, and nothing about the values alone forbids it
  bool estimated = false;

  int64_t ns() const { return overhead_ns + run_ns; }
  // What is elided takes no time: the executor passes over it.
  int64_t likely_ns() const { return likely_elided ? 0 : ns(); }
  int64_t likely_overhead_ns() const { return likely_elided ? 0 : overhead_ns; }
};

struct Group {
  std::vector<NodeId> nodes;
  std::vector<ValueId> in, out;
  std::vector<uint32_t> options;  // cheapest first
};

// One way of a hop between two slots of a value on one device.
struct ReorderWay {
  UnitClassId unit_class;
  int64_t ns = 0;  // without the step's overhead
};

// What moving between slots costs; shared by all values of the same dims and forms. Slot = device * forms + form. No
// way passes through a form that holds less precision than both its ends, nor through one that holds more.
struct Routes {
  uint32_t slots = 0;
  std::vector<int64_t> ns;  // from * slots + to: the cheapest way, overheads included; kImpossible
  // The same as a lower bound: without the launches of queues, which a queue that is busy hides.
  std::vector<int64_t> bound_ns;
  std::vector<Slot> next;                                             // the first hop of that way
  std::map<std::pair<Slot, Slot>, std::vector<ReorderWay>> reorders;  // hops on one device
  std::vector<uint64_t> bytes;                                        // by form
  bool sized = false;                                                 // the bytes are known before a run

  int64_t cost(uint32_t from, uint32_t to) const { return ns[from * slots + to]; }
  int64_t least(uint32_t from, uint32_t to) const { return bound_ns[from * slots + to]; }
  // What is left of cost() where copies between devices are free: changing the form, on either device.
  int64_t form_cost(uint32_t from, uint32_t to) const;
};

// A value may go through the form on its way: no precision is lost that both ends hold, and none is made up that a
// later reader could take for the value's own.
bool LiesBetween(const Form& from, const Form& through, const Form& to);

struct ValueSlots {
  std::vector<Form> forms;
  uint32_t first = 0;                        // of its slots among all values' slots
  uint32_t routes = 0;                       // index into Space::routes
  uint32_t external = kNothing;              // the slot of the caller's buffer, for graph inputs and outputs
  bool is_input = false, is_output = false;  // of the graph; an output made by a node
  NodeId producer;
  std::vector<NodeId> consumers;  // distinct, ascending
};

class SerialMemo;

class Space {
 public:
  // Errors: kInfeasible when some node has no usable candidate (named); kUsage when a value cannot be lent where the
  // constraints say; kUnsupported when a value can be in more
  // than 65536 slots.
  static Result<Space> Make(const PlanningProblem& problem);

  const PlanningProblem& problem() const { return *problem_; }
  const Graph& graph() const { return problem_->graph; }
  const Platform& platform() const { return problem_->platform; }
  const Simulator& simulator() const { return simulator_; }

  std::span<const Option> options() const { return options_; }
  const Option& option(uint32_t id) const { return options_[id]; }
  std::span<const Group> groups() const { return groups_; }
  const Group& group(uint32_t id) const { return groups_[id]; }
  const Group& group_of(uint32_t option) const { return groups_[options_[option].group]; }
  std::span<const uint32_t> groups_of(NodeId node) const { return groups_of_[node.index()]; }
  uint32_t single_group(NodeId node) const { return single_group_[node.index()]; }  // kNothing when there is none

  const ValueSlots& value(ValueId id) const { return values_[id.index()]; }
  const Routes& routes(ValueId id) const { return routes_[values_[id.index()].routes]; }
  Instance instance(ValueId value, uint32_t slot) const;
  DeviceId device(ValueId value, uint32_t slot) const {
    return DeviceId(static_cast<uint32_t>(slot / values_[value.index()].forms.size()));
  }
  uint32_t slot_count() const { return slot_count_; }

  // Units that run steps of the class; copy engines are not among them.
  std::span<const UnitId> units(UnitClassId unit_class) const { return units_[unit_class.index()]; }
  std::span<const UnitId> copy_units(LinkId link) const { return copy_units_[link.index()]; }
  LinkId link(DeviceId from, DeviceId to) const;
  // The class's steps form segments, so that no step tells when and for how long it is launched: its overhead counts
  // nothing, and Simulator::Run says the rest.
  bool launches_by_segments(UnitClassId unit_class) const {
    return simulator_.launches_segments(platform().unit_class(unit_class).device);
  }
  // Of a copy or reorder that is launched by itself.
  int64_t launch_ns(UnitClassId unit_class) const { return launches_[unit_class.index()]; }
  // Of copies and reorders there; and of whatever takes least, options among them.
  int64_t overhead_ns(UnitClassId unit_class) const { return overheads_[unit_class.index()]; }
  int64_t least_overhead_ns(UnitClassId unit_class) const { return least_overheads_[unit_class.index()]; }
  // Steps of the class are launched by a core: the launch keeps that core busy, not the unit.
  bool is_launched(UnitClassId unit_class) const { return launched_[unit_class.index()]; }
  // The class of the device with the most cores; the first on a tie.
  UnitClassId widest_class(DeviceId device) const;

  // A depth-first topological order: branch after branch, so that few values are alive at once.
  std::span<const NodeId> order() const { return order_; }
  uint32_t position(NodeId node) const { return position_[node.index()]; }

  // Of the problem's time limit, from when the space was begun. Thread-safe.
  Deadline& deadline() const { return *deadline_; }
  // What SolveSerial has found for this space. Thread-safe; the only part of a space that grows.
  SerialMemo& serial_memo() const { return *serial_memo_; }

 private:
  explicit Space(const PlanningProblem& problem);
  Status AddOptions();
  Status AddOption(uint32_t candidate);
  void DropDominated();
  void MarkElisions();
  bool MayOverwrite(const Group& group, const Option& option) const;
  Status AddRoutes();
  Routes MakeRoutes(const std::vector<int64_t>* dims, const ValueSlots& value) const;
  void AddHop(size_t from, size_t to, UnitClassId unit_class, int64_t run_ns, Routes& routes) const;
  void AddCopies(const std::vector<int64_t>* dims, const ValueSlots& value, Routes& routes) const;
  void AddReorders(const std::vector<int64_t>& dims, const ValueSlots& value, Routes& routes) const;
  static void FindShortest(const std::vector<Form>& forms, size_t n, std::vector<int64_t>& ns, std::vector<Slot>* next);
  void SortNodes();
  Slot SlotOf(ValueId value, DeviceId device, const Form& form) const;

  const PlanningProblem* problem_;
  Simulator simulator_;
  std::vector<Option> options_;
  std::vector<Group> groups_;
  std::vector<std::vector<uint32_t>> groups_of_;
  std::vector<uint32_t> single_group_;
  std::vector<ValueSlots> values_;
  std::vector<Routes> routes_;
  std::vector<std::vector<UnitId>> units_, copy_units_;
  std::vector<LinkId> links_;                                    // by device from * devices + to
  std::vector<int64_t> overheads_, least_overheads_, launches_;  // by unit class
  std::vector<bool> launched_;
  std::vector<NodeId> order_;
  std::vector<uint32_t> position_;
  uint32_t slot_count_ = 0;
  std::shared_ptr<SerialMemo> serial_memo_;
  std::shared_ptr<Deadline> deadline_;
};

}  // namespace pt
