// Writes the network that the example plugin is shown on: y = softsign(relu(x)) + softsign(x), float32[1,32,64,64].
#include <onnx/onnx-ml.pb.h>

#include <fstream>

namespace {

void AddNode(onnx::GraphProto& graph, const char* op, std::initializer_list<const char*> in, const char* out) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(out);
  for (const char* name : in) node.add_input(name);
  node.add_output(out);
}

void SetType(onnx::ValueInfoProto& value, const char* name) {
  value.set_name(name);
  onnx::TypeProto::Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  for (const int dim : {1, 32, 64, 64}) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("softsign");
  SetType(*graph.add_input(), "x");
  SetType(*graph.add_output(), "y");
  AddNode(graph, "Relu", {"x"}, "positive");
  AddNode(graph, "Softsign", {"positive"}, "a");
  AddNode(graph, "Softsign", {"x"}, "b");
  AddNode(graph, "Add", {"a", "b"}, "y");
  std::ofstream out(argv[1], std::ios::binary);
  return model.SerializeToOstream(&out) ? 0 : 1;
}
