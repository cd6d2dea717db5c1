// What Linux's control groups allow this process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pt {

// What the files of one group's folder allow; UINT64_MAX for no limit.
using GroupLimit = uint64_t (*)(const std::string& folder);

// The least over the process's groups and all groups around them: `unified` reads folders of version 2, `separate`
// those of version 1's `controller`. `root`: where /proc and /sys are found, for tests.
uint64_t LeastGroupLimit(const std::string& root, std::string_view controller, GroupLimit unified, GroupLimit separate);

// Bytes of memory that the process may come to hold: the machine's, or what its groups allow if that is less.
// UINT64_MAX where nothing tells.
uint64_t MachineMemory(const std::string& root = "");

}  // namespace pt
