// The kernel of a group whose sizes are not known until run time: specialised for the sizes that it meets.
#pragma once

#include "lib/backend/run_time/size_cache.h"
#include "lib/backend/run_time/specialisation.h"

namespace pt::run_time {

// For sizes beyond those that every step stays ready for: their specialisations, and these at addresses.
struct SharedRooms {
  std::shared_ptr<SharedRoom> made, placed;
};

// plain: how the reference library runs the same nodes; it takes over where they cannot be specialised. Null for groups
// of several nodes, whose runs then fail.
std::unique_ptr<Kernel> MakeKernel(Specialiser specialiser, std::unique_ptr<Kernel> plain, SharedRooms rooms);

}  // namespace pt::run_time
