#include "test/cuda/cuda_networks.h"

#include <algorithm>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/cost/table_costs.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/planner/planner.h"
#include "partitiontuner/transform/passes.h"
#include "partitiontuner/version.h"
#include "test/cuda/host_kernel.h"
#include "test/testing/run_candidate.h"
#include "test/testing/run_on_reference.h"

namespace pt::testing {
namespace {

// Stem, a residual block with a depthwise convolution, a block with branches that are joined, and a classifier.
constexpr const char* kConvolutional = R"(input x float32[1,3,24,24]
const w0 float32[16,3,3,3] random 1
const b0 float32[16] random 2
c0 = Conv(x, w0, b0) strides=[2,2] pads=[1,1,1,1]
r0 = Relu(c0)
p0 = MaxPool(r0) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]
const w1 float32[16,1,3,3] random 3
c1 = Conv(p0, w1) group=16 pads=[1,1,1,1]
const s float32[16] random 4
const m float32[16] random 5
const e float32[16] value 1.5
n1 = BatchNormalization(c1, s, m, m, e)
h1 = HardSwish(n1)
const w2 float32[16,16,1,1] random 6
c2 = Conv(h1, w2)
a2 = Add(c2, p0)
r2 = Relu(a2)
const w3 float32[8,16,1,1] random 7
l = Conv(r2, w3)
lr = Relu(l)
const w4 float32[8,16,3,3] random 8
q = Conv(r2, w4) pads=[1,1,1,1]
qs = Sigmoid(q)
qm = Mul(q, qs)
v = AveragePool(r2) kernel_shape=[3,3] strides=[1,1] pads=[1,1,1,1]
j = Concat(lr, qm, v) axis=1
const k float32[4] floats 1 1 2 2
u = Resize(j, _, k) mode="nearest" coordinate_transformation_mode="asymmetric" nearest_mode="floor"
g = GlobalAveragePool(u)
f = Flatten(g)
const w5 float32[32,10] random 9
const b5 float32[10] random 10
o = Gemm(f, w5, b5)
y = Softmax(o)
output y
)";

// An embedding, one block of an encoder with two heads, and what is made of its first place.
constexpr const char* kTransformer = R"(input ids int64[1,6]
const table float32[20,16] random 1
const place float32[1,6,16] random 2
t = Gather(table, ids)
x = Add(t, place)
const s float32[16] random 3
const b float32[16] random 4
n = LayerNormalization(x, s, b)
const wq float32[16,16] random 5
const wk float32[16,16] random 6
const wv float32[16,16] random 7
q = MatMul(n, wq)
k = MatMul(n, wk)
v = MatMul(n, wv)
const heads int64[4] ints 1 6 2 8
q4 = Reshape(q, heads)
k4 = Reshape(k, heads)
v4 = Reshape(v, heads)
qt = Transpose(q4) perm=[0,2,1,3]
kt = Transpose(k4) perm=[0,2,3,1]
vt = Transpose(v4) perm=[0,2,1,3]
scores = MatMul(qt, kt)
const scale float32[] value 0.35
scaled = Mul(scores, scale)
p = Softmax(scaled)
mixed = MatMul(p, vt)
back = Transpose(mixed) perm=[0,2,1,3]
const whole int64[3] ints 1 6 16
joined = Reshape(back, whole)
const wo float32[16,16] random 8
const bo float32[16] random 9
o = MatMul(joined, wo)
ob = Add(o, bo)
res = Add(ob, x)
const w1 float32[16,32] random 10
const b1 float32[32] random 11
f = MatMul(res, w1)
fb = Add(f, b1)
ge = Gelu(fb)
const w2 float32[32,16] random 12
f2 = MatMul(ge, w2)
r2 = Add(f2, res)
const from int64[1] ints 0
const to int64[1] ints 1
const axis int64[1] ints 1
first = Slice(r2, from, to, axis)
y = Squeeze(first, axis)
output y
)";

// A block of a decoder by the operator Attention, with grouped heads, and the greatest of what it makes of its last
// place.
constexpr const char* kDecoder = R"(input x float32[1,9,32]
input m float32[9,9]
const s float32[32] random 1
n = RMSNormalization(x, s)
const wq float32[32,32] random 2
const wk float32[32,16] random 3
const wv float32[32,16] random 4
q = MatMul(n, wq)
k = MatMul(n, wk)
v = MatMul(n, wv)
a = Attention(q, k, v, m) q_num_heads=4 kv_num_heads=2 is_causal=1
const wo float32[32,32] random 5
o = MatMul(a, wo)
r = Add(o, x)
const w1 float32[32,48] random 6
f = MatMul(r, w1)
g = Sigmoid(f)
h = Mul(f, g)
const w2 float32[48,20] random 7
l = MatMul(h, w2)
const from int64[1] ints 8
const to int64[1] ints 9
const axis int64[1] ints 1
e = Slice(l, from, to, axis)
const five int64[1] ints 5
y, i = TopK(e, five)
output y
)";

constexpr const char* kRecurrent = R"(input x float32[5,2,6]
const w float32[2,32,6] random 1
const r float32[2,32,8] random 2
const b float32[2,64] random 3
l, h = LSTM(x, w, r, b) hidden_size=8 direction="bidirectional"
t = Transpose(l) perm=[0,2,1,3]
const d int64[3] ints 5 2 16
s = Reshape(t, d)
const gw float32[1,24,16] random 4
const gr float32[1,24,8] random 5
g, gh = GRU(s, gw, gr) hidden_size=8 linear_before_reset=1
const axis int64[1] ints 0
q = Squeeze(gh, axis)
const v float32[8,3] random 6
y = MatMul(q, v)
output y
)";

// What a converter makes of a small network: a stem, an inverted residual block whose sum is quantised, pooling, and a
// classifier; weights by channel, and a Reshape between integers.
constexpr const char* kQuantised = R"(input x float32[1,3,16,16]
const s0 float32[] value 0.03125
const z0 uint8[] value 114
q0 = QuantizeLinear(x, s0, z0)
d0 = DequantizeLinear(q0, s0, z0)
const w0 int8[8,3,3,3] whole 1
const v0 float32[8] value 0.015625
const n0 int8[8] zeros
e0 = DequantizeLinear(w0, v0, n0) axis=0
const b0 float32[8] value 0.25
c0 = Conv(d0, e0, b0) strides=[2,2] pads=[1,1,1,1]
r0 = Relu(c0)
const s1 float32[] value 0.25
const z1 uint8[] value 0
q1 = QuantizeLinear(r0, s1, z1)
m1 = DequantizeLinear(q1, s1, z1)
p1 = MaxPool(m1) kernel_shape=[2,2] strides=[2,2]
const w2 int8[8,1,3,3] whole 2
e2 = DequantizeLinear(w2, v0, n0) axis=0
c2 = Conv(p1, e2) group=8 pads=[1,1,1,1]
const s2 float32[] value 0.5
const z2 uint8[] value 128
q2 = QuantizeLinear(c2, s2, z2)
d2 = DequantizeLinear(q2, s2, z2)
const w3 uint8[8,8,1,1] whole 3
const v3 float32[] value 0.0078125
const n3 uint8[] value 128
e3 = DequantizeLinear(w3, v3, n3)
c3 = Conv(d2, e3)
q3 = QuantizeLinear(c3, s2, z2)
d3 = DequantizeLinear(q3, s2, z2)
a4 = Add(d3, p1)
q4 = QuantizeLinear(a4, s2, z2)
d4 = DequantizeLinear(q4, s2, z2)
g4 = GlobalAveragePool(d4)
q5 = QuantizeLinear(g4, s2, z2)
d5 = DequantizeLinear(q5, s2, z2)
f5 = Flatten(d5)
const w5 int8[10,8] whole 4
const v5 float32[] value 0.0625
const n5 int8[] value 0
e5 = DequantizeLinear(w5, v5, n5)
const b5 float32[10] value 0.5
o5 = Gemm(f5, e5, b5) transB=1
q6 = QuantizeLinear(o5, s2, z2)
y = DequantizeLinear(q6, s2, z2)
output y
)";

bool IsOnHost(const Platform& platform, const Candidate& candidate) {
  return platform.unit_class(candidate.unit_class).on_host();
}

// Inputs that the network takes: any real numbers, positions within the table.
std::vector<Tensor> InputsOf(const Graph& graph, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    const ValueType& type = graph.value(input).type;
    Tensor tensor = RandomTensor(type.type, *type.static_dims(), seed++);
    if (type.type == DataType::kInt64) {
      std::vector<int64_t> positions = tensor.ToInts();
      for (int64_t& position : positions) position = std::abs(position) % 20;
      tensor = Tensor::Int64(tensor.dims(), positions);
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// What differs from the reference in a run of the session; empty: nothing.
std::string DifferenceOf(Session& session, uint64_t seed, double tolerance) {
  const Graph& graph = session.graph();
  std::vector<Tensor> inputs = InputsOf(graph, seed);
  std::vector<LentTensor> in, out;
  for (const Tensor& input : inputs) {
    in.push_back({input.type(), input.dims(), const_cast<std::byte*>(input.bytes().data()), input.bytes().size()});
  }
  std::vector<Buffer> results = MakeBuffers(graph, graph.outputs(), -1000);
  const Result<RunReport> report = session.Run(in, Lend(results), {});
  if (!report.ok()) return ToString(report.error());
  const std::vector<Tensor> expected = RunOnReference(graph, inputs);
  return Difference(Tensor::Float32(results[0].dims, results[0].data), expected[0], tolerance);
}

}  // namespace

std::vector<std::string> NetworkTexts() { return {kConvolutional, kTransformer, kDecoder, kRecurrent}; }

std::string QuantisedNetworkText() { return kQuantised; }

Graph Simplified(const Graph& graph) {
  auto simple = Simplify(graph, {EvaluateNode, [](const Graph& changed) { return InferShapes(changed); }, {}});
  if (!simple.ok()) FAIL(ToString(simple.error()));
  return std::move(simple).value();
}

void CompileKernels(const Graph& graph, const std::vector<Candidate>& candidates) {
  std::vector<std::string> kernels;
  for (const Candidate& candidate : candidates) {
    if (candidate.library != "cuda") continue;
    const std::vector<std::string> texts = KernelTexts(graph, candidate);
    kernels.insert(kernels.end(), texts.begin(), texts.end());
  }
  const Status compiled = HostKernel::CompileTogether(kernels);
  if (!compiled.ok()) FAIL(ToString(compiled.error()));
}

Plan PlanOnDevice(const CudaMachine& machine, const Precision& precision) {
  const Graph& graph = *machine.graph;
  const Platform& platform = machine.machine->platform();
  std::vector<Candidate> candidates = EnumerateCandidates(graph, platform, machine.machine->libraries(), precision);
  std::erase_if(candidates, [&](const Candidate& candidate) { return IsOnHost(platform, candidate); });
  // Whoever is allowed less is to use it.
  const bool lower = precision != Precision();
  TableCosts costs;
  for (const Candidate& candidate : candidates) {
    costs.SetRunOf(candidate, lower && candidate.math == MathMode::kFp32 ? 10'000 : 1'000);
  }
  costs.SetReorder([&](auto, const Form&, const Form&, UnitClassId unit_class) -> std::optional<int64_t> {
    if (platform.unit_class(unit_class).on_host()) return std::nullopt;
    return 1'000;
  });
  auto plan = FindPlanner("search").value()->make_plan(
      {.graph = graph, .platform = platform, .candidates = candidates, .costs = costs, .effort = 300}, nullptr);
  if (!plan.ok()) FAIL(ToString(plan.error()));
  for (Step& step : plan->steps) {
    if (auto* const reorder = std::get_if<Reorder>(&step.work))
      reorder->library = "cuda";  // which the costs do not say
  }
  plan->made_for.tool_version = kVersion;
  plan->made_for.libraries = LibraryVersions(machine.machine->libraries());
  plan->made_for.graph_hash = ToHex(GraphHash(graph));
  plan->made_for.settings["precision"] = ToString(precision);
  plan->made_for.platform = platform;
  return std::move(plan).value();
}

void CheckNetwork(const CudaMachine& machine, const Plan& plan, MathMode math) {
  const auto in_mode = std::ranges::count_if(plan.candidates, [&](const Candidate& c) { return c.math == math; });
  CHECK(in_mode > 2);
  const double tolerance = RelativeTolerance(math, DataType::kFloat32);
  for (const bool capture : {true, false}) {
    SessionOptions options;
    options.capture = capture;
    const auto session = machine.Create(plan, options);
    for (uint64_t seed = 1; seed < 4; ++seed) CHECK(DifferenceOf(*session, seed, tolerance) == "");
  }
}

}  // namespace pt::testing
