// DynamicQuantizeLSTM of ONNX Runtime: the reference library against the standard's own operators, step by step, and
// the host library against the reference.
#include <array>
#include <map>

#include "partitiontuner/graph/graph_builder.h"
#include "test/backend/host_kernels_lab.h"

namespace pt::testing::dynamic_quantize_lstm_test {
namespace {

using Dims = std::vector<int64_t>;

struct Case {
  int64_t time = 3, batch = 2, input = 5, hidden = 7;
  std::string direction = "forward";
  DataType type = DataType::kInt8;
  bool by_column = false;
  bool states = true;
  bool bias = true;

  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

Tensor Bytes(DataType type, const Dims& dims, uint32_t seed) { return RandomTensor(type, dims, seed); }

// Small enough that gates are not all closed.
Tensor Scales(const Dims& dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(0.002F + 0.0003F * static_cast<float>(i % 5));
  return Tensor::Float32(dims, values);
}

// The operands of the node by their number; those that are not given are absent.
std::map<size_t, Tensor> OperandsOf(const Case& c) {
  const int64_t d = c.directions(), columns = 4 * c.hidden;
  const Dims beside = c.by_column ? Dims{d, columns} : Dims{d};
  std::map<size_t, Tensor> operands = {{0, RandomTensor(DataType::kFloat32, {c.time, c.batch, c.input}, 1)},
                                       {1, Bytes(c.type, {d, c.input, columns}, 2)},
                                       {2, Bytes(c.type, {d, c.hidden, columns}, 3)},
                                       {8, Scales(beside)},
                                       {9, Bytes(c.type, beside, 4)},
                                       {10, Scales(beside)},
                                       {11, Bytes(c.type, beside, 5)}};
  if (c.bias) operands.emplace(3, RandomTensor(DataType::kFloat32, {d, 2 * columns}, 6));
  if (c.states) {
    operands.emplace(5, RandomTensor(DataType::kFloat32, {d, c.batch, c.hidden}, 7));
    operands.emplace(6, RandomTensor(DataType::kFloat32, {d, c.batch, c.hidden}, 8));
  }
  return operands;
}

// X and the states are inputs, all else is constant; all three outputs, or the first alone.
Graph GraphOf(const Case& c, size_t outputs, std::vector<Tensor>& inputs) {
  GraphBuilder builder;
  builder.set_domain("com.microsoft", 1);
  const std::map<size_t, Tensor> operands = OperandsOf(c);
  Node node;
  node.op = "DynamicQuantizeLSTM";
  node.domain = "com.microsoft";
  node.attributes = {{"hidden_size", c.hidden}, {"direction", c.direction}};
  node.formal_inputs = 12;
  for (size_t i = 0; i < 12; ++i) {
    const auto at = operands.find(i);
    const std::string name = "in" + std::to_string(i);
    if (at == operands.end()) {
      node.inputs.emplace_back();
    } else if (i == 0 || i == 5 || i == 6) {
      node.inputs.push_back(builder.AddInput(name, StaticType(at->second.type(), at->second.dims())));
      inputs.push_back(at->second);
    } else {
      node.inputs.push_back(builder.AddConstant(name, at->second));
    }
  }
  const Dims states = {c.directions(), c.batch, c.hidden};
  const std::array<Dims, 3> dims = {Dims{c.time, c.directions(), c.batch, c.hidden}, states, states};
  for (size_t i = 0; i < outputs; ++i)
    node.outputs.push_back(builder.AddValue("out" + std::to_string(i), StaticType(DataType::kFloat32, dims[i])));
  const std::vector<ValueId> made = node.outputs;
  builder.AddNode(std::move(node));
  for (const ValueId value : made) builder.AddOutput(value);
  return builder.Build().value();
}

void CheckCase(const Case& c) {
  CAPTURE(c.time, c.batch, c.input, c.hidden, c.direction, DataTypeName(c.type), c.by_column, c.states, c.bias);
  for (const size_t outputs : {size_t{1}, size_t{3}}) {
    std::vector<Tensor> inputs;
    const Graph graph = GraphOf(c, outputs, inputs);
    // A number beside the middle of two steps may be rounded the other way.
    CheckAgainstReference(graph, inputs, 2e-3);
  }
}

TEST_CASE("DynamicQuantizeLstm, HostEqualsTheReference", "[host]") {
  for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
    for (const DataType type : {DataType::kInt8, DataType::kUint8}) {
      for (const bool by_column : {false, true})
        CheckCase({.direction = direction, .type = type, .by_column = by_column});
    }
    CheckCase({.time = 1, .batch = 1, .direction = direction, .states = false, .bias = false});
  }
  for (const int64_t hidden : {1, 16, 31, 32, 33, 100, 300}) {
    for (const int64_t batch : {1, 5}) CheckCase({.time = 4, .batch = batch, .input = 9, .hidden = hidden});
  }
}

// ---- the reference library by operators of ONNX ----

std::string Row(int64_t n) { return std::to_string(n); }

// y = the real numbers that x (rows of `depth`) becomes with 8 bits, times the weights.
std::string Product(const std::string& x, const std::string& weights, const std::string& y) {
  return y + "q, " + y + "s, " + y + "z = DynamicQuantizeLinear(" + x + ")\n" + y + "i = MatMulInteger(" + y + "q, " +
         weights + ", " + y + "z)\n" + y + "f = Cast(" + y + "i) to=1\n" + y + "m = Mul(" + y + "s, scale)\n" + y +
         " = Mul(" + y + "f, " + y + "m)\n";
}

// Two steps of one direction on two entries of the batch: gates in the order input, output, forget, cell.
TEST_CASE("DynamicQuantizeLstm, ReferenceIsTheStandardsOperatorsStepByStep", "[reference]") {
  constexpr int64_t kHidden = 3, kInput = 4, kBatch = 2;
  const Case c{.time = 2, .batch = kBatch, .input = kInput, .hidden = kHidden};
  std::map<size_t, Tensor> operands = OperandsOf(c);
  const std::string columns = Row(4 * kHidden);
  std::string text =
      "input x float32[2,2,4]\ninput h0 float32[2,3]\ninput c0 float32[2,3]\ninput w int8[4," + columns +
      "]\ninput r int8[3," + columns + "]\ninput b float32[" + columns + "]\ninput scale float32[]\n" +
      "const flat int64[2] ints 4 4\nconst sizes int64[2] ints 2 2\nconst gates int64[4] ints 3 3 3 3\n" +
      "xs = Reshape(x, flat)\n" + Product("xs", "w", "xp") + "xb = Add(xp, b)\n" + "p0, p1 = Split(xb, sizes) axis=0\n";
  for (int step = 0; step < 2; ++step) {
    const std::string n = Row(step), next = Row(step + 1);
    text += Product("h" + n, "r", "hp" + n) + "a" + n + " = Add(p" + n + ", hp" + n + ")\ngi" + n + ", go" + n +
            ", gf" + n + ", gc" + n + " = Split(a" + n + ", gates) axis=1\ni" + n + " = Sigmoid(gi" + n + ")\no" + n +
            " = Sigmoid(go" + n + ")\nf" + n + " = Sigmoid(gf" + n + ")\nt" + n + " = Tanh(gc" + n + ")\nk" + n +
            " = Mul(f" + n + ", c" + n + ")\nl" + n + " = Mul(i" + n + ", t" + n + ")\nc" + next + " = Add(k" + n +
            ", l" + n + ")\nu" + n + " = Tanh(c" + next + ")\nh" + next + " = Mul(o" + n + ", u" + n + ")\n";
  }
  text += "output h2\noutput c2\n";
  // Without zero points of weights, with one scale, and with the sum of both biases.
  for (const size_t zero : {9, 11})
    operands.at(zero) = Tensor::FromBytes(DataType::kInt8, {1}, std::string(1, 0)).value();
  for (const size_t scale : {8, 10}) operands.at(scale) = Tensor::Float32({1}, {0.01F});
  std::vector<float> bias;
  const auto both = operands.at(3).values<float>();
  for (size_t i = 0; i < 4 * kHidden; ++i) bias.push_back(both[i] + both[i + 4 * kHidden]);
  const auto squeezed = [&](size_t operand) {
    const Tensor& t = operands.at(operand);
    return Tensor::FromBytes(t.type(), Dims(t.dims().begin() + 1, t.dims().end()),
                             std::string(reinterpret_cast<const char*>(t.bytes().data()), t.bytes().size()))
        .value();
  };
  const Platform platform = MakeTestPlatform(1, false);
  const std::unique_ptr<Library> reference = MakeReferenceLibrary();
  std::map<ValueId, Tensor> values;
  const std::vector<Tensor> separate = {operands.at(0),
                                        squeezed(5),
                                        squeezed(6),
                                        squeezed(1),
                                        squeezed(2),
                                        Tensor::Float32({4 * kHidden}, bias),
                                        Tensor::Float32({}, {0.01F})};
  const Result<std::vector<Tensor>> steps = RunGraph(TypedText(text), platform, *reference, separate, 1, &values);
  if (!steps.ok()) FAIL(ToString(steps.error()));
  GraphBuilder builder;
  builder.set_domain("com.microsoft", 1);
  Node node;
  node.op = "DynamicQuantizeLSTM";
  node.domain = "com.microsoft";
  node.attributes = {{"hidden_size", kHidden}};
  node.formal_inputs = 12;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < 12; ++i) {
    if (!operands.contains(i)) {
      inputs.emplace_back();
      node.inputs.emplace_back();
      continue;
    }
    inputs.push_back(operands.at(i));
    node.inputs.push_back(
        builder.AddInput("in" + Row(static_cast<int64_t>(i)), StaticType(inputs.back().type(), inputs.back().dims())));
  }
  for (const char* name : {"y", "yh", "yc"}) node.outputs.push_back(builder.AddValue(name, {}));
  const std::vector<ValueId> made = node.outputs;
  const NodeId id = builder.AddNode(std::move(node));
  for (const ValueId value : made) builder.AddOutput(value);
  const Graph graph = builder.Build().value();
  const auto whole = EvaluateNode(graph, id, inputs);
  if (!whole.ok()) FAIL(ToString(whole.error()));
  for (size_t i = 0; i < 2; ++i) {
    const auto is = (*whole)[i + 1].values<float>(), expected = (*steps)[i].values<float>();
    REQUIRE(is.size() == expected.size());
    for (size_t k = 0; k < is.size(); ++k) CHECK(std::abs(is[k] - expected[k]) < 2e-6F);
  }
}

}  // namespace
}  // namespace pt::testing::dynamic_quantize_lstm_test
