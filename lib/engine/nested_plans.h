// Plans of nested graphs (branches of If, bodies of Loop, …) from estimates, for the sessions of an engine.
#pragma once

#include "partitiontuner/exec/session.h"

namespace pt {

// One step after the other, fused and in whatever layouts are estimated to be fastest, of all libraries of the machine,
// in fp32. The same graph and machine give the same plan: no profile is read. The machine must outlive it.
NestedPlanner MakeNestedPlanner(const Machine& machine, bool keep_reference);

}  // namespace pt
