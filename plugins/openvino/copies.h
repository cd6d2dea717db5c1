// Which OpenVINO this plugin calls, where a program has one of its own.
#pragma once

#include "partitiontuner/support/result.h"

namespace pt::openvino {

// The system's loader decides which of the process's copies this plugin's calls reach: one that the program shows to
// all it loads, or one of the same name that is there already, before the one that it was linked with. kDeviceUnusable,
// "openvino.conflict", where that one is of another version than the plugin was built for: nothing of it may be called,
// since its classes are laid out otherwise.
Status CheckVersion();

}  // namespace pt::openvino
