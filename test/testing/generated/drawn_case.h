// What a drawn graph's text stands for: the typed graph, and its inputs.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt::testing {

struct DrawnCase {
  Graph graph;
  std::vector<Tensor> inputs;  // the data of each follows from its name, so that it stays when others go
};

// Errors: those of the text, of inference and of operators against their definitions.
Result<DrawnCase> ReadCase(const std::string& text);

// The data of an input of that name, which ends in a number.
Tensor InputData(const std::string& name, DataType type, const std::vector<int64_t>& dims);

}  // namespace pt::testing
