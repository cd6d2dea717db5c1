#include "lib/onnx/zip_map.h"

#include <algorithm>
#include <cstdint>

#include "lib/onnx/contrib/domain.h"
#include "lib/onnx/nested_nodes.h"

namespace pt {
namespace {

bool IsRead(const Nodes& nodes, const std::string& value) {
  return AnyNode(nodes, [&](const proto::NodeProto& node) {
    return std::find(node.input().begin(), node.input().end(), value) != node.input().end();
  });
}

// "0, 1, 2", cut short.
std::string ClassesOf(const proto::NodeProto& node) {
  constexpr int kShown = 20;
  std::string classes;
  int count = 0;
  const auto add = [&](const std::string& name) {
    if (count < kShown) classes += (count > 0 ? ", " : "") + name;
    if (count == kShown) classes += ", ...";
    ++count;
  };
  for (const proto::AttributeProto& attribute : node.attribute()) {
    for (const int64_t label : attribute.ints()) add(std::to_string(label));
    for (const std::string& label : attribute.strings()) add("\"" + label + "\"");
  }
  return classes;
}

}  // namespace

void GiveOutTensors(proto::ModelProto& model, std::vector<std::string>& warnings) {
  proto::GraphProto& graph = *model.mutable_graph();
  for (proto::NodeProto& node : *graph.mutable_node()) {
    if (node.op_type() != "ZipMap" || node.domain() != contrib::kMlDomain) continue;
    if (node.input_size() != 1 || node.output_size() != 1 || IsRead(graph.node(), node.output(0))) continue;
    const auto output = std::find_if(graph.mutable_output()->begin(), graph.mutable_output()->end(),
                                     [&](const auto& info) { return info.name() == node.output(0); });
    if (output == graph.mutable_output()->end()) continue;
    warnings.push_back("output \"" + node.output(0) +
                       "\" is a sequence of maps in the file, which is not supported: it is the tensor of their values "
                       "here, [rows, classes], of classes " +
                       ClassesOf(node) + " (exported with zipmap=False it is a tensor in the file)");
    output->clear_type();
    node.set_op_type("Identity");
    node.clear_domain();
    node.clear_attribute();
  }
}

}  // namespace pt
