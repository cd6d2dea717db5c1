// A drawn graph with what must come out of it.
#pragma once

#include <string>
#include <vector>

#include "test/testing/generated/drawn_case.h"

namespace pt::testing {

struct PreparedCase {
  DrawnCase drawn;
  std::vector<Tensor> values;    // of the graph, by the reference library
  std::vector<Tensor> expected;  // of its outputs
};

// kUnsupported where an output cannot be compared: not finite, or such that rounding alone changes it by much.
Result<PreparedCase> Prepare(const std::string& text);

// The text with those outputs alone that can be compared, and what they need; empty without any.
std::string WithSteadyOutputs(const std::string& text);

}  // namespace pt::testing
