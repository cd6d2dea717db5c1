// The library "cuda" against the reference library: its kernels' very text, run on the host. And the same text through
// the compiler of CUDA, where that is installed.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "partitiontuner/graph/graph_text.h"
#include "plugins/cuda/index_space.h"
#include "plugins/cuda/operators.h"
#include "test/cuda/cuda_cases.h"
#include "test/cuda/cuda_lab.h"
#include "test/testing/run_candidate.h"
#include "test/testing/run_on_reference.h"

namespace pt::testing::own_kernels_test {
namespace {

void CheckAsOne(const CudaLab& lab, const std::string& text, const Precision& precision = {}) {
  CheckGroup(lab, *cuda::MakeOwnKernelsLibrary(), text, precision);
  CHECK(lab.gpu.Violations().empty());
}

// What the reference library gives of the graph's inputs, by every candidate; NaN may be another NaN.
void CheckOn(const CudaLab& lab, const Graph& graph, const std::vector<Tensor>& inputs, double tolerance) {
  const auto library = cuda::MakeOwnKernelsLibrary();
  const std::vector<Candidate> candidates = library->CandidatesFor(graph, lab.platform, AllNodes(graph), {});
  REQUIRE_FALSE(candidates.empty());
  const std::vector<Tensor> expected = RunOnReference(graph, inputs);
  const std::vector<ValueId> made = GroupOutputs(graph, AllNodes(graph));
  const std::vector<Tensor> in_order = AsGroupInputs(graph, inputs);
  for (const Candidate& candidate : candidates) {
    INFO(candidate.variant);
    const auto results = RunOnCuda(lab, *library, graph, candidate, in_order);
    if (!results.ok()) FAIL(ToString(results.error()));
    for (size_t i = 0; i < made.size(); ++i) {
      const auto at = std::ranges::find(graph.outputs(), made[i]);
      CHECK(Difference((*results)[i], expected[static_cast<size_t>(at - graph.outputs().begin())], tolerance) == "");
    }
  }
}

// Bit for bit.
void CheckExactly(const CudaLab& lab, const Graph& graph, const Tensor& x) { CheckOn(lab, graph, {x}, 0); }

}  // namespace

TEST_CASE("CudaOwnKernels, EveryOperatorAgreesWithTheReference", "[cuda]") {
  const WatchedLab lab;
  size_t compared = 0;
  for (const CaseFamily& family : OwnKernelCases()) {
    INFO(family.name);
    REQUIRE(family.cases.size() > 5);
    CompileCases(lab, family.cases);
    for (const std::string& text : family.cases) CheckAsOne(lab, text);
    compared += family.cases.size();
  }
  CHECK(compared == 685);  // docs/cuda.md says so
}

TEST_CASE("CudaOwnKernels, BlocksShareTheKeysOfFewQueriesAlone", "[cuda]") {
  const WatchedLab lab;
  const auto variants = [&](const std::string& q, const std::string& k) {
    const Graph graph = ParseInferred("input q float32" + q + "\ninput k float32" + k + "\ninput v float32" + k +
                                      "\ny = Attention(q, k, v)\noutput y\n");
    std::vector<std::string> names;
    for (const Candidate& candidate :
         cuda::MakeOwnKernelsLibrary()->CandidatesFor(graph, lab.platform, AllNodes(graph), {})) {
      names.push_back(candidate.variant);
      CHECK((candidate.scratch_bytes > 0) == (candidate.variant.find("parts") != std::string::npos));
    }
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(variants("[1,8,1,16]", "[1,8,4096,16]") ==
        Names{"16 queries in 16 parts", "16 queries in 4 parts", "16 queries"});
  CHECK(variants("[1,8,16,16]", "[1,8,530,16]") == Names{"16 queries in 4 parts", "16 queries"});
  CHECK(variants("[1,8,1,16]", "[1,8,400,16]") == Names{"16 queries"});   // few keys
  CHECK(variants("[8,8,1,16]", "[8,8,4096,16]") == Names{"16 queries"});  // enough blocks
  CHECK(variants("[1,1,20,16]", "[1,1,4096,16]") == Names{"32 queries", "16 queries"});
}

TEST_CASE("CudaOwnKernels, SixteenBitStorageAgreesWithTheReference", "[cuda]") {
  const WatchedLab lab;
  const MathMode math = GENERATE(MathMode::kBf16, MathMode::kFp16);
  const Precision precision({math});
  const std::vector<std::string> cases = LoweredCases();
  REQUIRE(cases.size() > 15);
  CompileCases(lab, cases, precision);
  for (const std::string& text : cases) CheckAsOne(lab, text, precision);
}

TEST_CASE("CudaElementTypes, SixteenBitFloatsAreRoundedAsInTheLibrary", "[cuda]") {
  const WatchedLab lab;
  const std::string casts = "h = Cast(x) to=10\nb = Cast(x) to=16\noutput h\noutput b\n";
  // Every number of 16 bits there is, and what lies around it, from float32 and from float64.
  for (const char* from : {"float16", "bfloat16"}) {
    const Graph graph = ParseInferred(std::string("input x ") + from +
                                      "[65536]\ny = Cast(x) to=1\nz = Cast(x) to=11\n" + "output y\noutput z\n");
    std::vector<uint16_t> all(65536);
    std::iota(all.begin(), all.end(), uint16_t{0});
    const Tensor x = Tensor::Of<uint16_t>(graph.value(graph.inputs()[0]).type.type, {65536}, all);
    CheckExactly(lab, graph, x);
    const Tensor wide = RunOnReference(graph, std::vector<Tensor>{x})[0];
    std::vector<float> around;
    for (const float number : wide.values<float>()) {
      const uint32_t bits = std::bit_cast<uint32_t>(number);
      for (const uint32_t offset : {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u}) {
        around.push_back(std::bit_cast<float>(bits + offset));
      }
    }
    const auto count = static_cast<int64_t>(around.size());
    CheckExactly(lab, ParseInferred("input x float32[" + std::to_string(count) + "]\n" + casts),
                 Tensor::Float32({count}, around));
    std::vector<double> between;
    for (const float number : around) between.push_back(static_cast<double>(number) * (1 + 0x1p-40));
    CheckExactly(lab, ParseInferred("input x float64[" + std::to_string(count) + "]\n" + casts),
                 Tensor::Of<double>(DataType::kFloat64, {count}, between));
  }
}

TEST_CASE("CudaElementTypes, CastsMeetTheEndsOfEveryType", "[cuda]") {
  const WatchedLab lab;
  const auto check = [&]<typename T>(DataType type, const std::vector<T>& numbers) {
    const std::string count = std::to_string(numbers.size());
    std::string text = "input x " + std::string(DataTypeName(type)) + "[" + count + "]\n", outputs;
    for (const int to : {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16}) {
      text += "y" + std::to_string(to) + " = Cast(x) to=" + std::to_string(to) + "\n";
      outputs += "output y" + std::to_string(to) + "\n";
    }
    INFO(text);
    CheckExactly(lab, ParseInferred(text + outputs),
                 Tensor::Of<T>(type, {static_cast<int64_t>(numbers.size())}, numbers));
  };
  const auto integers = [&]<typename T>(DataType type, T) {
    std::vector<T> numbers;
    for (int bit = 0; bit < static_cast<int>(8 * sizeof(T)); ++bit) {
      const T power = static_cast<T>(uint64_t{1} << bit);
      for (const int offset : {-1, 0, 1})
        numbers.push_back(static_cast<T>(static_cast<uint64_t>(power) + static_cast<uint64_t>(offset)));
      numbers.push_back(static_cast<T>(~static_cast<uint64_t>(power) + 1));
    }
    check(type, numbers);
  };
  integers(DataType::kInt8, int8_t{});
  integers(DataType::kUint8, uint8_t{});
  integers(DataType::kInt16, int16_t{});
  integers(DataType::kUint16, uint16_t{});
  integers(DataType::kInt32, int32_t{});
  integers(DataType::kUint32, uint32_t{});
  integers(DataType::kInt64, int64_t{});
  integers(DataType::kUint64, uint64_t{});
  std::vector<float> floats = {0.0F,
                               -0.0F,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN(),
                               0.5F,
                               -0.5F,
                               1.5F,
                               -1.5F,
                               3e38F,
                               -3e38F,
                               1e-40F};
  for (int exponent = 0; exponent < 70; ++exponent) {
    for (const float sign : {1.0F, -1.0F}) {
      const float power = sign * std::ldexp(1.0F, exponent);
      floats.insert(floats.end(), {power, std::nextafter(power, 0.0F), power * 1.25F});
    }
  }
  check(DataType::kFloat32, floats);
  check(DataType::kFloat64, std::vector<double>(floats.begin(), floats.end()));
}

TEST_CASE("CudaIndexed, AnIndexOutOfRangeFailsTheRunAndTheNextIsFine", "[cuda]") {
  const WatchedLab lab;
  const auto library = cuda::MakeOwnKernelsLibrary();
  const Graph graph = ParseInferred("input x float32[3,4]\ninput i int64[2]\ny = Gather(x, i)\noutput y\n");
  const Candidate candidate = library->CandidatesFor(graph, lab.platform, AllNodes(graph), {}).at(0);
  const Tensor x = RandomTensor(DataType::kFloat32, {3, 4}, 1);
  for (const int64_t index : {int64_t{3}, int64_t{-4}, int64_t{1} << 40, INT64_MIN}) {
    CAPTURE(index);
    const auto wrong =
        RunOnCuda(lab, *library, graph, candidate, std::vector<Tensor>{x, Tensor::Int64({2}, {0, index})});
    REQUIRE_FALSE(wrong.ok());
    CHECK(wrong.error().code == ErrorCode::kInvalidInput);
    CHECK(wrong.error().id == "cuda.data");
    CHECK(wrong.error().message.find("an index is out of range") != std::string::npos);
    CHECK(wrong.error().message.find("Gather") != std::string::npos);
  }
  CHECK(RunOnCuda(lab, *library, graph, candidate, std::vector<Tensor>{x, Tensor::Int64({2}, {-3, 2})}).ok());
  CHECK(lab.gpu.Violations().empty());
  CHECK(lab.gpu.Alive() == "");
}

TEST_CASE("CudaTopK, NotANumberIsTheGreatestAndOfEqualsTheFirstComesFirst", "[cuda]") {
  const WatchedLab lab;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers = {1, kNan, -0.0F, 0, kInfinity, 1, -kInfinity, kNan, 0, -1, kInfinity};
  for (const char* largest : {"0", "1"}) {
    for (const char* k : {"1", "4", "11"}) {
      const Graph graph = ParseInferred(std::string("input x float32[11]\nconst k int64[1] ints ") + k +
                                        "\nv, i = TopK(x, k) largest=" + largest + "\noutput v\noutput i\n");
      CheckExactly(lab, graph, Tensor::Float32({11}, numbers));
    }
  }
}

TEST_CASE("CudaTopK, WhatItCannotDoIsRefusedWithTheReason", "[cuda]") {
  const WatchedLab lab;
  const auto why = [&](const std::string& text, const Precision& precision = {}) {
    const Graph graph = ParseInferred(text);
    const auto library = cuda::MakeOwnKernelsLibrary();
    const NodeId node(0u);
    for (const Candidate& candidate : library->CandidatesFor(graph, lab.platform, {&node, 1}, precision)) {
      CHECK(candidate.math == MathMode::kFp32);  // rounded numbers would lie in another order
    }
    return library->WhyUnsupported(graph, node).value_or("");
  };
  CHECK(why("input x float32[5]\nconst k int64[1] ints 2\nv, i = TopK(x, k)\noutput i\n", Precision({MathMode::kBf16}))
            .empty());
  CHECK(why("input x float64[5]\nconst k int64[1] ints 2\nv, i = TopK(x, k)\noutput v\n").find("float64") !=
        std::string::npos);
  CHECK(why("input x float32[20000]\nconst k int64[1] ints 1025\nv, i = TopK(x, k)\noutput v\n").find("1024") !=
        std::string::npos);
  CHECK(why("input x float32[20000]\nconst k int64[1] ints 1024\nv, i = TopK(x, k)\noutput v\n").empty());
}

TEST_CASE("CudaAttention, MaskedAndInfiniteScoresEqualTheReference", "[cuda]") {
  const WatchedLab lab;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> mask(30, 0);
  for (size_t i = 0; i < 12; ++i) mask[i] = i < 5 || i == 7 ? -kInfinity : 0;
  mask[13] = -3.4e38F;
  mask[20] = kInfinity;
  mask[26] = std::numeric_limits<float>::quiet_NaN();
  for (size_t i = 24; i < 26; ++i) mask[i] = -kInfinity;
  const std::string inputs =
      "input q float32[2,3,5,4]\ninput k float32[2,3,6,4]\ninput v float32[2,3,6,7]\ninput m float32[5,6]\n";
  const Graph spelled = ParseInferred(inputs +
                                      "b = Transpose(k) perm=[0,1,3,2]\ns = MatMul(q, b)\nt = Add(s, m)\n"
                                      "p = Softmax(t)\ny = MatMul(p, v)\noutput y\n");
  const Graph whole = ParseInferred(inputs + "y = Attention(q, k, v, m)\noutput y\n");
  const Graph causal = ParseInferred(inputs + "y = Attention(q, k, v, m) is_causal=1\noutput y\n");
  const std::vector<Tensor> tensors = {RandomTensor(DataType::kFloat32, {2, 3, 5, 4}, 1),
                                       RandomTensor(DataType::kFloat32, {2, 3, 6, 4}, 2),
                                       RandomTensor(DataType::kFloat32, {2, 3, 6, 7}, 3)};
  for (const bool all : {false, true}) {
    if (all) std::ranges::fill(mask, -kInfinity);
    std::vector<Tensor> with = tensors;
    with.push_back(Tensor::Float32({5, 6}, mask));
    for (const Graph* const graph : {&spelled, &whole, &causal}) CheckOn(lab, *graph, with, 1e-5);
  }
}

TEST_CASE("CudaAttention, AHiddenKeyThatIsNoNumberDoesNotBlindAQueryWithoutKeys", "[cuda]") {
  const WatchedLab lab;
  const Graph graph = ParseInferred(
      "input q float32[1,1,2,4]\ninput k float32[1,1,3,4]\ninput v float32[1,1,3,4]\ninput m bool[2,3]\n"
      "y = Attention(q, k, v, m)\noutput y\n");
  std::vector<float> keys(12, 0.5F);
  keys[5] = std::numeric_limits<float>::quiet_NaN();
  const std::string mask("\0\0\0\1\0\1", 6);
  CheckOn(lab, graph,
          {RandomTensor(DataType::kFloat32, {1, 1, 2, 4}, 1), Tensor::Float32({1, 1, 3, 4}, keys),
           RandomTensor(DataType::kFloat32, {1, 1, 3, 4}, 2), Tensor::FromBytes(DataType::kBool, {2, 3}, mask).value()},
          1e-5);
}

TEST_CASE("CudaAttention, PartsThatItDoesNotHaveAreRefusedWithTheReason", "[cuda]") {
  const auto why = [](const std::string& text) {
    const Graph graph = ParseInferred(text);
    return cuda::MakeOwnKernelsLibrary()->WhyUnsupported(graph, NodeId(0u)).value_or("");
  };
  const std::string inputs = "input q float32[1,2,5,4]\ninput k float32[1,2,6,4]\ninput v float32[1,2,6,7]\n";
  CHECK(why(inputs + "y = Attention(q, k, v)\noutput y\n").empty());
  const auto tells = [](const std::string& reason, const std::string& part) {
    INFO(reason);
    CHECK(reason.find(part) != std::string::npos);
  };
  tells(why(inputs + "y, _, _, s = Attention(q, k, v)\noutput y\noutput s\n"), "its scores are asked for");
  tells(why(inputs + "input n int64[1]\ny = Attention(q, k, v, _, _, _, n)\noutput y\n"), "lengths of entries");
  const std::string past = "input a float32[1,2,3,4]\ninput b float32[1,2,3,7]\n";
  CHECK(why(inputs + past + "y, pk, pv = Attention(q, k, v, _, a, b)\noutput y\n").empty());
  tells(why(inputs + past + "y, pk, pv = Attention(q, k, v, _, a, b)\noutput pk\noutput pv\n"),
        "its first result is not asked for");
}

TEST_CASE("CudaAttention, IsOfferedAsOneGroupAndItsMaskIsNotRounded", "[cuda]") {
  const WatchedLab lab;
  const Graph graph = ParseInferred(
      "input q float32[1,2,5,4]\ninput k float32[1,2,4,6]\ninput v float32[1,2,6,7]\ninput m float32[5,6]\n"
      "s = MatMul(q, k)\nt = Add(s, m)\np = Softmax(t)\ny = MatMul(p, v)\noutput y\n");
  const std::vector<ValueId> read = GroupInputs(graph, AllNodes(graph));
  const auto mask = static_cast<size_t>(std::ranges::find(read, graph.inputs()[3]) - read.begin());
  size_t whole = 0;
  for (const Candidate& candidate :
       cuda::MakeOwnKernelsLibrary()->Candidates(graph, lab.platform, Precision({MathMode::kFp16}))) {
    if (candidate.nodes.size() != graph.nodes().size()) continue;
    ++whole;
    CHECK(candidate.in[mask].storage == DataType::kFloat32);
    CHECK((candidate.math == MathMode::kFp32 || candidate.in[0].storage != candidate.out[0].storage ||
           candidate.in[0].storage == DataType::kFloat16));
  }
  CHECK(whole == 4);  // fp32, and the three ways to store in fp16
}

TEST_CASE("CudaElementwise, AGroupIsOneLaunchAndAnEmptyOneIsNone", "[cuda]") {
  const WatchedLab lab;
  CheckAsOne(lab, "input x float32[8]\na = Abs(x)\nb = Exp(a)\ny = Add(a, b)\noutput y\noutput b\n");
  CHECK(lab.gpu.Count("cuLaunchKernel") == 1);
  CheckAsOne(lab, "input x float32[0,3]\ny = Relu(x)\noutput y\n");
  CHECK(lab.gpu.Count("cuLaunchKernel") == 1);
}

TEST_CASE("CudaElementwise, WhatHasNoKernelIsNotOfferedAndSaysWhy", "[cuda]") {
  const WatchedLab lab;
  const auto library = cuda::MakeOwnKernelsLibrary();
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"input x float64[4]\ny = Relu(x)\noutput y\n", "float64"},
           {"input x float32[4,4]\ny = Det(x)\noutput y\n", "no kernel"},
           {"input x float32[n]\ny = Relu(x)\noutput y\n", "not known until run time"}}) {
    const Graph graph = ParseInferred(text);
    const NodeId node(0u);
    CHECK(library->CandidatesFor(graph, lab.platform, {&node, 1}, {}).empty());
    const std::optional<std::string> why = library->WhyUnsupported(graph, node);
    REQUIRE(why.has_value());
    CHECK(why->find(reason) != std::string::npos);
  }
}

TEST_CASE("CudaMovement, WhatMovesNothingIsElided", "[cuda]") {
  const WatchedLab lab;
  const auto elision = [&](const std::string& text) {
    const Graph graph = ParseInferred(text);
    return cuda::MakeOwnKernelsLibrary()->CandidatesFor(graph, lab.platform, AllNodes(graph), {}).at(0).elision;
  };
  const std::string inputs = "input x float32[1,3,4]\ninput z float32[1,3,4]\n";
  CHECK(elision("input x float32[2,3]\ny = Flatten(x)\noutput y\n") == Elision::kViewOfInput);
  CHECK(elision(inputs + "y = Concat(x, z) axis=1\noutput y\n") == Elision::kSlicesOfOutput);
  CHECK(elision(inputs + "y = Concat(x, z) axis=2\noutput y\n") == Elision::kNone);
  CHECK(elision(inputs + "y = Concat(x, x) axis=1\noutput y\n") == Elision::kNone);
  CHECK(elision(inputs + "const c float32[1,3,4] random 7\ny = Concat(x, c) axis=1\noutput y\n") == Elision::kNone);
}

TEST_CASE("CudaMovement, WhatIsStoredInAnotherTypeIsNotElided", "[cuda]") {
  const WatchedLab lab;
  // What feeds the Softmax stays float32.
  const Graph graph = ParseInferred(
      "input x float32[1,4]\ninput z float32[1,4]\ny = Concat(x, z) axis=0\ns = Softmax(x)\noutput y\noutput s\n");
  const NodeId concat(0u);
  size_t elided = 0, mixed = 0;
  for (const Candidate& candidate :
       cuda::MakeOwnKernelsLibrary()->CandidatesFor(graph, lab.platform, {&concat, 1}, Precision({MathMode::kBf16}))) {
    const bool alike = candidate.in[0] == candidate.out[0] && candidate.in[1] == candidate.out[0];
    CHECK((candidate.elision == Elision::kSlicesOfOutput) == alike);
    ++(alike ? elided : mixed);
  }
  CHECK(elided > 0);
  CHECK(mixed > 1);
}

TEST_CASE("CudaIndexSpace, MergesDimsAndKeepsEveryOffset", "[cuda]") {
  const auto seed = GENERATE(range(1u, 200u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::vector<int64_t> dims(random() % 5);
  for (int64_t& dim : dims) dim = 1 + random() % 4;
  std::vector<std::vector<int64_t>> strides(1 + random() % 3);
  for (std::vector<int64_t>& tensor : strides) {
    tensor.resize(dims.size());
    int64_t dense = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      const bool irregular = random() % 3 == 0;
      tensor[d] = irregular ? static_cast<int64_t>(random() % 50) - 20 : dense;
      dense *= dims[d];
    }
    if (random() % 4 == 0) tensor.assign(dims.size(), 0);
  }
  const cuda::IndexSpace space(dims, strides);
  CHECK(space.dims().size() <= dims.size());
  for (int64_t element = 0; element < space.count(); ++element) {
    for (size_t t = 0; t < strides.size(); ++t) {
      int64_t rest = element, expected = 0;
      for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) expected += rest % dims[d] * strides[t][d];
      REQUIRE(space.OffsetAt(t, element) == expected);
    }
  }
}

TEST_CASE("CudaIndexSpace, TakesWideNumbersWhereNarrowOnesDoNotFit", "[cuda]") {
  CHECK(cuda::IndexSpace(std::vector<int64_t>{1 << 20}, {{1}}).index_type() == "int");
  CHECK(cuda::IndexSpace(std::vector<int64_t>{int64_t{1} << 31}, {{1}}).index_type() == "long long");
  CHECK(cuda::IndexSpace(std::vector<int64_t>{4, 4}, {{int64_t{1} << 30, 1}}).index_type() == "long long");
}

TEST_CASE("CudaCompiler, TakesTheTextOfTheKernels", "[cuda]") {
  cuda::LibraryNames names = cuda::InstalledLibraries();
  const auto compiler = cuda::LoadCompiler(names);
  if (!compiler.ok()) SKIP(compiler.error().message);
  // A few of each family, in all their ways.
  const WatchedLab lab;
  for (const CaseFamily& family : OwnKernelCases()) {
    const size_t step = std::max<size_t>(family.cases.size() / 2, 1);
    for (size_t i = 0; i < family.cases.size(); i += step) {
      INFO(family.cases[i]);
      const Graph graph = ParseInferred(family.cases[i]);
      for (const Candidate& candidate :
           cuda::MakeOwnKernelsLibrary()->CandidatesFor(graph, lab.platform, AllNodes(graph), {})) {
        for (const std::string& text : KernelTexts(graph, candidate)) {
          for (const char* architecture : {"sm_80", "sm_90", "sm_100"}) {
            const auto image = cuda::CompileKernel(*compiler, text, architecture);
            if (!image.ok()) FAIL(ToString(image.error()));
            CHECK(image->size() > 100);
          }
        }
      }
    }
  }
  // One that no NVRTC knows yet: a text that the driver compiles.
  const auto ptx = cuda::CompileKernel(*compiler, "extern \"C\" __global__ void pt_kernel() {}", "sm_999");
  REQUIRE(ptx.ok());
  CHECK(ptx->find(".target sm_") != std::string::npos);
  const auto broken = cuda::CompileKernel(*compiler, "extern \"C\" __global__ void pt_kernel() { nonsense; }", "sm_90");
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.error().id == "cuda.compile");
  CHECK(broken.error().message.find("nonsense") != std::string::npos);
}

}  // namespace pt::testing::own_kernels_test
