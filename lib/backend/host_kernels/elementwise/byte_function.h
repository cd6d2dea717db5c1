// Elementwise nodes that make one tensor of 8-bit integers of another one and of numbers that are constant, such as an
// activation between a DequantizeLinear and a QuantizeLinear: a table of 256 entries, computed once by the definitions
// of the operators. Whatever they are, one step looks the elements up.
#pragma once

#include <optional>
#include <vector>

#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

struct ByteFunction {
  ValueId x, y;  // 8-bit integers of the same dims
};

// nullopt where the nodes are not such a group.
std::optional<ByteFunction> ReadByteFunction(const Graph& graph, std::span<const NodeId> nodes);

// From tensors of 8-bit integers to those that are made of one of them alone, none within another one.
std::vector<std::vector<NodeId>> ByteFunctionGroups(const Graph& graph);

// The site's nodes, which the function was read from. kUnsupported where a node cannot be computed before the run.
Result<HostRoutine> MakeByteFunction(const HostSite& site, const ByteFunction& function);

}  // namespace pt::host
