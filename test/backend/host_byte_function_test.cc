// What the host library does with 8-bit integers between elementwise operators: functions of one byte as tables, and
// quantising and dequantising as parts of expressions. Both are exact.
#include <hwy/targets.h>

#include <bit>
#include <catch2/catch_get_random_seed.hpp>
#include <cmath>
#include <iomanip>
#include <numeric>
#include <random>
#include <sstream>

#include "lib/backend/host_kernels/elementwise/byte_function.h"
#include "lib/backend/host_kernels/kernels/byte_lookup.h"
#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_byte_function_test {
namespace {

using Nodes = std::vector<size_t>;

TEST_CASE("ByteLookup, LooksUpEveryByteAtEveryLength", "[host]") {
  const uint32_t seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  host::ByteTable table;
  std::ranges::generate(table, [&] { return static_cast<uint8_t>(random()); });
  for (const host::ByteLookup look_up : host::ByteLookupsOfProcessor()) {
    for (size_t n = 0; n <= 320; ++n) {
      std::vector<uint8_t> x(n), y(n), expected(n);
      for (size_t i = 0; i < n; ++i) x[i] = static_cast<uint8_t>(i < 256 ? i : random());
      std::ranges::transform(x, expected.begin(), [&](uint8_t byte) { return table[byte]; });
      look_up(table, x.data(), y.data(), static_cast<int64_t>(n));
      REQUIRE(y == expected);
      look_up(table, x.data(), x.data(), static_cast<int64_t>(n));
      REQUIRE(x == expected);
    }
  }
}

// Every byte, many times over.
Tensor AllBytes(DataType type, const std::vector<int64_t>& dims) {
  std::string bytes(static_cast<size_t>(TensorByteCount(type, dims).value()), '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  return Tensor::FromBytes(type, dims, bytes).value();
}

std::string Between(const std::string& from, const std::string& to, const std::string& dims, const std::string& nodes) {
  return "input x " + from + "[" + dims + "]\nconst s float32[] value 0.046\nconst zx " + from + "[] value " +
         (from == "int8" ? "-7" : "121") + "\nconst t float32[] value 0.031\nconst zy " + to + "[] value " +
         (to == "int8" ? "11" : "140") + "\nconst h float32[] value 0.5\nconst l float32[1,1] value -1.25\n" +
         "a = DequantizeLinear(x, s, zx)\n" + nodes + "y = QuantizeLinear(m, t, zy)\noutput y\n";
}

TEST_CASE("HostByteFunction, EveryFunctionOfAByteIsWhatItsOperatorsSay", "[host]") {
  for (const char* nodes : {"m = Sigmoid(a)\n",
                            "m = Tanh(a)\n",
                            "m = Erf(a)\n",
                            "m = Gelu(a)\n",
                            "m = Gelu(a) approximate=\"tanh\"\n",
                            "m = HardSwish(a)\n",
                            "m = HardSigmoid(a) alpha=0.3\n",
                            "m = LeakyRelu(a) alpha=0.07\n",
                            "m = Elu(a)\n",
                            "m = Selu(a)\n",
                            "m = Celu(a)\n",
                            "m = Mish(a)\n",
                            "m = Softplus(a)\n",
                            "m = Softsign(a)\n",
                            "m = ThresholdedRelu(a) alpha=0.2\n",
                            "m = Exp(a)\n",
                            "m = Log(a)\n",
                            "m = Sqrt(a)\n",
                            "m = Reciprocal(a)\n",
                            "m = Relu(a)\n",
                            "m = Clip(a, _, h)\n",
                            "m = Clip(a, h)\n",
                            "m = PRelu(a, h)\n",
                            "m = Max(a, h, h)\n",
                            "m = Pow(a, h)\n",
                            "m = Div(h, a)\n",
                            "b = Greater(a, h)\nm = Where(b, a, h)\n",
                            "b = Sigmoid(a)\nm = Mul(a, b)\n",
                            "b = Add(a, h)\nc = Mul(b, b)\nm = Sub(c, a)\n"}) {
    for (const auto& [from, to] :
         {std::pair("uint8", "uint8"), std::pair("int8", "int8"), std::pair("uint8", "int8")}) {
      const std::string text = Between(from, to, "257", nodes);
      INFO(text);
      const Graph graph = TypedText(text);
      CheckAgainstReference(graph, {AllBytes(graph.value(graph.inputs()[0]).type.type, {257})}, 0);
    }
  }
}

TEST_CASE("HostByteFunction, RunsInEveryOrderOfAnImage", "[host]") {
  const Graph graph = TypedText(Between("uint8", "int8", "2,32,5,7", "m = Mish(a)\n"));
  const std::vector<NodeId> all{NodeId(0U), NodeId(1U), NodeId(2U)};
  CHECK(CheckGroup(graph, all, {AllBytes(DataType::kUint8, {2, 32, 5, 7})}, 0).size() == 3);
}

std::vector<Nodes> GroupsOf(const std::string& text) {
  std::vector<Nodes> groups;
  for (const std::vector<NodeId>& group : host::ByteFunctionGroups(TypedText(text))) {
    groups.emplace_back();
    for (NodeId node : group) groups.back().push_back(node.index());
  }
  return groups;
}

// As quantisers write it: the sigmoid is quantised, too, and each reader dequantises for itself.
constexpr const char* kSilu =
    "a = DequantizeLinear(x, s, zx)\nb = DequantizeLinear(x, s, zx)\nc = Sigmoid(a)\nd = QuantizeLinear(c, s, zx)\n"
    "e = DequantizeLinear(d, s, zx)\nm = Mul(b, e)\ny = QuantizeLinear(m, s, zx)\n";
const std::string kParameters =
    "input x uint8[2,3]\ninput r uint8[2,3]\nconst s float32[] value 0.02\nconst zx uint8[] value 3\n"
    "const v float32[3] random 1\n";

TEST_CASE("HostByteFunction, ReachesAsFarAsOneByteIsAllThatItIsMadeOf", "[host]") {
  CHECK(GroupsOf(kParameters + kSilu + "output y\n") == std::vector<Nodes>{{0, 1, 2, 3, 4, 5, 6}});
  // What else needs the sigmoid needs it on its own; SiLU is then no function of one result.
  CHECK(GroupsOf(kParameters + kSilu + "output y\noutput d\n") == std::vector<Nodes>{{0, 2, 3}});
  // Another tensor's byte is met: the function ends before.
  CHECK(GroupsOf(kParameters + "a = DequantizeLinear(x, s, zx)\nc = Tanh(a)\nd = QuantizeLinear(c, s, zx)\n"
                               "e = DequantizeLinear(d, s, zx)\nf = DequantizeLinear(r, s, zx)\nm = Add(e, f)\n"
                               "y = QuantizeLinear(m, s, zx)\noutput y\n") == std::vector<Nodes>{{0, 1, 2}});
  // A constant for each column, a result of more dims, a real result.
  CHECK(GroupsOf(kParameters + "a = DequantizeLinear(x, s, zx)\nm = Mul(a, v)\ny = QuantizeLinear(m, s, zx)\n"
                               "output y\n")
            .empty());
  CHECK(GroupsOf(kParameters + "const w float32[1,1,1] value 2\na = DequantizeLinear(x, s, zx)\nm = Mul(a, w)\n"
                               "y = QuantizeLinear(m, s, zx)\noutput y\n")
            .empty());
  CHECK(GroupsOf(kParameters + "a = DequantizeLinear(x, s, zx)\nm = Tanh(a)\noutput m\n").empty());
}

// ---- quantising within expressions ----

// Every exponent and sign, and numbers around all halves of a scale.
Tensor Reals(float scale, bool is_signed) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 404977)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (int half = is_signed ? -600 : -20; half < 1100; ++half) {
    float near = static_cast<float>(half) * 0.5F * scale;
    for (int step = 0; step < 3; ++step) near = std::nextafterf(near, -HUGE_VALF);
    for (int step = 0; step < 7; ++step, near = std::nextafterf(near, HUGE_VALF)) x.push_back(near);
  }
  return Tensor::Float32({static_cast<int64_t>(x.size())}, x);
}

TEST_CASE("HostQuantisation, IsExactInEveryInstructionSetOverTheWholeRange", "[host]") {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    INFO(hwy::TargetName(target));
    for (const float scale : {1.0F, 0.0625F, 0.1F, 0.0173F, 3.7e-5F, 1.7e11F, 1.1e-17F}) {
      for (const std::string type : {"uint8", "int8"}) {
        for (const int zero : {0, 5, 127}) {
          const Tensor x = Reals(scale, type == "int8");
          const std::string n = std::to_string(x.dims()[0]);
          std::ostringstream text;
          text << "input x float32[" << n << "]\nconst s float32[] value " << std::setprecision(9) << scale
               << "\nconst z " << type << "[] value " << zero << "\ny = QuantizeLinear(x, s, z)\noutput y\n";
          INFO(text.str());
          CheckAgainstReference(TypedText(text.str()), {x}, 0);
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("HostQuantisation, DequantisesEveryByteExactly", "[host]") {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const auto& [type, zero] : {std::pair(DataType::kUint8, 77), std::pair(DataType::kInt8, -77)}) {
      const std::string name(DataTypeName(type));
      CheckAgainstReference(
          TypedText("input x " + name + "[300]\nconst s float32[] value 0.0371\nconst z " + name + "[] value " +
                    std::to_string(zero) + "\ny = DequantizeLinear(x, s, z)\noutput y\n"),
          {AllBytes(type, {300})}, 0);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("HostQuantisation, SumsAndProductsOfBytesAreExact", "[host]") {
  const std::string parameters =
      "const s float32[] value 0.046\nconst zx uint8[] value 121\nconst t float32[] value 0.031\n"
      "const zy int8[] value 11\n";
  for (const char* op : {"Add", "Mul", "Sub", "Max"}) {
    for (const char* dims : {"2,32,5,7", "2,32,1,1", "1,1,5,7"}) {
      const std::string text = "input x uint8[2,32,5,7]\ninput r uint8[" + std::string(dims) + "]\n" + parameters +
                               "a = DequantizeLinear(x, s, zx)\nb = DequantizeLinear(r, t, zx)\nc = " + op +
                               "(a, b)\nd = Relu(c)\ny = QuantizeLinear(d, t, zy)\noutput y\n";
      INFO(text);
      const Graph graph = TypedText(text);
      const std::vector<Tensor> inputs{AllBytes(DataType::kUint8, {2, 32, 5, 7}),
                                       AllBytes(DataType::kUint8, *graph.value(graph.inputs()[1]).type.static_dims())};
      const bool whole = std::string_view(dims) == "2,32,5,7";
      std::vector<NodeId> nodes;
      for (const size_t n : whole ? Nodes{0, 1, 2, 3, 4} : Nodes{0, 2, 3, 4})
        nodes.emplace_back(static_cast<uint32_t>(n));
      CHECK(CheckGroup(graph, nodes, inputs, 0).size() == 3);
    }
  }
}

// Of a stretch from bytes to bytes one step is offered, and no part; where real numbers come in, parts are.
TEST_CASE("HostLibrary, OffersStretchesFromBytesToBytesAsOneStep", "[host]") {
  const Graph graph = TypedText(kParameters + "input real float32[2,3]\n" + kSilu +
                                "f = DequantizeLinear(y, s, zx)\ng = DequantizeLinear(r, s, zx)\nh = Add(f, g)\n"
                                "z = QuantizeLinear(h, s, zx)\ni = DequantizeLinear(z, s, zx)\nj = Add(i, real)\n"
                                "k = QuantizeLinear(j, s, zx)\noutput k\n");
  std::set<std::vector<size_t>> offered;
  for (const Candidate& candidate : HostLibrary()->Candidates(graph, MakeTestPlatform(4, false), Precision())) {
    Nodes nodes;
    for (NodeId node : candidate.nodes) nodes.push_back(node.index());
    offered.insert(nodes);
  }
  CHECK(offered ==
        std::set<Nodes>{{0, 1, 2, 3, 4, 5, 6}, {7, 8, 9, 10}, {11}, {12}, {13}, {11, 12}, {11, 12, 13}, {12, 13}});
}

}  // namespace
}  // namespace pt::testing::host_byte_function_test
