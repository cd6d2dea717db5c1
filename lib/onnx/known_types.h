// What is known of the values of one graph while the model is worked on: the types that the file declares or inference
// has found, and the constants. A subgraph knows what lies around it too.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/onnx/fence.h"

namespace pt {

class KnownTypes {
 public:
  // Both must outlive this. The graph's nodes may be moved meanwhile (Swap), but not be destroyed.
  explicit KnownTypes(const proto::GraphProto& graph, const KnownTypes* outer = nullptr);

  // Null when nothing is known.
  const proto::TypeProto* type(const std::string& name) const;
  // Null when the value is not an initialiser or Constant. Large ones are placeholders (ModelTensors).
  const proto::TensorProto* constant(const std::string& name) const;

 private:
  void AddTensor(const std::string& name, const proto::TensorProto& tensor);

  const KnownTypes* outer_;
  std::unordered_map<std::string_view, const proto::TypeProto*> types_;
  std::unordered_map<std::string_view, const proto::TensorProto*> constants_;
  std::vector<std::unique_ptr<proto::TypeProto>> owned_;  // of constants
};

}  // namespace pt
