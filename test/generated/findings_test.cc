// Graphs that were drawn, and failed once: each as it was shrunk, on the way on which it failed.
#include <catch2/catch_test_macros.hpp>

#include "test/testing/generated/graph_check.h"
#include "test/testing/generated/prepared_case.h"
#include "test/testing/generated/setting.h"

namespace pt::testing::findings_test {
namespace {

Setting PlannedBy(const char* planner, const char* favourite, uint64_t cost_seed) {
  Setting setting;
  setting.planner = planner;
  setting.favourite = favourite;
  setting.cost_seed = cost_seed;
  return setting;
}

Setting OneByOne() {
  Setting setting;
  setting.way = Setting::Way::kCandidates;
  return setting;
}

void CheckRight(const char* text, const Setting& setting) {
  const Result<PreparedCase> prepared = Prepare(text);
  INFO(text << ToString(setting));
  REQUIRE(prepared.ok());
  GraphCheck check;
  CHECK(check.WhyWrong(*prepared, setting) == "");
}

}  // namespace

// The value that the nested graph reads is a slice of the concatenation: with one row, where it lies says nothing of
// it.
TEST_CASE("Drawn graphs, ANestedGraphReadsASliceOfARow", "[generated]") {
  Setting setting = PlannedBy("peft", "host", 135740);
  setting.nested = setting.device = true;
  CheckRight(
      "input v11 float32[1,1,1,1]\nconst c12 float32[32,1,3,3] random 12\nconst c15 float32[12,1,5,5] random 15\n"
      "const c19 float32[44,1,1,1] random 19\nconst c20 float32[44] random 20\ninput x22 float32[]\n"
      "v13 = Conv(v11, c12) pads=[1,1,1,1]\nv14 = Relu(v13)\nv16 = Conv(v11, c15) pads=[2,2,2,2]\nv17 = Relu(v16)\n"
      "v18 = Concat(v14, v17) axis=1\nv21 = Conv(v18, c19, c20) group=44\nv23 = Mul(v14, x22)\n"
      "v24 = DepthToSpace(v18) blocksize=2\noutput v21\noutput v23\noutput v24\n",
      setting);
}

// Sizes that a nested graph captures are not constant in it, and of a part that nobody wants no type says the size.
TEST_CASE("Drawn graphs, ASplitInANestedGraphLeavesOutAPart", "[generated]") {
  Setting setting = PlannedBy("random:136", "onednn", 463618);
  setting.nested = setting.device = true;
  setting.simplified = false;
  setting.cores = 1;
  CheckRight("input x1 int64[20,20,1]\nconst c2 int64[2] ints 18 2\nv3, _ = Split(x1, c2)\noutput v3\n", setting);
}

// The convolution still reads what the sum would use up: one buffer of integers, dequantised twice.
TEST_CASE("Drawn graphs, AQuantisedConvolutionIsAddedToItsOwnInput", "[generated]") {
  CheckRight(
      "input x6 int8[1,8,2,1]\nconst c7 float32[] value 0.0138590407\nconst c8 int8[] ints -5\n"
      "const c10 int8[8,1,3,3] whole 798626\nconst c11 float32[] value 0.00501604937\nconst c12 int8[] ints 0\n"
      "const c16 float32[] value 0.0111720132\nconst c17 int8[] ints 0\nv9 = DequantizeLinear(x6, c7, c8)\n"
      "v13 = DequantizeLinear(c10, c11, c12)\nv14 = Conv(v9, v13) pads=[1,1,1,1] group=8\nv15 = Add(v14, v9)\n"
      "v18 = QuantizeLinear(v15, c16, c17)\nv19 = DequantizeLinear(v18, c16, c17)\noutput v19\n",
      OneByOne());
}

// oneDNN's PRelu with a slope for each element, in place on two cores.
TEST_CASE("Drawn graphs, PReluWithASlopeForEachElementIsNotInPlace", "[generated]") {
  for (const uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    CheckRight(
        "input x1 float32[17,33]\nconst c2 float32[17,33] random 12\nv3 = Neg(x1)\nv4 = PRelu(v3, c2)\noutput v4\n",
        PlannedBy("search", "onednn", seed));
  }
}

// Parts of an empty tensor lay behind the end of a memory of no bytes.
TEST_CASE("Drawn graphs, PartsOfNothingTakeNoPlace", "[generated]") {
  Setting setting = PlannedBy("critical-path", "reference", 257291);
  setting.nested = true;
  CheckRight(
      "input x1 bool[1,1]\nconst c2 int64[2] ints 1 1\ninput x4 float32[1,64,1,3]\ninput x6 float32[1,3,3,1]\n"
      "const c8 int64[2] ints 0 3\nconst c10 int64[3] ints -1 2 15\ninput x12 int32[0,1]\nv3 = Tile(x1, c2)\n"
      "v5 = Transpose(x4) perm=[0,3,1,2]\nv7 = Concat(v5, x6, x6) axis=-2\nv9, _ = Split(v5, c8) axis=1\n"
      "v11 = Reshape(v7, c10)\nv13 = Squeeze(x12)\noutput v3\noutput v9\noutput v11\noutput v13\n",
      setting);
}

// Refused by the reference library.
TEST_CASE("Drawn graphs, HalvesAreReducedWhereTheyAreScattered", "[generated]") {
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    const std::string by = std::string(" reduction=\"") + reduction + "\"\n";
    const std::string text =
        "input x1 float16[6,4]\ninput x2 float16[2,4]\ninput x3 float16[1,4]\nconst c4 int64[2,1] ints 3 3\n"
        "const c5 int64[1,4] ints 1 0 5 5\nv6 = ScatterND(x1, c4, x2)" +
        by + "v7 = ScatterElements(x1, c5, x3)" + by + "output v6\noutput v7\n";
    CheckRight(text.c_str(), PlannedBy("search", "", 1));
  }
}

}  // namespace pt::testing::findings_test
