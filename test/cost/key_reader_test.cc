#include "lib/cost/key_reader.h"

#include <catch2/catch_test_macros.hpp>
#include <random>

#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "test/cost/sample_problem.h"

namespace pt::key_reader_test {
namespace {

// Conv → Relu → Add of the Conv's input with attributes of every kind that could be mistaken for something else.
Graph AwkwardGraph() {
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueType type = StaticType(DataType::kFloat32, {1, 3, 5, 5});
  const ValueId x = builder.AddInput("x", type);
  const ValueId w = builder.AddConstant("w", Tensor::Float32({3, 3, 1, 1}, std::vector<float>(9, 1.0F)));
  const ValueId axes = builder.AddConstant("axes", Tensor::Int64({2}, {-1, 2}));
  const ValueId conv = builder.AddOp("Conv", {x, w}, type,
                                     {{"strides", std::vector<int64_t>{1, 2}},
                                      {"auto_pad", std::string("a \"b\" | c; d}(e")},
                                      {"alpha", 0.5F},
                                      {"names", std::vector<std::string>{"p,q", "]"}}});
  const ValueId relu = builder.AddOp("Relu", {conv}, type);
  builder.AddOutput(builder.AddOp("Made", {x, ValueId(), relu, axes, relu}, type));
  return builder.Build().value();
}

std::string KeyText(const Graph& graph, const Candidate& candidate) {
  return CostKey(graph, SamplePlatform(), candidate, "1 | 2", 3 << 20).text;
}

Candidate Whole(const Graph& graph) {
  Candidate c = RunsAlone(graph, NodeId(0u), UnitClassId(0u));
  c.nodes = {NodeId(0u), NodeId(1u), NodeId(2u)};
  c.in = {{ChannelBlocked(4, 16), DataType::kFloat32}};
  c.out = {{ChannelsLast(4), DataType::kBfloat16}};
  return c;
}

TEST_CASE("KeyReader, ReadsWhatTheKeyOfAGroupSays", "[cost]") {
  const Graph graph = AwkwardGraph();
  const std::string text = KeyText(graph, Whole(graph));
  CAPTURE(text);
  const std::optional<RunKey> key = ReadRunKey(text);
  REQUIRE(key.has_value());
  REQUIRE(key->nodes.size() == 3);
  CHECK(key->nodes[0].op == "Conv");
  CHECK(key->nodes[0].attributes.size() == 4);
  CHECK(key->nodes[0].attributes.at("strides") == "[1,2]");
  CHECK(key->nodes[0].attributes.at("alpha") == "0.5");
  CHECK(key->nodes[1].attributes.empty());
  CHECK(key->nodes[2].op == "Made");
  REQUIRE(key->find("i0") != nullptr);
  CHECK(key->find("i0")->dims == std::vector<int64_t>{1, 3, 5, 5});
  REQUIRE(key->find("c0") != nullptr);
  CHECK(key->find("c0")->constant);
  CHECK(key->find("c0")->dims == std::vector<int64_t>{3, 3, 1, 1});
  REQUIRE(key->find("c1") != nullptr);
  CHECK(key->find("c1")->type == DataType::kInt64);
  CHECK(key->find("t0") != nullptr);
  CHECK(key->find("t1") != nullptr);
  CHECK(key->find("o0") != nullptr);
  CHECK(key->tensors.size() == 6);  // a repeat is the same value
  CHECK(key->find("o1") == nullptr);
  REQUIRE(key->in.size() == 1);
  CHECK(key->in[0].layout == "aBcd16b");
  CHECK_FALSE(key->in[0].quantised);
  REQUIRE(key->out.size() == 1);
  CHECK(key->out[0].layout == "acdb");
  CHECK(key->out[0].storage == DataType::kBfloat16);
  CHECK(key->reuse_kib == 3 << 10);
  CHECK_FALSE(ReadReorderKey(text).has_value());
}

TEST_CASE("KeyReader, ReadsTheKeyOfAReorder", "[cost]") {
  const std::vector<int64_t> dims = {1, 7, 3, 3};
  const Form from{RowMajor(4), DataType::kFloat32}, to{ChannelBlocked(4, 16), DataType::kInt8};
  const std::string text =
      AfterReuse(ReorderKey(SamplePlatform(), UnitClassId(0u), dims, from, to, "reference 1"), 5 << 20).text;
  const std::optional<ReorderKeyWords> key = ReadReorderKey(text);
  REQUIRE(key.has_value());
  CHECK(key->dims == dims);
  CHECK(key->from.layout == "abcd");
  CHECK(key->to.layout == "aBcd16b");
  CHECK(key->to.storage == DataType::kInt8);
  CHECK(key->reuse_kib == 5 << 10);
  CHECK_FALSE(ReadRunKey(text).has_value());
}

TEST_CASE("KeyReader, OtherKeysAndUnknownSizesAreEmpty", "[cost]") {
  const Platform platform = SamplePlatform(true);
  for (const MeasurementKey& key :
       {OverheadKey(platform, UnitClassId(0u)), WaitKey(platform, UnitClassId(0u), UnitClassId(1u)),
        CopyKey(platform, LinkId(0u), 256), SampleKey(""), SampleKey("run "), SampleKey("reorder "),
        SampleKey("run a | in  | out  | aliases | elision 0 | b 1 | \"\"")}) {
    CAPTURE(key.text);
    CHECK_FALSE(ReadRunKey(key.text).has_value());
    CHECK_FALSE(ReadReorderKey(key.text).has_value());
  }
  std::string text = KeyText(AwkwardGraph(), Whole(AwkwardGraph()));
  const std::string dims = "i0:float32[1,3,5,5]";
  for (const char* unknown : {"i0:float32[1,?,5,5]", "i0:float32[*]", "i0:float32[1,3,5,99999999999999999999]"}) {
    std::string changed = text;
    changed.replace(changed.find(dims), dims.size(), unknown);
    CHECK_FALSE(ReadRunKey(changed).has_value());
  }
}

// A profile may come from anywhere: whatever text it holds, reading ends and stays within it.
TEST_CASE("KeyReader, DamagedKeysAreReadOrRefused", "[cost]") {
  const uint32_t seed = 99;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string text = KeyText(AwkwardGraph(), Whole(AwkwardGraph()));
  const size_t work_end = text.find(" | in ");
  std::vector<size_t> read;  // nodes of what was cut and is a key all the same: whole ones
  for (size_t length = 0; length < work_end; ++length) {
    const std::string cut = text.substr(0, length) + text.substr(work_end);
    if (const std::optional<RunKey> key = ReadRunKey(cut)) read.push_back(key->nodes.size());
  }
  CHECK(read == std::vector<size_t>{1, 2});
  const std::string letters = "{}[]()\"|;:,->=019 ci";
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = text;
    for (int edit = 0; edit < 3; ++edit) damaged[random() % damaged.size()] = letters[random() % letters.size()];
    if (const std::optional<RunKey> key = ReadRunKey(damaged)) CHECK_FALSE(key->nodes.empty());
  }
}

TEST_CASE("KeyReader, ListsOfIntegers", "[cost]") {
  CHECK(ReadIntegers("[]") == std::vector<int64_t>{});
  CHECK(ReadIntegers("[-1,2]") == std::vector<int64_t>{-1, 2});
  for (const char* bad : {"", "[", "]", "1", "[1", "[1,]", "[,1]", "[1.5]", "[ 1]", "[99999999999999999999]"}) {
    CAPTURE(bad);
    CHECK_FALSE(ReadIntegers(bad).has_value());
  }
}

}  // namespace
}  // namespace pt::key_reader_test
