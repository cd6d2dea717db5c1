// The library "cuda" against the reference library: its kernels' very text, run on the host. And the same text through
// the compiler of CUDA, where that is installed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "partitiontuner/graph/graph_text.h"
#include "plugins/cuda/index_space.h"
#include "plugins/cuda/operators.h"
#include "test/cuda/cuda_cases.h"
#include "test/cuda/cuda_lab.h"

namespace pt::testing {
namespace {

void CheckAsOne(const CudaLab& lab, const std::string& text) {
  CheckGroup(lab, *cuda::MakeOwnKernelsLibrary(), text);
  CHECK(lab.gpu.Violations().empty());
}

void CheckAll(const CudaLab& lab, const std::vector<std::string>& cases) {
  REQUIRE(cases.size() > 5);
  for (const std::string& text : cases) CheckAsOne(lab, text);
}

}  // namespace

TEST_CASE("CudaElementwise, OperatorsAndGroupsAgreeWithTheReference", "[cuda]") {
  const CudaLab lab;
  CheckAll(lab, ElementwiseCases());
}

TEST_CASE("CudaElementwise, AGroupIsOneLaunchAndAnEmptyOneIsNone", "[cuda]") {
  const CudaLab lab;
  CheckAsOne(lab, "input x float32[8]\na = Abs(x)\nb = Exp(a)\ny = Add(a, b)\noutput y\noutput b\n");
  CHECK(lab.gpu.Count("cuLaunchKernel") == 1);
  CheckAsOne(lab, "input x float32[0,3]\ny = Relu(x)\noutput y\n");
  CHECK(lab.gpu.Count("cuLaunchKernel") == 1);
}

TEST_CASE("CudaElementwise, WhatHasNoKernelIsNotOfferedAndSaysWhy", "[cuda]") {
  const CudaLab lab;
  const auto library = cuda::MakeOwnKernelsLibrary();
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"input x float64[4]\ny = Relu(x)\noutput y\n", "float64"},
           {"input x float32[4,4]\ny = Det(x)\noutput y\n", "no kernel"},
           {"input x float32[n]\ny = Relu(x)\noutput y\n", "known only in the run"}}) {
    const Graph graph = ParseInferred(text);
    const NodeId node(0u);
    CHECK(library->CandidatesFor(graph, lab.platform, {&node, 1}, {}).empty());
    const std::optional<std::string> why = library->WhyUnsupported(graph, node);
    REQUIRE(why.has_value());
    CHECK(why->find(reason) != std::string::npos);
  }
}

TEST_CASE("CudaRows, AgreeWithTheReference", "[cuda]") {
  const CudaLab lab;
  CheckAll(lab, RowCases());
}

TEST_CASE("CudaMovement, AgreesWithTheReference", "[cuda]") {
  const CudaLab lab;
  CheckAll(lab, MovementCases());
}

TEST_CASE("CudaMovement, WhatMovesNothingIsElided", "[cuda]") {
  const CudaLab lab;
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
  for (const char* text :
       {"input x float32[2,6]\ninput s float32[6]\nconst k float32[] value 0.5\na = Mul(x, s)\nb = Gelu(a)\n"
        "c = Mish(b)\nd = Elu(c)\ne = HardSwish(d)\nf = Softplus(e)\ng = Round(f)\nh = Erf(g)\ni = Sign(h)\n"
        "j = Pow(i, x)\ny = Max(j, k)\noutput y\n",
        "input x int64[3,1]\ninput z int64[4]\na = Div(x, z)\nb = Abs(a)\nc = Less(b, z)\nd = Not(c)\n"
        "y = Where(d, a, z)\noutput y\n",
        "input x float32[4,300]\ny = LogSoftmax(x)\noutput y\n",
        "input x float32[4,300]\nconst a int64[1] ints 0\ny = ReduceMax(x, a)\noutput y\n",
        "input x float32[3,40]\nconst s float32[40] random 3\ny = LayerNormalization(x, s, s)\noutput y\n",
        "input x float32[2,3]\ninput z float32[2,4]\ny = Concat(x, z) axis=1\noutput y\n",
        "input x float32[9]\na = Cast(x) to=7\nb = Cast(a) to=9\nc = Cast(b) to=6\ny = Cast(c) to=1\noutput y\n"}) {
    const Graph graph = ParseInferred(text);
    const auto site = cuda::Site::MakeDense(graph, AllNodes(graph));
    if (!site.ok()) FAIL(ToString(site.error()));
    const auto routine = cuda::MakeRoutine(*site);
    if (!routine.ok()) FAIL(ToString(routine.error()));
    for (const cuda::KernelText& kernel : routine->kernels) {
      for (const char* architecture : {"sm_75", "sm_90"}) {
        const auto image = cuda::CompileKernel(*compiler, cuda::KernelPrelude() + kernel.text, architecture);
        if (!image.ok()) FAIL(ToString(image.error()));
        CHECK(image->size() > 100);
      }
    }
  }
  const auto broken = cuda::CompileKernel(*compiler, "extern \"C\" __global__ void pt_kernel() { nonsense; }", "sm_90");
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.error().id == "cuda.compile");
  CHECK(broken.error().message.find("nonsense") != std::string::npos);
}

}  // namespace pt::testing
