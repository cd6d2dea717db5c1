// What Unique and NonMaxSuppression say.
#pragma once

#include "partitiontuner/graph/graph.h"

namespace pt {

// Unique: in ascending order, else in that of their first places.
bool SortsDistinctElements(const Node& node);
// NonMaxSuppression: boxes are centre and size, else two corners.
bool HasCentredBoxes(const Node& node);

}  // namespace pt
