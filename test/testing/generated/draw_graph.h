// A graph drawn at random, from its seed alone.
#pragma once

#include <cstdint>
#include <string>

namespace pt::testing {

struct DrawnGraph {
  std::string text;     // read by ReadCase
  std::string refused;  // not empty: what the reference library refuses although it was drawn as its definition says
};

// Of some of the families, so that what belongs together meets. Its outputs are those that can be compared: see
// Prepare.
DrawnGraph DrawGraph(uint64_t seed);

}  // namespace pt::testing
