// The host library's kernels on float32 that is stored as bfloat16: in every instruction set, against the reference
// library on the same rounded inputs, whose results they round.
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <limits>

#include "partitiontuner/graph/half.h"
#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_bfloat16_test {
namespace {

constexpr double kRounding = 1.0 / 256 + 1e-5;

Platform WithBf16() {
  Platform platform = MakeTestPlatform(4, false);
  platform.devices[0].isa = "avx512_bf16";
  return platform;
}

// As bfloat16, and back.
Tensor Shortened(const Tensor& tensor) {
  if (tensor.type() != DataType::kFloat32) return tensor;
  std::vector<float> rounded;
  for (float x : tensor.values<float>()) rounded.push_back(ToFloat(ToBfloat16(x)));
  return Tensor::Float32(tensor.dims(), rounded);
}

// Every index of the dims, in row-major order.
template <typename F>
void ForEachIndex(const std::vector<int64_t>& dims, F f) {
  std::vector<int64_t> index(dims.size(), 0);
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  for (int64_t n = 0; n < count; ++n) {
    f(static_cast<size_t>(n), index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

// The tensor's bytes as this layout has them.
std::string AsStored(const Tensor& tensor, const TensorLayout& layout) {
  const auto size = static_cast<size_t>(BytesOf(layout.type));
  std::string bytes(BytesOf(layout).value(), '\xA5');
  ForEachIndex(layout.dims, [&](size_t i, const std::vector<int64_t>& index) {
    char* to = bytes.data() + static_cast<size_t>(OffsetOf(layout, index)) * size;
    if (layout.type == tensor.type()) {
      std::memcpy(to, tensor.bytes().data() + i * size, size);
    } else {
      const Bfloat16 rounded = ToBfloat16(tensor.values<float>()[i]);
      std::memcpy(to, &rounded, size);
    }
  });
  return bytes;
}

Tensor AsComputed(const std::string& bytes, const TensorLayout& layout, DataType type) {
  const auto size = static_cast<size_t>(BytesOf(layout.type));
  std::string plain;
  ForEachIndex(layout.dims, [&](size_t, const std::vector<int64_t>& index) {
    const char* from = bytes.data() + static_cast<size_t>(OffsetOf(layout, index)) * size;
    if (layout.type == type) {
      plain.append(from, size);
    } else {
      Bfloat16 stored{};
      std::memcpy(&stored, from, size);
      const float number = ToFloat(stored);
      plain.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
  });
  return Tensor::FromBytes(type, layout.dims, std::move(plain)).value();
}

Result<std::vector<Tensor>> RunShort(const Graph& graph, const Platform& platform, const Library& host,
                                     const Candidate& candidate, const std::vector<Tensor>& inputs) {
  KernelBench bench(platform, platform.unit_class(candidate.unit_class).cores);
  std::vector<std::string> bytes;
  std::vector<TensorLayout> layouts;
  const std::vector<ValueId> made = GroupOutputs(graph, candidate.nodes);
  for (size_t i = 0; i < inputs.size(); ++i) {
    layouts.push_back(DenseLayout(candidate.in[i].storage, inputs[i].dims(), candidate.in[i].layout).value());
    bytes.push_back(AsStored(inputs[i], layouts.back()));
  }
  for (size_t i = 0; i < made.size(); ++i) {
    layouts.push_back(
        DenseLayout(candidate.out[i].storage, *graph.value(made[i]).type.static_dims(), candidate.out[i].layout)
            .value());
    bytes.emplace_back(BytesOf(layouts.back()).value(), '\xA5');
  }
  std::vector<TensorView> views;
  for (size_t i = 0; i < bytes.size(); ++i) views.push_back({bytes[i].empty() ? nullptr : bytes[i].data(), layouts[i]});
  const size_t n = inputs.size();
  PT_ASSIGN(const std::unique_ptr<Kernel> kernel,
            host.Compile(graph, candidate, std::span(layouts).first(n), std::span(layouts).subspan(n), bench.context));
  PT_CHECK_OK(bench.Run(*kernel, std::span(views).first(n), std::span(views).subspan(n)));
  std::vector<Tensor> results;
  for (size_t i = n; i < bytes.size(); ++i) {
    results.push_back(AsComputed(bytes[i], layouts[i], graph.value(made[i - n]).type.type));
  }
  return results;
}

std::vector<Candidate> ShortCandidates(const Graph& graph, const Platform& platform) {
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
  std::vector<Candidate> all = HostLibrary()->CandidatesFor(graph, platform, nodes, Precision({MathMode::kBf16}));
  std::erase_if(all, [](const Candidate& candidate) { return candidate.math != MathMode::kBf16; });
  return all;
}

// All nodes as one group. Rounding takes up to 2^-8 of a number.
void CheckShort(const std::string& text, std::vector<Tensor> inputs, double tolerance = kRounding) {
  INFO(text);
  const Graph graph = TypedText(text);
  const Platform platform = WithBf16();
  for (Tensor& input : inputs) input = Shortened(input);
  std::map<ValueId, Tensor> values;
  const auto expected = RunGraph(graph, platform, *MakeReferenceLibrary(), inputs, 1, &values);
  INFO((expected.ok() ? "" : ToString(expected.error())));
  REQUIRE(expected.ok());
  const std::vector<Candidate> candidates = ShortCandidates(graph, platform);
  REQUIRE(!candidates.empty());
  for (const Candidate& candidate : candidates) {
    INFO(candidate.variant << " of " << candidate.unit_class.value);
    std::vector<Tensor> own;
    for (ValueId id : GroupInputs(graph, candidate.nodes)) own.push_back(values.at(id));
    const Result<std::vector<Tensor>> results = RunShort(graph, platform, *HostLibrary(), candidate, own);
    INFO((results.ok() ? "" : ToString(results.error())));
    REQUIRE(results.ok());
    const std::vector<ValueId> made = GroupOutputs(graph, candidate.nodes);
    for (size_t i = 0; i < made.size(); ++i) {
      CHECK(Difference((*results)[i], values.at(made[i]), tolerance) == "");
    }
  }
}

void CheckShort(const std::string& text, double tolerance = kRounding) {
  const Graph graph = TypedText(text);
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs()) {
    const ValueType& type = graph.value(id).type;
    inputs.push_back(RandomTensor(type.type, *type.static_dims(), 7 + inputs.size()));
  }
  CheckShort(text, std::move(inputs), tolerance);
}

template <typename F>
void InEveryInstructionSet(F f) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    INFO(hwy::TargetName(target));
    f();
  }
  hwy::SetSupportedTargetsForTest(0);
}

// Every upper half with lower halves around those that round up, down and to even; NaN and infinities among them. And
// lengths that leave all rests of a vector.
TEST_CASE("HostBfloat16, ConversionsRoundToEvenAndKeepNan", "[host]") {
  std::vector<float> numbers;
  for (uint32_t upper = 0; upper <= 0xFFFF; ++upper) {
    for (const uint32_t lower : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      if (upper % 3 == lower % 3) numbers.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  const Platform platform = WithBf16();
  InEveryInstructionSet([&] {
    for (size_t n : {numbers.size(), numbers.size() - 1, size_t{1}, size_t{7}, size_t{16}, size_t{33}}) {
      const auto length = std::to_string(n);
      const Graph graph = TypedText("input x float32[" + length + "]\ny = Neg(x)\noutput y\n");
      const std::vector<float> some(numbers.end() - static_cast<ptrdiff_t>(n), numbers.end());
      const Tensor x = Tensor::Float32({static_cast<int64_t>(n)}, some);
      for (const Candidate& candidate : ShortCandidates(graph, platform)) {
        if (candidate.variant != "fp32>bf16") continue;  // rounds what comes in
        const auto results = RunShort(graph, platform, *HostLibrary(), candidate, {x});
        REQUIRE(results.ok());
        const auto made = (*results)[0].values<float>();
        size_t wrong = 0;
        for (size_t i = 0; i < n; ++i) {
          const float right = ToFloat(ToBfloat16(-some[i]));
          wrong += std::isnan(right) ? !std::isnan(made[i])
                                     : std::bit_cast<uint32_t>(made[i]) != std::bit_cast<uint32_t>(right);
        }
        CHECK(wrong == 0);
      }
    }
  });
}

TEST_CASE("HostBfloat16, ElementwiseGroupsComputeInFloat32", "[host]") {
  InEveryInstructionSet([] {
    CheckShort(
        "input x float32[3,701]\nconst r float32[] value 0.70710677\nconst one float32[] value 1\n"
        "const h float32[] value 0.5\na = Mul(x, r)\nb = Erf(a)\nc = Add(b, one)\nd = Mul(x, c)\ne = Mul(d, h)\n"
        "output e\n");
    CheckShort("input x float32[4,1,33]\ninput z float32[5,1]\na = Add(x, z)\ny = Tanh(a)\noutput y\n");
    CheckShort("input c bool[4,33]\ninput x float32[4,33]\ninput z float32[33]\ny = Where(c, x, z)\noutput y\n");
    CheckShort("input x float32[0,33]\ny = Relu(x)\noutput y\n");
    CheckShort("input x float32[]\ny = Sigmoid(x)\noutput y\n");
  });
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  CheckShort("input x float32[5]\ny = Relu(x)\noutput y\n", {Tensor::Float32({5}, {kInf, -kInf, kNan, -0.0F, 1e-40F})});
}

TEST_CASE("HostBfloat16, WhatMagnifiesRoundingIsNotOffered", "[host]") {
  for (const char* y :
       {"Floor(x)", "Ceil(x)", "Round(x)", "Sign(x)", "Sin(x)", "Cos(x)", "Mod(x, z) fmod=1", "Greater(x, z)",
        "Equal(x, z)", "Cast(x) to=7", "Cast(x) to=9", "Softmax(x)", "LogSoftmax(x)"}) {
    INFO(y);
    const Graph graph =
        TypedText("input x float32[9]\ninput z float32[9]\ny = " + std::string(y) + "\noutput y\noutput z\n");
    for (const Candidate& candidate : ShortCandidates(graph, WithBf16())) {
      for (const Form& form : candidate.in) CHECK(form.storage != DataType::kBfloat16);
    }
  }
}

TEST_CASE("HostBfloat16, RowsAreNormalisedInFloat32", "[host]") {
  InEveryInstructionSet([] {
    for (const char* op : {"LayerNormalization(x, s, b)", "RMSNormalization(x, s)", "Softmax(x)", "LogSoftmax(x)"}) {
      for (const int n : {1, 5, 16, 17, 333}) {
        const auto length = std::to_string(n);
        CheckShort("input x float32[41," + length + "]\nconst s float32[" + length + "] random 1\nconst b float32[" +
                   length + "] random 2\ny = " + op + "\noutput y\n");
      }
    }
    CheckShort("input x float32[0,9]\ny = Softmax(x)\noutput y\n");
  });
}

TEST_CASE("HostBfloat16, MovementAndViewsMoveHalfTheBytes", "[host]") {
  for (const char* y :
       {"Transpose(x) perm=[2,0,1]", "Concat(x, z) axis=-1", "Expand(x, dims)", "Tile(x, twos)",
        "Slice(x, from, to, axes, steps)", "Gather(x, i) axis=-2", "Pad(x, pads) mode=\"edge\"", "Pad(x, pads)",
        "Trilu(x)", "Reshape(x, flat)", "Flatten(x) axis=2", "Unsqueeze(x, axes)", "Identity(x)"}) {
    CheckShort(
        "input x float32[3,5,7]\ninput z float32[3,5,7]\nconst dims int64[4] ints 2 3 5 7\n"
        "const twos int64[3] ints 1 2 2\nconst from int64[1] ints -1\nconst to int64[1] ints -9\n"
        "const axes int64[1] ints 2\nconst steps int64[1] ints -2\nconst i int64[2] ints 4 -5\n"
        "const pads int64[6] ints 0 1 2 0 0 1\nconst flat int64[2] ints -1 3\ny = " +
            std::string(y) + "\noutput y\noutput z\n",
        0);
  }
  CheckShort("input x float32[4,9]\na, b = Split(x) axis=1 num_outputs=2\noutput a\noutput b\n", 0);
  CheckShort("input x float32[0,9]\nconst flat int64[2] ints 9 0\ny = Reshape(x, flat) allowzero=1\noutput y\n", 0);
}

TEST_CASE("HostBfloat16, DepthwiseConvolutionsSumInFloat32", "[host]") {
  InEveryInstructionSet([] {
    for (const char* channels : {"2", "16", "24", "35"}) {
      for (const char* window : {"3,3] random 1|", "3,3] random 1|pads=[1,1,1,1] strides=[2,2]",
                                 "5,5] random 1|pads=[2,2,2,2]", "7,7] random 1|pads=[3,3,3,3] strides=[2,2]",
                                 "2,4] random 1|pads=[0,1,1,2]", "3,3] random 1|dilations=[2,2] pads=[2,2,2,2]"}) {
        const std::string text = window, c = channels;
        const size_t bar = text.find('|');
        CheckShort("input x float32[2," + c + ",15,17]\nconst w float32[" + c + ",1," + text.substr(0, bar) +
                   "\nconst b float32[" + c + "] random 2\nv = Conv(x, w, b) group=" + c + " " + text.substr(bar + 1) +
                   "\ny = Relu(v)\noutput y\n");
      }
    }
  });
}

bool MultipliesBfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

// Weights are rounded too, so what is compared is the sum's size: 2^-8 of each product at most.
TEST_CASE("HostBfloat16, ProductsOfEveryRestOfATile", "[host]") {
  if (!MultipliesBfloat16()) SKIP("this processor has no products of bfloat16");
  for (const char* depth : {"1", "2", "7", "64", "129"}) {
    for (const char* columns : {"1", "15", "16", "17", "32", "40", "97"}) {
      for (const char* rows : {"1", "7", "8", "9", "2,3,25"}) {
        const std::string k = depth, n = columns, m = rows;
        CheckShort("input x float32[" + m + "," + k + "]\nconst w float32[" + k + "," + n +
                       "] random 1\nconst b float32[" + n + "] random 2\np = MatMul(x, w)\ny = Add(p, b)\noutput y\n",
                   0.01);
      }
    }
  }
  CheckShort("input x float32[0,9]\nconst w float32[9,5] random 1\ny = MatMul(x, w)\noutput y\n");
}

TEST_CASE("HostBfloat16, ProductsWithWhatIsBehindAndBesideThem", "[host]") {
  if (!MultipliesBfloat16()) SKIP("this processor has no products of bfloat16");
  const std::string operands =
      "input x float32[67,33]\ninput r float32[67,40]\nconst w float32[33,40] random 1\n"
      "const t float32[40,33] random 3\nconst b float32[40] random 2\n";
  CheckShort(operands + "y = Gemm(x, t, b) transB=1\noutput y\n", 0.01);
  CheckShort(operands + "p = MatMul(x, w)\nq = Add(p, b)\ns = Add(q, r)\ny = Tanh(s)\noutput y\n", 0.02);
  CheckShort(operands + "p = MatMul(x, w)\ny = Add(p, b)\nz = Gemm(x, t) transB=1\noutput y\noutput z\n", 0.01);
}

TEST_CASE("HostBfloat16, PointwiseConvolutionsStayWithinBounds", "[host]") {
  if (!MultipliesBfloat16()) SKIP("this processor has no products of bfloat16");
  const std::string operands =
      "input x float32[2,24,5,7]\nconst w float32[37,24,1,1] random 1\nconst b float32[37] random 2\n"
      "const lo float32[] value -0.5\nconst hi float32[] value 0.75\n";
  CheckShort(operands + "v = Conv(x, w, b)\ny = Clip(v, lo, hi)\noutput y\n", 0.04);
  CheckShort(operands + "v = Conv(x, w, b) strides=[2,2]\ny = Relu(v)\noutput y\n", 0.02);
}

// Sums stay float32: 512 ones are 512, though in bfloat16 257 is 256.
TEST_CASE("HostBfloat16, ProductsSumInFloat32AndKeepNan", "[host]") {
  if (!MultipliesBfloat16()) SKIP("this processor has no products of bfloat16");
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x(4 * 513, 1.0F);
  x[513] = kNan;
  x[2 * 513 + 7] = kInf;
  CheckShort("input x float32[4,513]\nconst w float32[513,3] value 1\ny = MatMul(x, w)\noutput y\n",
             {Tensor::Float32({4, 513}, x)});
}

TEST_CASE("HostBfloat16, AttentionWithMasksOfEveryKind", "[host]") {
  if (!MultipliesBfloat16()) SKIP("this processor has no products of bfloat16");
  for (const char* keys : {"1", "9", "16", "37", "128"}) {
    for (const char* mask : {"", "1,1,1,", "2,1,7,", "condition"}) {
      const std::string n = keys, kind = mask;
      const bool condition = kind == "condition";
      std::string text = "input q float32[2,7,3,6]\ninput k float32[2," + n + ",3,6]\ninput v float32[2," + n +
                         ",3,5]\nconst h float32[] value 0.5\nconst low float32[] value -1e9\n";
      if (!kind.empty() && !condition) text += "input mask float32[" + kind + n + "]\n";
      if (condition) text += "input mask bool[2,1,7," + n + "]\n";
      text +=
          "a = Transpose(q) perm=[0,2,1,3]\nb = Transpose(k) perm=[0,2,3,1]\nc = Transpose(v) perm=[0,2,1,3]\n"
          "m = MatMul(a, b)\ns = Mul(m, h)\n";
      if (!kind.empty()) text += condition ? "t = Where(mask, s, low)\n" : "t = Add(s, mask)\n";
      text += "p = Softmax(" + std::string(kind.empty() ? "s" : "t") +
              ") axis=-1\no = MatMul(p, c)\ny = Transpose(o) perm=[0,2,1,3]\noutput y\n";
      CheckShort(text, 0.01);
    }
  }
}

TEST_CASE("HostBfloat16, NothingIsShortenedWithoutInstructionsOrPermission", "[host]") {
  const Graph graph = TypedText("input x float32[4,9]\ny = Softmax(x)\noutput y\n");
  const NodeId node(0U);
  CHECK(ShortCandidates(graph, MakeTestPlatform(2, false)).empty());
  CHECK(HostLibrary()->Modes(MakeTestPlatform(2, false)) == Precision());
  CHECK(HostLibrary()->Modes(WithBf16()).allows(MathMode::kBf16));
  for (const Candidate& candidate : HostLibrary()->CandidatesFor(graph, WithBf16(), {&node, 1}, Precision())) {
    CHECK(candidate.math == MathMode::kFp32);
    CHECK(candidate.variant.empty());
  }
}

}  // namespace
}  // namespace pt::testing::host_bfloat16_test
