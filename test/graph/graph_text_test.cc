#include "partitiontuner/graph/graph_text.h"

#include <catch2/catch_test_macros.hpp>

namespace pt::graph_text_test {
namespace {

TEST_CASE("GraphText, ParseIsItsInverse", "[graph]") {
  const std::string text =
      "graph \"a net\"\n"
      "opset 21\n"
      "opset com.microsoft 1\n"
      "input x float32[1,3,N,?]\n"
      "input \"odd name\" int64[*]\n"
      "const w float32[4,3,3,3] value 0.5\n"
      "const shape int64[2] ints 1 -1\n"
      "const none float16[0,3] zeros\n"
      "y = Conv(x, w, _) auto_pad=\"SAME_UPPER\" pads=[1,1,1,1] : float32[1,4,?,?]\n"
      "z, _ = MaxPool(y) alpha=0.5 scales=[1.0,2.5] words=[\"a\",\"b \\\"c\\\"\"]\n"
      "q = com.microsoft.Gelu(z)\n"
      "output q\n"
      "output \"odd name\"\n";
  const auto graph = ParseGraph(text);
  REQUIRE(graph.ok());
  CHECK(GraphText(*graph) == text);
  const auto again = ParseGraph(GraphText(*graph));
  REQUIRE(again.ok());
  CHECK(ModelHash(*again) == ModelHash(*graph));
}

TEST_CASE("GraphText, ErrorsNameLineAndColumn", "[graph]") {
  const auto missing = ParseGraph("input x float32[1]\ny = Relu(x\noutput y");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message.find("line 2") != std::string::npos);
  CHECK(missing.error().message.find("column") != std::string::npos);
  CHECK_FALSE(ParseGraph("input x float33[1").ok());
  CHECK_FALSE(ParseGraph("const x float32[2] ints 1 2 3").ok());
  CHECK_FALSE(ParseGraph("const x float32[2] hash 00").ok());
  CHECK_FALSE(ParseGraph("const x float32[-2] zeros").ok());
  CHECK_FALSE(ParseGraph("const x float32[4611686018427387904,4] zeros").ok());
  CHECK_FALSE(ParseGraph("x = Relu(\"y").ok());
}

TEST_CASE("GraphText, NumbersThatATypeCannotHoldAreRefused", "[graph]") {
  const auto loads = [](const std::string& type, const std::string& number) {
    return ParseGraph("const c " + type + "[1] ints " + number + "\n").ok();
  };
  CHECK(loads("int8", "-128"));
  CHECK_FALSE(loads("int8", "-129"));
  CHECK_FALSE(loads("uint8", "256"));
  CHECK_FALSE(loads("uint64", "-1"));
  CHECK_FALSE(loads("int64", "9223372036854775808"));
  const Graph most = ParseGraph("const c int64[1] ints 9223372036854775807\n").value();
  CHECK(most.values()[0].constant->ToInts() == std::vector<int64_t>{INT64_MAX});
  CHECK_FALSE(loads("int64", std::string(75, '2')));
  CHECK_FALSE(loads("int32", "nan"));
  CHECK(ParseGraph("const c uint4[9] whole 7\n").ok());  // of bytes above 127 too
}

TEST_CASE("GraphText, RandomConstantsRepeatBySeed", "[graph]") {
  const auto one = ParseGraph("const w float32[64] random 7\noutput w");
  const auto same = ParseGraph("const w float32[64] random 7\noutput w");
  const auto other = ParseGraph("const w float32[64] random 8\noutput w");
  REQUIRE((one.ok() && same.ok() && other.ok()));
  CHECK(ModelHash(*one) == ModelHash(*same));
  CHECK(ModelHash(*one) != ModelHash(*other));
  for (float f : one->values()[0].constant->values<float>()) CHECK((f >= -1 && f < 1));
}

TEST_CASE("GraphHash, NamesAndWeightsDoNotCountShapesAndSmallIntegersDo", "[graph]") {
  const auto hash = [](const char* text) { return GraphHash(ParseGraph(text).value()); };
  const Hash128 base = hash("input x float32[8]\nconst w float32[8] random 1\ny = Add(x, w) a=1\noutput y");
  CHECK(base == hash("input xx float32[8]\nconst ww float32[8] random 2\nyy = Add(xx, ww) a=1\noutput yy"));
  CHECK(base != hash("input x float32[9]\nconst w float32[8] random 1\ny = Add(x, w) a=1\noutput y"));
  CHECK(base != hash("input x float32[8]\nconst w float32[8] random 1\ny = Add(x, w) a=2\noutput y"));
  CHECK(base != hash("input x float32[8]\nconst w float32[8] random 1\ny = Add(x, w) b=1\noutput y"));
  CHECK(base != hash("input x float32[8]\nconst w float32[8] random 1\ny = Mul(x, w) a=1\noutput y"));
  CHECK(base != hash("input x float32[8]\nconst w float32[8] random 1\ny = Add(w, x) a=1\noutput y"));
  const Hash128 ints = hash("input x float32[8]\nconst s int64[2] ints 2 4\ny = Reshape(x, s)\noutput y");
  CHECK(ints != hash("input x float32[8]\nconst s int64[2] ints 4 2\ny = Reshape(x, s)\noutput y"));
  const auto model = [](const char* text) { return ModelHash(ParseGraph(text).value()); };
  CHECK(model("const w float32[8] random 1\noutput w") != model("const w float32[8] random 2\noutput w"));
}

}  // namespace
}  // namespace pt::graph_text_test
