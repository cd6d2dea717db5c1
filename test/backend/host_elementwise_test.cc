// Elementwise operators and groups of the host library against the reference library: each function over the whole
// range of float32, each type, every way to broadcast, and groups grown in graphs.
#include <array>
#include <bit>
#include <catch2/catch_get_random_seed.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <span>

#include "partitiontuner/graph/half.h"
#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_elementwise_test {
namespace {

// Every exponent and sign with many mantissas, and all that is special.
std::vector<float> WholeRange() {
  std::vector<float> x;
  for (uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 40503)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (float special :
       {0.0F, 1.0F, 0.5F, 2.0F, 4.0F, 9.0F, 88.722839F, 88.72284F, 89.0F, 103.9F, 104.1F, 1e-20F, 1e20F,
        std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(), std::numeric_limits<float>::max(),
        std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    x.push_back(special);
    x.push_back(-special);
  }
  std::mt19937 random(1);
  for (float width : {0.01F, 1.0F, 10.0F, 100.0F}) {
    std::uniform_real_distribution<float> uniform(-width, width);
    for (int i = 0; i < 20000; ++i) x.push_back(uniform(random));
  }
  return x;
}

// In units of the last place of the expected number; of `least` where that is larger.
double Distance(float actual, float expected, float least) {
  if (std::isnan(expected)) return std::isnan(actual) ? 0 : HUGE_VAL;
  if (std::isinf(expected) || std::isinf(actual)) return actual == expected ? 0 : HUGE_VAL;
  const float size = std::fmax(std::fabs(expected), least);
  const double unit = std::ldexp(1.0, std::ilogb(size) - 23);
  return std::fabs(static_cast<double>(actual) - static_cast<double>(expected)) / unit;
}

TEST_CASE("HostElementwise, EveryFunctionIsWithinAFewUnitsOverTheWholeRange", "[host]") {
  struct Row {
    const char* text;
    double units;
    float least = std::numeric_limits<float>::min();
  };
  constexpr std::array kRows = {Row{"Abs(x)", 0},
                                Row{"Acos(x)", 1},
                                Row{"Acosh(x)", 2},
                                Row{"Asin(x)", 1},
                                Row{"Asinh(x)", 2},
                                Row{"Atan(x)", 1},
                                Row{"Atanh(x)", 2},
                                Row{"Cosh(x)", 2},
                                Row{"Sinh(x)", 2},
                                Row{"Tan(x)", 1},
                                Row{"Celu(x) alpha=0.7", 6},
                                Row{"Elu(x) alpha=1.3", 6},
                                Row{"Selu(x)", 6},
                                Row{"Mish(x)", 8, 1e-35F},  // a factor of both has fewer digits below
                                Row{"Shrink(x) lambd=1.5 bias=0.3", 1},
                                Row{"Softsign(x)", 0},
                                Row{"Swish(x) alpha=1.7", 6, 1e-35F},
                                Row{"ThresholdedRelu(x) alpha=0.7", 0},
                                Row{"Ceil(x)", 0},
                                Row{"Cos(x)", 1},
                                Row{"Erf(x)", 4},
                                Row{"Exp(x)", 3},
                                Row{"Floor(x)", 0},
                                Row{"Gelu(x)", 4, 1.0F},  // what cancels out is the definition's
                                Row{"Gelu(x) approximate=\"tanh\"", 4, 1.0F},
                                Row{"Log(x)", 4},
                                Row{"Neg(x)", 0},
                                Row{"Reciprocal(x)", 1},
                                Row{"Relu(x)", 0},
                                Row{"Round(x)", 0},
                                Row{"Sigmoid(x)", 5},
                                Row{"Sign(x)", 0},
                                Row{"Sin(x)", 1},
                                Row{"Softplus(x)", 8},
                                Row{"Sqrt(x)", 0},
                                Row{"Tanh(x)", 6},
                                Row{"HardSwish(x)", 2},
                                Row{"HardSigmoid(x) alpha=0.3", 1, 0.5F},
                                Row{"LeakyRelu(x)", 0},
                                Row{"Pow(x, two)", 1},
                                Row{"Pow(x, three)", 2},
                                Row{"Pow(x, minus)", 1},
                                Row{"Pow(x, half)", 1},
                                Row{"Pow(two, x)", 1},
                                Row{"Pow(x, x)", 1},
                                Row{"Mod(x, half) fmod=1", 0},
                                Row{"Mod(x, minus)", 0},
                                Row{"Mod(two, x)", 0},
                                Row{"Clip(x, minus, two)", 0},
                                Row{"Clip(x, _, two)", 0}};
  const std::vector<float> x = WholeRange();
  const std::string n = std::to_string(x.size());
  const Tensor input = Tensor::Float32({static_cast<int64_t>(x.size())}, x);
  const std::unique_ptr<Library> host = HostLibrary(), reference = MakeReferenceLibrary();
  const Platform platform = MakeTestPlatform(1, false);
  const NodeId node(0U);
  for (const Row& row : kRows) {
    INFO(row.text);
    const Graph graph =
        TypedText("input x float32[" + n + "]\nconst two float32[] value 2\nconst three float32[] value 3\n" +
                  "const minus float32[] value -1\nconst half float32[] value 0.7\ny = " + row.text + "\noutput y\n");
    const auto expected = RunGraph(graph, platform, *reference, {&input, 1});
    const auto actual = RunGraph(graph, platform, *host, {&input, 1});
    INFO(host->WhyUnsupported(graph, node).value_or(""));
    REQUIRE(expected.ok());
    REQUIRE(actual.ok());
    double most = 0;
    size_t worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double distance = Distance((*actual)[0].values<float>()[i], (*expected)[0].values<float>()[i], row.least);
      if (distance > most) {
        most = distance;
        worst = i;
      }
    }
    INFO("of " << x[worst] << ": " << (*actual)[0].values<float>()[worst] << " instead of "
               << (*expected)[0].values<float>()[worst]);
    CHECK(most <= row.units);
  }
}

TEST_CASE("HostElementwise, TestsOfNumbersAreExact", "[host]") {
  const std::vector<float> x = WholeRange();
  const std::string n = std::to_string(x.size());
  for (const char* test : {"IsNaN(x)", "IsInf(x)", "IsInf(x) detect_negative=0", "IsInf(x) detect_positive=0"}) {
    INFO(test);
    CheckAgainstReference(TypedText("input x float32[" + n + "]\ny = " + test + "\noutput y\n"),
                          {Tensor::Float32({static_cast<int64_t>(x.size())}, x)}, 0);
  }
}

constexpr std::array kArithmetic = {"Add", "Sub", "Mul", "Max", "Min", "Div", "Mod", "Pow"};
constexpr std::array kComparisons = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"};

std::string Two(const std::string& op, const std::string& type, const std::string& a, const std::string& b) {
  return "input a " + type + a + "\ninput b " + type + b + "\ny = " + op + "(a, b)\noutput y\n";
}

TEST_CASE("HostElementwise, EveryTypeEqualsTheReference", "[host]") {
  for (const char* type : {"float32", "int32", "int64"}) {
    for (const char* op : kArithmetic) CheckText(Two(op, type, "[3,37]", "[37]"), 0);
    for (const char* op : kComparisons) CheckText(Two(op, type, "[3,37]", "[3,1]"), 0);
  }
  for (const char* op : {"Abs", "Neg", "Sign"}) {
    for (const char* type : {"float32", "int32", "int64"}) {
      CheckText("input x " + std::string(type) + "[3,41]\ny = " + op + "(x)\noutput y\n", 0);
    }
  }
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    for (const char* type : {"int32", "int64"}) CheckText(Two(op, type, "[3,37]", "[37]"), 0);
  }
  for (const char* type : {"int32", "int64"}) {
    const std::string t = type;
    CheckText("input x " + t + "[3,41]\ny = BitwiseNot(x)\noutput y\n", 0);
    CheckText("input a " + t + "[3,37]\ninput b " + t + "[37]\ny = Mod(a, b) fmod=1\noutput y\n", 0);
    CheckText("input a float32[3,37]\ninput b " + t + "[37]\ny = Pow(a, b)\noutput y\n", 1e-6);
  }
  CheckText(Two("PRelu", "float32", "[2,5,7]", "[5,1]"), 0);
  for (const char* op : {"And", "Or", "Xor", "Equal"}) CheckText(Two(op, "bool", "[3,41]", "[41]"), 0);
  CheckText("input x bool[3,41]\ny = Not(x)\noutput y\n", 0);
  CheckText("input a float32[40]\ninput b float32[3,1]\ninput c float32[]\ny = Sum(a, b, c)\noutput y\n", 1e-6);
  CheckText("input a float32[40]\ninput b float32[3,1]\ninput c float32[]\ny = Mean(a, b, c)\noutput y\n", 1e-6);
  for (const char* type : {"float32", "int64", "bool", "float16", "int8"}) {
    const std::string t = type;
    CheckText("input c bool[3,1]\ninput a " + t + "[41]\ninput b " + t + "[3,41]\ny = Where(c, a, b)\noutput y\n", 0);
  }
}

TEST_CASE("HostElementwise, IntegersWrapAround", "[host]") {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> x = {kLeast, kMost, -1, 0, 1, kLeast + 1, kMost - 1};
  for (const char* op : kArithmetic) {
    std::vector<int64_t> a, b;
    for (int64_t i : x) {
      for (int64_t j : x) {
        a.push_back(i);
        b.push_back(j);
      }
    }
    CheckAgainstReference(TypedText(Two(op, "int64", "[49]", "[49]")),
                          {Tensor::Int64({49}, a), Tensor::Int64({49}, b)});
  }
}

TEST_CASE("HostElementwise, IntegersByZeroAndMinusOneNeverTrap", "[host]") {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> a, b;
  for (int64_t i : {kLeast, kLeast + 1, int64_t{-7}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{6}, kMost}) {
    for (int64_t j : {kLeast, int64_t{-3}, int64_t{-2}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{5}, kMost}) {
      a.push_back(i);
      b.push_back(j);
    }
  }
  const Tensor left = Tensor::Int64({64}, a), right = Tensor::Int64({64}, b);
  for (const char* text : {"Div(a, b)", "Mod(a, b)", "Mod(a, b) fmod=1", "Pow(a, b)"}) {
    INFO(text);
    CheckAgainstReference(TypedText("input a int64[64]\ninput b int64[64]\ny = " + std::string(text) + "\noutput y\n"),
                          {left, right}, 0);
  }
  for (const char* op : {"Abs", "Neg", "Sign"}) {
    CheckAgainstReference(TypedText("input a int64[64]\ny = " + std::string(op) + "(a)\noutput y\n"), {left}, 0);
  }
}

// Quotients around whole numbers, where a rounding would cross them, up to far beyond what double holds.
TEST_CASE("HostMod, RandomQuotientsEqualTheReferenceBitForBit", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> mantissa(0.5F, 1.0F);
  std::vector<float> a, b;
  for (int i = 0; i < 40000; ++i) {
    const float divisor = std::ldexp(mantissa(random), static_cast<int>(random() % 60) - 30);
    const float whole = std::floor(std::ldexp(mantissa(random), static_cast<int>(random() % 40)));
    float dividend = divisor * whole;
    if (random() % 3 == 0) dividend = std::nextafter(dividend, random() % 2 == 0 ? 0.0F : HUGE_VALF);
    a.push_back(random() % 2 == 0 ? dividend : -dividend);
    b.push_back(random() % 2 == 0 ? divisor : -divisor);
  }
  const Tensor left = Tensor::Float32({40000}, a), right = Tensor::Float32({40000}, b);
  for (const char* text : {"Mod(a, b)", "Mod(a, b) fmod=1"}) {
    INFO(text);
    CheckAgainstReference(
        TypedText("input a float32[40000]\ninput b float32[40000]\ny = " + std::string(text) + "\noutput y\n"),
        {left, right}, 0);
  }
}

TEST_CASE("HostElementwise, NanAndInfinitiesCompareAsTheReferenceHasThem", "[host]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> a, b;
  for (float i : {kNan, kInfinity, -kInfinity, 0.0F, -0.0F, 1.0F, -2.0F}) {
    for (float j : {kNan, kInfinity, -kInfinity, 0.0F, -0.0F, 1.0F, -2.0F}) {
      a.push_back(i);
      b.push_back(j);
    }
  }
  for (const auto ops : {std::span<const char* const>(kArithmetic), std::span<const char* const>(kComparisons)}) {
    for (const char* op : ops) {
      INFO(op);
      CheckAgainstReference(TypedText(Two(op, "float32", "[49]", "[49]")),
                            {Tensor::Float32({49}, a), Tensor::Float32({49}, b)}, 0);
    }
  }
  for (const char* op : {"PRelu", "Mod"}) {
    CheckAgainstReference(TypedText(Two(op, "float32", "[49]", "[49]")),
                          {Tensor::Float32({49}, a), Tensor::Float32({49}, b)}, 0);
  }
}

TEST_CASE("HostCast, BetweenAllItsTypesEqualsTheReference", "[host]") {
  const std::vector<float> x = WholeRange();
  const std::string dims = "[" + std::to_string(x.size()) + "]";
  const Tensor floats = Tensor::Float32({static_cast<int64_t>(x.size())}, x);
  // The numbers of the data types in ONNX.
  for (const auto& [number, name] :
       std::map<int, std::string>{{1, "float32"}, {2, "uint8"}, {3, "int8"}, {6, "int32"}, {7, "int64"}, {9, "bool"}}) {
    const std::string to = std::to_string(number);
    INFO("to " << name);
    CheckAgainstReference(TypedText("input x float32" + dims + "\ny = Cast(x) to=" + to + "\noutput y\n"), {floats}, 0);
    for (const char* from : {"uint8", "int8", "int32", "int64", "bool"}) {
      CheckText("input x " + std::string(from) + "[3,67]\ny = Cast(x) to=" + to + "\noutput y\n", 0);
    }
  }
}

TEST_CASE("HostCast, EverySixteenBitFloatEqualsTheReference", "[host]") {
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  for (const auto& [type, name, number] :
       {std::tuple(DataType::kFloat16, "float16", "10"), std::tuple(DataType::kBfloat16, "bfloat16", "16")}) {
    const std::string all(reinterpret_cast<const char*>(bits.data()), bits.size() * sizeof(uint16_t));
    const Tensor every = Tensor::FromBytes(type, {1 << 16}, all).value();
    INFO(name);
    CheckAgainstReference(TypedText("input x " + std::string(name) + "[65536]\ny = Cast(x) to=1\noutput y\n"), {every},
                          0);
    // To them: the whole range of float32, and each of them with the floats beside it and beside the ties.
    std::vector<float> x = WholeRange();
    for (uint16_t b : bits) {
      const float exact = type == DataType::kFloat16 ? ToFloat(Half{b}) : ToFloat(Bfloat16{b});
      const auto middle = std::bit_cast<uint32_t>(exact) + (type == DataType::kFloat16 ? 0x1000U : 0x8000U);
      for (const uint32_t near : {std::bit_cast<uint32_t>(exact), middle - 1, middle, middle + 1}) {
        x.push_back(std::bit_cast<float>(near));
      }
    }
    const auto n = static_cast<int64_t>(x.size());
    CheckAgainstReference(
        TypedText("input x float32[" + std::to_string(n) + "]\ny = Cast(x) to=" + number + "\noutput y\n"),
        {Tensor::Float32({n}, x)}, 0);
  }
}

TEST_CASE("HostElementwise, EveryWayToBroadcastEqualsTheReference", "[host]") {
  for (int set = 0; set < 64; ++set) {
    const auto dims = [&](int bits) {
      std::string text;
      for (int d = 0; d < 3; ++d) {
        text += (d == 0 ? "[" : ",") +
                std::to_string((bits >> d & 1) != 0 ? 1 : std::array{3, 5, 43}[static_cast<size_t>(d)]);
      }
      return text + "]";
    };
    CheckText(Two("Sub", "float32", dims(set & 7), dims(set >> 3)), 0);
  }
  CheckText(Two("Add", "float32", "[]", "[]"), 0);
  CheckText(Two("Add", "float32", "[0,3]", "[1,3]"), 0);
  CheckText(Two("Add", "float32", "[7,1031]", "[7,1]"), 0);
  CheckText(Two("Add", "float32", "[1031,7]", "[7]"), 0);
}

TEST_CASE("HostElementwise, EveryLengthAroundTheTilesEqualsTheReference", "[host]") {
  for (const int n : {1, 2, 15, 16, 17, 31, 33, 1023, 1024, 1025, 2047, 2049, 40001}) {
    const std::string dims = "[" + std::to_string(n) + "]";
    CheckText("input x float32" + dims + "\ninput z float32[1]\na = Mul(x, z)\nb = Tanh(a)\nc = Add(b, x)\noutput c\n");
  }
}

// All nodes as one group, several results among them.
TEST_CASE("HostElementwise, GroupsEqualTheReference", "[host]") {
  CheckText(
      "input x float32[4,300]\nconst h float32[] value 0.5\nconst r float32[] value 0.70710677\nconst one float32[1] "
      "value 1\n"
      "a = Mul(x, r)\nb = Erf(a)\nc = Add(b, one)\nd = Mul(x, c)\ne = Mul(d, h)\noutput e\n");
  CheckText(
      "input x float32[2,3,500]\ninput m float32[3,1]\na = Sub(x, m)\nb = Mul(a, a)\nc = Greater(b, a)\nd = Where(c, "
      "a, b)\n"
      "e = Cast(d) to=7\noutput a\noutput c\noutput e\n");
  CheckText(
      "input x float32[700]\ninput y float32[700]\na = Exp(x)\nb = Abs(y)\nc = Add(b, a)\nd = Div(a, c)\noutput d\n");
  CheckText("input x float32[9,130]\na = Relu(x)\nb = Neg(a)\nc = Max(a, b, x)\nd = Sub(c, c)\noutput d\noutput a\n");
}

TEST_CASE("HostElementwise, GroupsGrowAlongValuesThatNobodyElseNeeds", "[host]") {
  const std::unique_ptr<Library> host = HostLibrary();
  const Platform platform = MakeTestPlatform(1, false);
  const auto groups = [&](const std::string& text) {
    std::set<std::vector<NodeId>> found;
    for (const Candidate& c : host->Candidates(TypedText(text), platform, Precision())) {
      if (c.nodes.size() > 1) found.insert(c.nodes);
    }
    return found;
  };
  const auto nodes = [](std::initializer_list<uint32_t> ids) {
    std::vector<NodeId> list;
    for (uint32_t id : ids) list.emplace_back(id);
    return list;
  };
  // A branch that joins comes along; a value that is a graph output ends the growth.
  CHECK(
      groups("input x float32[4]\ninput z float32[4]\na = Exp(x)\nb = Abs(z)\nc = Add(a, b)\nd = Neg(c)\noutput d\n") ==
      std::set{nodes({0, 1, 2}), nodes({0, 1, 2, 3}), nodes({2, 3})});
  CHECK(groups("input x float32[4]\na = Exp(x)\nb = Neg(a)\noutput a\noutput b\n").empty());
  // Other dims stay outside.
  CHECK(groups("input x float32[4]\ninput z float32[3,4]\na = Exp(x)\nb = Add(a, z)\noutput b\n").empty());
  // A value read twice by one node stays inside, one read by two nodes does not.
  CHECK(groups("input x float32[4]\na = Exp(x)\nb = Mul(a, a)\noutput b\n") == std::set{nodes({0, 1})});
  CHECK(groups("input x float32[4]\na = Exp(x)\nb = Abs(a)\nc = Neg(a)\noutput b\noutput c\n").empty());
}

TEST_CASE("HostElementwise, RandomGroupsEqualTheReference", "[host]") {
  const uint32_t seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  // None that jumps: a last digit would decide between two results.
  constexpr std::array kUnary = {"Abs", "Neg", "Relu", "Sigmoid", "Tanh", "Erf", "Gelu", "HardSwish"};
  constexpr std::array kBinary = {"Add", "Sub", "Mul", "Max", "Min"};
  for (int round = 0; round < 60; ++round) {
    const std::string n = std::to_string(1 + random() % 1500);
    std::string text = "input v0 float32[3," + n + "]\ninput b0 float32[" + n + "]\ninput b1 float32[3,1]\n";
    const int count = 2 + static_cast<int>(random() % 10);
    for (int i = 1; i <= count; ++i) {
      const auto earlier = [&] { return "v" + std::to_string(random() % static_cast<unsigned>(i)); };
      const std::string to = "v" + std::to_string(i) + " = ";
      if (random() % 2 == 0) {
        text += to + kUnary[random() % kUnary.size()] + "(" + earlier() + ")\n";
      } else {
        const std::array other = {earlier(), std::string("b0"), std::string("b1")};
        text += to + kBinary[random() % kBinary.size()] + "(" + earlier() + ", " + other[random() % 3] + ")\n";
      }
    }
    text += "output v" + std::to_string(count) + "\n";
    if (random() % 3 == 0) text += "output v" + std::to_string(1 + random() % static_cast<unsigned>(count)) + "\n";
    CheckText(text, 1e-5);
  }
}

}  // namespace
}  // namespace pt::testing::host_elementwise_test
