// Rewrites compute the same, and cut what they say.
#include "partitiontuner/transform/rewrites.h"

#include "test/transform/passes_lab.h"

namespace pt::testing::rewrites_test {
namespace {

Result<Graph> TryRewrite(const Graph& graph, const std::string& text) {
  const Result<Rewrites> rewrites = RewritesFromString(text);
  REQUIRE(rewrites.ok());
  CHECK(ToString(*rewrites) == text);
  return Rewrite(graph, *rewrites);
}

// The types that rewriting gives to values are those that inference finds.
void CheckTypes(const Graph& graph) {
  const Result<Graph> inferred = InferShapes(graph);
  INFO((inferred.ok() ? std::string() : ToString(inferred.error())));
  REQUIRE(inferred.ok());
  REQUIRE(inferred->values().size() == graph.values().size());
  for (size_t v = 0; v < graph.values().size(); ++v) {
    CHECK(ToString(inferred->values()[v].type) == ToString(graph.values()[v].type));
  }
}

Graph Rewritten(const Graph& graph, const std::string& text, float tolerance = 1e-5F) {
  Result<Graph> rewritten = TryRewrite(graph, text);
  INFO((rewritten.ok() ? std::string() : ToString(rewritten.error())));
  REQUIRE(rewritten.ok());
  CheckTypes(*rewritten);
  CheckSameResults(graph, *rewritten, tolerance);
  return *std::move(rewritten);
}

size_t Count(const Graph& graph, std::string_view op) {
  const Ops ops = Operators(graph);
  return static_cast<size_t>(std::count(ops.begin(), ops.end(), op));
}

// ---- Slices of time ----

std::string Weights(const std::string& op, int input, int hidden) {
  const int gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  const std::string rows = std::to_string(gates * hidden);
  return "const " + op + std::to_string(input) + "w float32[1," + rows + "," + std::to_string(input) + "] random 1\n" +
         "const " + op + std::to_string(input) + "r float32[1," + rows + "," + std::to_string(hidden) + "] random 2\n" +
         "const " + op + std::to_string(input) + "b float32[1," + std::to_string(2 * gates * hidden) + "] random 3\n";
}

TEST_CASE("SliceTime, EveryKindOfLayerInBothDirectionsWithAndWithoutStates", "[transform]") {
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    for (const std::string direction : {"forward", "reverse"}) {
      for (const bool states : {false, true}) {
        CAPTURE(op, direction, states);
        std::string text = "input x float32[7,2,3]\ninput h float32[1,2,4]\ninput c float32[1,2,4]\n";
        text += Weights(op, 3, 4);
        text += op == "LSTM" ? "y, yh, yc = " : "y, yh = ";
        text += op + "(x, " + op + "3w, " + op + "3r, " + op + "3b" + (states ? ", _, h" : "") +
                (states && op == "LSTM" ? ", c" : "") + ") hidden_size=4 direction=\"" + direction + "\"\n";
        text += op == "LSTM" ? "output y\noutput yh\noutput yc\n" : "output y\noutput yh\n";
        const Graph graph = Parsed(text);
        for (const int slices : {2, 3, 7}) {
          const Graph sliced = Rewritten(graph, "time-slices=" + std::to_string(slices));
          CHECK(Count(sliced, op) == static_cast<size_t>(slices));
          CHECK(Count(sliced, "Split") == 1);
          CHECK(Count(sliced, "Concat") == 1);
        }
      }
    }
  }
}

// Between layers nothing is joined: each slice of the second waits for that slice of the first alone.
TEST_CASE("SliceTime, CutsWhatTreatsAllStepsAlikeBetweenLayers", "[transform]") {
  const std::string begin = "input x float32[6,1,3]\n" + Weights("LSTM", 3, 4) + Weights("LSTM", 4, 4) +
                            "const one int64[1] ints 1\nconst m float32[4,4] random 4\nconst n float32[4] random 5\n"
                            "const s int64[3] ints 6 1 4\n"
                            "y = LSTM(x, LSTM3w, LSTM3r, LSTM3b) hidden_size=4\n";
  const std::string end = "z = LSTM(a, LSTM4w, LSTM4r, LSTM4b) hidden_size=4\noutput z\n";
  for (const std::string between :
       {"a = Squeeze(y, one)\n", "q = Squeeze(y, one)\np = MatMul(q, m)\no = Add(p, n)\na = Relu(o)\n",
        "a = Reshape(y, s)\n", "q = Squeeze(y, one)\na = LayerNormalization(q, n) axis=-1\n",
        "q = Transpose(y) perm=[0,2,1,3]\na = Reshape(q, s)\n"}) {
    CAPTURE(between);
    const Graph sliced = Rewritten(Parsed(begin + between + end), "time-slices=3");
    CHECK(Count(sliced, "LSTM") == 6);
    CHECK(Count(sliced, "Split") == 1);
    CHECK(Count(sliced, "Concat") == 1);
  }
  // These mix steps, or may: joined before and cut behind.
  for (const std::string between : {"q = Squeeze(y, one)\np = Transpose(q) perm=[1,0,2]\nr = Softmax(p) axis=1\na = "
                                    "Transpose(r) perm=[1,0,2]\n",
                                    "q = Squeeze(y, one)\na = Softmax(q) axis=0\n"}) {
    CAPTURE(between);
    const Graph sliced = Rewritten(Parsed(begin + between + end), "time-slices=3");
    CHECK(Count(sliced, "LSTM") == 6);
    CHECK(Count(sliced, "Split") == 2);
    CHECK(Count(sliced, "Concat") == 2);
  }
}

TEST_CASE("SliceTime, WhatIsReadElsewhereTooStaysJoined", "[transform]") {
  const Graph graph = Parsed("input x float32[6,1,3]\n" + Weights("LSTM", 3, 4) + Weights("LSTM", 4, 4) +
                             "const one int64[1] ints 1\ny, yh = LSTM(x, LSTM3w, LSTM3r, LSTM3b) hidden_size=4\n"
                             "a = Squeeze(y, one)\nz = LSTM(a, LSTM4w, LSTM4r, LSTM4b) hidden_size=4\n"
                             "b = Relu(a)\noutput z\noutput b\noutput yh\n");
  const Graph sliced = Rewritten(graph, "time-slices=2");
  CHECK(Count(sliced, "LSTM") == 4);
  CHECK(Count(sliced, "Squeeze") == 3);
  CHECK(Count(sliced, "Concat") == 2);
}

TEST_CASE("SliceTime, LayersThatCannotBeCutStayWhole", "[transform]") {
  const std::string two =
      "input x float32[6,1,3]\nconst w float32[2,16,3] random 1\n"
      "const r float32[2,16,4] random 2\ny = LSTM(x, w, r) hidden_size=4 "
      "direction=\"bidirectional\"\noutput y\n";
  const std::string lengths = "input x float32[6,1,3]\nconst l int32[1] ints 4\n" + Weights("GRU", 3, 4) +
                              "y = GRU(x, GRU3w, GRU3r, GRU3b, l) hidden_size=4\noutput y\n";
  const std::string brief =
      "input x float32[2,1,3]\n" + Weights("GRU", 3, 4) + "y = GRU(x, GRU3w, GRU3r, GRU3b) hidden_size=4\noutput y\n";
  for (const std::string& text : {two, lengths, brief, std::string("input x float32[2]\ny = Relu(x)\noutput y\n")}) {
    CAPTURE(text);
    const Result<Graph> rewritten = TryRewrite(Parsed(text), "time-slices=3");
    REQUIRE_FALSE(rewritten.ok());
    CHECK(rewritten.error().code == ErrorCode::kUsage);
    CHECK(rewritten.error().id == "rewrite.time_slices");
  }
}

// ---- Parts of operators ----

TEST_CASE("SplitNodes, ConvolutionsByOutputChannelsWithWhatIsElementwiseBehind", "[transform]") {
  const std::string begin =
      "input x float32[1,3,5,5]\nconst w float32[32,3,3,3] random 1\nconst b float32[32] random 2\n"
      "const k float32[32,1,1] random 3\nconst one float32[1] value 2\n";
  for (const std::string behind :
       {"c = Conv(x, w, b)\noutput c\n", "c = Conv(x, w)\nd = Relu(c)\noutput d\n",
        "c = Conv(x, w, b) strides=[2,2]\nd = Mul(c, k)\ne = Add(d, one)\nf = Tanh(e)\noutput f\n"}) {
    for (const int parts : {2, 3, 32}) {
      CAPTURE(behind, parts);
      const Graph split = Rewritten(Parsed(begin + behind), "split=c:" + std::to_string(parts));
      CHECK(Count(split, "Conv") == static_cast<size_t>(parts));
      CHECK(Count(split, "Concat") == 1);
      CHECK(split.nodes().back().op == "Concat");
    }
  }
  // In whole blocks of 16 where there are enough.
  const Graph split = Rewritten(Parsed(begin + "c = Conv(x, w, b)\noutput c\n"), "split=c:2");
  for (const Node& node : split.nodes()) {
    if (node.op == "Conv") CHECK(split.value(node.inputs[1]).constant->dims()[0] == 16);
  }
}

TEST_CASE("SplitNodes, ProductsByColumns", "[transform]") {
  const std::string begin =
      "input x float32[4,6]\nconst w float32[6,10] random 1\nconst t float32[10,6] random 2\n"
      "const b float32[10] random 3\nconst c float32[4,1] random 4\nconst d float32[4,10] random 5\n";
  for (const std::string product : {"y = MatMul(x, w)", "y = Gemm(x, w)", "y = Gemm(x, t, b) transB=1 alpha=0.5",
                                    "y = Gemm(x, w, c) beta=2.0", "y = Gemm(x, w, d)"}) {
    for (const int parts : {2, 3, 10}) {
      CAPTURE(product, parts);
      const Graph split = Rewritten(Parsed(begin + product + "\noutput y\n"), "split=y:" + std::to_string(parts));
      CHECK(Operators(split).size() == static_cast<size_t>(parts) + 1);
    }
  }
}

TEST_CASE("SplitNodes, ConvolutionsByRowsFromTheRowsTheyNeed", "[transform]") {
  const std::string begin =
      "input x float32[1,4,13,7]\nconst w float32[6,4,3,3] random 1\nconst g float32[8,1,5,3] random 2\n"
      "const b float32[6] random 3\nconst k float32[1,6,13,1] random 4\n";
  for (const std::string convolution :
       {"Conv(x, w, b)", "Conv(x, w) pads=[1,1,1,1]", "Conv(x, w) pads=[2,0,1,1] strides=[2,1]",
        "Conv(x, w) pads=[2,1,2,1] dilations=[2,1]", "Conv(x, w) strides=[3,2]", "Conv(x, g) group=4 pads=[2,1,2,1]",
        "Conv(x, w) auto_pad=\"VALID\""}) {
    for (const int parts : {2, 3, 4}) {
      CAPTURE(convolution, parts);
      const Graph split = Rewritten(Parsed(begin + "c = " + convolution + "\nd = Relu(c)\noutput d\n"),
                                    "split-rows=c:" + std::to_string(parts));
      CHECK(Count(split, "Conv") == static_cast<size_t>(parts));
      CHECK(Count(split, "Relu") == static_cast<size_t>(parts));
      CHECK(Count(split, "Slice") >= 1);
      CHECK(split.nodes().back().op == "Concat");
    }
  }
  // A constant behind it is cut where it has rows.
  const Graph split =
      Rewritten(Parsed(begin + "c = Conv(x, w) pads=[1,1,1,1]\nd = Mul(c, k)\noutput d\n"), "split-rows=c:2");
  CHECK(Count(split, "Mul") == 2);
  // One axis.
  Rewritten(Parsed("input x float32[2,3,20]\nconst w float32[5,3,4] random 1\nc = Conv(x, w) auto_pad=\"SAME_UPPER\"\n"
                   "output c\n"),
            "split-rows=c:3");
  Rewritten(Parsed("input x float32[2,3,20]\nconst w float32[5,3,4] random 1\nc = Conv(x, w) auto_pad=\"SAME_LOWER\" "
                   "strides=[3]\noutput c\n"),
            "split-rows=c:3");
}

TEST_CASE("SplitNodes, ProductsByRows", "[transform]") {
  const std::string begin =
      "input x float32[5,6]\ninput t float32[6,5]\ninput s float32[2,3,5,6]\nconst w float32[6,10] random 1\n"
      "const b float32[10] random 3\nconst c float32[5,1] random 4\nconst d float32[5,10] random 5\n"
      "const e float32[2,1,6,4] random 6\n";
  for (const std::string product : {"y = MatMul(x, w)", "y = Gemm(x, w, b)", "y = Gemm(t, w, c) transA=1 beta=2.0",
                                    "y = Gemm(x, w, d)", "y = MatMul(s, w)", "y = MatMul(s, e)"}) {
    for (const int parts : {2, 3, 5}) {
      CAPTURE(product, parts);
      const Graph split = Rewritten(Parsed(begin + product + "\noutput y\n"), "split-rows=y:" + std::to_string(parts));
      CHECK(Operators(split).size() == 2 * static_cast<size_t>(parts) + 1);
    }
  }
}

TEST_CASE("SplitNodes, WhatHasNoRowsOfItsOwnStaysWhole", "[transform]") {
  const Graph graph = Parsed(
      "input x float32[1,4,5,5]\ninput v float32[6]\nconst w float32[8,4,3,3] random 1\nconst m float32[6,7] random 2\n"
      "const k float32[8,4,1,1] random 3\nc1 = Conv(x, w)\nc2 = Conv(x, w) auto_pad=\"SAME_UPPER\"\n"
      "c3 = Conv(x, k) pads=[1,1,1,1]\ny = MatMul(v, m)\noutput c1\noutput c2\noutput c3\noutput y\n");
  const auto fault = [&](const std::string& text) {
    const Result<Graph> rewritten = TryRewrite(graph, text);
    REQUIRE_FALSE(rewritten.ok());
    CHECK(rewritten.error().code == ErrorCode::kUsage);
    return rewritten.error().message;
  };
  CHECK(fault("split-rows=c1:4").find("it has 3 rows") != std::string::npos);
  CHECK(fault("split-rows=c2:2").find("not given in numbers") != std::string::npos);
  CHECK(fault("split-rows=c3:2").find("made of padding alone") != std::string::npos);
  CHECK(fault("split-rows=y:2").find("no two matrices") != std::string::npos);
}

TEST_CASE("SplitFault, NodesWhoseFirstOutputIsLeftOutStayWhole", "[transform]") {
  const Graph graph = Parsed("input x float32[2,9]\nconst k int64[1] ints 3\n_, i = TopK(x, k)\noutput i\n");
  CHECK(SplitFault(graph, NodeId(0u), 2, SplitAxis::kRows) != "");
}

TEST_CASE("SplitNodes, APatternSplitsWhatItCan", "[transform]") {
  const Graph graph = Parsed(
      "input x float32[1,4,5,5]\nconst w float32[8,4,3,3] random 1\nconst v float32[8,1,3,3] random 2\n"
      "c1 = Conv(x, w)\nr = Relu(c1)\nc2 = Conv(r, v) group=8\noutput c2\n");
  const Graph split = Rewritten(graph, "split=c*:2");
  CHECK(Count(split, "Conv") == 3);
  const auto fault = [&](const std::string& text) {
    const Result<Graph> rewritten = TryRewrite(graph, text);
    REQUIRE_FALSE(rewritten.ok());
    CHECK(rewritten.error().code == ErrorCode::kUsage);
    return rewritten.error().message;
  };
  CHECK(fault("split=c2:2").find("it has groups") != std::string::npos);
  CHECK(fault("split=r:2").find("not a Conv, MatMul or Gemm") != std::string::npos);
  CHECK(fault("split=c1:9").find("8 output channels") != std::string::npos);
  CHECK(fault("split=nothing:2").find("no node is called so") != std::string::npos);
  CHECK(fault("split=c1:1").find("out of range") != std::string::npos);
}

// ---- Requests ----

TEST_CASE("RepeatRequests, SideBySideWithTheSameWeights", "[transform]") {
  const Graph graph = Parsed(
      "input x float32[2,3]\ninput y float32[3]\nconst w float32[3,4] random 1\n"
      "a = Add(x, y)\nb = MatMul(a, w)\noutput b\noutput a\n");
  const Result<Graph> three = TryRewrite(graph, "requests=3");
  REQUIRE(three.ok());
  CheckTypes(*three);
  CHECK(three->nodes().size() == 6);
  const auto names = [&](std::span<const ValueId> values) {
    std::vector<std::string> found;
    for (const ValueId value : values) found.push_back(three->value(value).name);
    return found;
  };
  CHECK(names(three->inputs()) == Ops{"x", "y", "x#1", "y#1", "x#2", "y#2"});
  CHECK(names(three->outputs()) == Ops{"b", "a", "b#1", "a#1", "b#2", "a#2"});
  size_t constants = 0;
  for (const Value& value : three->values()) constants += value.is_constant() ? 1 : 0;
  CHECK(constants == 1);
  // Inputs are drawn one after another, so that those of the first request are those of the graph.
  const std::vector<Tensor> one = RunOnReference(graph), all = RunOnReference(*three);
  REQUIRE(all.size() == 6);
  CHECK(all[0].content_hash() == one[0].content_hash());
  CHECK(all[1].content_hash() == one[1].content_hash());
  CHECK(all[2].content_hash() != one[0].content_hash());
}

TEST_CASE("Rewrites, AreTextAndBack", "[transform]") {
  Rewrites all;
  all.splits = {{"conv1*", 2}, {"a:b=c", 4, SplitAxis::kRows}};
  all.time_slices = 8;
  all.requests = 2;
  CHECK(ToString(all) == "split=conv1*:2, split-rows=a:b=c:4, time-slices=8, requests=2");
  CHECK(RewritesFromString(ToString(all)).value() == all);
  CHECK(RewritesFromString("requests=2,split=a:b=c:4").value().splits.size() == 1);
  CHECK(ToString(Rewrites()).empty());
  CHECK(RewritesFromString("").value().empty());
  for (const char* bad :
       {"slices=2", "time-slices", "time-slices=", "time-slices=2x", "requests=-1", "split=a", "split=:2",
        "split=a:", "split-rows=a", "split-columns=a:2", "requests=99999999999", ",", "requests=2,,"}) {
    CAPTURE(bad);
    const Result<Rewrites> rewrites = RewritesFromString(bad);
    REQUIRE_FALSE(rewrites.ok());
    CHECK(rewrites.error().code == ErrorCode::kUsage);
  }
  const Graph graph = Parsed("input x float32[2]\ny = Relu(x)\noutput y\n");
  for (const char* bad : {"time-slices=0", "requests=0", "requests=1025", "split=y:1"}) {
    CHECK_FALSE(Rewrite(graph, RewritesFromString(bad).value()).ok());
  }
}

}  // namespace
}  // namespace pt::testing::rewrites_test
