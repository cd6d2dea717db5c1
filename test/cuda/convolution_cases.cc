#include <array>

#include "test/cuda/cuda_cases.h"

namespace pt::testing {
namespace {

struct Dims {
  const char *x, *w, *attributes;
};

std::string Inputs(const char* x, const char* w) {
  return std::string("input x float32") + x + "\nconst w float32" + w + " random 3\n";
}

void AddBehind(std::vector<std::string>& cases) {
  const std::string conv =
      Inputs("[1,6,7,9]", "[8,6,3,3]") + "const b float32[8] random 4\nc = Conv(x, w, b) pads=[1,1,1,1]\n";
  cases.push_back(conv + "y = Relu(c)\noutput y\n");
  cases.push_back(conv + "const l float32[] value 0\nconst h float32[] value 6\ny = Clip(c, l, h)\noutput y\n");
  cases.push_back(conv + "s = Sigmoid(c)\ny = Mul(c, s)\noutput y\n");
  cases.push_back(conv + "y = HardSwish(c)\noutput y\n");
  cases.push_back(conv + "input r float32[1,8,7,9]\na = Add(c, r)\ny = Relu(a)\noutput y\n");
  cases.push_back(conv + "input r float32[8,1,1]\na = Mul(r, c)\ny = LeakyRelu(a)\noutput y\n");
  cases.push_back(
      "input x float32[1,6,5,5]\nconst w float32[6,6,3,3] random 3\nc = Conv(x, w) pads=[1,1,1,1]\n"
      "a = Add(c, x)\ny = Relu(a)\noutput y\n");
  cases.push_back(
      "input x float32[1,6,5,5]\nconst w float32[6,1,3,3] random 3\nc = Conv(x, w) group=6 pads=[1,1,1,1]\n"
      "a = Add(c, x)\ny = Relu(a)\noutput y\n");
}

}  // namespace

std::vector<std::string> ConvolutionCases() {
  std::vector<std::string> cases;
  for (const Dims& d :
       {Dims{"[2,3,9]", "[5,3,3]", "strides=[2] pads=[1,0]"}, Dims{"[1,3,8,7]", "[4,3,3,3]", "pads=[1,1,1,1]"},
        Dims{"[1,3,8,7]", "[4,3,2,3]", "pads=[0,2,1,1] strides=[2,1]"},
        Dims{"[1,4,9,10]", "[6,4,3,3]", "dilations=[2,3] pads=[2,3,2,3]"}, Dims{"[2,8,5,5]", "[40,8,1,1]", ""},
        Dims{"[1,40,6,6]", "[72,40,3,3]", "auto_pad=\"SAME_UPPER\" strides=[2,2]"},
        Dims{"[1,20,12,12]", "[140,20,1,1]", ""}, Dims{"[1,6,8,8]", "[9,2,3,3]", "group=3 pads=[1,1,1,1]"},
        Dims{"[1,6,8,8]", "[6,1,3,3]", "group=6 pads=[1,1,1,1]"},
        Dims{"[1,6,8,8]", "[12,1,5,3]", "group=6 auto_pad=\"SAME_LOWER\""},
        Dims{"[1,2,4,5,6]", "[3,2,2,3,2]", "pads=[1,0,0,1,1,1] strides=[1,2,1]"}, Dims{"[3,2,1,1]", "[4,2,1,1]", ""},
        Dims{"[1,2,3,3]", "[4,2,3,3]", ""}, Dims{"[0,2,3,3]", "[4,2,3,3]", ""}}) {
    cases.push_back(Inputs(d.x, d.w) + "y = Conv(x, w) " + d.attributes + "\noutput y\n");
  }
  for (const Dims& d : {Dims{"[2,3,9]", "[3,5,3]", "strides=[2] pads=[1,0] output_padding=[1]"},
                        Dims{"[1,3,4,5]", "[3,4,3,3]", "strides=[2,2] pads=[1,1,1,1]"},
                        Dims{"[1,6,4,5]", "[6,2,2,3]", "group=3 dilations=[2,1]"},
                        Dims{"[1,3,4,5]", "[3,4,3,3]", "strides=[3,2] auto_pad=\"SAME_UPPER\""},
                        Dims{"[1,2,3,3,2]", "[2,3,2,2,2]", "strides=[2,1,2]"}}) {
    cases.push_back(Inputs(d.x, d.w) + "y = ConvTranspose(x, w) " + d.attributes + "\noutput y\n");
  }
  cases.push_back(
      "input x float32[1,3,6,6]\ninput w float32[4,3,3,3]\ninput b float32[4]\ny = Conv(x, w, b)\noutput y\n");
  AddBehind(cases);
  return cases;
}

std::vector<std::string> LoweredCases() {
  std::vector<std::string> cases = LoweredAttentionCases();
  AddBehind(cases);
  cases.emplace_back(
      "input x float32[3,40]\ninput z float32[40]\na = Add(x, z)\nb = Sigmoid(a)\ny = Mul(a, b)\noutput y\n");
  cases.emplace_back("input x float32[3,4,9]\ny = Softmax(x)\noutput y\n");
  cases.emplace_back("input x float32[3,4,9]\nconst a int64[1] ints 1\ny = ReduceMean(x, a)\noutput y\n");
  cases.emplace_back("input x float32[2,3,5]\nconst d int64[2] ints 6 5\ny = Reshape(x, d)\noutput y\n");
  cases.emplace_back("input x float32[40,36]\ny = Transpose(x)\noutput y\n");
  cases.emplace_back("input x float32[2,4]\ninput z float32[3,4]\ny = Concat(x, z) axis=0\noutput y\n");
  cases.emplace_back("input x float32[4,8]\na, b = Split(x) axis=1 num_outputs=2\noutput a\noutput b\n");
  cases.emplace_back("input x float32[1,2,6,6]\ny = AveragePool(x) kernel_shape=[2,2]\noutput y\n");
  cases.emplace_back("input x float32[1,2,6,6]\ny = MaxPool(x) kernel_shape=[3,3] pads=[1,1,1,1]\noutput y\n");
  cases.emplace_back(
      "input x float32[1,2,3,4]\nconst s float32[4] ints 1 1 2 2\ny = Resize(x, _, s) mode=\"linear\"\noutput y\n");
  cases.emplace_back("input x float32[3,4]\nconst p int64[4] ints 1 0 0 2\ny = Pad(x, p)\noutput y\n");
  cases.emplace_back("const t float32[9,8] random 3\ninput i int64[5]\ny = Gather(t, i)\noutput y\n");
  cases.emplace_back(
      "input x float32[3,40]\nconst s float32[40] random 3\nconst b float32[40] random 4\n"
      "y = LayerNormalization(x, s, b)\noutput y\n");
  return cases;
}

}  // namespace pt::testing
