#include "partitiontuner/graph/operators/selections.h"

namespace pt {

bool SortsDistinctElements(const Node& node) { return node.int_or("sorted", 1) != 0; }

bool HasCentredBoxes(const Node& node) { return node.int_or("center_point_box", 0) != 0; }

}  // namespace pt
