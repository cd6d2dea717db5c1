// Equal single streams are solved once; streams that differ in anything are not taken for each other.
#include <catch2/catch_test_macros.hpp>

#include "lib/planner/search/serial_dp.h"
#include "test/testing/planning_world.h"

namespace pt::serial_memo_test {
namespace {

using testing::MakeWorld;
using testing::World;

TEST_CASE("SolveSerial, FindsTheSameAgainAndKeepsDifferentRulesApart", "[planner]") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    INFO("random graph " << seed);
    const World world = MakeWorld(testing::RandomGraph(seed, 30), {}, seed);
    const PlanningProblem problem = world.problem();
    const Space space = Space::Make(problem).value();
    std::vector<SerialRules> rules(4);
    rules[1].allowed = [](const Option& option) { return option.device == kHostDevice; };
    rules[2].cost_ns = [](const Option& option) { return option.ns() * (option.unit_class.index() == 1 ? 2 : 1); };
    rules[3].ignore_copies = true;
    std::vector<Solution> first;
    for (const SerialRules& rule : rules) first.push_back(SolveSerial(space, rule).value());
    for (size_t r = 0; r < rules.size(); ++r) {
      CHECK(SolveSerial(space, rules[r]).value() == first[r]);
      // A space of its own has solved nothing before.
      CHECK(SolveSerial(Space::Make(problem).value(), rules[r]).value() == first[r]);
    }
  }
}

}  // namespace
}  // namespace pt::serial_memo_test
