// Proves passes: by their effect on the graph, and by running the graph before and after on the reference library.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/transform/passes.h"
#include "test/testing/run_on_reference.h"

namespace pt::testing {

inline PassContext Context() {
  return {EvaluateNode, [](const Graph& graph) { return InferShapes(graph); }, {}};
}

inline Graph Parsed(std::string_view text) {
  auto graph = ParseGraph(text);
  INFO((graph.ok() ? std::string() : ToString(graph.error())));
  REQUIRE(graph.ok());
  auto inferred = InferShapes(*graph);
  INFO((inferred.ok() ? std::string() : ToString(inferred.error())));
  REQUIRE(inferred.ok());
  return *std::move(inferred);
}

inline std::vector<std::string> Operators(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes()) ops.push_back(node.op);
  return ops;
}

// Runs node by node on the reference library; inputs are drawn from a fixed seed.
inline std::vector<Tensor> RunOnReference(const Graph& graph) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<Tensor> inputs;
  for (ValueId input : graph.inputs()) {
    const auto dims = graph.value(input).type.static_dims();
    REQUIRE(dims);
    size_t count = 1;
    for (int64_t d : *dims) count *= static_cast<size_t>(d);
    std::vector<float> data(count);
    for (float& x : data) x = draw(random);
    inputs.push_back(Tensor::Float32(*dims, data));
  }
  return RunOnReference(graph, inputs);
}

// Proves that names, types and results of the outputs are the same; tolerance is of the largest result.
inline void CheckSameResults(const Graph& graph, const Graph& other, float tolerance) {
  const std::vector<Tensor> before = RunOnReference(graph), after = RunOnReference(other);
  REQUIRE(after.size() == before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    CHECK(graph.value(graph.outputs()[i]).name == other.value(other.outputs()[i]).name);
    REQUIRE(before[i].type() == after[i].type());
    REQUIRE(before[i].dims() == after[i].dims());
    if (before[i].type() != DataType::kFloat32) {
      CHECK(before[i].ToInts() == after[i].ToInts());
      continue;
    }
    float largest = 0, difference = 0;
    for (int64_t e = 0; e < before[i].element_count(); ++e) {
      const float a = before[i].values<float>()[static_cast<size_t>(e)],
                  b = after[i].values<float>()[static_cast<size_t>(e)];
      largest = std::max(largest, std::abs(a));
      difference = std::max(difference, std::abs(a - b));
    }
    CHECK(difference <= tolerance * largest);
  }
}

// Simplifies, and proves that the outputs stay the same.
inline Graph Simplified(const Graph& graph, float tolerance = 1e-5F) {
  auto simple = Simplify(graph, Context());
  INFO((simple.ok() ? std::string() : ToString(simple.error())));
  REQUIRE(simple.ok());
  CheckSameResults(graph, *simple, tolerance);
  return *std::move(simple);
}

inline std::vector<std::string> OperatorsAfter(std::string_view text) { return Operators(Simplified(Parsed(text))); }

using Ops = std::vector<std::string>;

}  // namespace pt::testing
