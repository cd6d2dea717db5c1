// Timelines of plans as a picture: one above the other on one scale of time, a lane for each host core and each other
// unit that works, a rectangle for each step across the lanes of all its cores.
#pragma once

#include <span>
#include <string>

#include "partitiontuner/plan/plan.h"

namespace pt {

struct DrawnPlan {
  std::string title;  // the planner, or a file
  const Plan* plan;   // not null; with the times that are expected of its steps
};

// SVG 1.1, as UTF-8 text that stands alone. Rectangles of steps have the class "step", those on the critical path
// "critical" as well, and a tooltip (title) with work, unit, library and times; steps that take no time have none. The
// scale ends at four times the fastest plan: what takes longer goes on beyond the edge, with an arrow. Plans are of one
// problem: the largest of their lower bounds is a line through all. Precondition: legal plans for this graph and
// machine.
std::string TimelinesSvg(const Graph& graph, const Platform& platform, std::span<const DrawnPlan> plans,
                         std::string_view heading);

}  // namespace pt
