// oneDNN in bf16: offered only where it is allowed and the processor has the instructions, in narrow storage from end
// to end, and within bf16's tolerance of the reference.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <set>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/platform/discover.h"
#include "partitiontuner/support/checked.h"
#include "test/testing/run_candidate.h"

namespace pt::testing::onednn_precision_test {
namespace {

const Precision kBf16({MathMode::kBf16});

// A host of one core.
Platform Host(std::string isa) {
  Platform platform;
  platform.devices.push_back({"cpu", "cpu", 0, false, "test"});
  platform.devices[0].isa = std::move(isa);
  platform.unit_classes.push_back({"cpu/1", DeviceId(0U), 1});
  return platform;
}

Graph Network() {
  return InferShapes(*ParseGraph(R"(
input x float32[1,32,12,12]
const w1 float32[32,32,3,3] random 1
const w2 float32[64,32,1,1] random 2
const w3 float32[64,1,3,3] random 3
const b1 float32[32] random 4
const m float32[64,24] random 5
const bm float32[24] random 6
c1 = Conv(x, w1, b1) pads=[1,1,1,1]
s = Sigmoid(c1)
g = Mul(c1, s)
r = Add(g, x)
p = MaxPool(r) kernel_shape=[2,2] strides=[2,2]
c2 = Conv(p, w2)
d = Conv(c2, w3) group=64 pads=[1,1,1,1]
k = Relu(d)
a = Add(k, c2)
j = Concat(a, k) axis=1
v = GlobalAveragePool(a)
f = Flatten(v)
y = Gemm(f, m, bm)
z = Softmax(y)
q = MatMul(f, m)
t = Transpose(a) perm=[0,2,3,1]
n = MatMul(t, m)
e = Gelu(n)
output j
output z
output q
output e
)"))
      .value();
}

std::vector<Tensor> NormalInputs(const Graph& graph) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs()) {
    const std::vector<int64_t> dims = *graph.value(id).type.static_dims();
    std::vector<float> elements(static_cast<size_t>(*CheckedProduct(dims)));
    for (float& element : elements) element = normal(random);
    inputs.push_back(Tensor::Float32(dims, elements));
  }
  return inputs;
}

std::vector<Candidate> OneDnnCandidates(const Graph& graph, const Platform& platform, const Precision& precision) {
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeOneDnnLibrary());
  return EnumerateCandidates(graph, platform, libraries, precision);
}

bool IsNarrow(const Candidate& candidate) {
  const auto narrow = [](const Form& form) { return form.storage == DataType::kBfloat16; };
  return std::any_of(candidate.in.begin(), candidate.in.end(), narrow) ||
         std::any_of(candidate.out.begin(), candidate.out.end(), narrow);
}

// What this processor has; oneDNN speaks for no other.
std::string OwnIsa() { return DiscoverHost().value().devices[0].isa; }

bool HasBf16(const Platform& platform) {
  return platform.devices[0].has_instructions("avx512_bf16") || platform.devices[0].has_instructions("amx_bf16");
}

TEST_CASE("OneDnnPrecision, NothingButFp32UnlessAllowedAndPossible", "[backend]") {
  const Graph graph = Network();
  const Platform own = Host(OwnIsa()), unknown = Host("");
  const std::tuple<Platform, Precision, bool> cases[] = {
      {own, Precision(), false}, {unknown, kBf16, false}, {own, kBf16, HasBf16(own)}};
  size_t in_fp32 = 0;
  for (const auto& [platform, precision, offered] : cases) {
    size_t narrow = 0, wide = 0;
    for (const Candidate& candidate : OneDnnCandidates(graph, platform, precision)) {
      CHECK(IsNarrow(candidate) == (candidate.math == MathMode::kBf16));
      CHECK(precision.allows(candidate.math));
      ++(candidate.math == MathMode::kFp32 ? wide : narrow);
    }
    CHECK((narrow > 0) == offered);
    CHECK(MakeOneDnnLibrary()->Modes(platform) == (HasBf16(platform) ? kBf16 : Precision()));
    // What is offered in fp32 does not depend on what else is allowed.
    if (in_fp32 == 0) in_fp32 = wide;
    CHECK(wide == in_fp32);
  }
  CHECK(in_fp32 > 0);
}

TEST_CASE("OneDnnPrecision, EveryNarrowCandidateIsNearTheReference", "[backend]") {
  const Platform platform = Host(OwnIsa());
  if (!HasBf16(platform)) SKIP("this processor has no bf16 instructions");
  const Graph graph = Network();
  const std::unique_ptr<Library> oracle = MakeReferenceLibrary(), library = MakeOneDnnLibrary();
  std::map<ValueId, Tensor> values;
  REQUIRE(RunGraph(graph, platform, *oracle, NormalInputs(graph), 1, &values).ok());
  std::set<std::string> operators;
  std::set<std::pair<bool, bool>> layouts;
  for (const Candidate& candidate : OneDnnCandidates(graph, platform, kBf16)) {
    if (candidate.math != MathMode::kBf16) continue;
    std::string label;
    for (NodeId node : candidate.nodes) label += (label.empty() ? "" : "+") + graph.node(node).op;
    operators.insert(label);
    INFO(label << " " << candidate.variant);
    std::vector<Tensor> inputs;
    for (ValueId id : GroupInputs(graph, candidate.nodes)) inputs.push_back(values.at(id));
    const auto results = RunCandidate(graph, platform, *library, candidate, inputs);
    REQUIRE(results.ok());
    const ValueId output = GroupOutputs(graph, candidate.nodes)[0];
    CHECK(Difference((*results)[0], values.at(output), RelativeTolerance(candidate.math, DataType::kFloat32)) == "");
    // It is bf16 that was computed: fp32 would be far nearer.
    const bool moves = candidate.nodes.size() == 1 && (label == "Concat" || label == "Transpose" || label == "MaxPool");
    if (!moves && label.find("Softmax") == std::string::npos) {
      CHECK(Difference((*results)[0], values.at(output), 1e-6) != "");
    }
    const Result<Candidate> described = library->Describe(graph, platform, candidate);
    REQUIRE(described.ok());
    CHECK(described->aliases == candidate.aliases);
    CHECK(described->scratch_bytes == candidate.scratch_bytes);
  }
  for (const char* wanted : {"Conv", "Conv+Relu", "Conv+Sigmoid+Mul+Add", "MatMul", "MatMul+Gelu", "Gemm", "MaxPool",
                             "GlobalAveragePool", "Concat", "Transpose", "Add", "Relu"}) {
    INFO(wanted);
    CHECK(operators.contains(wanted));
  }
}

TEST_CASE("OneDnnPrecision, WeightsArePackedInHalfTheBytes", "[backend]") {
  const Graph graph = InferShapes(*ParseGraph("input x float32[1,64,8,8]\nconst w float32[64,64,3,3] random 1\n"
                                              "y = Conv(x, w) pads=[1,1,1,1]\noutput y\n"))
                          .value();
  const Platform platform = Host(OwnIsa());
  if (!HasBf16(platform)) SKIP("this processor has no bf16 instructions");
  std::map<std::string, uint64_t> bytes;
  for (const Candidate& candidate : OneDnnCandidates(graph, platform, kBf16)) {
    bytes[candidate.variant] = candidate.constant_bytes;
  }
  size_t pairs = 0;
  for (const auto& [variant, size] : bytes) {
    const std::string narrow =
        variant.substr(0, variant.find('>')) + ":bf16" + variant.substr(variant.find('>')) + ":bf16";
    if (!bytes.contains(narrow)) continue;
    ++pairs;
    CHECK(bytes.at(narrow) * 2 == size);
  }
  CHECK(pairs > 0);
}

TEST_CASE("OneDnnPrecision, ReordersChangeStorageBothWays", "[backend]") {
  const auto library = MakeOneDnnLibrary();
  const Platform platform = Host(OwnIsa());
  const std::vector<int64_t> dims{1, 20, 5, 5};
  const Form wide{RowMajor(4), DataType::kFloat32}, narrow{ChannelBlocked(4, 16), DataType::kBfloat16};
  CHECK(library->CanReorder(platform, UnitClassId(0U), dims, wide, narrow));
  CHECK(library->CanReorder(platform, UnitClassId(0U), dims, narrow, wide));
  Form quantised{RowMajor(4), DataType::kInt8};
  CHECK(library->CanReorder(platform, UnitClassId(0U), dims, quantised, quantised));
  quantised.quantisation = IdOf({Quantisation::kWholeTensor, {0.5F}, {0}});
  CHECK_FALSE(library->CanReorder(platform, UnitClassId(0U), dims, wide, quantised));
  CHECK_FALSE(MakeReferenceLibrary()->CanReorder(platform, UnitClassId(0U), dims, wide, quantised));
}

}  // namespace
}  // namespace pt::testing::onednn_precision_test
