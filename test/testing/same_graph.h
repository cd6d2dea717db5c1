// Whether two graphs are the same but for the numbering of their values.
#pragma once

#include <map>
#include <string>

#include "partitiontuner/graph/graph.h"

namespace pt::testing {

// The first thing in which they differ, "" when there is none: operators, attributes, names, edges, constants by
// content, nested graphs, opsets, and types. What `a` leaves open of a type `b` may know; what `a` knows and `b` does
// not must stand in `declared`, by the value's name. Node::source is not compared, nor are names of values that have
// none in `a`.
std::string GraphDifference(const Graph& a, const Graph& b, const std::map<std::string, ValueType>& declared = {});

}  // namespace pt::testing
