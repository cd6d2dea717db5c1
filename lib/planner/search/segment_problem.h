// SegmentProblem: a stretch of a space as a planning problem of its own, given where the values are that cross its
// borders. What comes from before is made at once by a made-up node in its slot; what is needed behind is read by one.
#pragma once

#include <memory>

#include "lib/planner/schedule/schedule.h"

namespace pt {

// A value that crosses a border, and the slot where its maker leaves it.
struct Crossing {
  ValueId value;
  Slot slot = 0;
  friend auto operator<=>(const Crossing&, const Crossing&) = default;
};

struct GraphSegment {
  std::vector<NodeId> nodes;     // ascending; every group with options is inside or outside
  std::vector<Crossing> in;      // that its nodes read
  std::vector<Crossing> out;     // that its nodes make, or read and that others read behind
  std::vector<uint32_t> groups;  // that are inside and have options, by their nodes
};

GraphSegment MakeSegment(const Space& space, std::span<const NodeId> nodes, std::vector<Crossing> in,
                         std::vector<Crossing> out);

// All that the segment's problem depends on: equal keys are equal problems, groups and options one by one. Steps that
// slow each other down are not looked at.
std::vector<uint64_t> KeyOf(const Space& space, const GraphSegment& segment);

// A choice by its place in GraphSegment::groups and Group::options: means the same in every segment of the same key.
struct SegmentChoice {
  uint32_t group = 0, option = 0;
  UnitId unit;
};

class SegmentProblem {
 public:
  // The space must outlive it.
  SegmentProblem(const Space& space, const GraphSegment& segment);
  ~SegmentProblem();

  // Effort and limits are the caller's to set. Valid as long as this is.
  PlanningProblem& problem() { return *problem_; }
  // Of a solution of the problem's space, without the made-up nodes.
  std::vector<SegmentChoice> ChoicesOf(const Space& inner, const Solution& solution) const;

 private:
  class Costs;
  class Builder;

  std::vector<SegmentChoice> choice_of_;  // by candidate; made-up ones are behind all others
  std::vector<Candidate> candidates_;
  std::vector<StepCost> step_costs_;  // by candidate: what the outer space knows of options; made-up ones take no time
  Graph graph_;
  std::unique_ptr<Costs> costs_;
  std::unique_ptr<PlanningProblem> problem_;
};

}  // namespace pt
