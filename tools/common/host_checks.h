// What of the host bears on measuring: how it is, and whether that spoils times.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/platform/platform.h"

namespace pt::tools {

struct HostCheck {
  std::string topic;   // "governor"
  std::string state;   // "powersave"
  std::string advice;  // what to do; empty: all is well
};

// Reads the system's files; what it does not say is left out. `root` stands for "/" in tests.
std::vector<HostCheck> CheckHost(const Platform& platform, const std::string& root = "");

}  // namespace pt::tools
