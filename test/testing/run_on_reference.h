// EvaluateGraph for tests that take for granted that it succeeds.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <span>
#include <string>
#include <vector>

#include "test/testing/evaluate_graph.h"

namespace pt::testing {

// The graph's outputs.
inline std::vector<Tensor> RunOnReference(const Graph& graph, std::span<const Tensor> inputs) {
  REQUIRE(inputs.size() == graph.inputs().size());
  const Result<std::vector<Tensor>> values = EvaluateGraph(graph, inputs);
  INFO((values.ok() ? "" : ToString(values.error())));
  REQUIRE(values.ok());
  return OutputsOf(graph, *values);
}

}  // namespace pt::testing
