// pt-plan --annotate: the model with what the plan does with its nodes.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/onnx/annotate_nodes.h"
#include "partitiontuner/support/file.h"
#include "test/cli/tools.h"

namespace pt::testing::annotate_test {
namespace {

NodeNotes NoNotes(uint64_t) { return {}; }

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
