#include "lib/onnx/convert_scan.h"

#include <onnx/defs/attr_proto_util.h>

#include <cstdint>
#include <stdexcept>

namespace pt {
namespace {

proto::AttributeProto* Find(proto::NodeProto& node, const char* name) {
  for (proto::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

void SetInt(proto::NodeProto& node, const char* name, int64_t value) {
  *node.add_attribute() = proto::MakeAttribute(name, value);
}

void SetBody(proto::NodeProto& node, proto::GraphProto& body) {
  proto::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("body");
  attribute.set_type(proto::AttributeProto::GRAPH);
  attribute.mutable_g()->Swap(&body);
}

// What one batch entry has where a step of it has `step`: itself for carried values, else a dim of steps before it.
proto::ValueInfoProto OfEntry(const proto::ValueInfoProto& step, bool carried, const std::string& name) {
  proto::ValueInfoProto entry = step;
  entry.set_name(name);
  if (carried || !step.type().tensor_type().has_shape()) return entry;
  auto& shape = *entry.mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.clear_dim();
  shape.add_dim();
  for (const auto& dim : step.type().tensor_type().shape().dim()) *shape.add_dim() = dim;
  return entry;
}

}  // namespace

void NestScan(proto::NodeProto& node, const std::function<std::string(const std::string&)>& fresh) {
  proto::AttributeProto* const body_attribute = Find(node, "body");
  const proto::AttributeProto* const scanned_attribute = Find(node, "num_scan_inputs");
  const proto::AttributeProto* const directions = Find(node, "directions");
  if (body_attribute == nullptr || scanned_attribute == nullptr || node.input_size() < 2)
    throw std::runtime_error("Scan lacks its body, num_scan_inputs or inputs");
  if (!node.input(0).empty()) throw std::runtime_error("Scan of opset 8 with sequence_lens has no equal");
  const int inputs = node.input_size() - 1;
  const int64_t scanned = scanned_attribute->i();
  proto::GraphProto body;
  body.Swap(body_attribute->mutable_g());
  if (scanned < 1 || scanned > inputs || body.input_size() != inputs || body.output_size() != node.output_size())
    throw std::runtime_error("Scan has inputs or outputs that do not fit its body");
  const int carried = inputs - static_cast<int>(scanned);

  proto::GraphProto entry;
  entry.set_name("entry");
  proto::NodeProto& steps = *entry.add_node();
  steps = node;  // its name and its place in the file
  steps.clear_input();
  steps.clear_output();
  steps.clear_attribute();
  for (int i = 0; i < inputs; ++i) {
    *entry.add_input() = OfEntry(body.input(i), i < carried, fresh(body.input(i).name()));
    steps.add_input(entry.input(i).name());
  }
  for (int i = 0; i < body.output_size(); ++i) {
    *entry.add_output() = OfEntry(body.output(i), i < carried, fresh(body.output(i).name()));
    steps.add_output(entry.output(i).name());
  }
  SetBody(steps, body);
  SetInt(steps, "num_scan_inputs", scanned);
  if (directions != nullptr) {
    proto::AttributeProto& made = *steps.add_attribute();
    made = *directions;
    made.set_name("scan_input_directions");
  }

  node.mutable_input()->DeleteSubrange(0, 1);
  node.clear_attribute();
  SetBody(node, entry);
  SetInt(node, "num_scan_inputs", inputs);
}

}  // namespace pt
