// The kernel of a group whose sizes are not known until run time: specialised for the sizes that it meets.
#pragma once

#include "lib/backend/run_time/specialisation.h"

namespace pt::run_time {

// plain: how the reference library runs the same nodes; it takes over where they cannot be specialised. Null for groups
// of several nodes, whose runs then fail.
std::unique_ptr<Kernel> MakeKernel(Specialiser specialiser, std::unique_ptr<Kernel> plain);

}  // namespace pt::run_time
