// Notes at the nodes of a file leave the rest as it is.
#include "partitiontuner/onnx/annotate_nodes.h"

#include <catch2/catch_test_macros.hpp>
#include <functional>

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
  const auto notes = [](const NodePlace& node) {
    return NodeNotes{{"pt.step", std::to_string(node.index + 5)}, {"pt.unit", "cpu"}};
  };
  const AnnotatedModel made = AnnotateNodes(Model(), "pt.", notes).value();
  CHECK(made.bytes ==
        Model({Entry("pt.step", "5"), Entry("pt.unit", "cpu")}, {Entry("pt.step", "6"), Entry("pt.unit", "cpu")}));
  CHECK(made.nodes == 2);
  CHECK(made.external_files == std::vector<std::string>{"weights.bin"});
}

TEST_CASE("AnnotateNodes, ReplacesItsOwnNotesAndKeepsThoseOfOthers", "[onnx]") {
  const std::string model = Model({Entry("pt.step", "1"), Entry("namespace", "block")}, {Entry("pt.old", "")});
  const auto one = [](const NodePlace&) { return NodeNotes{{"pt.step", "9"}}; };
  CHECK(AnnotateNodes(model, "pt.", one).value().bytes ==
        Model({Entry("namespace", "block"), Entry("pt.step", "9")}, {Entry("pt.step", "9")}));
  const auto none = [](const NodePlace&) { return NodeNotes(); };
  CHECK(AnnotateNodes(model, "pt.", none).value().bytes == Model({Entry("namespace", "block")}));
}

// An If whose first branch holds a Loop, with a weight of the loop's in a file; `note` at each node by its place.
std::string Nested(const std::function<std::string(const std::string&, size_t)>& note) {
  const auto noted = [&](wire::Wire node, const std::string& path, size_t index) {
    const std::string text = note(path, index);
    return text.empty() ? node : node.Message(9, Entry("pt.place", text));
  };
  wire::GraphParts body, first, second, graph;
  body.initializers = {wire::ExternalTensor("w", 1, {2}, {{"location", "loop.bin"}})};
  body.nodes = {noted(wire::NodeBytes("Add", {"v", "w"}, {"s"}), "1.then_branch/1.body", 0),
                noted(wire::NodeBytes("Relu", {"s"}, {"next"}), "1.then_branch/1.body", 1)};
  first.nodes = {
      noted(wire::NodeBytes("Neg", {"a"}, {"n"}), "1.then_branch", 0),
      noted(wire::NodeBytes("Loop", {"t", "c", "n"}, {"l"},
                            {wire::IntAttribute("k", 1), wire::GraphAttribute("body", wire::GraphBytes(body))}),
            "1.then_branch", 1)};
  second.nodes = {noted(wire::NodeBytes("Exp", {"a"}, {"e"}), "1.else_branch", 0)};
  graph.nodes = {noted(wire::NodeBytes("Relu", {"x"}, {"a"}), "", 0),
                 noted(wire::NodeBytes("If", {"c"}, {"y"},
                                       {wire::GraphAttribute("then_branch", wire::GraphBytes(first)),
                                        wire::GraphAttribute("else_branch", wire::GraphBytes(second))}),
                       "", 1)};
  return wire::ModelBytes(graph);
}

TEST_CASE("AnnotateNodes, ReachesTheNodesOfNestedGraphs", "[onnx]") {
  const auto empty = [](const std::string&, size_t) { return std::string(); };
  const auto place = [](const std::string& path, size_t index) { return path + "#" + std::to_string(index); };
  const auto notes = [&](const NodePlace& node) { return NodeNotes{{"pt.place", place(node.subgraph, node.index)}}; };
  const AnnotatedModel made = AnnotateNodes(Nested(empty), "pt.", notes).value();
  CHECK(made.bytes == Nested(place));
  CHECK(made.nodes == 7);
  CHECK(made.external_files == std::vector<std::string>{"loop.bin"});
  const auto none = [](const NodePlace&) { return NodeNotes(); };
  CHECK(AnnotateNodes(made.bytes, "pt.", none).value().bytes == Nested(empty));
}

TEST_CASE("AnnotateNodes, RefusesWhatIsNoModelAndWhatGrowsTooLarge", "[onnx]") {
  const auto none = [](const NodePlace&) { return NodeNotes(); };
  const std::string model = Model();
  for (size_t size = 1; size < model.size(); ++size) {
    const Result<AnnotatedModel> cut = AnnotateNodes(std::string_view(model).substr(0, size), "pt.", none);
    if (!cut.ok()) CHECK(cut.error().code == ErrorCode::kInvalidInput);
    if (cut.ok()) CHECK(cut->bytes == model.substr(0, size));  // a model that ends between two fields
  }
  Limits tight;
  tight.file_bytes = model.size() + 4;
  const auto note = [](const NodePlace&) { return NodeNotes{{"pt.unit", "cpu"}}; };
  const Result<AnnotatedModel> large = AnnotateNodes(model, "pt.", note, tight);
  REQUIRE_FALSE(large.ok());
  CHECK(large.error().id == "annotate.size");
}

}  // namespace
}  // namespace pt::annotate_nodes_test
