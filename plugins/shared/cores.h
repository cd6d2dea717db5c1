// Where threads that a library makes may run.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "partitiontuner/platform/platform.h"

namespace pt::plugins {

// The operating system's numbers of the cores that units of the host use, ascending.
std::vector<uint32_t> HostCores(const Platform& platform);

// Runs `work`, which must not throw, on a thread of its own that may run on those cores: threads that it makes inherit
// that. The calling thread may be pinned to one. Returns when it is done; runs it here where no thread can be made.
void RunOnCores(const std::vector<uint32_t>& cores, const std::function<void()>& work);

}  // namespace pt::plugins
