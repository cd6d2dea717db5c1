// Models of one node of com.microsoft or ai.onnx.ml: loaded, and run node by node on the reference library.
#pragma once

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "test/testing/loading.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/run_on_reference.h"

namespace pt::testing {

// An input of the node: absent when it has no type, of the model, or an initialiser.
struct GivenInput {
  Tensor tensor;
  bool constant = false;
  bool ranked = true;  // whether the model says how many dims it has
  GivenInput() = default;
  GivenInput(Tensor t, bool is_constant = false, bool is_ranked = true)
      : tensor(std::move(t)), constant(is_constant), ranked(is_ranked) {}
};
inline GivenInput Constant(Tensor tensor) { return {std::move(tensor), true}; }

struct Single {
  std::string op;
  std::vector<GivenInput> inputs;
  std::vector<Wire> attributes = {};
  std::vector<std::string> outputs = {"y"};  // "" for one that is not asked for
  std::string domain = "com.microsoft";
  int64_t opset = 17;
  int64_t version = 1;  // of the domain
};

inline GraphParts PartsOf(const Single& single) {
  GraphParts parts;
  std::vector<std::string> names;
  for (size_t i = 0; i < single.inputs.size(); ++i) {
    const GivenInput& operand = single.inputs[i];
    const Tensor& tensor = operand.tensor;
    if (tensor.type() == DataType::kUndefined) {
      names.emplace_back();
      continue;
    }
    names.push_back("x" + std::to_string(i));
    const int type = static_cast<int>(tensor.type());
    if (operand.constant) {
      const std::string bytes(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
      parts.initializers.push_back(RawTensor(names.back(), type, tensor.dims(), bytes));
      continue;
    }
    std::vector<std::string> dims;
    for (int64_t d : tensor.dims()) dims.push_back(std::to_string(d));
    if (operand.ranked) {
      parts.inputs.push_back(ValueInfo(names.back(), type, dims));
    } else {  // ValueInfoProto{name, type{tensor_type{elem_type}}}
      const Wire tensor_type = Wire().Number(1, static_cast<uint64_t>(type));
      parts.inputs.push_back(Wire().Bytes(1, names.back()).Message(2, Wire().Message(1, tensor_type)));
    }
  }
  parts.nodes = {NodeBytes(single.op, names, single.outputs, single.attributes, "", single.domain)};
  for (const std::string& output : single.outputs) {
    if (!output.empty()) parts.outputs.push_back(Wire().Bytes(1, output));
  }
  return parts;
}

inline std::string BytesOf(const Single& single) {
  ModelParts model;
  model.graph = GraphBytes(PartsOf(single));
  model.opsets = {{"", single.opset}};
  if (!single.domain.empty()) model.opsets.emplace_back(single.domain, single.version);
  return ModelBytes(model);
}

// The outputs that are asked for.
inline std::vector<Tensor> Results(const Single& single) {
  const Result<Graph> graph = Load(BytesOf(single));
  INFO((graph.ok() ? std::string() : ToString(graph.error())));
  REQUIRE(graph.ok());
  for (const Node& node : graph->nodes()) CHECK(node.domain.empty());
  std::vector<Tensor> inputs;
  for (const GivenInput& operand : single.inputs) {
    if (operand.tensor.type() != DataType::kUndefined && !operand.constant) inputs.push_back(operand.tensor);
  }
  return RunOnReference(*graph, inputs);
}

// "" when it loads.
inline std::string FaultOf(const Single& single) { return LoadFault(BytesOf(single)); }

inline Tensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return Tensor::Float32(std::move(dims), values);
}
inline Tensor Int32(std::vector<int64_t> dims, const std::vector<int32_t>& values) {
  return Tensor::Of<int32_t>(DataType::kInt32, std::move(dims), values);
}
inline Tensor Uint8(std::vector<int64_t> dims, const std::vector<uint8_t>& values) {
  return Tensor::Of<uint8_t>(DataType::kUint8, std::move(dims), values);
}
inline Tensor Int8(std::vector<int64_t> dims, const std::vector<int8_t>& values) {
  return Tensor::Of<int8_t>(DataType::kInt8, std::move(dims), values);
}

inline void CheckNear(const Tensor& is, const std::vector<int64_t>& dims, const std::vector<float>& expected) {
  CHECK(is.dims() == dims);
  REQUIRE(is.type() == DataType::kFloat32);
  REQUIRE(is.values<float>().size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(is.values<float>()[i] == Catch::Approx(expected[i]).epsilon(1e-5).margin(1e-6));
  }
}

// start + step · (i · factor mod period) at element i.
inline Tensor Cycle(std::vector<int64_t> dims, float start, float step, int factor, int period) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(start + step * static_cast<float>(i * factor % period));
  return Floats(std::move(dims), values);
}

}  // namespace pt::testing
