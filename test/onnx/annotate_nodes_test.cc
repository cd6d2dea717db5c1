// Notes at the nodes of a file leave the rest as it is.
#include "partitiontuner/onnx/annotate_nodes.h"

#include <catch2/catch_test_macros.hpp>

#include "test/testing/onnx_bytes.h"

namespace pt::annotate_nodes_test {
namespace {

namespace wire = testing;

wire::Wire Entry(std::string_view key, std::string_view value) { return wire::Wire().Bytes(1, key).Bytes(2, value); }

// Two nodes with these notes behind them, a weight in a file, and a field that no format has yet.
std::string Model(const std::vector<wire::Wire>& first = {}, const std::vector<wire::Wire>& second = {}) {
  wire::GraphParts graph;
  graph.inputs = {wire::ValueInfo("x", 1, {"2"})};
  graph.outputs = {wire::ValueInfo("y", 1, {"2"})};
  graph.initializers = {wire::ExternalTensor("w", 1, {2}, {{"location", "weights.bin"}, {"offset", "0"}})};
  graph.nodes = {wire::NodeBytes("Add", {"x", "w"}, {"a"}), wire::NodeBytes("Relu", {"a"}, {"y"})};
  for (const wire::Wire& entry : first) graph.nodes[0].Message(9, entry);
  for (const wire::Wire& entry : second) graph.nodes[1].Message(9, entry);
  return wire::ModelBytes(graph) + wire::Wire().Number(900, 7).bytes();
}

TEST_CASE("AnnotateNodes, AddsNotesAndLeavesAllElseByteForByte", "[onnx]") {
  const auto notes = [](uint64_t node) { return NodeNotes{{"pt.step", std::to_string(node + 5)}, {"pt.unit", "cpu"}}; };
  const AnnotatedModel made = AnnotateNodes(Model(), "pt.", notes).value();
  CHECK(made.bytes ==
        Model({Entry("pt.step", "5"), Entry("pt.unit", "cpu")}, {Entry("pt.step", "6"), Entry("pt.unit", "cpu")}));
  CHECK(made.nodes == 2);
  CHECK(made.external_files == std::vector<std::string>{"weights.bin"});
}

TEST_CASE("AnnotateNodes, ReplacesItsOwnNotesAndKeepsThoseOfOthers", "[onnx]") {
  const std::string model = Model({Entry("pt.step", "1"), Entry("namespace", "block")}, {Entry("pt.old", "")});
  const auto one = [](uint64_t) { return NodeNotes{{"pt.step", "9"}}; };
  CHECK(AnnotateNodes(model, "pt.", one).value().bytes ==
        Model({Entry("namespace", "block"), Entry("pt.step", "9")}, {Entry("pt.step", "9")}));
  const auto none = [](uint64_t) { return NodeNotes(); };
  CHECK(AnnotateNodes(model, "pt.", none).value().bytes == Model({Entry("namespace", "block")}));
}

TEST_CASE("AnnotateNodes, RefusesWhatIsNoModelAndWhatGrowsTooLarge", "[onnx]") {
  const auto none = [](uint64_t) { return NodeNotes(); };
  const std::string model = Model();
  for (size_t size = 1; size < model.size(); ++size) {
    const Result<AnnotatedModel> cut = AnnotateNodes(std::string_view(model).substr(0, size), "pt.", none);
    if (!cut.ok()) CHECK(cut.error().code == ErrorCode::kInvalidInput);
    if (cut.ok()) CHECK(cut->bytes == model.substr(0, size));  // a model that ends between two fields
  }
  Limits tight;
  tight.file_bytes = model.size() + 4;
  const auto note = [](uint64_t) { return NodeNotes{{"pt.unit", "cpu"}}; };
  const Result<AnnotatedModel> large = AnnotateNodes(model, "pt.", note, tight);
  REQUIRE_FALSE(large.ok());
  CHECK(large.error().id == "annotate.size");
}

}  // namespace
}  // namespace pt::annotate_nodes_test
