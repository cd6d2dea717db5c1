// Cases of operators whose parameters decide where elements come from.
#include <array>
#include <cstdint>
#include <utility>

#include "test/cuda/cuda_cases.h"

namespace pt::testing {
namespace {

std::string One(const std::string& inputs, const std::string& node) { return inputs + "y = " + node + "\noutput y\n"; }

// "const NAME int64[2] ints 1 -1".
std::string Ints(const std::string& name, const std::vector<int64_t>& values, const std::string& type = "int64") {
  std::string text = "const " + name + " " + type + "[" + std::to_string(values.size()) + "]";
  if (values.empty()) return text + " zeros\n";
  text += " ints";
  for (const int64_t value : values) text += " " + std::to_string(value);
  return text + "\n";
}

void AddSlice(std::vector<std::string>& cases, const std::string& dims, const std::vector<int64_t>& starts,
              const std::vector<int64_t>& ends, const std::vector<int64_t>& axes, const std::vector<int64_t>& steps,
              const std::string& type = "float32") {
  cases.push_back(
      One("input x " + type + dims + "\n" + Ints("s", starts) + Ints("e", ends) + Ints("a", axes) + Ints("t", steps),
          "Slice(x, s, e, a, t)"));
}

}  // namespace

std::vector<std::string> PoolingCases() {
  std::vector<std::string> cases;
  const auto pool = [&](const std::string& dims, const std::string& attributes) {
    for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
      cases.push_back(One("input x float32" + dims + "\n", std::string(op) + "(x) " + attributes));
    }
    cases.push_back(One("input x float32" + dims + "\n", "AveragePool(x) count_include_pad=1 " + attributes));
    cases.push_back("input x float32" + dims + "\ny, i = MaxPool(x) " + attributes + "\noutput y\noutput i\n");
  };
  pool("[2,3,9]", "kernel_shape=[3] strides=[2] pads=[1,1]");
  pool("[1,2,7,6]", "kernel_shape=[3,2] strides=[2,1] pads=[1,0,2,1]");
  pool("[1,2,7,6]", "kernel_shape=[2,2] strides=[2,2] ceil_mode=1");
  pool("[1,2,8,8]", "kernel_shape=[3,3] strides=[2,2] pads=[0,0,1,1] ceil_mode=1");
  pool("[1,2,9,8]", "kernel_shape=[2,3] dilations=[3,2] pads=[1,2,1,1]");
  pool("[1,2,5,6]", "kernel_shape=[2,2] auto_pad=\"SAME_UPPER\" strides=[2,2]");
  pool("[1,2,5,6]", "kernel_shape=[3,3] auto_pad=\"SAME_LOWER\"");
  pool("[1,2,5,6]", "kernel_shape=[3,3] auto_pad=\"VALID\"");
  pool("[1,2,4,5,6]", "kernel_shape=[2,3,2] strides=[1,2,3] pads=[1,1,0,0,1,1]");
  pool("[2,1,1,1]", "kernel_shape=[1,1]");
  pool("[0,3,4,4]", "kernel_shape=[2,2]");
  for (const char* dims : {"[2,3,5]", "[2,3,4,5]", "[1,2,3,4,2]"}) {
    for (const char* op : {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"}) {
      cases.push_back(One(std::string("input x float32") + dims + "\n", std::string(op) + "(x)"));
    }
  }
  for (const char* p : {"1", "3"}) {
    cases.push_back(One("input x float32[1,2,6,6]\n", std::string("LpPool(x) kernel_shape=[2,3] p=") + p));
  }
  for (const char* type : {"int8", "uint8"}) {
    cases.push_back(
        One(std::string("input x ") + type + "[1,2,6,6]\n", "MaxPool(x) kernel_shape=[2,2] pads=[1,1,0,0]"));
  }
  cases.push_back(
      "input x float32[1,2,5,6]\ny, i = MaxPool(x) kernel_shape=[2,3] storage_order=1\noutput y\noutput i\n");
  return cases;
}

std::vector<std::string> SlicingCases() {
  std::vector<std::string> cases;
  constexpr int64_t kFar = int64_t{1} << 40;
  AddSlice(cases, "[6,7,8]", {1, 2}, {5, 7}, {0, 2}, {1, 2});
  AddSlice(cases, "[6,7,8]", {-1, kFar}, {-kFar, -kFar}, {0, 1}, {-1, -2});
  AddSlice(cases, "[6,7,8]", {4, 1}, {1, 100}, {-2, -1}, {1, 1});  // nothing along one dim
  AddSlice(cases, "[6,7,8]", {0}, {8}, {2}, {kFar});
  AddSlice(cases, "[6,7,8]", {7}, {-9}, {2}, {-3});
  AddSlice(cases, "[4,8,16]", {4}, {12}, {2}, {1});  // fours
  AddSlice(cases, "[4,8,16]", {2}, {12}, {2}, {1});
  AddSlice(cases, "[0,3]", {0}, {2}, {1}, {1});
  for (const char* type : {"int8", "float16", "int32", "float64", "bool"}) {
    AddSlice(cases, "[5,6]", {3, 0}, {0, 6}, {0, 1}, {-1, 2}, type);
  }
  cases.push_back("opset 9\n" + One("input x float32[5,6]\n", "Slice(x) starts=[1,-3] ends=[4,-1] axes=[0,1]"));
  const std::string x = "input x float32[4,6,3]\n";
  cases.push_back(x + "a, b = Split(x) num_outputs=2 axis=-2\noutput a\noutput b\n");
  cases.push_back(x + Ints("s", {1, 0, 5}) + "a, b, c = Split(x, s) axis=1\noutput a\noutput b\noutput c\n");
  cases.push_back("input x float32[7,3]\na, b = Split(x) num_outputs=2\noutput a\noutput b\n");
  cases.push_back("input x int64[4,8]\na, b = Split(x) axis=1 num_outputs=2\noutput a\noutput b\n");
  for (const auto& repeats : {std::vector<int64_t>{2, 1, 3}, {1, 1, 1}, {0, 2, 1}}) {
    cases.push_back(One(x + Ints("r", repeats), "Tile(x, r)"));
  }
  for (const char* mode : {"DCR", "CRD"}) {
    cases.push_back(
        One("input x float32[2,12,3,5]\n", std::string("DepthToSpace(x) blocksize=2 mode=\"") + mode + "\""));
  }
  cases.push_back(One("input x float32[2,3,4,6]\n", "SpaceToDepth(x) blocksize=2"));
  cases.push_back(One("input x float32[1,9,2,2]\n", "DepthToSpace(x) blocksize=3"));
  cases.push_back(One("input x uint8[1,2,6,3]\n", "SpaceToDepth(x) blocksize=3"));
  return cases;
}

std::vector<std::string> TransposeCases() {
  std::vector<std::string> cases;
  for (const auto& [dims, perm] :
       {std::array{"[40,50]", "[1,0]"}, std::array{"[33,64]", "[1,0]"}, std::array{"[2,9,37,3]", "[0,3,1,2]"},
        std::array{"[2,40,5,9]", "[0,2,3,1]"}, std::array{"[2,3,33,35]", "[1,0,3,2]"},
        std::array{"[64,2,48]", "[2,1,0]"}, std::array{"[4,6,8]", "[1,0,2]"}, std::array{"[1,32,32]", "[2,0,1]"}}) {
    cases.push_back(One(std::string("input x float32") + dims + "\n", std::string("Transpose(x) perm=") + perm));
  }
  for (const char* type : {"float16", "int8", "float64"}) {
    cases.push_back(One(std::string("input x ") + type + "[35,40]\n", "Transpose(x)"));
  }
  return cases;
}

std::vector<std::string> IndexedCases() {
  std::vector<std::string> cases;
  const std::string x = "input x float32[5,6,4]\n";
  for (const char* type : {"int32", "int64"}) {
    for (const char* axis : {"0", "1", "-1"}) {
      cases.push_back(One(x + "input i " + type + "[2,3]\n", std::string("Gather(x, i) axis=") + axis));
    }
    cases.push_back(One(x + Ints("i", {-1, 0, 3}, type), "Gather(x, i) axis=1"));
    cases.push_back(One(x + "input i " + type + "[]\n", "Gather(x, i) axis=1"));
    cases.push_back(One(x + "input i " + type + "[3,6,2]\n", "GatherElements(x, i)"));
    cases.push_back(One(x + "input i " + type + "[5,2,4]\n", "GatherElements(x, i) axis=-2"));
  }
  cases.push_back(One("const x float32[30,8] random 3\ninput i int64[1,7]\n", "Gather(x, i)"));  // an embedding
  cases.push_back(One(x + "input i int64[0]\n", "Gather(x, i)"));
  cases.push_back(One("input x bool[9]\ninput i int64[4]\n", "Gather(x, i)"));
  cases.push_back(One(x + "input i int64[3,2]\n", "GatherND(x, i)"));
  cases.push_back(One(x + "input i int64[2,2,3]\n", "GatherND(x, i)"));
  cases.push_back(One(x + "input i int64[5,2,1]\n", "GatherND(x, i) batch_dims=1"));
  cases.push_back(One(x + "input i int64[5,6,1]\n", "GatherND(x, i) batch_dims=2"));
  return cases;
}

std::vector<std::string> PadCases() {
  std::vector<std::string> cases;
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    const std::string attribute = std::string(" mode=\"") + mode + "\"";
    for (const auto& pads : {std::vector<int64_t>{1, 2, 0, 2, 1, 3}, {-1, 0, 2, 0, -2, -1}, {0, 5, 9, 0, 6, 11}}) {
      cases.push_back(One("input x float32[3,4,5]\n" + Ints("p", pads), "Pad(x, p)" + attribute));
    }
    cases.push_back(One("input x float32[3,1]\n" + Ints("p", {2, 3, 1, 2}), "Pad(x, p)" + attribute));
    cases.push_back(One("input x int32[3,4]\n" + Ints("p", {2, 1}) + Ints("a", {-1}), "Pad(x, p, _, a)" + attribute));
  }
  cases.push_back(
      One("input x float32[3,4]\n" + Ints("p", {0, 1, 1, 0}) + "const v float32[] value 2.5\n", "Pad(x, p, v)"));
  cases.push_back(One("input x float32[3,4]\ninput v float32[]\n" + Ints("p", {0, 1, 1, 0}), "Pad(x, p, v)"));
  cases.push_back(One("input x int64[3]\n" + Ints("p", {1, 1}) + "const v int64[] value 7\n", "Pad(x, p, v)"));
  cases.push_back(One("input x float32[0,2]\n" + Ints("p", {1, 0, 1, 0}), "Pad(x, p)"));
  cases.push_back(One("input x float32[3,4]\n" + Ints("p", {-3, 0, 0, 0}), "Pad(x, p)"));
  cases.push_back("opset 10\n" + One("input x float32[2,3]\n", "Pad(x) pads=[1,0,0,2] value=1.5"));
  return cases;
}

std::vector<std::string> ResizeCases() {
  std::vector<std::string> cases;
  const auto resize = [&](const std::string& dims, const std::string& sizes, const std::string& attributes) {
    cases.push_back(One("input x float32" + dims + "\nconst s " + sizes + "\n", "Resize(x, _, _, s) " + attributes));
  };
  for (const char* coordinates : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                  "asymmetric", "tf_half_pixel_for_nn"}) {
    const std::string attribute = std::string("coordinate_transformation_mode=\"") + coordinates + "\" ";
    for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
      resize("[1,2,3,4]", "int64[4] ints 1 2 7 6", attribute + "nearest_mode=\"" + rounding + "\"");
    }
    for (const char* mode : {"linear", "cubic"}) {
      resize("[1,2,3,4]", "int64[4] ints 1 2 7 6", attribute + "mode=\"" + mode + "\"");
      resize("[1,2,5,7]", "int64[4] ints 1 2 2 1", attribute + "mode=\"" + mode + "\"");
    }
  }
  for (const char* more : {"antialias=1", "exclude_outside=1", "cubic_coeff_a=-0.5"}) {
    resize("[1,1,9,8]", "int64[4] ints 1 1 4 3", std::string("mode=\"cubic\" ") + more);
  }
  resize("[1,1,9,8]", "int64[4] ints 1 1 4 3", "mode=\"linear\" antialias=1");
  resize("[2,3,5]", "int64[3] ints 2 3 9", "mode=\"linear\"");
  resize("[1,1,2,3,4]", "int64[5] ints 1 1 4 5 7", "mode=\"linear\"");
  resize("[1,1,4,8]", "int64[2] ints 6 6", "mode=\"linear\" axes=[2,3] keep_aspect_ratio_policy=\"not_larger\"");
  resize("[1,1,4,8]", "int64[2] ints 6 6", "axes=[2,3] keep_aspect_ratio_policy=\"not_smaller\"");
  cases.push_back(
      One("input x float32[1,2,3,4]\nconst r float32[8] ints 0 0 0 0 1 1 1 1\nconst s int64[4] ints 1 2 5 6\n",
          "Resize(x, r, _, s) mode=\"linear\" coordinate_transformation_mode=\"tf_crop_and_resize\""));
  cases.push_back(
      One("input x float32[1,2,3,4]\nconst r float32[8] ints 0 0 -1 0 1 1 2 2\nconst s int64[4] ints 1 2 5 6\n",
          "Resize(x, r, _, s) mode=\"linear\" coordinate_transformation_mode=\"tf_crop_and_resize\" "
          "extrapolation_value=3.5"));
  cases.push_back(One("input x float32[1,2,3,4]\nconst s float32[4] ints 1 1 2 3\n", "Resize(x, _, s)"));
  cases.push_back(One("input x uint8[1,2,3,4]\nconst s float32[4] ints 1 1 2 2\n", "Resize(x, _, s)"));
  cases.push_back("opset 9\n" + One("input x float32[1,2,3,4]\nconst s float32[4] ints 1 1 2 3\n", "Upsample(x, s)"));
  cases.push_back("opset 9\n" +
                  One("input x float32[1,2,3,4]\nconst s float32[4] ints 1 1 2 3\n", "Upsample(x, s) mode=\"linear\""));
  cases.push_back("opset 10\n" + One("input x float32[1,2,3,4]\nconst s float32[4] ints 1 1 3 2\n", "Resize(x, s)"));
  return cases;
}

std::vector<std::string> NormalizationCases() {
  std::vector<std::string> cases;
  const std::string vectors =
      "const s float32[6] random 3\nconst b float32[6] random 4\nconst m float32[6] random 5\nconst r float32[6] "
      "random 6\n"
      "const e float32[6] value 2\n";
  for (const char* dims : {"[2,6]", "[2,6,5]", "[1,6,4,8]", "[2,6,3,2,2]"}) {
    cases.push_back(
        One(std::string("input x float32") + dims + "\n" + vectors, "BatchNormalization(x, s, b, m, e) epsilon=0.01"));
  }
  cases.push_back(
      One("input x float32[3,6,4]\ninput s float32[6]\ninput b float32[6]\nconst m float32[6] random 5\n"
          "const e float32[6] value 3\n",
          "BatchNormalization(x, s, b, m, e)"));
  for (const char* dims : {"[2,6,5]", "[2,6,7,9]", "[1,6,2,3,4]", "[2,6,0]"}) {
    cases.push_back(One(std::string("input x float32") + dims + "\n" + vectors, "InstanceNormalization(x, s, b)"));
    cases.push_back(One(std::string("input x float32") + dims + "\n" + vectors,
                        "GroupNormalization(x, s, b) num_groups=3 epsilon=0.001"));
  }
  cases.push_back("opset 18\n" +
                  One("input x float32[2,6,5]\nconst s float32[3] random 3\nconst b float32[3] random 4\n",
                      "GroupNormalization(x, s, b) num_groups=3"));
  cases.push_back(One("input x float32[3,40]\nconst s float32[40] random 3\n", "RMSNormalization(x, s)"));
  cases.push_back(One("input x float32[3,4,6]\nconst s float32[4,6] random 3\n", "RMSNormalization(x, s) axis=1"));
  for (const char* size : {"1", "3", "4", "11"}) {
    cases.push_back(One("input x float32[2,7,3,4]\n", std::string("LRN(x) alpha=0.3 beta=0.6 bias=1.5 size=") + size));
  }
  return cases;
}

std::vector<std::string> LineCases() {
  std::vector<std::string> cases;
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const char* attributes : {"axis=0", "axis=1", "axis=-1 keepdims=0", "axis=1 select_last_index=1"}) {
      for (const char* type : {"float32", "int32", "int64"}) {
        cases.push_back(One(std::string("input x ") + type + "[3,50,4]\n", std::string(op) + "(x) " + attributes));
      }
    }
    cases.push_back(One("input x float32[300,2]\n", std::string(op) + "(x)"));  // more than one a thread
    cases.push_back(One("input x int32[2,1]\n", std::string(op) + "(x) axis=1"));
  }
  for (const char* attributes : {"", "exclusive=1", "reverse=1", "exclusive=1 reverse=1"}) {
    for (const char* type : {"float32", "int32", "int64"}) {
      cases.push_back(One(std::string("input x ") + type + "[3,5,4]\nconst a int64[] value -2\n",
                          std::string("CumSum(x, a) ") + attributes));
    }
  }
  return cases;
}

std::vector<std::string> TopKCases() {
  std::vector<std::string> cases;
  const auto add = [&](const char* type, const char* dims, const char* k, const char* attributes) {
    cases.push_back(std::string("input x ") + type + dims + "\nconst k int64[1] ints " + k + "\nv, i = TopK(x, k) " +
                    attributes + "\noutput v\noutput i\n");
  };
  for (const char* type : {"float32", "float16", "bfloat16", "int32", "int64"}) {
    add(type, "[3,50,4]", "7", "axis=1");
    add(type, "[3,50,4]", "50", "axis=1 largest=0");
    add(type, "[5,33]", "1", "");
    add(type, "[33,5]", "33", "axis=0");
  }
  add("float32", "[1,1]", "1", "");
  add("float32", "[2,3]", "0", "");
  add("float32", "[0,3]", "2", "");
  add("float32", "[7]", "7", "largest=0 sorted=0");
  add("float32", "[2,5001]", "600", "");          // several pieces
  add("int32", "[1,2049]", "1024", "largest=0");  // the most that is kept from piece to piece
  add("int32", "[1,2200]", "1500", "");           // more: ranks alone
  cases.emplace_back("input x float32[4,9]\nconst k int64[1] ints 2\n_, i = TopK(x, k)\noutput i\n");
  cases.emplace_back("input x float32[4,9]\nconst k int64[1] ints 2\nv, _ = TopK(x, k)\noutput v\n");
  return cases;
}

std::vector<std::string> RecurrentCases() {
  std::vector<std::string> cases;
  const auto add = [&](const std::string& op, int gates, const std::string& attributes, int directions,
                       const std::string& more, const std::string& arguments) {
    const std::string d = std::to_string(directions), rows = std::to_string(gates * 5);
    cases.push_back("input x float32[4,2,3]\nconst w float32[" + d + "," + rows + ",3] random 2\nconst r float32[" + d +
                    "," + rows + ",5] random 3\nconst b float32[" + d + "," + std::to_string(gates * 10) +
                    "] random 4\n" + more + (op == "LSTM" ? "y, h, c = " : "y, h = ") + op + "(x, w, r" + arguments +
                    ") hidden_size=5 " + attributes + "\noutput y\noutput h\n" + (op == "LSTM" ? "output c\n" : ""));
  };
  const std::string h1 = "input h0 float32[1,2,5]\n", c1 = "input c0 float32[1,2,5]\n";
  for (const auto& [op, gates] : {std::pair{"LSTM", 4}, std::pair{"GRU", 3}, std::pair{"RNN", 1}}) {
    add(op, gates, "", 1, "", "");
    add(op, gates, "", 1, "", ", b");
    add(op, gates, "direction=\"reverse\"", 1, h1, ", b, _, h0");
    add(op, gates, "direction=\"bidirectional\"", 2, "", ", b");
  }
  add("GRU", 3, "linear_before_reset=1", 1, h1, ", b, _, h0");
  add("LSTM", 4, "", 1, h1 + c1, ", b, _, h0, c0");
  add("LSTM", 4, "", 1, h1 + c1 + "const p float32[1,15] random 6\n", ", b, _, h0, c0, p");
  add("RNN", 1, "activations=[\"Relu\"]", 1, "", ", b");
  cases.push_back(
      "input x float32[2,4,3]\nconst w float32[1,20,3] random 2\nconst r float32[1,20,5] random 3\n"
      "y, h = LSTM(x, w, r) hidden_size=5 layout=1\noutput y\noutput h\n");
  cases.push_back(
      "input x float32[3,1,40]\nconst w float32[1,1200,40] random 2\nconst r float32[1,1200,300] random 3\n"
      "_, h = LSTM(x, w, r) hidden_size=300\noutput h\n");  // more units than threads
  return cases;
}

std::vector<std::string> TypeCases() {
  std::vector<std::string> cases;
  const std::array<const char*, 11> types = {"float32", "float16", "bfloat16", "float64", "int8", "uint8",
                                             "int16",   "int32",   "int64",    "uint64",  "bool"};
  std::string casts, outputs;
  for (const int to : {1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 16}) {
    const std::string name = "y" + std::to_string(to);
    casts += name + " = Cast(x) to=" + std::to_string(to) + "\n";
    outputs += "output " + name + "\n";
  }
  for (const char* type : types) {
    cases.push_back(std::string("input x ") + type + "[52]\n" + casts + outputs);
    cases.push_back(
        One(std::string("input c bool[5,1]\ninput x ") + type + "[5,7]\ninput z " + type + "[7]\n", "Where(c, x, z)"));
    cases.push_back(One(std::string("input x ") + type + "[5,7]\ninput z " + type + "[5,3]\n", "Concat(x, z) axis=1"));
  }
  for (const char* type : {"float16", "bfloat16"}) {
    const std::string x = std::string("input x ") + type + "[4,12]\ninput z " + type + "[4,12]\n";
    cases.push_back(x + "a = Add(x, z)\nb = Sigmoid(a)\ny = Mul(a, b)\noutput y\n");
    cases.push_back(One(x, "ReduceMean(x)"));
    cases.push_back(One(x, "Softmax(x)"));
    cases.push_back(One(std::string("input x ") + type + "[1,2,6,6]\n", "MaxPool(x) kernel_shape=[2,2]"));
    cases.push_back(One(std::string("input x ") + type + "[1,2,6,6]\n", "AveragePool(x) kernel_shape=[2,2]"));
  }
  return cases;
}

}  // namespace pt::testing
