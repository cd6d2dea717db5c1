// The host library's kernels in every instruction set that they were compiled for, against the reference library.
#include <hwy/targets.h>

#include <bit>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_targets_test {
namespace {

// Every exponent and sign of float32, NaN and infinities among them.
Tensor Floats() {
  std::vector<float> x;
  for (uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 404977) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return Tensor::Float32({static_cast<int64_t>(x.size())}, x);
}

TEST_CASE("HostKernels, EveryInstructionSetEqualsTheReference", "[host]") {
  const Tensor x = Floats();
  const std::string n = std::to_string(x.dims()[0]);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    INFO(hwy::TargetName(target));
    for (const char* function : {"Sin(x)", "Cos(x)", "Sign(x)", "Mod(x, h) fmod=1", "Mod(x, h)", "Tanh(x)", "Erf(x)"}) {
      INFO(function);
      CheckAgainstReference(
          TypedText("input x float32[" + n + "]\nconst h float32[] value 0.7\ny = " + function + "\noutput y\n"), {x},
          1e-6);
    }
    CheckText("input x float32[40,33]\ninput p float32[33]\na = Abs(x)\ny = Pow(a, p)\noutput y\n", 1e-6);
    CheckText("input x float32[40,33]\nconst p float32[] value -3\ny = Pow(x, p)\noutput y\n", 1e-6);
    for (const char* op :
         {"LayerNormalization(x, s, b)", "RMSNormalization(x, s)", "Softmax(x)", "ReduceSum(x) axes=[1]",
          "ReduceLogSumExp(x) axes=[0]", "LpNormalization(x)", "ArgMax(x) axis=1"}) {
      CheckText("input x float32[40,333]\nconst s float32[333] random 1\nconst b float32[333] random 2\ny = " +
                    std::string(op) + "\noutput y\n",
                1e-5);
    }
    // Groups that fill a vector of 4, 8 or 16 together, that fill several, and that fill none; most in blocks of 16
    // too.
    for (const int channels : {2, 3, 4, 8, 16, 20}) {
      const std::string in = std::to_string(8 * channels), of_group = std::to_string(channels);
      for (const auto& [kernel, more] : {std::pair("3", "pads=[1,1,1,1]"), std::pair("3", "strides=[2,2]"),
                                         std::pair("5", "strides=[1,3] dilations=[1,2]")}) {
        CheckText("input x float32[2," + in + ",7,27]\nconst w float32[" + in + "," + of_group + ",3," +
                  std::string(kernel) + "] random 1\nconst b float32[" + in + "] random 2\nm = Conv(x, w, b) group=8 " +
                  more + "\ny = Relu(m)\noutput y\n");
      }
    }
    for (const char* rows : {"1", "2", "3", "4"}) {  // by large matrices
      for (const char* product : {"const w float32[701,419] random 1\ny = Gemm(x, w) transB=1\noutput y\n",
                                  "const w float32[419,701] random 1\nm = Gemm(x, w)\ny = Relu(m)\noutput y\n"}) {
        CheckText("input x float32[" + std::string(rows) + ",419]\n" + product, 1e-4);
      }
    }
    for (const char* dims : {"5,21", "13,40", "70,33"}) {  // with a residual
      const std::string columns = std::string(dims).substr(std::string(dims).find(',') + 1);
      CheckText("input x float32[" + std::string(dims).substr(0, std::string(dims).find(',')) +
                ",7]\ninput r float32[" + dims + "]\nconst w float32[7," + columns +
                "] random 1\nm = MatMul(x, w)\na = Add(m, r)\ny = Relu(a)\noutput y\n");
    }
    // Pointwise, and of few filters.
    for (const std::string filters : {"1,21,1,1", "9,21,1,1", "40,21,1,1", "1,21,3,5", "3,21,3,5", "12,21,3,5"}) {
      CheckText("input x float32[2,21,9,47]\nconst w float32[" + filters + "] random 1\nconst b float32[" +
                    filters.substr(0, filters.find(',')) +
                    "] random 2\nm = Conv(x, w, b) strides=[1,2]\ny = Relu(m)\noutput y\n",
                1e-5);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace pt::testing::host_targets_test
