// Inputs that need no drawing, for tests of what happens around a run.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt::testing {

// Integers are `number`, trip counts among them, truth values are true; real numbers are next to nothing. All inputs
// have static dims.
inline std::vector<Tensor> FilledInputs(const Graph& graph, char number) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    const ValueType& type = graph.value(id).type;
    const std::vector<int64_t> dims = type.static_dims().value();
    std::string bytes(static_cast<size_t>(TensorByteCount(type.type, dims).value()), '\0');
    const char element = type.type == DataType::kBool ? '\1' : number;
    for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(BytesOf(type.type))) bytes[at] = element;
    inputs.push_back(Tensor::FromBytes(type.type, dims, std::move(bytes)).value());
  }
  return inputs;
}

}  // namespace pt::testing
