// Results of a graph's first node by the reference library, as tests of its operators look at them.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"

namespace pt::testing {

inline Result<std::vector<Tensor>> Evaluate(const std::string& text, const std::vector<Tensor>& inputs = {}) {
  const Graph graph = ParseGraph(text).value();
  return EvaluateNode(graph, NodeId(0u), inputs);
}

inline std::vector<float> Floats(const Result<std::vector<Tensor>>& results, size_t output = 0) {
  INFO((results.ok() ? std::string() : ToString(results.error())));
  REQUIRE(results.ok());
  const std::span<const float> values = (*results)[output].values<float>();
  return {values.begin(), values.end()};
}

inline bool IsInvalid(const Result<std::vector<Tensor>>& results) {
  return !results.ok() && results.error().code == ErrorCode::kInvalidInput;
}

}  // namespace pt::testing
