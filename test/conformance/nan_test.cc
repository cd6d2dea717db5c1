// NaN: what a library says of its candidates (Library::KeepsNan) is held to what they do.
#include "partitiontuner/backend/nan.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>

#include "partitiontuner/backend/libraries.h"
#include "test/testing/check_case.h"
#include "test/testing/evaluate_graph.h"
#include "test/testing/run_candidate.h"
#include "test/testing/test_machine.h"

namespace pt::testing::nan_test {
namespace {

const std::string kImage = "input x float32[2,20,5,6]\n", kMatrix = "input x float32[6,20]\n";

// Texts of graphs, the last line left out; each ends in a value y.
std::vector<std::string> Cases() {
  std::vector<std::string> cases;
  for (const char* op :
       {"Abs",       "Ceil",     "Celu",      "Elu",      "Erf",      "Exp",        "Floor", "Gelu",  "HardSigmoid",
        "HardSwish", "Identity", "LeakyRelu", "Mish",     "Neg",      "Reciprocal", "Relu",  "Round", "Selu",
        "Sigmoid",   "Sign",     "Sin",       "Softplus", "Softsign", "Sqrt",       "Swish", "Tanh"}) {
    for (const std::string& input : {kImage, kMatrix}) cases.push_back(input + "y = " + op + "(x)\n");
  }
  cases.push_back(kMatrix + "const a float32[] value -0.5\nconst b float32[] value 0.5\ny = Clip(x, a, b)\n");
  cases.push_back(kMatrix + "const a float32[] value 0\ny = Clip(x, a)\n");
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "PRelu"}) {
    for (const char* operand : {"const p float32[20] random 3\n", "const p float32[] value 2\n",
                                "input p float32[6,20]\n", "input p float32[6,1]\n"}) {
      cases.push_back(kMatrix + operand + "y = " + op + "(x, p)\n");
      cases.push_back(kMatrix + operand + "r = Sigmoid(x)\ny = " + op + "(r, p)\n");
    }
    cases.push_back(kImage + "const p float32[20,1,1] random 3\ny = " + op + "(x, p)\n");
  }
  for (const char* end : {"y = Relu(z)\n", "const b float32[] value 0.5\ny = Clip(z, , b)\n", "y = Gelu(z)\n",
                          "y = Exp(z)\n", "const b float32[] value 0.5\ny = Max(z, b)\n", "y = Sigmoid(z)\n"}) {
    std::string text = end;
    if (const size_t at = text.find("z, ,"); at != std::string::npos) text.replace(at, 4, "z, _,");
    cases.push_back(kImage + "const w float32[16,20,3,3] random 1\nz = Conv(x, w) pads=[1,1,1,1]\n" + text);
    cases.push_back(kImage + "const w float32[20,1,3,3] random 1\nz = Conv(x, w) pads=[1,1,1,1] group=20\n" + text);
    cases.push_back(kImage + "const w float32[20,16,2,2] random 1\nz = ConvTranspose(x, w)\n" + text);
    cases.push_back(kMatrix +
                    "const w float32[20,33] random 1\nconst c float32[33] random 2\nm = MatMul(x, w)\nz = Add(m, c)\n" +
                    text);
    cases.push_back(
        kMatrix + "const w float32[33,20] random 1\nconst c float32[33] random 2\nz = Gemm(x, w, c) transB=1\n" + text);
  }
  for (const char* op : {"MaxPool", "AveragePool"}) {
    cases.push_back(kImage + "y = " + op + "(x) kernel_shape=[2,2] strides=[2,2]\n");
    cases.push_back(kImage + "y = " + op + "(x) kernel_shape=[3,3] pads=[1,1,1,1]\n");
  }
  for (const char* op : {"GlobalMaxPool", "GlobalAveragePool"}) cases.push_back(kImage + "y = " + op + "(x)\n");
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const char* axis : {"1", "-1"}) cases.push_back(kImage + "y = " + op + "(x) axis=" + axis + "\n");
  }
  cases.push_back(kMatrix + "const s float32[20] random 2\ny = LayerNormalization(x, s)\n");
  cases.push_back(kImage + "y = LRN(x) size=3\n");
  for (const char* op : {"ReduceMean", "ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                         "ReduceSumSquare", "ReduceLogSumExp"}) {
    cases.push_back(kImage + "const a int64[2] ints 2 3\ny = " + op + "(x, a)\n");
    cases.push_back(kMatrix + "const a int64[1] ints 1\ny = " + op + "(x, a) keepdims=0\n");
  }
  cases.push_back(kImage + "const o float32[2,4,5,6] random 1\ny = Concat(x, o) axis=1\n");
  cases.push_back(kImage + "y = Transpose(x) perm=[0,2,3,1]\n");
  cases.push_back(kImage + "const s float32[4] floats 1 1 2 2\ny = Resize(x, _, s) mode=\"nearest\"\n");
  cases.push_back(kImage + "const s float32[4] floats 1 1 2 2\ny = Resize(x, _, s) mode=\"linear\"\n");
  for (const auto& [op, gates] : {std::pair("LSTM", 4), std::pair("GRU", 3), std::pair("RNN", 1)}) {
    const std::string rows = std::to_string(gates * 8);
    cases.push_back("input x float32[3,2,5]\nconst w float32[1," + rows + ",5] random 1\nconst r float32[1," + rows +
                    ",8] random 2\ny, h = " + op + "(x, w, r)" + (gates == 3 ? " linear_before_reset=1" : "") +
                    "\noutput h\n");
  }
  cases.push_back(kMatrix + "s = Sigmoid(x)\ny = Mul(x, s)\n");
  cases.push_back(kMatrix +
                  "const a float32[] value 3\nconst z float32[] value 0\nconst b float32[] value 6\np = Add(x, a)\n"
                  "c = Clip(p, z, b)\ny = Div(c, b)\n");
  return cases;
}

// Some elements of each, far enough from each other to leave most of an image alone.
Tensor WithNan(const Tensor& tensor, size_t first) {
  if (tensor.type() != DataType::kFloat32) return tensor;
  std::vector<float> elements(tensor.values<float>().begin(), tensor.values<float>().end());
  for (size_t i = first % elements.size(); i < elements.size(); i += 97) elements[i] = std::nanf("");
  return Tensor::Float32(tensor.dims(), elements);
}

}  // namespace

TEST_CASE("Conformance, WhatKeepsNanPutsItWhereTheReferenceDoes", "[conformance]") {
  const Platform platform = MakeTestPlatform(2, false);
  std::vector<std::unique_ptr<Library>> libraries;
  for (const LibraryRow& row : BuiltInLibraries()) libraries.push_back(row.make());
  std::map<std::string, size_t> keeping;
  std::string faults;
  for (const std::string& text : Cases()) {
    INFO(text);
    const std::string whole = text + "output y\n";
    const Graph graph = LoadCase({"", whole.c_str()});
    std::vector<Tensor> inputs = RandomInputs(graph);
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = WithNan(inputs[i], 3 + 5 * i);
    const auto values = EvaluateGraph(graph, inputs);
    REQUIRE(values.ok());
    for (const Candidate& candidate : EnumerateCandidates(graph, platform, libraries)) {
      const auto library =
          std::ranges::find_if(libraries, [&](const auto& l) { return l->name() == candidate.library; });
      REQUIRE(library != libraries.end());
      if (!KeepsNan(**library, graph, candidate)) continue;
      ++keeping[candidate.library];
      std::vector<Tensor> in;
      for (const ValueId id : GroupInputs(graph, candidate.nodes)) in.push_back((*values)[id.index()]);
      const auto results =
          RunCandidate(graph, platform, **library, candidate, in, platform.unit_class(candidate.unit_class).cores);
      INFO(Describe(graph, candidate));
      REQUIRE(results.ok());
      const std::vector<ValueId> made = GroupOutputs(graph, candidate.nodes);
      for (size_t i = 0; i < made.size(); ++i) {
        const std::string difference = Difference((*results)[i], (*values)[made[i].index()], 1e-4);
        if (!difference.empty()) faults += Describe(graph, candidate) + ": " + difference + "\n";
      }
    }
  }
  INFO(faults);
  CHECK(faults.empty());
  for (const char* name : {"reference", "host", "onednn"}) {
    INFO(name);
    if (std::ranges::any_of(libraries, [&](const auto& library) { return library->name() == name; })) {
      CHECK(keeping[name] > 100);
    }
  }
}

TEST_CASE("OneDnn, WhatDropsNanDoesNotSayThatItKeepsIt", "[conformance]") {
  const Platform platform = MakeTestPlatform(1, false);
  const auto rows = BuiltInLibraries();
  const auto onednn = std::ranges::find(rows, "onednn", &LibraryRow::name);
  if (onednn == rows.end()) SKIP("this build has no oneDNN");
  const std::unique_ptr<Library> library = onednn->make();
  for (const char* nodes :
       {"y = Relu(x)\n", "const a float32[] value 0\ny = Clip(x, a)\n", "const a float32[20] random 2\ny = Max(x, a)\n",
        "const a float32[20] random 2\ny = Min(x, a)\n", "y = Exp(x)\n", "y = HardSigmoid(x)\n", "y = Softmax(x)\n"}) {
    INFO(nodes);
    const std::string text = kMatrix + nodes + "output y\n";
    const Graph graph = LoadCase({"", text.c_str()});
    const auto candidates = library->Candidates(graph, platform, Precision());
    REQUIRE(!candidates.empty());
    for (const Candidate& candidate : candidates) CHECK_FALSE(KeepsNan(*library, graph, candidate));
  }
}

}  // namespace pt::testing::nan_test
