// What of all that partitiontuner knows is not used on this machine, and why.
#pragma once

#include <string>
#include <vector>

#include "tools/common/flags.h"

namespace pt::tools {

struct MissingPart {
  std::string kind;    // "plugin", "library", "device"
  std::string name;    // "cuda"
  std::string reason;  // why it is not there
  std::string advice;  // how it would be; may be empty
};

// Libraries of this build that serve nothing here and those that the build lacks; plugins that were refused and those
// of the project that are in no folder; devices that the system has and no library reaches.
std::vector<MissingPart> MissingParts(const Machine& machine, const CommonFlags& flags);

}  // namespace pt::tools
