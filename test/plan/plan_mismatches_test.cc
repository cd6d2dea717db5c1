// Plans made for something else: graph, machine, libraries, program.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/version.h"
#include "test/testing/planning_world.h"

namespace pt::plan_mismatches_test {
namespace {

using testing::MakeWorld;
using testing::World;

struct Made {
  World world = MakeWorld(testing::Chain(3));
  std::map<std::string, std::string> libraries = {{"made-up", "1.2"}, {"other", "7"}};
  Plan plan = testing::PlanOf(world, "single", "cpu");

  Made() {
    plan.made_for.tool_version = kVersion;
    plan.made_for.libraries = libraries;
    plan.made_for.graph_hash = ToHex(GraphHash(world.graph));
    plan.made_for.platform = world.platform;
    plan.made_for.opset = world.graph.opset();
    plan.made_for.input_dims["x0"] = {2, 8, 4, 4};
  }
  std::vector<std::string> Lines() const { return PlanMismatches(world.graph, world.platform, libraries, plan); }
};

bool Mentions(const std::vector<std::string>& lines, const std::string& text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

TEST_CASE("PlanMismatches, NamesGraphDimsAndMachine", "[plan]") {
  Made made;
  CHECK(made.Lines().empty());
  made.plan.made_for.input_dims["x0"] = {1, 8, 4, 4};
  made.plan.made_for.graph_hash = std::string(32, '0');
  made.world.platform.devices[0].fingerprint = "another processor";
  const std::vector<std::string> lines = made.Lines();
  CHECK(Mentions(lines, "graph: "));
  CHECK(Mentions(lines, "[1,8,4,4], now [2,8,4,4]"));
  CHECK(Mentions(lines, "another processor"));
  CHECK(Mentions(lines, "machine: plan made for "));
  CHECK(Mentions(lines, ", this is another processor with 2 cores"));
}

TEST_CASE("PlanMismatches, AnotherVersionOfALibraryIsNamedWithBoth", "[plan]") {
  Made made;
  made.libraries["made-up"] = "1.3";
  CHECK(made.Lines() == std::vector<std::string>{"library made-up: plan made with 1.2, this is 1.3"});
  made.plan.made_for.libraries.erase("made-up");
  CHECK(made.Lines() == std::vector<std::string>{"library made-up: plan made with an unknown version, this is 1.3"});
}

TEST_CASE("PlanMismatches, LibrariesThatThePlanDoesNotUseAreNoQuestion", "[plan]") {
  Made made;
  made.libraries["other"] = "8";
  CHECK(made.Lines().empty());
  // Who is absent is for the verdict to say.
  made.libraries.erase("made-up");
  CHECK(made.Lines().empty());
}

TEST_CASE("PlanMismatches, MajorAndMinorOfTheProgramMustAgree", "[plan]") {
  Made made;
  const std::string version(kVersion);
  const std::string same = version.substr(0, version.rfind('.'));
  made.plan.made_for.tool_version = same + ".99";
  CHECK(made.Lines().empty());
  for (const std::string& other : {std::string("9.") + version, same + "7.0", std::string()}) {
    made.plan.made_for.tool_version = other;
    CHECK(Mentions(made.Lines(), "partitiontuner: plan made with " + (other.empty() ? "an unknown version" : other) +
                                     ", this is " + version));
  }
}

}  // namespace
}  // namespace pt::plan_mismatches_test
