// Models with functions, described so that two can work on them that share no code: the loader, from the bytes, and an
// interpreter that walks the bodies themselves. What it says of them is what expanding functions is held to.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt::testing {

struct ModelGraph;

struct ModelAttribute {
  std::string name;
  // Of what kind it is, also where it only refers to an attribute of the function.
  std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
               std::shared_ptr<const ModelGraph>>
      value;
  std::string refers_to = {};  // "": the value counts
};

struct ModelNode {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::vector<ModelAttribute> attributes = {};
  std::string domain = {}, overload = {};
};

struct ModelGraph {
  std::vector<std::string> inputs, outputs;
  std::vector<ModelNode> nodes;
};

struct ModelFunction {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes;   // without a default
  std::vector<ModelAttribute> defaults;  // the others
  std::vector<ModelNode> nodes;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct FunctionModel {
  std::vector<NamedTensor> inputs, constants;
  ModelGraph graph;  // its inputs are not read
  std::vector<ModelFunction> functions;
};

// A graph of opset kTargetOpset on those inputs, without functions.
FunctionModel ModelOf(const Graph& graph, std::span<const Tensor> inputs);

// Of opset kTargetOpset, as are all functions, and of kClassicalVersion.
std::string BytesOf(const FunctionModel& model);

// The outputs, node by node: functions are called with their attributes bound, If, Loop and Scan are walked here, and
// all else is the reference library's on one node. Errors: what the library refuses, and what the model leaves
// undefined.
Result<std::vector<Tensor>> Interpret(const FunctionModel& model);

}  // namespace pt::testing
