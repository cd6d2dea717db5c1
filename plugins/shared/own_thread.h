// Threads that a plugin makes for itself.
#pragma once

#include <cstdint>
#include <vector>

namespace pt::plugins {

// Of the calling thread: signals are for the application's threads, but for those that a fault of this one raises.
void LeaveSignalsToOthers();

// Lets the calling thread run on those cores (the operating system's numbers, ascending) and no others. A wish: cores
// that the machine does not have are left out, and with none left the thread stays where it is.
void StayOn(const std::vector<uint32_t>& cores);

}  // namespace pt::plugins
