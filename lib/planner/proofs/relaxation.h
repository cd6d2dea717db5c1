// Relaxation: the least that all choices of a plan cost together, when steps and moves are priced by what they keep
// busy and by how long they hold up paths through the graph.
#pragma once

#include <deque>

#include "lib/planner/proofs/move_ways.h"
#include "lib/planner/proofs/series_cuts.h"

namespace pt {

// Paths through the graph, weighted. A path may begin with any node or with the move of a value to a reader, and may
// end anywhere.
struct PathFlow {
  explicit PathFlow(const Space& space);
  std::vector<std::vector<double>> to_reader;  // by value and consumer
  std::vector<double> to_caller;               // by value
  std::vector<double> begins;                  // by node: of the paths that begin with it
};

// Of each segment: weights on lanes and on paths within it that add up to one. So much of each ns of its time.
struct Pricing {
  std::vector<LaneWeights> lanes;  // by segment, or one for all
  const PathFlow* flow = nullptr;  // none: paths have no weight
};

// Where a value's moves to a reader take place (no reader: to the caller); kNothing: in no one segment for sure.
class MoveSegments {
 public:
  // What ends a segment moves to its readers in the next one within that: left out when segments are bounded one by
  // one, for then each may leave that value where it likes.
  enum class Borders : uint8_t { kLeaveOut, kCross };
  // The segments must outlive it.
  MoveSegments(const Space& space, const Segments& segments, Borders borders);
  uint32_t Of(NodeId maker, NodeId reader) const;
  NodeId last(uint32_t segment) const { return last_[segment]; }
  uint32_t OfGroup(uint32_t group) const { return of_group_[group]; }

 private:
  const Segments& segments_;
  const Borders borders_;
  std::vector<NodeId> last_;        // by segment: the node that ends it
  std::vector<uint32_t> of_group_;  // kNothing: its nodes are left out
};

// Values in the slots where they are made: what comes before is over, and costs what follows nothing.
struct Borders {
  std::vector<uint32_t> from;  // by value: the slot from which its readers take it; kNothing: none of these
  std::vector<uint32_t> to;    // by value: the slot in which it must be made; kNothing: in any
};

// Which form and place each value is made and read in, and what moves that takes, is a minimum over all values at once.
// Its dual: potentials on where a value is made, paid by its maker, and on where each reader reads it, paid back to
// that. A value's moves keep busy at least the mean of its readers' shortest ways, so potentials that differ by no more
// than each reader's part of its way are valid, whatever they are; the sweep in order of the data makes them those that
// are exact on trees.
class Relaxation {
 public:
  // All must outlive it. With borders each segment is by itself: its nodes' prices are a bound of it, from and to
  // there. barred: by option, those that count as impossible; none where it is null.
  Relaxation(const Space& space, const MoveSegments& segments, const Pricing& pricing, const Borders* borders = nullptr,
             const std::vector<bool>* barred = nullptr);

  // The least cost by node; the rest, of moves to outputs' places, goes to their makers. In ns.
  const std::vector<double>& prices() const { return prices_; }
  // A choice that costs about that: by node, the option of its group. It may be no plan.
  std::vector<uint32_t> Choose() const;

 private:
  struct ValueDual {
    std::vector<std::vector<double>> paid;  // by reader and slot: what it pays
    std::vector<std::vector<double>> back;  // by reader and slot where it is made: what the maker gets
    std::vector<double> back_of_caller;
    double to_caller = 0;
    double parts = 1;
  };

  void FindCosts(const std::vector<bool>* barred);
  void Prepare(ValueId value);
  void MadeAt(ValueId value);
  double FlowThrough(const Group& group) const;
  // Of the part of a value's moves that a reader (none: the caller) pays; kMost when there is no way.
  double WayCost(ValueId value, NodeId reader, double flow, uint32_t from, uint32_t to) const;
  double ReducedCost(const Option& option, bool outs) const;
  double CostAsChosen(const Option& option, const std::vector<uint32_t>& chosen) const;
  Slot ReadIn(ValueId value, uint32_t option) const;
  void FindPrices();
  size_t IndexOf(const Option& option) const { return static_cast<size_t>(&option - space_.options().data()); }

  const Space& space_;
  const MoveSegments& segments_;
  const Pricing& pricing_;
  const Borders* const borders_;
  std::vector<double> cost_;  // by option
  std::vector<ValueDual> values_;
  mutable std::deque<MoveWays> ways_;  // parallel to Pricing::lanes
  std::vector<double> prices_;         // by node
};

}  // namespace pt
