// How runtimes tell that a device is gone: by words of its driver within the message of an error.
#pragma once

#include <string_view>

namespace pt::plugins {

// The device takes nothing any more, in this process at least.
bool TellsOfLostDevice(std::string_view message);

}  // namespace pt::plugins
