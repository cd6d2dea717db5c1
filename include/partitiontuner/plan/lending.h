// Where the caller of a run has its inputs and wants its outputs.
#pragma once

#include <map>
#include <string>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/platform/platform.h"

namespace pt {

// The devices of graph inputs and outputs: those that are not named lie on the host.
using LentOn = std::map<ValueId, DeviceId>;
DeviceId LentDevice(const LentOn& lent_on, ValueId value);

// Why the caller cannot lend the value on that device; empty when it can. On the host it can lend all inputs and
// outputs. Elsewhere it can lend what steps read or write there: inputs, and outputs made by a node that are given out
// once, of a size that is known before the run.
std::string LendingFault(const Graph& graph, const Platform& platform, ValueId value, DeviceId device);

}  // namespace pt
