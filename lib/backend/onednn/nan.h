// What becomes of NaN in a group's kernel.
#pragma once

#include "lib/backend/onednn/family.h"

namespace pt::onednn {

// NaN in what the group reads comes out where the definitions of its operators have it, and nowhere else.
bool GroupKeepsNan(const Graph& graph, const FusionGroup& group, Way way);

}  // namespace pt::onednn
