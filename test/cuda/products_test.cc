// The library "cublaslt" against the reference library, with a cuBLASLt that computes what it is told on the host.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <set>

#include "partitiontuner/graph/graph_text.h"
#include "plugins/cuda/product.h"
#include "test/cuda/cuda_cases.h"
#include "test/cuda/cuda_lab.h"

namespace pt::testing::products_test {
namespace {

std::string Inputs(const char* a, const char* b) {
  return std::string("input a float32") + a + "\ninput b float32" + b + "\n";
}

std::string WhyNot(const std::string& text, bool channels_last = false) {
  const Graph graph = ParseInferred(text);
  const auto site =
      cuda::CudaSite::MakeDense(graph, AllNodes(graph), DataType::kFloat32, DataType::kFloat32, channels_last);
  if (!site.ok()) return site.error().message;
  const auto product = cuda::MakeProduct(*site);
  return product.ok() ? "" : product.error().message;
}

}  // namespace

TEST_CASE("CudaProduct, AgreesWithTheReference", "[cuda]") {
  const std::vector<std::string> cases = ProductCases();
  REQUIRE(cases.size() > 20);
  for (const std::string& text : cases) {
    const CudaLab lab;
    CheckGroup(lab, *cuda::MakeProductsLibrary(), text);
    CHECK(lab.gpu.Violations().empty());
    CHECK(lab.gpu.Alive() == "");
  }
}

TEST_CASE("CudaProduct, LowerPrecisionIsOfferedWhereAllowedAndIsWithinItsTolerance", "[cuda]") {
  const MathMode math = GENERATE(MathMode::kTf32, MathMode::kBf16, MathMode::kFp16);
  for (const std::string& text : ProductCases()) {
    const CudaLab lab;
    CheckGroup(lab, *cuda::MakeProductsLibrary(), text, Precision({math}));
    CHECK(lab.gpu.Violations().empty());
  }
  const Graph graph = ParseInferred(Inputs("[5,3]", "[3,4]") + "y = MatMul(a, b)\noutput y\n");
  const auto modes = [&](const CudaLab& lab, const Precision& precision) {
    std::set<MathMode> found;
    for (const Candidate& candidate :
         cuda::MakeProductsLibrary()->CandidatesFor(graph, lab.platform, AllNodes(graph), precision)) {
      found.insert(candidate.math);
    }
    return found;
  };
  const CudaLab lab, old({.architecture = 75});
  CHECK(modes(lab, {}) == std::set{MathMode::kFp32});
  CHECK(modes(lab, Precision({math})) == std::set{MathMode::kFp32, math});
  const std::set<MathMode> expected =
      math == MathMode::kFp16 ? std::set{MathMode::kFp32, math} : std::set{MathMode::kFp32};
  CHECK(modes(old, Precision({math})) == expected);
}

TEST_CASE("CudaProduct, SumsOfResultsOf16BitsAreFloat32", "[cuda]") {
  // A half has no 2049: a sum that is put down behind two of four products loses the one.
  const Graph graph = ParseInferred("input a float16[1,4]\ninput b float16[4,1]\ny = MatMul(a, b)\noutput y\n");
  const std::array inputs = {
      Stored(Tensor::Float32({1, 4}, std::vector<float>{1, 1, 1, 1}), DataType::kFloat16),
      Stored(Tensor::Float32({4, 1}, std::vector<float>{2048, 1, -2048, 0}), DataType::kFloat16)};
  const CudaLab lab;
  const auto library = cuda::MakeProductsLibrary();
  const auto candidates = library->CandidatesFor(graph, lab.platform, AllNodes(graph), {});
  REQUIRE(!candidates.empty());
  for (const Candidate& candidate : candidates) {
    const auto results = RunOnCuda(lab, *library, graph, candidate, inputs);
    REQUIRE(results.ok());
    CHECK(Stored(results->front(), DataType::kFloat32).values<float>()[0] == 1.0F);
  }
}

TEST_CASE("CudaProduct, ABiasThatLiesAtAnOddElementIsAddedAllTheSame", "[cuda]") {
  const Graph graph = ParseInferred(
      "input a float32[2,1]\ninput b float32[1,3]\ninput c float32[3]\np = MatMul(a, b)\ny = Add(p, c)\noutput y\n");
  const std::array inputs = {Tensor::Float32({2, 1}, std::vector<float>{1, 2}),
                             Tensor::Float32({1, 3}, std::vector<float>{10, 20, 30}),
                             Tensor::Float32({3}, std::vector<float>{1, 2, 3})};
  const CudaLab lab;
  const auto library = cuda::MakeProductsLibrary();
  const auto candidates = library->CandidatesFor(graph, lab.platform, AllNodes(graph), {});
  REQUIRE(!candidates.empty());
  const auto results = RunOnCuda(lab, *library, graph, candidates.front(), inputs, 1);
  if (!results.ok()) FAIL(ToString(results.error()));
  CHECK(std::ranges::equal(results->front().values<float>(), std::vector<float>{11, 22, 33, 21, 42, 63}));
  CHECK(lab.gpu.Violations().empty());
}

TEST_CASE("CudaProduct, SeveralAlgorithmsAreOfferedAndTheNamedOneRuns", "[cuda]") {
  const CudaLab lab;
  CheckGroup(lab, *cuda::MakeProductsLibrary(), Inputs("[5,3]", "[3,4]") + "y = MatMul(a, b)\noutput y\n");
  // The second that the fake proposes cannot be used, so the first stands in for it.
  CHECK(lab.gpu.algorithms() == std::vector<uint32_t>{0, 0, 2});
}

TEST_CASE("CudaProduct, WhatItCannotDoIsRefusedWithTheReason", "[cuda]") {
  CHECK(WhyNot("input a float64[5,3]\ninput b float64[3,4]\ny = MatMul(a, b)\noutput y\n").find("float32") !=
        std::string::npos);
  CHECK(WhyNot(Inputs("[3]", "[3,4]") + "p = MatMul(a, b)\ny = Relu(p)\noutput y\n").find("list") != std::string::npos);
  CHECK(WhyNot(Inputs("[70,1,5,3]", "[1,80,3,4]") + "y = MatMul(a, b)\noutput y\n").find("distances") !=
        std::string::npos);
  // The exact Gelu is not cuBLASLt's.
  CHECK(WhyNot(Inputs("[5,3]", "[3,4]") + "p = MatMul(a, b)\ny = Gelu(p)\noutput y\n").find("Gelu") !=
        std::string::npos);
  CHECK(WhyNot(Inputs("[70000,70000,1,1]", "[70000,70000,1,1]") + "y = MatMul(a, b)\noutput y\n").find("32 bits") !=
        std::string::npos);
  CHECK(WhyNot(Inputs("[5,0]", "[0,4]") + "y = MatMul(a, b)\noutput y\n").find("inner dim") != std::string::npos);
  CHECK(WhyNot(Inputs("[5,3]", "[3,4]") + "p = MatMul(a, b)\ny = Tanh(p)\noutput y\n").find("Tanh") !=
        std::string::npos);
  CHECK(WhyNot(Inputs("[5,3]", "[3,4]") + "input c float32[2,5,4]\np = MatMul(a, b)\ny = Add(p, c)\noutput y\n") != "");
  CHECK(WhyNot(Inputs("[5,3]", "[3,4]") + "input c float32[5,1]\ny = Gemm(a, b, c)\noutput y\n") != "");
  CHECK(WhyNot(Inputs("[5,3]", "[3,4]") + "p = MatMul(a, b)\ny = Add(p, p)\noutput y\n") != "");
  const std::string image = "input x float32[1,4,6,6]\nconst w float32[8,4,1,1] random 3\n";
  CHECK(WhyNot(image + "y = Conv(x, w)\noutput y\n").empty());
  CHECK(WhyNot(image + "y = Conv(x, w) strides=[2,2]\noutput y\n").find("not a product") != std::string::npos);
  CHECK(WhyNot(image + "y = Conv(x, w) pads=[1,1,1,1]\noutput y\n").find("not a product") != std::string::npos);
  CHECK(WhyNot("input x float32[1,4,6,6]\nconst w float32[8,2,1,1] random 3\ny = Conv(x, w) group=2\noutput y\n") !=
        "");
  CHECK(WhyNot("input x float32[1,4,6,6]\nconst w float32[8,4,3,3] random 3\ny = Conv(x, w)\noutput y\n") != "");
  CHECK(WhyNot(image + "input c float32[6]\np = Conv(x, w)\ny = Add(p, c)\noutput y\n").find("number a channel") !=
        std::string::npos);
  const std::string biased = image + "const b float32[8] random 3\ny = Conv(x, w, b)\noutput y\n";
  CHECK(WhyNot(biased).find("do not lie last") != std::string::npos);
  CHECK(WhyNot(biased, true).empty());
}

TEST_CASE("CudaProduct, PointwiseConvolutionsAreOfferedChannelsLastAndWithoutBiasRowMajorToo", "[cuda]") {
  const auto layouts = [](const std::string& rest) {
    const CudaLab lab;
    const Graph graph = ParseInferred("input x float32[2,4,6,6]\nconst w float32[8,4,1,1] random 3\n" + rest);
    std::set<Layout> found;
    for (const Candidate& candidate :
         cuda::MakeProductsLibrary()->CandidatesFor(graph, lab.platform, AllNodes(graph), {})) {
      CHECK(candidate.in[0].layout == candidate.out[0].layout);
      found.insert(candidate.out[0].layout);
    }
    return found;
  };
  CHECK(layouts("y = Conv(x, w)\noutput y\n") == std::set{RowMajor(4), ChannelsLast(4)});
  CHECK(layouts("input z float32[2,8,6,6]\np = Conv(x, w)\ny = Add(p, z)\noutput y\n") ==
        std::set{RowMajor(4), ChannelsLast(4)});
  CHECK(layouts("const b float32[8] random 3\ny = Conv(x, w, b)\noutput y\n") == std::set{ChannelsLast(4)});
}

TEST_CASE("CudaProduct, GroupsAreWhatNobodyElseReads", "[cuda]") {
  const Graph chain = ParseInferred(Inputs("[5,3]", "[3,4]") +
                                    "const c float32[4] random 3\np = MatMul(a, b)\nq = Add(p, c)\nr = Relu(q)\n"
                                    "y = Relu(r)\noutput y\n");
  CHECK(cuda::ProductGroups(chain) ==
        std::vector<std::vector<NodeId>>{{NodeId(0u), NodeId(1u)}, {NodeId(0u), NodeId(1u), NodeId(2u)}});
  const Graph shared = ParseInferred(Inputs("[5,3]", "[3,4]") + "p = MatMul(a, b)\ny = Relu(p)\noutput y\noutput p\n");
  CHECK(cuda::ProductGroups(shared).empty());
}

}  // namespace pt::testing::products_test
