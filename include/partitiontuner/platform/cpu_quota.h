// How many cores' worth of time the control groups of this process grant.
#pragma once

#include <cstddef>
#include <string>

namespace pt {

// Whole cores, at least 1; the largest size_t where nothing limits. Reads both versions of control groups, every
// level up to the root. `root` stands for "/" in tests.
size_t CpuQuota(const std::string& root = "");

}  // namespace pt
