#include "test/testing/generated/drawn_case.h"

#include <charconv>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/run_candidate.h"

namespace pt::testing {

Tensor InputData(const std::string& name, DataType type, const std::vector<int64_t>& dims) {
  uint64_t number = 0;
  const size_t digits = name.find_first_of("0123456789");
  if (digits != std::string::npos) std::from_chars(name.data() + digits, name.data() + name.size(), number);
  return RandomTensor(type, dims, number);
}

Result<DrawnCase> ReadCase(const std::string& text) {
  PT_ASSIGN(const Graph parsed, ParseGraph(text));
  PT_ASSIGN(Graph typed, InferShapes(parsed));
  PT_CHECK_OK(CheckOperators(typed));
  DrawnCase drawn{std::move(typed), {}};
  for (ValueId input : drawn.graph.inputs()) {
    const Value& value = drawn.graph.value(input);
    drawn.inputs.push_back(InputData(value.name, value.type.type, value.type.static_dims().value()));
  }
  return drawn;
}

}  // namespace pt::testing
