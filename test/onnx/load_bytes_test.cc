// Bytes that are no model, or not quite: refused with a typed error, never a crash.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <random>

#include "test/testing/loading.h"
#include "test/testing/onnx_bytes.h"

namespace pt::load_bytes_test {
namespace {
using namespace testing;

GraphParts ReluParts() {
  GraphParts parts;
  parts.nodes = {NodeBytes("Relu", {"x"}, {"y"})};
  parts.inputs = {ValueInfo("x", 1, {"1", "4"})};
  parts.outputs = {ValueInfo("y", 1, {"1", "4"})};
  return parts;
}

// A model with every part the format has.
std::string RichModel() {
  GraphParts body;
  body.nodes = {NodeBytes("Mul", {"h", "w"}, {"t"})};
  body.outputs = {ValueInfo("t", 1, {"2", "2"})};
  GraphParts other = body;
  other.nodes = {NodeBytes("Add", {"h", "b"}, {"e"})};
  other.initializers = {FloatTensor("b", {2}, {1, 2})};
  other.outputs = {ValueInfo("e", 1, {"2", "2"})};
  GraphParts main;
  main.inputs = {ValueInfo("x", 1, {"2", "N"}), ValueInfo("c", 9, {})};
  main.initializers = {FloatTensor("w", {2, 2}, {1, 2, 3, 4})};
  main.sparse_initializers = {
      Wire().Message(1, FloatTensor("s", {1}, {5})).Message(2, Int64Tensor("", {1}, {1})).Signed(3, 2)};
  main.nodes = {
      NodeBytes("Constant", {}, {"k"}, {TensorAttribute("value", Int64Tensor("", {2}, {2, 2}))}),
      NodeBytes("Reshape", {"x", "k"}, {"r"}),
      NodeBytes("Twice", {"r"}, {"h"}, {IntAttribute("a", 1)}, "call", "local"),
      NodeBytes("If", {"c"}, {"i"},
                {GraphAttribute("then_branch", GraphBytes(body)), GraphAttribute("else_branch", GraphBytes(other))}),
      NodeBytes("Add", {"i", "s"}, {"y"})};
  main.outputs = {ValueInfo("y", 1, {"2", "2"})};
  main.value_infos = {ValueInfo("r", 1, {"2", "2"})};
  FunctionParts twice;
  twice.domain = "local";
  twice.name = "Twice";
  twice.inputs = {"a"};
  twice.outputs = {"b"};
  twice.attributes = {"a"};
  twice.nodes = {NodeBytes("Add", {"a", "a"}, {"b"})};
  ModelParts model;
  model.graph = GraphBytes(main);
  model.functions = {FunctionBytes(twice)};
  model.opsets = {{"", 25}, {"local", 1}};
  return ModelBytes(model);
}

TEST_CASE("LoadOnnx, RichModelLoads", "[onnx]") {
  LoadReport report;
  const auto graph = Load(RichModel(), {}, &report);
  INFO((graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  CHECK(report.inlined_functions == 1);
  CHECK(report.unknown_fields == 0);
  CHECK(graph->nodes().size() == 4);
  CHECK(ToString(graph->value(graph->outputs()[0]).type) == "float32[2,2]");
}

TEST_CASE("LoadOnnx, OtherFormatsAreNamed", "[onnx]") {
  CHECK(Mentions(LoadFault(""), "empty"));
  CHECK(Mentions(LoadFault("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 3\n"), "onnx.lfs_pointer"));
  CHECK(Mentions(LoadFault("<!DOCTYPE html><html></html>"), "HTML"));
  CHECK(Mentions(LoadFault("\n  <html></html>"), "HTML"));
  CHECK(Mentions(LoadFault(std::string("\x1f\x8b\x08\0\0\0", 6)), "gzip"));
  CHECK(Mentions(LoadFault("PK\x03\x04zzzz"), "ZIP"));
  CHECK(Mentions(LoadFault("{\"graph\": {}}"), "JSON"));
  CHECK(Load("version https://git-lfs.github.com/spec/v1").error().code == ErrorCode::kInvalidInput);
}

TEST_CASE("LoadOnnx, TruncatedAtEveryByte", "[onnx]") {
  for (const std::string& whole : {RichModel(), ModelBytes(ReluParts())}) {
    REQUIRE(LoadFault(whole).empty());
    for (size_t length = 0; length < whole.size(); ++length) {
      const Result<Graph> graph = Load(whole.substr(0, length));
      if (!graph.ok())
        CHECK((graph.error().code == ErrorCode::kInvalidInput || graph.error().code == ErrorCode::kUnsupported));
    }
  }
  // The graph is written last but for functions: cut within it, nothing loads.
  const std::string relu = ModelBytes(ReluParts());
  for (size_t length = 0; length < relu.size(); ++length) CHECK_FALSE(Load(relu.substr(0, length)).ok());
}

TEST_CASE("LoadOnnx, EveryByteChanged", "[onnx]") {
  const std::string whole = RichModel();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      const Result<Graph> graph = Load(bytes);
      if (!graph.ok())
        CHECK((graph.error().code == ErrorCode::kInvalidInput || graph.error().code == ErrorCode::kUnsupported));
    }
  }
}

TEST_CASE("LoadOnnx, RandomBytes", "[onnx]") {
  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 200 + 1, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    CHECK_FALSE(Load(bytes).ok());
  }
}

TEST_CASE("LoadOnnx, BrokenWireFormat", "[onnx]") {
  const std::string good = ModelBytes(ReluParts());
  CHECK(Mentions(LoadFault(good + Wire().Tag(7, 2).Varint(~uint64_t{0}).bytes()), "onnx."));
  CHECK(Mentions(LoadFault(good + Wire().Tag(90, 2).Varint(1000).bytes()), "onnx.truncated"));
  CHECK(Mentions(LoadFault(good + "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), "more than 64 bits"));
  CHECK(Mentions(LoadFault(good + Wire().Tag(90, 6).bytes()), "wire type 6"));
  CHECK(Mentions(LoadFault(good + Wire().Tag(90, 7).bytes()), "wire type 7"));
  CHECK(Mentions(LoadFault(good + Wire().Tag(0, 0).Varint(1).bytes()), "field number 0"));
  CHECK(Mentions(LoadFault(good + Wire().Tag(90, 4).bytes()), "without its start"));
  CHECK(Mentions(LoadFault(good + Wire().Tag(90, 3).bytes()), "onnx.truncated"));
  CHECK(Mentions(LoadFault(good + Wire().Tag(7, 0).Varint(1).bytes()), "wire type 0"));
  CHECK(Mentions(LoadFault(good + good), "twice"));
  std::string groups;
  for (int i = 0; i < 5000; ++i) groups += Wire().Tag(90, 3).bytes();
  CHECK(Mentions(LoadFault(good + groups), "onnx.depth"));
}

TEST_CASE("LoadOnnx, UnknownFieldsAreSkippedAndCounted", "[onnx]") {
  const std::string extra = Wire()
                                .Number(90, 7)
                                .Bytes(91, "hello")
                                .Tag(92, 5)
                                .Raw("abcd")
                                .Tag(93, 1)
                                .Raw("abcdefgh")
                                .Tag(94, 3)
                                .Number(3, 1)
                                .Tag(94, 4)
                                .bytes();
  LoadReport report;
  REQUIRE(Load(ModelBytes(ReluParts()) + extra, {}, &report).ok());
  CHECK(report.unknown_fields == 5);
}

TEST_CASE("LoadOnnx, VersionsOutOfRangeNameTheRange", "[onnx]") {
  const auto fault = [](std::vector<std::pair<std::string, int64_t>> opsets, int64_t ir_version) {
    ModelParts model;
    model.graph = GraphBytes(ReluParts());
    model.opsets = std::move(opsets);
    model.ir_version = ir_version;
    return LoadFault(ModelBytes(model));
  };
  CHECK(fault({{"", 25}}, 10).empty());
  CHECK(fault({{"ai.onnx", 25}}, 10).empty());
  CHECK(Mentions(fault({{"", 0}}, 10), "opset 0"));
  CHECK(Mentions(fault({{"", -3}}, 10), "opset -3"));
  CHECK(Mentions(fault({{"", 999}}, 10), "1 to "));
  CHECK(Mentions(fault({{"", int64_t{1} << 40}}, 10), "opset 1099511627776"));
  CHECK(Mentions(fault({{"", 25}, {"ai.onnx", 24}}, 10), "with opset 25 and with opset 24"));
  CHECK(Mentions(fault({}, 10), "onnx.opset"));
  CHECK(Mentions(fault({{"", 25}}, 0), "onnx.ir_version"));
  CHECK(Mentions(fault({{"", 25}}, 1000), "1 to "));
  CHECK(Mentions(LoadFault(Wire().Signed(1, 10).Message(8, Wire().Signed(2, 25)).bytes()), "onnx.no_graph"));
}

TEST_CASE("LoadOnnx, OwnLimitsComeFirst", "[onnx]") {
  const std::string bytes = ModelBytes(ReluParts());
  LoadOptions options;
  options.limits.file_bytes = 10;
  CHECK(Mentions(LoadFault(bytes, options), "limit of 10"));
  options.limits = {};
  GraphParts many = ReluParts();
  for (int i = 0; i < 11; ++i) many.nodes.push_back(NodeBytes("Relu", {"x"}, {"z" + std::to_string(i)}));
  options.limits.nodes = 10;
  CHECK(Mentions(LoadFault(ModelBytes(many), options), "limit of 10"));
  options.limits = {};
  GraphParts named = ReluParts();
  named.nodes.push_back(NodeBytes("Relu", {"x"}, {std::string(70'000, 'n')}));
  CHECK(Mentions(LoadFault(ModelBytes(named), options), "70000 bytes"));
  GraphParts ranked = ReluParts();
  ranked.inputs.push_back(ValueInfo("big", 1, std::vector<std::string>(65, "1")));
  CHECK(Mentions(LoadFault(ModelBytes(ranked), options), "rank 65"));
}

TEST_CASE("LoadOnnx, NestedIfsStopAtTheDepthLimit", "[onnx]") {
  for (const int depth : {5, 40, 500, 3000}) {
    Wire inner;
    for (int i = 0; i <= depth; ++i) {
      GraphParts parts;
      const std::string out = "y" + std::to_string(i);
      parts.nodes = {i == 0 ? NodeBytes("Relu", {"x"}, {out})
                            : NodeBytes("If", {"c"}, {out},
                                        {GraphAttribute("then_branch", inner), GraphAttribute("else_branch", inner)})};
      if (depth > 5 && i > 0) parts.nodes = {NodeBytes("If", {"c"}, {out}, {GraphAttribute("then_branch", inner)})};
      parts.outputs = {ValueInfo(out, 1, {"4"})};
      if (i == depth) parts.inputs = {ValueInfo("x", 1, {"4"}), ValueInfo("c", 9, {})};
      inner = GraphBytes(parts);
    }
    ModelParts model;
    model.graph = inner;
    INFO(depth);
    if (depth == 5) {
      CHECK(LoadFault(ModelBytes(model)) == "");
    } else {
      CHECK(Mentions(LoadFault(ModelBytes(model)), "onnx.depth"));
    }
  }
}

}  // namespace
}  // namespace pt::load_bytes_test
