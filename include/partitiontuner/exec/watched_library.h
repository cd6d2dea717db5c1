// A library whose kernels are told to a watch around their first calls.
#pragma once

#include <memory>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/exec/kernel_watch.h"

namespace pt {

// Offers what `library` does, except what the watch excludes; the watch outlives it and its kernels. After its first
// call a kernel is called as without, through one more virtual call.
std::unique_ptr<Library> MakeWatchedLibrary(std::unique_ptr<Library> library, KernelWatch& watch);

}  // namespace pt
