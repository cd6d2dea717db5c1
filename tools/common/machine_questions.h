// What a tool says of the machine and then ends: --list-devices and --print-platform.
#pragma once

#include <optional>

#include "tools/common/flags.h"

namespace pt::tools {

// The exit code when one of the two was asked for.
std::optional<int> AnswerMachineQuestions(const CommonFlags& flags, Console& console);

}  // namespace pt::tools
