// Strings in runs: what operators make of them, where they live, and what is refused.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <thread>

#include "partitiontuner/engine/verify.h"
#include "test/testing/host_lab.h"

namespace pt::testing::strings_test {
namespace {

Tensor Strings(std::vector<int64_t> dims, std::vector<std::string> strings) {
  return Tensor::FromStrings(std::move(dims), std::move(strings)).value();
}

std::vector<std::string> TextsOf(const Tensor& tensor) { return {tensor.strings().begin(), tensor.strings().end()}; }

using Texts = std::vector<std::string>;

// The only output of a graph of one input line, one node and its output "y".
Result<std::vector<Tensor>> RunNode(const std::string& inputs, const std::string& node,
                                    const std::vector<Tensor>& given) {
  HostLab lab;
  const std::string outputs = node.starts_with("StringSplit") ? "y, counts" : "y";
  const auto session = lab.Open(TypedGraph(inputs + outputs + " = " + node + "\noutput y\n"), 1);
  return RunOnce(*session, given);
}

Tensor ResultOf(const std::string& inputs, const std::string& node, const std::vector<Tensor>& given) {
  CAPTURE(node);
  auto results = RunNode(inputs, node, given);
  if (!results.ok()) FAIL(ToString(results.error()));
  return results->at(0);
}

}  // namespace

TEST_CASE("Strings, AnyBytesPassThroughAChainOfSteps", "[exec]") {
  const auto seed = GENERATE(range(1U, 5U));
  const bool sequential = GENERATE(false, true);
  CAPTURE(seed, sequential);
  HostLab lab;
  SessionOptions options;
  options.sequential = sequential;
  const auto session = lab.Open(TypedGraph("input a string[2,2]\n"
                                           "input b string[2]\n"
                                           "c = StringConcat(a, b)\n"
                                           "t = Transpose(c) perm=[1,0]\n"
                                           "d = StringConcat(t, t)\n"
                                           "same = Equal(c, d)\n"
                                           "output t\n"
                                           "output d\n"
                                           "output same\n"
                                           "output a\n"),
                                seed, options);
  const std::string odd("\0\xff\xfe", 3);
  for (int run = 0; run < 3; ++run) {
    const Tensor a = Strings({2, 2}, {"", odd, "grün", std::string(1000, 'x')});
    const auto results = RunOnce(*session, {a, Strings({2}, {"", "1"})});
    if (!results.ok()) FAIL(ToString(results.error()));
    const Texts t = {"", "grün", odd + "1", std::string(1000, 'x') + "1"};
    CHECK(TextsOf((*results)[0]) == t);
    CHECK(TextsOf((*results)[1]) == Texts{"", "grüngrün", t[2] + t[2], t[3] + t[3]});
    CHECK((*results)[2].ToInts() == std::vector<int64_t>{1, 0, 0, 0});
    CHECK(SameBits((*results)[3], a));
  }
}

// Tables are made in a node's first run and kept: what comes in does not matter to them.
TEST_CASE("Strings, TablesOfLabelsHoldFromRunToRun", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(
      TypedGraph(
          "opset ai.onnx.ml 4\ninput x int64[3]\n"
          "names = ai.onnx.ml.CategoryMapper(x) cats_int64s=[1,2,7] cats_strings=[\"one\",\"two\",\"seven\"]\n"
          "back = ai.onnx.ml.CategoryMapper(names) cats_int64s=[1,2,8] cats_strings=[\"one\",\"two\",\"seven\"]\n"
          "y = ai.onnx.ml.LabelEncoder(back) keys_int64s=[1,8,1] values_floats=[0.5,4.0,1.5] default_float=-2.0\n"
          "output names\noutput y\n"),
      1);
  struct Case {
    std::vector<int64_t> given;
    Texts names;
    std::vector<float> values;
  };
  const std::vector<Case> cases = {{{1, 2, 7}, {"one", "two", "seven"}, {1.5F, -2, 4}},
                                   {{7, 7, 3}, {"seven", "seven", "_Unused"}, {4, 4, -2}},
                                   {{0, 1, -1}, {"_Unused", "one", "_Unused"}, {-2, 1.5F, -2}}};
  for (const Case& c : cases) {
    const auto results = RunOnce(*session, {Tensor::Int64({3}, c.given)});
    if (!results.ok()) FAIL(ToString(results.error()));
    CHECK(TextsOf((*results)[0]) == c.names);
    const auto values = (*results)[1].values<float>();
    CHECK(std::vector<float>(values.begin(), values.end()) == c.values);
  }
}

TEST_CASE("Strings, MovingOperatorsTreatThemAsTheyTreatNumbers", "[exec]") {
  const Tensor six = Strings({2, 3}, {"a", "b", "c", "d", "e", "f"});
  const std::string in = "input x string[2,3]\n";
  CHECK(TextsOf(ResultOf(in + "const i int64[2] ints 1 -1\n", "Gather(x, i) axis=1", {six})) ==
        Texts{"b", "c", "e", "f"});
  CHECK(TextsOf(ResultOf(in + "const s int64[1] ints -1\n", "Reshape(x, s)", {six})) == TextsOf(six));
  CHECK(TextsOf(ResultOf(in + "const r int64[2] ints 1 2\n", "Tile(x, r)", {six})) ==
        Texts{"a", "b", "c", "a", "b", "c", "d", "e", "f", "d", "e", "f"});
  CHECK(TextsOf(ResultOf(in + "const b int64[1] ints 2\nconst e int64[1] ints -9\nconst a int64[1] ints 1\n"
                              "const s int64[1] ints -2\n",
                         "Slice(x, b, e, a, s)", {six})) == Texts{"c", "a", "f", "d"});
  CHECK(TextsOf(ResultOf(in + "const p int64[4] ints 0 1 0 0\n", "Pad(x, p)", {six})) ==
        Texts{"", "a", "b", "c", "", "d", "e", "f"});
  CHECK(TextsOf(ResultOf(in + "input z string[2,1]\n", "Concat(z, x) axis=1", {six, Strings({2, 1}, {"y", "z"})})) ==
        Texts{"y", "a", "b", "c", "z", "d", "e", "f"});
  CHECK(TextsOf(ResultOf(in + "input c bool[3]\ninput z string[]\n", "Where(c, x, z)",
                         {six, Tensor::FromBytes(DataType::kBool, {3}, std::string("\1\0\1", 3)).value(),
                          Strings({}, {"?"})})) == Texts{"a", "?", "c", "d", "?", "f"});
  CHECK(TextsOf(ResultOf(in, "Trilu(x)", {six})) == Texts{"a", "b", "c", "", "e", "f"});
  CHECK(TextsOf(ResultOf(in + "const s int64[2] ints 4 1\n", "CenterCropPad(x, s)", {six})) == Texts{"", "b", "e", ""});
  CHECK(TextsOf(ResultOf("input i int64[2]\nconst d int64[] ints 3\ninput v string[2]\n", "OneHot(i, d, v)",
                         {Tensor::Int64({2}, {2, -3}), Strings({2}, {"off", "on"})})) ==
        Texts{"off", "off", "on", "on", "off", "off"});
  CHECK(TextsOf(ResultOf(
            "input x string[1,1,3,1]\ninput u string[1,1,2,1]\nconst i int64[1] ints 1\n", "TensorScatter(x, u, i)",
            {Strings({1, 1, 3, 1}, {"a", "b", "c"}), Strings({1, 1, 2, 1}, {"y", "z"})})) == Texts{"a", "y", "z"});
  CHECK(TextsOf(ResultOf("opset ai.onnx.ml 5\n" + in + "const i int64[2] ints 2 0\n",
                         "ai.onnx.ml.ArrayFeatureExtractor(x, i)", {six})) == Texts{"c", "a", "f", "d"});
  CHECK(SameBits(ResultOf("opset ai.onnx.ml 1\n" + in, "ai.onnx.ml.OneHotEncoder(x) cats_strings=[\"c\",\"f\"]", {six}),
                 Tensor::Float32({2, 3, 2}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1})));
  CHECK(ResultOf(in, "Shape(x)", {six}).ToInts() == std::vector<int64_t>{2, 3});
  CHECK(ResultOf(in, "Size(x)", {six}).ToInts() == std::vector<int64_t>{6});

  const auto outside = RunNode(in + "input i int64[1]\n", "Gather(x, i)", {six, Tensor::Int64({1}, {2})});
  REQUIRE_FALSE(outside.ok());
  CHECK(outside.error().code == ErrorCode::kInvalidInput);
}

TEST_CASE("Strings, ThoseThatAreNotEmptyAreNotZero", "[exec]") {
  const Tensor found = ResultOf("input x string[2,2]\n", "NonZero(x)", {Strings({2, 2}, {"", "0", " ", ""})});
  CHECK(found.dims() == std::vector<int64_t>{2, 2});
  CHECK(found.ToInts() == std::vector<int64_t>{0, 1, 1, 0});
}

TEST_CASE("Strings, UniqueOrdersThemByTheirBytes", "[exec]") {
  const bool sorted = GENERATE(true, false);
  CAPTURE(sorted);
  HostLab lab;
  const auto session = lab.Open(
      TypedGraph("input x string[6]\ny, first, inverse, counts = Unique(x) sorted=" + std::to_string(sorted ? 1 : 0) +
                 "\noutput y\noutput first\noutput inverse\noutput counts\n"),
      1);
  const auto results = RunOnce(*session, {Strings({6}, {"b", "ä", "", "b", "Z", ""})});
  if (!results.ok()) FAIL(ToString(results.error()));
  using Ints = std::vector<int64_t>;
  CHECK(TextsOf((*results)[0]) == (sorted ? Texts{"", "Z", "b", "ä"} : Texts{"b", "ä", "", "Z"}));
  CHECK((*results)[1].ToInts() == (sorted ? Ints{2, 4, 0, 1} : Ints{0, 1, 2, 4}));
  CHECK((*results)[2].ToInts() == (sorted ? Ints{2, 3, 0, 2, 1, 0} : Ints{0, 1, 2, 0, 3, 2}));
  CHECK((*results)[3].ToInts() == (sorted ? Ints{2, 1, 2, 1} : Ints{2, 1, 2, 1}));
}

TEST_CASE("Strings, UniqueKeepsDistinctSlices", "[exec]") {
  CHECK(TextsOf(ResultOf("input x string[3,2]\n", "Unique(x) axis=0",
                         {Strings({3, 2}, {"b", "a", "a", "z", "b", "a"})})) == Texts{"a", "z", "b", "a"});
}

TEST_CASE("Strings, NGramsAreCountedInRows", "[exec]") {
  const std::string vectorizer =
      "TfIdfVectorizer(x) mode=\"TF\" min_gram_length=1 max_gram_length=2 max_skip_count=0 ngram_counts=[0,2] "
      "ngram_indexes=[0,1,2] ";
  const Tensor words = Strings({2, 3}, {"a", "b", "a", "c", "b", "b"});
  const std::string in = "input x string[2,3]\n";
  const Tensor counts = ResultOf(in, vectorizer + "pool_strings=[\"a\",\"b\",\"a\",\"b\"]", {words});
  CHECK(counts.dims() == std::vector<int64_t>{2, 3});
  const std::span<const float> values = counts.values<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{2, 1, 1, 0, 2, 0});
  const auto without = RunNode(in, vectorizer + "pool_int64s=[1,2,1,2]", {words});
  REQUIRE_FALSE(without.ok());
  CHECK(without.error().code == ErrorCode::kInvalidInput);
}

TEST_CASE("Strings, EmptyTensorsStayEmpty", "[exec]") {
  const Tensor none = Strings({0}, {});
  const Tensor joined = ResultOf("input x string[0]\n", "StringConcat(x, x)", {none});
  CHECK(joined.dims() == std::vector<int64_t>{0});
  const Tensor cast = ResultOf("input x string[0]\n", "Cast(x) to=1", {none});
  CHECK(cast.dims() == std::vector<int64_t>{0});
}

TEST_CASE("Strings, CastsReadAndWriteNumbers", "[exec]") {
  const Tensor real = ResultOf("input x string[8]\n", "Cast(x) to=1",
                               {Strings({8}, {"3.14", "1e-5", "1E8", "-0", "+7", "inf", "-INF", "NaN"})});
  const std::span<const float> values = real.values<float>();
  CHECK((values[0] == 3.14F && values[1] == 1e-5F && values[2] == 1e8F && std::signbit(values[3]) && values[4] == 7));
  CHECK((values[5] == HUGE_VALF && values[6] == -HUGE_VALF && std::isnan(values[7])));
  CHECK(ResultOf("input x string[3]\n", "Cast(x) to=7", {Strings({3}, {"-9223372036854775808", "100.5", "+4"})})
            .ToInts() == std::vector<int64_t>{INT64_MIN, 100, 4});
  CHECK(TextsOf(ResultOf("input x float32[5]\n", "Cast(x) to=8",
                         {Tensor::Float32({5}, {0.47892547F, 1e9F, -HUGE_VALF, NAN, -0.0F})})) ==
        Texts{"0.47892547", "1000000000", "-INF", "NaN", "-0"});
  CHECK(TextsOf(ResultOf("input x int64[1]\n", "Cast(x) to=8", {Tensor::Int64({1}, {INT64_MIN})})) ==
        Texts{"-9223372036854775808"});
  for (const char* wrong : {"", "Hello", "1 ", "0x10", "1e", "++1", "300"}) {
    CAPTURE(wrong);
    const auto refused = RunNode("input x string[1]\n", "Cast(x) to=3", {Strings({1}, {wrong})});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("Strings, SplitFollowsDelimiterOrWhiteSpace", "[exec]") {
  const std::string in = "input x string[3]\n";
  const Tensor x = Strings({3}, {"  a b\xe3\x80\x80"
                                 "c ",
                                 "", "d"});
  const Tensor spaces = ResultOf(in, "StringSplit(x)", {x});
  CHECK(spaces.dims() == std::vector<int64_t>{3, 3});
  CHECK(TextsOf(spaces) == Texts{"a", "b", "c", "", "", "", "d", "", ""});
  CHECK(TextsOf(ResultOf(in, "StringSplit(x) maxsplit=1", {x})) == Texts{"a",
                                                                         "b\xe3\x80\x80"
                                                                         "c ",
                                                                         "", "", "d", ""});
  CHECK(TextsOf(ResultOf("input x string[1]\n", "StringSplit(x) delimiter=\"--\"", {Strings({1}, {"--a----"})})) ==
        Texts{"", "a", "", ""});
}

TEST_CASE("Strings, NormalizerKnowsLettersBeyondAsciiAndRefusesOtherLanguages", "[exec]") {
  const std::string in = "input x string[2]\n";
  CHECK(TextsOf(ResultOf(in, "StringNormalizer(x) case_change_action=\"UPPER\"", {Strings({2}, {"grün", "straße"})})) ==
        Texts{"GRÜN", "STRAßE"});
  const auto turkish =
      RunNode(in, "StringNormalizer(x) case_change_action=\"UPPER\" locale=\"tr_TR\"", {Strings({2}, {"i", "j"})});
  REQUIRE_FALSE(turkish.ok());
  CHECK(turkish.error().code == ErrorCode::kUnsupported);
  const auto bytes = RunNode(in, "StringNormalizer(x) case_change_action=\"LOWER\"", {Strings({2}, {"\xff", "j"})});
  REQUIRE_FALSE(bytes.ok());
  CHECK(bytes.error().code == ErrorCode::kInvalidInput);
}

TEST_CASE("Strings, ConcurrentRunsKeepTheirOwn", "[exec]") {
  HostLab lab;
  const auto session =
      lab.Open(TypedGraph("input x string[n]\nc = StringConcat(x, x)\nd = StringConcat(c, x)\noutput d\n"), 2);
  std::vector<int> wrong(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (size_t run = 0; run < 20; ++run) {
        const std::string text(1 + run * 7, static_cast<char>('a' + t));
        const auto results = RunOnce(*session, {Strings({2}, {text, ""})});
        wrong[t] += !results.ok() || TextsOf((*results)[0]) != Texts{text + text + text, ""};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(3));
}

TEST_CASE("Strings, TheLimitOnARunCountsThem", "[exec]") {
  HostLab lab;
  SessionOptions options;
  options.run_bytes = 1 << 20;
  const auto session =
      lab.Open(TypedGraph("input x string[]\ninput n int64[1]\ny = Expand(x, n)\noutput y\n"), 1, options);
  const Tensor text = Strings({}, {std::string(1000, 'x')});
  for (int run = 0; run < 20; ++run) {  // what left with a report no longer counts
    const auto results = RunOnce(*session, {text, Tensor::Int64({1}, {100})});
    if (!results.ok()) FAIL(ToString(results.error()));
    CHECK((*results)[0].strings()[99].size() == 1000);
  }
  for (const int64_t count : {int64_t{2000}, int64_t{1} << 30, int64_t{1} << 60}) {
    const auto refused = RunOnce(*session, {text, Tensor::Int64({1}, {count})});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::kOutOfMemory);
  }
  CHECK(RunOnce(*session, {text, Tensor::Int64({1}, {100})}).ok());
}

TEST_CASE("Strings, WhatTheCallerLendsIsChecked", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph("input x string[2]\ny = StringConcat(x, x)\noutput y\n"), 1);
  const Datum right = Strings({2}, {"a", "b"}), longer = Strings({3}, {"a", "b", "c"}),
              numbers = Tensor::Int64({2}, {1, 2});
  LentTensor in, out;
  const auto id_of_run = [&] {
    const auto report = session->Run({&in, 1}, {&out, 1});
    return report.ok() ? std::string("ok") : report.error().id;
  };
  CHECK(id_of_run() == "run.tensor");
  in.datum = &longer;
  CHECK(id_of_run() == "run.tensor");
  in.datum = &numbers;
  CHECK(id_of_run() == "run.tensor");
  in.datum = &right;
  CHECK(id_of_run() == "ok");
  std::string buffer(64, ' ');
  out = {DataType::kString, {2}, buffer.data(), buffer.size()};
  CHECK(id_of_run() == "run.tensor");
}

}  // namespace pt::testing::strings_test
