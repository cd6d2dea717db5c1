// Names for values that are added to a model.
#pragma once

#include <string>
#include <unordered_set>

#include "lib/onnx/fence.h"
#include "partitiontuner/graph/graph.h"

namespace pt {

class FreshNames {
 public:
  // Knows the names of the graph and of all graphs within it.
  explicit FreshNames(const proto::GraphProto& graph);
  explicit FreshNames(const Graph& graph);
  // Those of the body, and of all graphs within it.
  explicit FreshNames(const proto::FunctionProto& function);

  // "BASE_N", which no value of the graphs has and no call before has given.
  std::string Make(const std::string& base);

 private:
  void Collect(const proto::GraphProto& graph);
  void Collect(const Nodes& nodes);
  void Collect(const Graph& graph);

  std::unordered_set<std::string> names_;
  uint64_t next_ = 0;
};

}  // namespace pt
