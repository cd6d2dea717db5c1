// What functions of public headers, which throw nothing, return instead: for the end of their function-try-blocks.
//
//   Result<Plan> LoadPlan(const std::string& path) try {
//     ...
//   } catch (...) {
//     return Caught("plan", "read a plan");
//   }
#pragma once

#include <string>

#include "partitiontuner/support/result.h"

namespace pt {

// The error of the exception that is being handled: kOutOfMemory (id ".memory") where memory was refused, kInternal (id
// ".exception", with what it says) for anything else. who: what may have thrown.
Error Caught(const std::string& id, const std::string& doing, const char* who = "the library");

}  // namespace pt
