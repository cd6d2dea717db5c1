// A node's place in the file, kept as a metadata entry of the node while the model is worked on.
#pragma once

#include "lib/onnx/fence.h"
#include "partitiontuner/graph/graph.h"

namespace pt {

void SetSource(proto::NodeProto& node, const Source& source);
// A default Source when there is none (nodes that conversion adds get their origin's by the
// converter).
Source SourceOf(const proto::NodeProto& node);

}  // namespace pt
