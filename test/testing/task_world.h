// Worlds of the published scheduling examples: tasks with a time on each processor, and edges with a cost.
#pragma once

#include "test/testing/planning_world.h"

namespace pt::testing {

struct TaskEdge {
  size_t from, to;  // counted from 1
  int64_t cost;     // between different processors
};

// Processors P1, P2, … are devices of one unit each; times[t - 1][p - 1]. Transfers do not hinder each other there, so
// each link gets as many copy engines as there are edges. Nodes are in the order of the tasks; each edge is a value of
// its own. The first task reads nothing, the last makes the result.
World TaskWorld(const std::vector<std::vector<int64_t>>& times, const std::vector<TaskEdge>& edges);

// "P3@0 P1@27 …": processor and start of each task, in the order of the tasks.
std::string TaskTimes(const World& world, const Plan& plan);

}  // namespace pt::testing
