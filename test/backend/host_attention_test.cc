// Attention as one kernel of the host library against the reference library: sizes around the vectors' and the blocks',
// every way in which exporters write scales, masks and transpositions, and what only looks like attention.
#include <limits>
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_attention_test {
namespace {

std::string Dims(std::initializer_list<int> dims) {
  std::string text;
  for (int d : dims) text += (text.empty() ? "" : ",") + std::to_string(d);
  return "[" + text + "]";
}

// As BERT writes it: [batch, length, heads, size] and transpositions around the products.
std::string Bert(int batch, int queries, int keys, int heads, int depth, int size) {
  return "input q float32" + Dims({batch, queries, heads, depth}) + "\ninput k float32" +
         Dims({batch, keys, heads, depth}) + "\ninput v float32" + Dims({batch, keys, heads, size}) +
         "\ninput m float32" + Dims({batch, 1, 1, keys}) +
         "\nconst d float32[] value 2.5\na = Transpose(q) perm=[0,2,1,3]\nb = Transpose(k) perm=[0,2,3,1]\n"
         "c = Transpose(v) perm=[0,2,1,3]\ns = MatMul(a, b)\nt = Div(s, d)\nu = Add(t, m)\np = Softmax(u) axis=-1\n"
         "o = MatMul(p, c)\ny = Transpose(o) perm=[0,2,1,3]\noutput y\n";
}

// Between q [2,3,5,4], k [2,3,4,6], v [2,3,6,7]: `scores` are the lines from the product s to t.
std::string Plain(const std::string& inputs, const std::string& scores) {
  return "input q float32[2,3,5,4]\ninput k float32[2,3,4,6]\ninput v float32[2,3,6,7]\n" + inputs +
         "s = MatMul(q, k)\n" + scores + "p = Softmax(t) axis=3\ny = MatMul(p, v)\noutput y\n";
}

size_t CountCandidates(const std::string& text) {
  const Graph graph = TypedText(text);
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
  return HostLibrary()->CandidatesFor(graph, MakeTestPlatform(2, false), nodes, Precision()).size();
}

TEST_CASE("HostAttention, EverySizeAroundTheVectorsEqualsTheReference", "[host]") {
  for (int n = 1; n <= 40; ++n) {
    CheckText(Bert(1, n, 7, 2, 5, 6));
    CheckText(Bert(1, 3, n, 2, 5, 6));
    CheckText(Bert(1, 3, 7, 2, n, 6));
    CheckText(Bert(1, 3, 7, 2, 5, n));
  }
}

TEST_CASE("HostAttention, ASoftmaxOverSeveralDimsIsNotOne", "[host]") {
  const std::string text =
      "input q float32[2,3,5,4]\ninput k float32[2,3,4,6]\ninput v float32[2,3,6,7]\ns = MatMul(q, k)\n"
      "p = Softmax(s)\ny = MatMul(p, v)\noutput y\n";
  CHECK(CountCandidates(text) > 0);
  CHECK(CountCandidates("opset 12\n" + text) == 0);
}

TEST_CASE("HostAttention, RandomSizesEqualTheReference", "[host]") {
  const uint32_t seed = 20261;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](uint32_t most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 40; ++i) CheckText(Bert(upto(3), upto(90), upto(150), upto(4), upto(70), upto(70)));
}

TEST_CASE("HostAttention, MoreThanABlockOfRowsEqualsTheReference", "[host]") {
  CheckText(Bert(1, 300, 20, 1, 8, 8));
  CheckText(Bert(1, 9, 3001, 1, 3, 5));
  CheckText(Bert(3, 70, 65, 5, 64, 64));
}

TEST_CASE("HostAttention, EmptySizesEqualTheReference", "[host]") {
  CheckText(Bert(0, 4, 3, 2, 5, 6));
  CheckText(Bert(2, 0, 3, 2, 5, 6));
  CheckText(Bert(2, 4, 3, 2, 0, 6));
  CheckText(Bert(2, 4, 3, 2, 5, 0));
  CheckText(Bert(2, 4, 0, 2, 5, 6));
}

TEST_CASE("HostAttention, MasksOfEveryShapeEqualTheReference", "[host]") {
  for (const char* dims : {"[]", "[1]", "[6]", "[5,1]", "[5,6]", "[3,1,1]", "[2,1,1,6]", "[2,3,5,6]", "[1,3,5,1]"}) {
    CheckText(Plain(std::string("input m float32") + dims + "\n", "t = Add(s, m)\n"));
    CheckText(Plain(std::string("input m float32") + dims + "\n", "t = Add(m, s)\n"));
    CheckText(Plain(std::string("const o float32[] value -5\ninput m bool") + dims + "\n", "t = Where(m, s, o)\n"));
    CheckText(Plain(std::string("const o float32[1] value -5\ninput m bool") + dims + "\n", "t = Where(m, o, s)\n"));
  }
  CheckText(Plain("input m float32[5,6]\ninput n bool[2,1,1,6]\nconst o float32[] value -9\n",
                  "r = Add(s, m)\nt = Where(n, r, o)\n"));
  CheckText(Plain("const m float32[5,6] random 4\n", "t = Add(s, m)\n"));
}

TEST_CASE("HostAttention, ScalesInEveryPlaceEqualTheReference", "[host]") {
  const std::string number = "const c float32[] value 0.35\nconst d float32[1,1] value -3\n";
  CheckText(Plain(number, "t = Mul(s, c)\n"));
  CheckText(Plain(number, "t = Mul(c, s)\n"));
  CheckText(Plain(number, "t = Div(s, d)\n"));
  CheckText(Plain(number, "r = Div(s, d)\nt = Mul(c, r)\n"));
  CheckText(Plain(number + "input m float32[6]\n", "r = Div(s, d)\nw = Mul(c, r)\nt = Add(w, m)\n"));
  CheckText("input x float32[2,5,3,4]\ninput k float32[2,6,3,4]\ninput v float32[2,3,6,7]\n" + number +
            "a = Transpose(x) perm=[0,2,1,3]\nb = Mul(a, c)\ne = Mul(k, c)\nf = Transpose(e) perm=[0,2,3,1]\n"
            "s = MatMul(b, f)\np = Softmax(s) axis=-1\ny = MatMul(p, v)\noutput y\n");
}

TEST_CASE("HostAttention, RanksAndBatchesThatBroadcastEqualTheReference", "[host]") {
  const auto tail = "s = MatMul(q, b)\np = Softmax(s)\ny = MatMul(p, v)\noutput y\n";
  CheckText(std::string("input q float32[5,4]\ninput k float32[6,4]\ninput v float32[6,3]\nb = Transpose(k)\n") + tail);
  CheckText(std::string("input q float32[7,5,4]\ninput k float32[6,7,4]\ninput v float32[7,6,3]\n"
                        "b = Transpose(k) perm=[1,2,0]\n") +
            tail);
  CheckText(std::string("input q float32[2,1,3,5,4]\ninput k float32[8,1,6,4]\ninput v float32[6,3]\n"
                        "b = Transpose(k) perm=[0,1,3,2]\n") +
            tail);
  CheckText(std::string("input q float32[5,4]\ninput k float32[6,4]\ninput v float32[3,6,9]\nb = Transpose(k)\n") +
            tail);
}

TEST_CASE("HostAttention, TransposedResultsAreWrittenWhereTheyBelong", "[host]") {
  for (const char* perm : {"[0,1,3,2]", "[3,2,1,0]", "[1,0,2,3]"}) {
    CheckText(
        "input q float32[2,3,5,4]\ninput k float32[2,3,4,6]\ninput v float32[2,3,6,7]\ns = MatMul(q, k)\n"
        "p = Softmax(s)\no = MatMul(p, v)\ny = Transpose(o) perm=" +
        std::string(perm) + "\noutput y\n");
  }
}

TEST_CASE("HostAttention, MaskedAndInfiniteScoresEqualTheReference", "[host]") {
  const Graph graph = TypedText(Plain("input m float32[5,6]\n", "t = Add(s, m)\n"));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> mask(30, 0);
  for (size_t i = 0; i < 12; ++i) mask[i] = i < 5 || i == 7 ? -kInfinity : 0;
  mask[13] = -3.4e38F;
  mask[20] = kInfinity;
  mask[26] = std::numeric_limits<float>::quiet_NaN();
  for (size_t i = 24; i < 26; ++i) mask[i] = -kInfinity;
  CheckAgainstReference(
      graph, {RandomTensor(DataType::kFloat32, {2, 3, 5, 4}, 1), RandomTensor(DataType::kFloat32, {2, 3, 4, 6}, 2),
              RandomTensor(DataType::kFloat32, {2, 3, 6, 7}, 3), Tensor::Float32({5, 6}, mask)});
  std::fill(mask.begin(), mask.end(), -kInfinity);
  CheckAgainstReference(
      graph, {RandomTensor(DataType::kFloat32, {2, 3, 5, 4}, 1), RandomTensor(DataType::kFloat32, {2, 3, 4, 6}, 2),
              RandomTensor(DataType::kFloat32, {2, 3, 6, 7}, 3), Tensor::Float32({5, 6}, mask)});
}

std::string Operator(const std::string& q, const std::string& k, const std::string& v, const std::string& more,
                     const std::string& attributes, const std::string& mask = "") {
  return "input q float32" + q + "\ninput k float32" + k + "\ninput v float32" + v + "\n" + more +
         "y = Attention(q, k, v" + mask + ")" + attributes + "\noutput y\n";
}

// As Gemma has it: before the masks, with the scale before or within the quotient.
TEST_CASE("HostAttention, ScoresThatAreCappedEqualTheReference", "[host]") {
  const std::string numbers =
      "const cap float32[] value 0.7\nconst other float32[] value 0.3\ninput m float32[5,6]\n"
      "input n bool[2,1,1,6]\nconst o float32[] value -9\n";
  const auto capped = [&](const std::string& scores, const std::string& masks) {
    return Plain(numbers, scores + "b = Tanh(a)\nc = Mul(b, cap)\n" + masks);
  };
  for (const char* scores : {"a = Div(s, cap)\n", "a = Mul(other, s)\n", "e = Div(s, other)\na = Div(e, cap)\n"}) {
    for (const char* masks : {"t = Add(c, m)\n", "t = Add(m, c)\n", "d = Add(c, m)\nt = Where(n, d, o)\n"}) {
      CheckText(capped(scores, masks));
    }
  }
  CheckText(Plain(numbers, "a = Div(s, cap)\nb = Tanh(a)\nt = Mul(cap, b)\n"));
  // Several tiles of keys.
  CheckText(
      "input q float32[1,3,4]\ninput k float32[1,4,2300]\ninput v float32[1,2300,5]\nconst c float32[] value 2\n"
      "s = MatMul(q, k)\na = Div(s, c)\nb = Tanh(a)\nt = Mul(b, c)\np = Softmax(t) axis=-1\ny = MatMul(p, v)\n"
      "output y\n");
  // Scaled behind the cap, and capped twice or by less than nothing.
  const std::string twice = "a = Div(s, cap)\nb = Tanh(a)\nc = Mul(b, cap)\n";
  CHECK(CountCandidates(Plain(numbers, twice + "d = Mul(c, other)\nt = Add(d, m)\n")) == 0);
  CHECK(CountCandidates(Plain(numbers, twice + "d = Tanh(c)\ne = Mul(d, other)\nt = Add(e, m)\n")) == 0);
  CHECK(CountCandidates(Plain("const cap float32[] value -2\n", "b = Tanh(s)\nt = Mul(b, cap)\n")) == 0);
}

// As torch exports a boolean mask that may hide all keys of a query.
TEST_CASE("HostAttention, WeightsThatAreNotNumbersAreZerosWhereTheModelSaysSo", "[host]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const int queries : {1, 3, 20}) {
    for (const int keys : {1, 6, 40}) {
      const std::string q = std::to_string(queries), k = std::to_string(keys);
      const Graph graph = TypedText("input q float32[2," + q + ",4]\ninput k float32[2,4," + k +
                                    "]\ninput v float32[2," + k + ",7]\ninput m float32[2," + q + "," + k +
                                    "]\nconst zero float32[1] zeros\ns = MatMul(q, k)\nt = Add(s, m)\n"
                                    "p = Softmax(t) axis=-1\nn = IsNaN(p)\nw = Where(n, zero, p)\n"
                                    "y = MatMul(w, v)\noutput y\n");
      std::vector<Tensor> inputs = SeededInputs(graph);
      std::vector<float> mask(static_cast<size_t>(2 * queries * keys), 0);
      for (size_t i = 0; i < mask.size(); ++i) {
        const size_t row = i / static_cast<size_t>(keys);
        const bool last = i % static_cast<size_t>(keys) + 1 == static_cast<size_t>(keys);
        if (row % 4 == 0) mask[i] = -kInfinity;
        if (row % 4 == 1 && last) mask[i] = kNan;
        if (row % 4 == 2 && last) mask[i] = kInfinity;
      }
      inputs[3] = Tensor::Float32({2, queries, keys}, mask);
      CheckAgainstReference(graph, inputs);
    }
  }
  // Ones instead of zeros, and the weights of another softmax.
  const auto other = [](const std::string& where) {
    return CountCandidates(
        "input q float32[2,3,4]\ninput k float32[2,4,5]\ninput v float32[2,5,7]\n"
        "const one float32[1] ones\nconst zero float32[1] zeros\ninput r float32[2,3,5]\n"
        "s = MatMul(q, k)\np = Softmax(s) axis=-1\nn = IsNaN(p)\n" +
        where + "y = MatMul(w, v)\noutput y\n");
  };
  CHECK(other("w = Where(n, zero, p)\n") > 0);
  CHECK(other("w = Where(n, one, p)\n") == 0);
  CHECK(other("w = Where(n, p, zero)\n") == 0);
}

TEST_CASE("HostAttention, TheOperatorEqualsTheReference", "[host]") {
  const std::string q4 = "[2,3,5,4]", k4 = "[2,3,6,4]", v4 = "[2,3,6,7]";
  CheckText(Operator(q4, k4, v4, "", ""));
  CheckText(Operator(q4, k4, v4, "", " scale=0.3"));
  CheckText(Operator("[2,5,12]", "[2,6,12]", "[2,6,21]", "", " q_num_heads=3 kv_num_heads=3"));
  CheckText(Operator("[2,5,12]", "[2,5,12]", "[2,5,6]", "", " q_num_heads=3 kv_num_heads=3 is_causal=1"));
  CheckText(Operator("[1,2,70,4]", "[1,2,70,4]", "[1,2,70,9]", "input m float32[70,70]\n", " is_causal=1", ", m"));
  for (const char* dims : {"[5,6]", "[3,5,6]", "[2,1,5,6]", "[2,3,5,6]", "[1,6]"}) {
    CheckText(Operator(q4, k4, v4, std::string("input m float32") + dims + "\n", "", ", m"));
    CheckText(Operator(q4, k4, v4, std::string("input m bool") + dims + "\n", "", ", m"));
  }
}

TEST_CASE("HostAttention, TheOperatorGivesZerosWhereAQuerySeesNothing", "[host]") {
  const Graph graph = TypedText(Operator("[1,2,5,4]", "[1,2,6,4]", "[1,2,6,7]", "input m bool[5,6]\n", "", ", m"));
  std::string mask(30, '\1');
  for (size_t i = 6; i < 18; ++i) mask[i] = 0;
  mask[29] = 0;
  CheckAgainstReference(
      graph,
      {RandomTensor(DataType::kFloat32, {1, 2, 5, 4}, 1), RandomTensor(DataType::kFloat32, {1, 2, 6, 4}, 2),
       RandomTensor(DataType::kFloat32, {1, 2, 6, 7}, 3), Tensor::FromBytes(DataType::kBool, {5, 6}, mask).value()});
}

TEST_CASE("HostAttention, WindowsAndCapsEqualTheReference", "[host]") {
  for (const char* attributes : {" softcap=2.0", " is_causal=1", " is_causal=1 softcap=0.5", " left_window_size=2",
                                 " left_window_size=1 right_window_size=2", " right_window_size=0",
                                 " is_causal=1 left_window_size=0", " left_window_size=100 right_window_size=90"}) {
    CheckText(Operator("[2,3,5,4]", "[2,3,6,4]", "[2,3,6,7]", "", attributes));
    CheckText(Operator("[2,6,5,4]", "[2,3,9,4]", "[2,3,9,7]", "input m float32[2,1,5,9]\n", attributes, ", m"));
    CheckText(Operator("[1,2,70,4]", "[1,1,70,4]", "[1,1,70,9]", "", attributes));
    CheckText(Operator("[1,6,1,4]", "[1,2,9,4]", "[1,2,9,7]", "", attributes));
  }
}

TEST_CASE("HostAttention, HeadsThatShareKeysEqualTheReference", "[host]") {
  for (const int queries : {1, 2, 4, 5, 9, 20}) {
    for (const int each : {1, 2, 3, 4, 7, 9}) {
      const std::string q = Dims({2, 2 * each, queries, 16}), kv = Dims({2, 2, 21, 16});
      CheckText(Operator(q, kv, kv, "", ""));
      CheckText(Operator(q, kv, kv, "input m float32" + Dims({2, 2 * each, queries, 21}) + "\n", "", ", m"));
      CheckText(Operator(q, kv, kv, "input m bool" + Dims({queries, 21}) + "\n", " is_causal=1", ", m"));
      CheckText(Operator(Dims({2, queries, 2 * each * 16}), "[2,21,32]", "[2,21,32]", "",
                         " q_num_heads=" + std::to_string(2 * each) + " kv_num_heads=2"));
    }
  }
}

// Keys and values repeated for the query heads, as exporters spell it out.
std::string Repeated(int each, int queries, int keys, const std::string& mask) {
  const std::string whole = Dims({2, 3, each, keys, 8}), flat = Dims({2, 3 * each, keys, 8});
  const auto repeat = [&](const std::string& x) {
    return "input " + x + " float32" + Dims({2, 3, keys, 8}) + "\n" + x + "u = Unsqueeze(" + x + ", axis)\n" + x +
           "e = Expand(" + x + "u, whole)\n" + x + "r = Reshape(" + x + "e, flat)\n";
  };
  const auto ints = [](std::string dims) {
    for (char& c : dims) c = c == ',' ? ' ' : c;
    return dims.substr(1, dims.size() - 2);
  };
  return "input q float32" + Dims({2, queries, 3 * each, 8}) + "\n" + mask +
         "const axis int64[1] ints 2\nconst whole " + "int64[5] ints " + ints(whole) + "\nconst flat int64[4] ints " +
         ints(flat) + "\nconst d float32[] value 2.8\n" + repeat("k") + repeat("v") +
         "a = Transpose(q) perm=[0,2,1,3]\nb = Transpose(kr) perm=[0,1,3,2]\ns = MatMul(a, b)\nt = Div(s, d)\n" +
         "w = Add(t, m)\np = Softmax(w) axis=-1\n" + "o = MatMul(p, vr)\ny = Transpose(o) perm=[0,2,1,3]\noutput y\n";
}

TEST_CASE("HostAttention, RepeatedHeadsEqualTheReference", "[host]") {
  for (const int each : {2, 4, 5}) {
    for (const int queries : {1, 3, 20}) {
      for (const std::string& dims : {Dims({2, 1, queries, 21}), Dims({1, 21}), Dims({3 * each, queries, 21})})
        CheckText(Repeated(each, queries, 21, "input m float32" + dims + "\n"));
    }
  }
}

// Queries and new tokens behind a past, whose cache goes on.
std::string Cached(int heads, int kv_heads, int past, int fresh, int size, const std::string& inputs,
                   const std::string& attributes, const std::string& mask = "") {
  const std::string kv = Dims({2, kv_heads, fresh, size}), before = Dims({2, kv_heads, past, size});
  return "input q float32" + Dims({2, heads, fresh, size}) + "\ninput k float32" + kv + "\ninput v float32" + kv +
         "\ninput pk float32" + before + "\ninput pv float32" + before + "\n" + inputs +
         "y, nk, nv = Attention(q, k, v, " + (mask.empty() ? "_" : mask) + ", pk, pv)" + attributes +
         "\noutput y\noutput nk\noutput nv\n";
}

TEST_CASE("HostAttention, CachesEqualTheReference", "[host]") {
  for (const int past : {0, 1, 15, 16, 17, 100}) {
    for (const int fresh : {1, 2, 5, 12}) {
      CheckText(Cached(2, 2, past, fresh, 8, "", ""));
      CheckText(Cached(6, 2, past, fresh, 16, "", " is_causal=1"));
      CheckText(Cached(4, 1, past, fresh, 5, "input m float32" + Dims({2, 1, fresh, past + fresh}) + "\n", "", "m"));
      CheckText(Cached(4, 2, past, fresh, 7, "", " is_causal=1 left_window_size=3 softcap=3.0"));
    }
  }
  CheckText(
      "input q float32[1,1,32]\ninput k float32[1,1,16]\ninput v float32[1,1,16]\ninput pk float32[1,2,9,8]\n"
      "input pv float32[1,2,9,8]\ny, nk, nv = Attention(q, k, v, _, pk, pv) q_num_heads=4 kv_num_heads=2\n"
      "output y\noutput nk\noutput nv\n");
}

TEST_CASE("HostAttention, PartsOfTheOperatorThatItDoesNotHaveAreLeftToOthers", "[host]") {
  const std::string q = "[2,3,5,4]", k = "[2,3,6,4]", v = "[2,3,6,7]";
  CHECK(CountCandidates(Operator(q, k, v, "", "")) > 0);
  CHECK(CountCandidates(Operator(q, k, v, "input m float32[5,4]\n", "", ", m")) == 0);
}

TEST_CASE("HostAttention, OfferedAsOneGroupWithItsTranspositions", "[host]") {
  const Graph graph = TypedText(Bert(1, 4, 5, 2, 8, 8));
  size_t whole = 0;
  for (const Candidate& candidate : HostLibrary()->Candidates(graph, MakeTestPlatform(1, false), Precision())) {
    if (candidate.nodes.size() == graph.nodes().size()) ++whole;
  }
  CHECK(whole == 1);
}

TEST_CASE("HostAttention, WhatOnlyLooksLikeItIsNotOffered", "[host]") {
  CHECK(CountCandidates(Plain("", "t = Identity(s)\n")) == 0);
  CHECK(CountCandidates(Plain("input m float32[6]\n", "t = Add(s, m)\n")) > 0);
  // A scale behind a mask, scales that are no numbers or too far from 1, numbers that are not constant.
  CHECK(CountCandidates(Plain("input m float32[6]\nconst c float32[] value 2\n", "r = Add(s, m)\nt = Mul(r, c)\n")) ==
        0);
  for (const char* bad : {"0", "1e-9", "1e9"}) {
    CHECK(CountCandidates(Plain("const c float32[] value " + std::string(bad) + "\n", "t = Mul(s, c)\n")) == 0);
  }
  CHECK(CountCandidates(Plain("input c float32[]\n", "t = Mul(s, c)\n")) == 0);
  CHECK(CountCandidates(Plain("const c float32[6] random 1\n", "t = Mul(s, c)\n")) == 0);
  CHECK(CountCandidates(Plain("const c float32[] value 2\n", "t = Div(c, s)\n")) == 0);
  CHECK(CountCandidates(Plain("", "t = Add(s, s)\n")) == 0);
  const std::string head = "input q float32[5,4]\ninput k float32[4,6]\ninput v float32[6,7]\ns = MatMul(q, k)\n";
  CHECK(CountCandidates(head + "p = Softmax(s)\ny = MatMul(p, v)\noutput y\n") > 0);
  CHECK(CountCandidates(head + "p = Softmax(s)\ny = MatMul(p, v)\noutput y\noutput p\n") == 0);
  CHECK(CountCandidates(head + "p = Softmax(s)\ny = MatMul(p, v)\noutput y\noutput s\n") == 0);
  CHECK(CountCandidates(head + "p = Softmax(s) axis=0\ny = MatMul(p, v)\noutput y\n") == 0);
  CHECK(CountCandidates("input q float32[6,6]\ninput k float32[6,6]\ns = MatMul(q, k)\np = Softmax(s)\n"
                        "y = MatMul(k, p)\noutput y\n") == 0);
}

}  // namespace
}  // namespace pt::testing::host_attention_test
