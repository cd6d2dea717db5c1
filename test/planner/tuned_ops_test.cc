// Hand-worked cases of fusing by rules over operator classes, each group by its fastest candidate.
#include <catch2/catch_test_macros.hpp>

#include "lib/planner/methods/operator_classes.h"
#include "test/testing/timed_world.h"

namespace pt::tuned_ops_test {
namespace {

using testing::TimedGroup;
using testing::TimedWorld;
using testing::World;

// A chain of the operators v0, v1, …, each reading from the one before.
World ChainOf(const std::vector<std::string>& ops, const std::vector<TimedGroup>& groups) {
  std::string text = "input x float32[1,8,4,4]\nconst w float32[8,8,1,1] ones\n";
  std::string in = "x";
  for (size_t n = 0; n < ops.size(); ++n) {
    const std::string name = "v" + std::to_string(n);
    text += name + " = " + ops[n] + "(" + in + (ops[n] == "Conv" ? ", w" : "") + ") : float32[1,8,4,4]\n";
    in = name;
  }
  return TimedWorld(text + "output " + in + "\n", groups, 1000);
}

// The steps of the plan, which is legal.
std::string StepsOf(const World& world, std::string_view device = {}) {
  const Plan plan = testing::PlanOf(world, "tuned-ops", device);
  CHECK(testing::FaultText(world, plan) == "");
  return testing::OrderText(world, plan);
}

TEST_CASE("TunedOps, FusesByRuleAndNotByTime", "[planner]") {
  // The group takes longer than its operators one by one.
  const World world = ChainOf({"Conv", "Relu"}, {{{0}, 100}, {{1}, 10}, {{0, 1}, 150}});
  CHECK(StepsOf(world) == "v0+v1@cpu[0-1]");
}

TEST_CASE("TunedOps, TheLargestGroupThatTheRulesAllow", "[planner]") {
  const std::vector<TimedGroup> groups = {{{0}, 100},    {{1}, 100},   {{2}, 100},
                                          {{0, 1}, 150}, {{1, 2}, 20}, {{0, 1, 2}, 300}};
  CHECK(StepsOf(ChainOf({"Conv", "Relu", "Tanh"}, groups)) == "v0+v1+v2@cpu[0-1]");
  CHECK(StepsOf(ChainOf({"Relu", "Abs", "Tanh"}, groups)) == "v0+v1+v2@cpu[0-1]");
  // An injective operator is not fused to the convolution behind it.
  CHECK(StepsOf(ChainOf({"Relu", "Conv", "Tanh"}, groups)) == "v0@cpu[0-1], v1+v2@cpu[0-1]");
  // Two convolutions are no group.
  CHECK(StepsOf(ChainOf({"Conv", "Relu", "Conv"}, groups)) == "v0+v1@cpu[0-1], v2@cpu[0-1]");
}

TEST_CASE("TunedOps, AReductionTakesWhatIsBeforeItOnly", "[planner]") {
  const World world = ChainOf({"Abs", "ReduceSum", "Relu"},
                              {{{0}, 100}, {{1}, 100}, {{2}, 100}, {{0, 1}, 500}, {{1, 2}, 10}, {{0, 1, 2}, 10}});
  CHECK(StepsOf(world) == "v0+v1@cpu[0-1], v2@cpu[0-1]");
}

TEST_CASE("TunedOps, OpaqueOperatorsAreNeverFused", "[planner]") {
  const World world = ChainOf({"Softmax", "Relu"}, {{{0}, 100}, {{1}, 100}, {{0, 1}, 10}});
  CHECK(StepsOf(world) == "v0@cpu[0-1], v1@cpu[0-1]");
}

TEST_CASE("TunedOps, OneDeviceTheFasterOrTheOneThatIsNamed", "[planner]") {
  // 20 on the accelerator and two copies of 1000.
  World world = ChainOf({"Conv", "Softmax"}, {{{0}, 100, 10}, {{1}, 100, 10}});
  CHECK(StepsOf(world) == "v0@cpu[0-1], v1@cpu[0-1]");
  CHECK(StepsOf(world, "acc:0") == "copy x, v0@acc:0#0, v1@acc:0#0, copy v1");
  for (size_t l = 0; l < world.platform.links.size(); ++l) world.costs.SetLink(LinkId(l), 10, 0);
  CHECK(StepsOf(world) == "copy x, v0@acc:0#0, v1@acc:0#0, copy v1");
  PlanningProblem problem = world.problem();
  problem.argument = "gpu";
  CHECK(FindPlanner("tuned-ops").value()->make_plan(problem, nullptr).error().code == ErrorCode::kUsage);
}

TEST_CASE("TunedOps, ReordersAreNotAskedForAndPaid", "[planner]") {
  // Blocked kernels take 95 instead of 100; the way into the layout and back 50 each.
  World world = testing::MakeWorld(testing::Chain(2), {.fused = false, .accelerator = false});
  for (size_t c = 0; c < world.platform.unit_classes.size(); ++c) world.costs.SetOverhead(UnitClassId(c), 0);
  world.costs.SetReorder([](std::span<const int64_t>, const Form&, const Form&, UnitClassId) { return 50; });
  const UnitClassId wide = FindUnitClass(world.platform, "cpu/2");
  for (const Candidate& candidate : world.candidates) {
    world.costs.SetRunOf(candidate, candidate.unit_class != wide     ? 1'000'000
                                    : candidate.variant == "blocked" ? 95
                                                                     : 100);
  }
  CHECK(StepsOf(world) == "reorder x0, v0@cpu[0-1], v1@cpu[0-1], reorder v1");
}

TEST_CASE("OperatorClasses, UnknownAndForeignOperatorsAreOpaque", "[planner]") {
  const auto class_of = [](std::string op, std::string domain) {
    Node node;
    node.op = std::move(op);
    node.domain = std::move(domain);
    return ClassOf(node);
  };
  CHECK(class_of("Conv", "") == OperatorClass::kComplexOutFusable);
  CHECK(class_of("Abs", "") == OperatorClass::kInjective);
  CHECK(class_of("Xor", "") == OperatorClass::kInjective);
  CHECK(class_of("ReduceMax", "") == OperatorClass::kReduction);
  CHECK(class_of("LSTM", "") == OperatorClass::kOpaque);
  CHECK(class_of("Relu", "com.microsoft") == OperatorClass::kOpaque);
}

}  // namespace
}  // namespace pt::tuned_ops_test
