// The library "cublaslt" against the reference library, with a cuBLASLt that computes what it is told on the host.
#include <catch2/catch_test_macros.hpp>

#include "lib/backend/cuda/product.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/cuda/cuda_lab.h"

namespace pt::testing {
namespace {

void CheckProduct(const std::string& text) {
  const CudaLab lab;
  CheckGroup(lab, *cuda::MakeProductsLibrary(), text);
  CHECK(lab.gpu.Alive() == "");
}

std::string Inputs(const char* a, const char* b) {
  return std::string("input a float32") + a + "\ninput b float32" + b + "\n";
}

std::string WhyNot(const std::string& text) {
  const Graph graph = ParseInferred(text);
  const auto site = cuda::Site::MakeDense(graph, AllNodes(graph));
  if (!site.ok()) return site.error().message;
  const auto product = cuda::MakeProduct(*site);
  return product.ok() ? "" : product.error().message;
}

}  // namespace

TEST_CASE("CudaProduct, MatricesInEveryArrangementOfTheirLeadingDims", "[cuda]") {
  CheckProduct(Inputs("[5,3]", "[3,4]") + "y = MatMul(a, b)\noutput y\n");
  CheckProduct(Inputs("[1,3]", "[3,1]") + "y = MatMul(a, b)\noutput y\n");
  CheckProduct(Inputs("[2,5,3]", "[3,4]") + "y = MatMul(a, b)\noutput y\n");  // one product of ten rows
  CheckProduct(Inputs("[2,6,5,3]", "[2,6,3,4]") + "y = MatMul(a, b)\noutput y\n");
  CheckProduct(Inputs("[5,3]", "[2,3,4]") + "y = MatMul(a, b)\noutput y\n");
  CheckProduct(Inputs("[7,1,3]", "[3,4]") + "y = MatMul(a, b)\noutput y\n");
  CheckProduct(Inputs("[1,5,3]", "[1,3,4]") + "y = MatMul(a, b)\noutput y\n");
  CheckProduct(Inputs("[0,3]", "[3,4]") + "y = MatMul(a, b)\noutput y\n");
}

TEST_CASE("CudaProduct, GemmTransposesScalesAndAdds", "[cuda]") {
  for (const char* shapes :
       {"[5,3] [3,4] ", "[3,5] [3,4] transA=1", "[5,3] [4,3] transB=1", "[3,5] [4,3] transA=1 transB=1"}) {
    const std::string text = shapes;
    const std::string a = text.substr(0, 5), b = text.substr(6, 5), attributes = text.substr(12);
    const std::string inputs = Inputs(a.c_str(), b.c_str());
    CheckProduct(inputs + "y = Gemm(a, b) alpha=0.5 " + attributes + "\noutput y\n");
    CheckProduct(inputs + "const c float32[4] random 3\ny = Gemm(a, b, c) " + attributes + "\noutput y\n");
    CheckProduct(inputs + "input c float32[5,4]\ny = Gemm(a, b, c) beta=0.25 alpha=2.0 " + attributes + "\noutput y\n");
  }
}

TEST_CASE("CudaProduct, WhatFollowsIsPartOfIt", "[cuda]") {
  const std::string inputs = Inputs("[2,5,3]", "[3,4]");
  CheckProduct(inputs + "const c float32[4] random 3\np = MatMul(a, b)\ny = Add(p, c)\noutput y\n");
  CheckProduct(inputs + "const c float32[1,1,4] random 3\np = MatMul(a, b)\nq = Add(c, p)\ny = Relu(q)\noutput y\n");
  CheckProduct(inputs + "input c float32[2,5,4]\np = MatMul(a, b)\nq = Add(p, c)\ny = Relu(q)\noutput y\n");
  CheckProduct(inputs + "p = MatMul(a, b)\ny = Relu(p)\noutput y\n");
  CheckProduct(Inputs("[5,3]", "[4,3]") +
               "const c float32[4] random 3\np = Gemm(a, b, c) transB=1\ny = Relu(p)\noutput y\n");
}

TEST_CASE("CudaProduct, ConstantMatricesLieOnTheDeviceOnce", "[cuda]") {
  CheckProduct("input a float32[5,3]\nconst b float32[3,4] random 5\ny = MatMul(a, b)\noutput y\n");
  CheckProduct("input b float32[3,4]\nconst a float32[5,3] random 5\ny = MatMul(a, b)\noutput y\n");
}

TEST_CASE("CudaProduct, WhatItCannotDoIsRefusedWithTheReason", "[cuda]") {
  CHECK(WhyNot("input a float64[5,3]\ninput b float64[3,4]\ny = MatMul(a, b)\noutput y\n").find("float32") !=
        std::string::npos);
  CHECK(WhyNot(Inputs("[3]", "[3,4]") + "y = MatMul(a, b)\noutput y\n") != "");
  CHECK(WhyNot(Inputs("[2,1,5,3]", "[1,6,3,4]") + "y = MatMul(a, b)\noutput y\n").find("distances") !=
        std::string::npos);
  CHECK(WhyNot(Inputs("[5,0]", "[0,4]") + "y = MatMul(a, b)\noutput y\n").find("inner dim") != std::string::npos);
  CHECK(WhyNot(Inputs("[5,3]", "[3,4]") + "p = MatMul(a, b)\ny = Tanh(p)\noutput y\n").find("Tanh") !=
        std::string::npos);
  CHECK(WhyNot(Inputs("[5,3]", "[3,4]") + "input c float32[2,5,4]\np = MatMul(a, b)\ny = Add(p, c)\noutput y\n") != "");
  CHECK(WhyNot(Inputs("[5,3]", "[3,4]") + "input c float32[5,1]\ny = Gemm(a, b, c)\noutput y\n") != "");
  CHECK(WhyNot(Inputs("[5,3]", "[3,4]") + "p = MatMul(a, b)\ny = Add(p, p)\noutput y\n") != "");
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

}  // namespace pt::testing
