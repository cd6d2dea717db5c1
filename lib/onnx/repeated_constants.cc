#include "lib/onnx/repeated_constants.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/onnx/constant_node.h"
#include "lib/onnx/sources.h"

namespace pt {
namespace {

class Dropping {
 public:
  Dropping(const ModelTensors& tensors, const Limits& limits, std::vector<std::string>& warnings)
      : tensors_(tensors), limits_(limits), warnings_(warnings) {}

  // `graph`: whose initialisers count, null for those without any.
  Status Drop(Nodes& nodes, const proto::GraphProto* graph) {
    std::unordered_map<std::string_view, int> first;  // output → Constant node
    std::unordered_set<std::string_view> initializers;
    if (graph != nullptr) {
      for (const auto& tensor : graph->initializer()) initializers.insert(tensor.name());
    }
    std::vector<int> dropped;
    for (int i = 0; i < nodes.size(); ++i) {
      PT_CHECK_OK(DropInside(nodes[i]));
      if (!IsConstant(nodes[i])) continue;
      const std::string& name = nodes[i].output(0);
      const auto [at, is_new] = first.emplace(name, i);
      const bool initial = initializers.contains(name);
      if (is_new && !initial) continue;
      const std::string other =
          initial ? "initialiser" : NodeLabel(nodes[at->second], SourceOf(nodes[at->second]).index);
      const std::string own = NodeLabel(nodes[i], SourceOf(nodes[i]).index);
      PT_ASSIGN(const Tensor one, initial ? Result<Tensor>(*tensors_.initializer(name)) : Value(nodes[at->second]));
      PT_ASSIGN(const Tensor two, Value(nodes[i]));
      const std::string twice = "constant \"" + name + "\" is defined twice, as " + other + " and as " + own;
      if (!SameTensor(one, two)) {
        return LoadError(ErrorCode::kInvalidInput, "onnx.duplicate", twice + ", with different values", own);
      }
      warnings_.push_back(twice + "; the values are the same");
      dropped.push_back(i);
    }
    if (dropped.empty()) return {};
    Nodes kept;
    for (int i = 0; i < nodes.size(); ++i) {
      if (!std::binary_search(dropped.begin(), dropped.end(), i)) kept.Add()->Swap(&nodes[i]);
    }
    nodes.Swap(&kept);
    return {};
  }

 private:
  static bool IsConstant(const proto::NodeProto& node) {
    return node.op_type() == "Constant" && IsDefaultDomain(node.domain()) && node.output_size() == 1 &&
           !node.output(0).empty() && node.attribute_size() == 1 && node.attribute(0).ref_attr_name().empty();
  }

  Status DropInside(proto::NodeProto& node) {
    for (proto::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) PT_CHECK_OK(Drop(*attribute.mutable_g()->mutable_node(), nullptr));
      for (proto::GraphProto& graph : *attribute.mutable_graphs()) PT_CHECK_OK(Drop(*graph.mutable_node(), nullptr));
    }
    return {};
  }

  Result<Tensor> Value(const proto::NodeProto& node) const {
    proto::NodeProto copy = node;  // reading may take the data out of it
    return ConstantValue(copy, tensors_, limits_);
  }

  const ModelTensors& tensors_;
  const Limits& limits_;
  std::vector<std::string>& warnings_;
};

}  // namespace

bool SameTensor(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.dims() != b.dims()) return false;
  const bool shared = a.bytes().data() == b.bytes().data();
  return (shared || std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end())) &&
         std::equal(a.strings().begin(), a.strings().end(), b.strings().begin(), b.strings().end());
}

Status DropRepeatedConstants(proto::ModelProto& model, const ModelTensors& tensors, const Limits& limits,
                             std::vector<std::string>& warnings) {
  Dropping dropping(tensors, limits, warnings);
  PT_CHECK_OK(dropping.Drop(*model.mutable_graph()->mutable_node(), &model.graph()));
  for (proto::FunctionProto& function : *model.mutable_functions())
    PT_CHECK_OK(dropping.Drop(*function.mutable_node(), nullptr));
  return {};
}

}  // namespace pt
