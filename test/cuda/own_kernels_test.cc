// The library "cuda" against the reference library: its kernels' very text, run on the host. And the same text through
// the compiler of CUDA, where that is installed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "lib/backend/cuda/index_space.h"
#include "lib/backend/cuda/operators.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/cuda/cuda_lab.h"

namespace pt::testing {
namespace {

void CheckAsOne(const CudaLab& lab, const std::string& text) { CheckGroup(lab, *cuda::MakeOwnKernelsLibrary(), text); }

// Each of the nodes makes an output; all are one kernel.
void CheckNodes(const CudaLab& lab, std::string text, const std::vector<std::string>& nodes) {
  std::string outputs;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string name = "y" + std::to_string(i);
    text += name + " = " + nodes[i] + "\n";
    outputs += "output " + name + "\n";
  }
  CheckAsOne(lab, text + outputs);
}

}  // namespace

TEST_CASE("CudaElementwise, OperatorsOfOneInputAgreeWithTheReference", "[cuda]") {
  const CudaLab lab;
  const std::string input = "input x float32[3,5,7]\n";
  CheckNodes(lab, input,
             {"Abs(x)", "Ceil(x)", "Celu(x) alpha=0.5", "Cos(x)", "Elu(x) alpha=0.7", "Erf(x)", "Exp(x)", "Floor(x)",
              "Gelu(x)", "Gelu(x) approximate=\"tanh\"", "HardSigmoid(x)", "HardSwish(x)", "Identity(x)",
              "LeakyRelu(x)", "IsNaN(x)"});
  CheckNodes(lab, input,
             {"Mish(x)", "Neg(x)", "Reciprocal(x)", "Relu(x)", "Round(x)", "Selu(x)", "Sigmoid(x)", "Sign(x)", "Sin(x)",
              "Softplus(x)", "Softsign(x)", "Tan(x)", "Tanh(x)", "ThresholdedRelu(x) alpha=0.3"});
  CheckNodes(lab, "input x float32[3,5]\na = Abs(x)\n", {"Log(a)", "Sqrt(a)"});
  for (const char* type : {"int32", "int64"}) {
    CheckNodes(lab, std::string("input x ") + type + "[40]\n",
               {"Abs(x)", "Neg(x)", "Relu(x)", "Sign(x)", "Identity(x)"});
  }
  CheckNodes(lab, "input x bool[40]\n", {"Not(x)", "Identity(x)"});
}

TEST_CASE("CudaElementwise, OperatorsOfTwoInputsAgreeWithTheReference", "[cuda]") {
  const CudaLab lab;
  CheckNodes(lab,
             "input x float32[4,6]\ninput z float32[4,6]\nconst two float32[] value 2\nconst e float32[] value 3\n",
             {"Add(x, z)", "Sub(x, z)", "Mul(x, z)", "Div(x, z)", "Max(x, z, two)", "Min(x, z)", "PRelu(x, z)",
              "Less(x, z)", "LessOrEqual(x, z)", "Greater(x, z)", "GreaterOrEqual(x, z)", "Equal(x, x)", "Sum(x, z, x)",
              "Mean(x, z, two)", "Pow(x, two)", "Pow(x, e)"});
  for (const char* type : {"int32", "int64"}) {
    CheckNodes(lab, std::string("input x ") + type + "[40]\ninput z " + type + "[40]\n",
               {"Add(x, z)", "Sub(x, z)", "Mul(x, z)", "Div(x, z)", "Max(x, z)", "Min(x, z)", "Less(x, z)",
                "LessOrEqual(x, z)", "Greater(x, z)", "GreaterOrEqual(x, z)", "Equal(x, z)"});
  }
  CheckNodes(lab, "input x bool[40]\ninput z bool[40]\n", {"And(x, z)", "Or(x, z)", "Xor(x, z)", "Equal(x, z)"});
  CheckAsOne(lab, "input c bool[8,1]\ninput x float32[4]\ninput z float32[]\ny = Where(c, x, z)\noutput y\n");
}

TEST_CASE("CudaElementwise, CastsAgreeWithTheReference", "[cuda]") {
  const CudaLab lab;
  for (const char* from : {"float32", "int32", "int64", "bool"}) {
    CheckNodes(lab, std::string("input x ") + from + "[50]\n",
               {"Cast(x) to=1", "Cast(x) to=6", "Cast(x) to=7", "Cast(x) to=9"});
  }
}

// What single operators do at the ends of their range, bit for bit.
TEST_CASE("CudaElementwise, NumbersThatAreNoneAndInfinitiesPassAsInTheReference", "[cuda]") {
  const CudaLab lab;
  CheckNodes(lab,
             "input a float32[3]\nzero = Sub(a, a)\nnan = Div(zero, zero)\none = Exp(zero)\nmost = Div(one, zero)\n",
             {"Relu(nan)", "Max(a, nan)", "Max(nan, a)", "Min(nan, a)", "Sign(nan)", "IsNaN(nan)", "Relu(most)",
              "Neg(most)", "Sigmoid(most)", "Less(nan, a)", "Cast(most) to=7", "Cast(nan) to=6", "Tanh(most)"});
}

TEST_CASE("CudaElementwise, BroadcastsInEveryPosition", "[cuda]") {
  const CudaLab lab;
  for (const char* z : {"[]", "[1]", "[7]", "[5,1]", "[3,1,1]", "[1,5,7]", "[3,1,7]", "[2,3,5,7]", "[2,1,1,1]"}) {
    CheckAsOne(lab, std::string("input x float32[3,5,7]\ninput z float32") + z + "\ny = Sub(x, z)\noutput y\n");
  }
}

TEST_CASE("CudaElementwise, GroupsAreOneKernelWithConstants", "[cuda]") {
  const CudaLab lab;
  CheckAsOne(lab,
             "input x float32[2,6]\ninput s float32[6]\nconst w float32[2,6] random 3\nconst k float32[] value 0.5\n"
             "a = Mul(x, w)\nb = Add(a, s)\nc = Sigmoid(b)\nd = Mul(b, c)\ny = Sub(d, k)\noutput y\n");
  CheckAsOne(lab,
             "input x float32[64]\nconst low float32[] value -0.25\nconst high float32[] value 0.5\n"
             "a = Clip(x, low, high)\ny = Neg(a)\noutput y\noutput a\n");
  CHECK(lab.gpu.Count("cuLaunchKernel") == 2);
}

TEST_CASE("CudaElementwise, EmptyAndSingleTensorsWork", "[cuda]") {
  const CudaLab lab;
  CheckAsOne(lab, "input x float32[0,3]\ny = Relu(x)\noutput y\n");
  CHECK(lab.gpu.Count("cuLaunchKernel") == 0);
  CheckAsOne(lab, "input x float32[]\ny = Exp(x)\noutput y\n");
  CheckAsOne(lab, "input x float32[100003]\ny = Relu(x)\noutput y\n");  // more elements than threads
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

TEST_CASE("CudaRows, ReductionsOverAnyAxesAgreeWithTheReference", "[cuda]") {
  const CudaLab lab;
  for (const char* op : {"ReduceL1", "ReduceL2", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare"}) {
    CheckAsOne(lab, std::string("input x float32[4,70]\nconst a int64[1] ints 1\ny = ") + op + "(x, a)\noutput y\n");
  }
  for (const char* axes : {"[1] ints 0", "[1] ints -1", "[2] ints 0 2", "[3] ints 0 1 2", "[2] ints 1 3"}) {
    for (const char* keep : {" keepdims=0", " keepdims=1"}) {
      CheckAsOne(lab, std::string("input x float32[3,5,2,4]\nconst a int64") + axes + "\ny = ReduceMean(x, a)" + keep +
                          "\noutput y\n");
    }
  }
  CheckAsOne(lab, "input x float32[6,300]\ny = ReduceSum(x)\noutput y\n");  // more elements than threads
  CheckAsOne(lab, "input x float32[1,3,1]\nconst a int64[1] ints 2\ny = ReduceSum(x, a)\noutput y\n");
  CheckAsOne(lab, "input x float32[2000,3]\nconst a int64[1] ints 1\ny = ReduceSum(x, a)\noutput y\n");
  CheckAsOne(lab, "input x float32[2,3,4,5]\ny = GlobalAveragePool(x)\noutput y\n");
}

TEST_CASE("CudaRows, SoftmaxAndLayerNormalizationAgreeWithTheReference", "[cuda]") {
  const CudaLab lab;
  CheckAsOne(lab, "input x float32[3,4,9]\ny = Softmax(x)\noutput y\n");
  CheckAsOne(lab, "input x float32[3,4,9]\ny = Softmax(x) axis=1\noutput y\n");
  CheckAsOne(lab, "input x float32[2,700]\ny = LogSoftmax(x)\noutput y\n");
  CheckAsOne(lab, "input x float32[2,1]\ny = Softmax(x)\noutput y\n");
  CheckAsOne(lab,
             "input x float32[3,40]\nconst s float32[40] random 3\nconst b float32[40] random 4\n"
             "y = LayerNormalization(x, s, b)\noutput y\n");
  CheckAsOne(lab,
             "input x float32[3,4,6]\ninput s float32[6]\ny = LayerNormalization(x, s) axis=1 epsilon=0.01\n"
             "output y\n");
}

TEST_CASE("CudaMovement, AgreesWithTheReferenceInEveryTypeThatKernelsKnow", "[cuda]") {
  const CudaLab lab;
  for (const char* type : {"float32", "int64", "bool"}) {
    CheckAsOne(lab, std::string("input x ") + type + "[2,3,4,5]\ny = Transpose(x) perm=[0,2,3,1]\noutput y\n");
  }
  CheckAsOne(lab, "input x float32[2,3,4]\ny = Transpose(x)\noutput y\n");
  CheckAsOne(lab, "input x float32[2,3,4]\nconst d int64[2] ints 6 4\ny = Reshape(x, d)\noutput y\n");
  CheckAsOne(lab, "input x float32[2,3,4]\ny = Flatten(x) axis=2\noutput y\n");
  CheckAsOne(lab, "input x float32[3,1]\nconst d int64[3] ints 2 3 4\ny = Expand(x, d)\noutput y\n");
  CheckAsOne(lab,
             "input x float32[2,3,4]\ninput z float32[2,1,4]\nconst c float32[2,2,4] random 7\n"
             "y = Concat(x, c, z, x) axis=1\noutput y\n");
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
