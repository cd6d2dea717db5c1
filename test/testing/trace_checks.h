// What every trace file must hold, read again as a viewer reads it.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace pt::testing {

struct TraceTally {
  std::map<std::string, size_t> steps;     // by process: "predicted", "measured"
  std::map<std::string, size_t> arrows;    // by process and category: "measured: copy"
  std::map<std::string, size_t> counters;  // by process and name: "measured: memory of cpu"
};

// Catch2 checks: every track has a name, and no two the same number; steps end after they begin and never overlap on
// their track; arrows have two ends that agree, lie within steps and point forwards; counters end with nothing in use.
TraceTally CheckTraceEvents(const std::string& text);

}  // namespace pt::testing
