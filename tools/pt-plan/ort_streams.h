// The assignment of a plan as ONNX Runtime's own file of streams (its session option
// session.node_partition_config_file).
#pragma once

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/plan/plan.h"
#include "partitiontuner/support/json.h"

namespace pt::tools {

// {"type": "DeviceBasedPartitioner", "streams": [[node names], ...], "devices": ["0", ...]}: one stream for each unit
// that runs nodes of the plan, wide ones with their leading core's, and every node of `file`, the model as it was read,
// in exactly one of them, in its order. planned: the graph that the plan is of. Nodes that the passes have removed go
// where what reads them goes, else where what they read is. Errors (kUnsupported): a node that has no name or shares it
// with one of another stream; a device that ONNX Runtime has no number for.
Result<Json> OrtStreams(const Graph& file, const Graph& planned, const Platform& platform, const Plan& plan);

}  // namespace pt::tools
