// The built-in libraries on a host of few cores, without discovery.
#pragma once

#include <memory>

#include "partitiontuner/exec/machine.h"

namespace pt::testing {

// MakeTestPlatform with the instruction sets of the processor this runs on. With `device`: a simulated one of two
// streams on the virtual clock, which runs whatever the reference library does.
std::unique_ptr<Machine> MakeRealMachine(uint32_t cores, bool device);

}  // namespace pt::testing
