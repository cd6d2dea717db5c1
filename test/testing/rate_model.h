// A network that chooses its operators by an input, for tests of inputs that are known as constants.
#pragma once

#include <string>

#include "test/testing/onnx_bytes.h"

namespace pt::testing {

// y = rate == 16000 ? Relu(x) : Neg(x), as speech models choose their weights.
inline std::string RateModel() {
  constexpr int kFloat = 1, kInt64 = 7;  // of TensorProto.DataType
  const auto branch = [](const char* op) {
    GraphParts graph;
    graph.outputs = {ValueInfo("r", kFloat, {"2", "3"})};
    graph.nodes = {NodeBytes(op, {"x"}, {"r"})};
    return GraphBytes(graph);
  };
  GraphParts graph;
  graph.inputs = {ValueInfo("x", kFloat, {"2", "3"}), ValueInfo("rate", kInt64, {})};
  graph.outputs = {ValueInfo("y", kFloat, {"2", "3"})};
  graph.initializers = {Int64Tensor("high", {}, {16000})};
  graph.nodes = {
      NodeBytes("Equal", {"rate", "high"}, {"is_high"}),
      NodeBytes("If", {"is_high"}, {"y"},
                {GraphAttribute("then_branch", branch("Relu")), GraphAttribute("else_branch", branch("Neg"))})};
  return ModelBytes(graph);
}

}  // namespace pt::testing
