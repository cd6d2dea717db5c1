// Independent pieces of work on a few threads of their own: for compiling, which must not hold up the cores' queues.
#pragma once

#include <cstdint>
#include <functional>

#include "partitiontuner/support/result.h"

namespace pt {

// body(i) once for each i in 0..count-1, begun in that order, on the calling thread and at most threads - 1 others
// (fewer where the system gives no more). Returns when all are over. After an error no more are begun; the error of the
// least i is returned. What that body threw is thrown again.
Status InParallel(size_t count, uint32_t threads, const std::function<Status(size_t)>& body);

}  // namespace pt
