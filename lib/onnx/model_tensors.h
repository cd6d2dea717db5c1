// Takes the tensors out of a parsed model. What libonnx then passes around and copies holds small
// tensors with their data and the others as typed placeholders.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/onnx/cut_model.h"
#include "lib/onnx/external_data.h"
#include "lib/onnx/fence.h"

namespace pt {

// A model that was cut, and the file that still has what was cut out of it.
struct LeftInFile {
  const InputFile& file;
  std::span<const std::optional<FileRange>> raw_data;  // CutModel's
};

class ModelTensors {
 public:
  // Moves every tensor of the model here. Afterwards:
  //  - the main graph's initialisers are in the proto and here by name; inputs of their names are
  //  gone, except for those that the options give: these stay inputs, and their initialisers are in the report;
  //  - initialisers of subgraphs are Constant nodes at the front of their graph;
  //  - sparse tensors are dense; tensors in attributes are named by their key (large) or not at
  //  all.
  // Errors: data that does not fit its dims, external data refused, sparse tensors that are invalid
  // or grow over the limit, an initialiser given twice with different data; the report warns of those given twice with
  // the same. `left` is null for a model that is all there.
  Status TakeFrom(proto::ModelProto& model, ExternalData& external, const LeftInFile* left, const LoadOptions& options,
                  LoadReport& report);

  // One more of the main graph, which is `graph` of the model that was taken. The name must be new.
  void AddInitializer(proto::GraphProto& graph, const std::string& name, Tensor tensor);

  // Null when the main graph has no such initialiser.
  const Tensor* initializer(const std::string& name) const;
  const std::unordered_map<std::string, Tensor>& initializers() const { return initializers_; }
  // The tensor that this attribute's proto stands for, if it is a placeholder, else null.
  const Tensor* placeholder(const proto::TensorProto& tensor) const;

  // The checker wants data where dims ask for some: with empty = true placeholders say dims [0],
  // with false their own.
  void SetPlaceholderDims(proto::ModelProto& model, bool empty) const;

 private:
  struct Context;
  Status TakeGraph(proto::GraphProto& graph, Context& context);
  Status TakeMainGraph(proto::GraphProto& graph, Context& context, const LoadOptions& options, LoadReport& report);
  Status TakeNode(proto::NodeProto& node, Context& context);
  Status TakeAttribute(proto::AttributeProto& attribute, const std::string& where, Context& context);
  Status TakeInitializers(proto::GraphProto& graph, Context& context, bool is_main,
                          std::vector<std::pair<std::string, Tensor>>& taken);
  Result<Tensor> Take(proto::TensorProto& tensor, const std::string& where, Context& context);
  Result<Tensor> Densify(proto::SparseTensorProto& sparse, const std::string& where, Context& context);
  Status TakeAttributeTensor(proto::TensorProto& tensor, const std::string& where, Context& context);
  void LeaveInProto(const Tensor& tensor, proto::TensorProto& left);
  void LeaveInAttribute(Tensor tensor, proto::TensorProto& left);

  std::unordered_map<std::string, Tensor> initializers_;
  std::vector<Tensor> attribute_tensors_;
};

}  // namespace pt
