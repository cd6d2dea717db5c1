// pt-plan --annotate: the model with what the plan does with its nodes.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/onnx/annotate_nodes.h"
#include "partitiontuner/support/file.h"
#include "test/cli/tools.h"

namespace pt::testing::annotate_test {
namespace {

NodeNotes NoNotes(const NodePlace&) { return {}; }

TEST_CASE("Annotate, NotesThePlanAndLeavesTheModel", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/p.db", plan = place.path() + "/plan.json",
                    made = place.path() + "/made.onnx", checked = place.path() + "/checked.onnx";
  REQUIRE(RunTool("pt-profile", {model, "--db", db, "--max-time", "2ms", "-q"}).exit_code == 0);
  const CommandResult planned = RunTool("pt-plan", {model, "--db", db, "-o", plan, "--annotate", made});
  INFO(planned.err);
  REQUIRE(planned.exit_code == 0);
  CHECK(planned.err.find(" nodes in steps, ") != std::string::npos);
  const std::string bytes = *ReadFile(made, 0);
  for (const char* key : {"step", "unit", "library", "start_ns", "time_ns"}) {
    CHECK(bytes.find(std::string("partitiontuner.") + key) != std::string::npos);
  }
  CHECK(AnnotateNodes(bytes, "partitiontuner.", NoNotes)->bytes == *ReadFile(model, 0));
  // The same of a plan from a file, and of the annotated model, which is the same model.
  CHECK(RunTool("pt-plan", {model, "--db", db, "--check", plan, "--annotate", checked}).exit_code == 0);
  CHECK(*ReadFile(checked, 0) == bytes);
  CHECK(RunTool("pt-plan", {made, "--db", db, "--check", plan, "--annotate", checked}).exit_code == 0);
  CHECK(*ReadFile(checked, 0) == bytes);
  CHECK(RunTool("pt-run", {made, "--db", db, "--plan", plan, "--verify", "reference"}).exit_code == 0);
}

TEST_CASE("Annotate, SaysWhichNodesHaveNoStep", "[cli]") {
  const Workplace place;
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"2"})};
  graph.outputs = {ValueInfo("y", 1, {"2"})};
  graph.initializers = {FloatTensor("a", {2}, {1, 2}), FloatTensor("b", {2}, {3, 4})};
  graph.nodes = {NodeBytes("Mul", {"a", "b"}, {"ab"}), NodeBytes("Add", {"x", "ab"}, {"s"}),
                 NodeBytes("Sin", {"s"}, {"y"})};
  const std::string model = place.Write("m.onnx", ModelBytes(graph)), made = place.path() + "/made.onnx",
                    db = place.path() + "/p.db";
  REQUIRE(RunTool("pt-profile", {model, "--db", db, "--max-time", "1ms", "-q"}).exit_code == 0);
  const CommandResult planned = RunTool("pt-plan", {model, "--db", db, "--annotate", made});
  INFO(planned.err);
  CHECK(planned.exit_code == 0);
  CHECK(planned.err.find("2 nodes in steps, 1 folded") != std::string::npos);
  CHECK(ReadFile(made, 0)->find("partitiontuner.folded") != std::string::npos);
}

// x: an If on an input, whose nodes run within its step; a Loop of three trips, which is unrolled; an If on a constant,
// of which one branch is left.
std::string ModelOfNestedGraphs() {
  const auto branch = [](const char* op, const char* name) {
    GraphParts parts;
    parts.nodes = {NodeBytes(op, {"x"}, {name})};
    parts.outputs = {ValueInfo(name, 1, {"4"})};
    return GraphBytes(parts);
  };
  GraphParts body;
  body.inputs = {ValueInfo("trip", 7, {}), ValueInfo("going", 9, {}), ValueInfo("v", 1, {"4"})};
  body.nodes = {NodeBytes("Identity", {"going"}, {"still"}), NodeBytes("Cos", {"v"}, {"next"})};
  body.outputs = {ValueInfo("still", 9, {}), ValueInfo("next", 1, {"4"})};
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"4"}), ValueInfo("c", 9, {})};
  graph.outputs = {ValueInfo("y", 1, {"4"})};
  graph.initializers = {Int64Tensor("trips", {}, {3}), RawTensor("true", 9, {}, std::string(1, 1))};
  graph.nodes = {
      NodeBytes("If", {"c"}, {"a"},
                {GraphAttribute("then_branch", branch("Sin", "s")), GraphAttribute("else_branch", branch("Exp", "e"))}),
      NodeBytes("Loop", {"trips", "true", "a"}, {"l"}, {GraphAttribute("body", GraphBytes(body))}),
      NodeBytes(
          "If", {"true"}, {"b"},
          {GraphAttribute("then_branch", branch("Atan", "t")), GraphAttribute("else_branch", branch("Tanh", "u"))}),
      NodeBytes("Add", {"l", "b"}, {"y"})};
  return ModelBytes(graph);
}

TEST_CASE("Annotate, NotesTheNodesOfNestedGraphs", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("m.onnx", ModelOfNestedGraphs()), made = place.path() + "/made.onnx",
                    db = place.path() + "/p.db";
  REQUIRE(RunTool("pt-profile", {model, "--db", db, "--max-time", "1ms", "-q"}).exit_code == 0);
  const CommandResult planned = RunTool("pt-plan", {model, "--db", db, "--annotate", made});
  INFO(planned.err);
  REQUIRE(planned.exit_code == 0);
  const std::string bytes = *ReadFile(made, 0);
  // Each operator's notes stand behind it, before the next node.
  const auto notes_behind = [&](const std::string& op) {
    const size_t at = bytes.find("\x22" + std::string(1, static_cast<char>(op.size())) + op);
    REQUIRE(at != std::string::npos);
    const size_t end = bytes.find("partitiontuner.", bytes.find("partitiontuner.", at) + 1);
    return bytes.substr(at, end - at);
  };
  for (const char* op : {"Sin", "Exp"}) CHECK(notes_behind(op).find("partitiontuner.within_step") != std::string::npos);
  for (const char* op : {"Cos", "Atan", "Add"})
    CHECK(notes_behind(op).find("partitiontuner.step") != std::string::npos);
  CHECK(notes_behind("Tanh").find("partitiontuner.folded") != std::string::npos);
  CHECK(AnnotateNodes(bytes, "partitiontuner.", NoNotes)->bytes == *ReadFile(model, 0));
  CHECK(RunTool("pt-run", {made, "--db", db, "--iterations", "1", "--verify", "reference"}).exit_code == 0);
}

TEST_CASE("Annotate, RefusesTheModelItselfAndOtherReports", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), before = *ReadFile(model, 0);
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {"--annotate", model}, {"--annotate", "-"}, {"--annotate", place.path() + "/a.onnx", "--baselines"}}) {
    CHECK(RunTool("pt-plan", Joined({model, "--db", "none"}, flags)).exit_code == 2);
  }
  CHECK(*ReadFile(model, 0) == before);
}

}  // namespace
}  // namespace pt::testing::annotate_test
