// The networks that a soak run makes where none are named.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/onnx/load_onnx.h"
#include "partitiontuner/onnx/save_onnx.h"
#include "partitiontuner/support/random.h"

namespace pt::bench {

inline Tensor Weights(std::vector<int64_t> dims, Random& random) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random.Uniform(-0.3, 0.3));
  return Tensor::Float32(std::move(dims), values);
}

// Three branches of two products each over a batch of any size, joined.
inline Status SaveBranches(const std::string& path, Random& random) {
  GraphBuilder builder;
  builder.set_opset(kTargetOpset);
  ValueType type = StaticType(DataType::kFloat32, {1, 64});
  type.dims[0] = {.name = "batch"};
  const ValueId x = builder.AddInput("x", type);
  std::vector<ValueId> ends;
  for (int branch = 0; branch < 3; ++branch) {
    ValueId top = x;
    for (int layer = 0; layer < 2; ++layer) {
      const std::string name = std::to_string(branch) + std::to_string(layer);
      const ValueId weights = builder.AddConstant("w" + name, Weights({64, 64}, random));
      top = builder.AddOp("MatMul", {top, weights}, type, {}, "m" + name);
      top = builder.AddOp(branch == 0 ? "Relu" : "Sigmoid", {top}, type, {}, "r" + name);
    }
    ends.push_back(top);
  }
  const ValueId sum = builder.AddOp("Sum", ends, type, {}, "sum");
  builder.AddOutput(builder.AddOp("Softmax", {sum}, type, {{"axis", int64_t{-1}}}, "y"));
  PT_ASSIGN(const Graph graph, builder.Build());
  return SaveOnnx(graph, path);
}

// The positions of what is positive after a product: as many as there are.
inline Status SavePositions(const std::string& path, Random& random) {
  GraphBuilder builder;
  builder.set_opset(kTargetOpset);
  const ValueType type = StaticType(DataType::kFloat32, {16, 32});
  const ValueId x = builder.AddInput("x", type);
  const ValueId weights = builder.AddConstant("w", Weights({32, 32}, random));
  const ValueId product = builder.AddOp("MatMul", {x, weights}, type, {}, "m");
  const ValueId positive = builder.AddOp("Relu", {product}, type, {}, "r");
  ValueType found = StaticType(DataType::kInt64, {2, 0});
  found.dims[1] = {};
  builder.AddOutput(builder.AddOp("NonZero", {positive}, found, {}, "y"));
  PT_ASSIGN(const Graph graph, builder.Build());
  return SaveOnnx(graph, path);
}

}  // namespace pt::bench
