// The planned graph as a picture, coloured by unit, in Graphviz's language (dot -Tsvg).
#pragma once

#include <string>

#include "partitiontuner/plan/plan.h"

namespace pt {

// One box for each group that the plan runs as a step, in the colour of its unit and with its time; ellipses for the
// graph's inputs and outputs; an edge for each value from who makes it to who reads it, dashed where it goes to another
// device. Precondition: a legal plan for this graph and machine.
std::string PlanDot(const Graph& graph, const Platform& platform, const Plan& plan);

}  // namespace pt
