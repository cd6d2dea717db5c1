// Conversion of the default domain's operators to one opset, node by node: an adapter only ever
// looks at its node, so nodes that look alike are converted once and a graph of any size takes
// linear time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/onnx/fence.h"

namespace pt {

// Converts all graphs of the model to `to`: nodes of the default domain from `from`, those in the domain of another
// opset (OpsetDomain) from that; types must have been inferred as far as possible. Nodes of other domains stay. Returns
// why not if some node cannot be converted; the model is unchanged then. Sorted nodes stay sorted.
std::optional<std::string> ConvertOpset(proto::ModelProto& model, int64_t from, int64_t to);

// Whether any node's definition differs between its opset and `to`.
bool NeedsConversion(const proto::ModelProto& model, int64_t from, int64_t to);
// Whether any node stands in the domain of another opset.
bool HasOtherOpsets(const proto::ModelProto& model);

}  // namespace pt
