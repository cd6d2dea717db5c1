// Pictures of plans as text: sane markup, a rectangle for each step, names that cannot break out.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "partitiontuner/plan/draw_graph.h"
#include "partitiontuner/plan/draw_timelines.h"
#include "partitiontuner/plan/lanes.h"
#include "partitiontuner/support/markup.h"
#include "test/testing/planning_world.h"

namespace pt::pictures_test {
namespace {

using testing::MakeWorld;
using testing::PlanOf;
using testing::World;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

size_t StepsThatTakeTime(const Plan& plan) {
  return static_cast<size_t>(std::ranges::count_if(plan.steps, [](const Step& step) { return step.expected_ns > 0; }));
}

// Empty, or what is wrong: tags nest, attributes are quoted, and '<' and '&' stand for themselves nowhere.
std::string XmlFault(const std::string& xml) {
  static const std::regex tag("^<(/?)([a-z]+)((?: [A-Za-z0-9:-]+=\"[^\"<]*\")*)(/?)>");
  static const std::regex entity("^&(amp|lt|gt|quot);");
  std::vector<std::string> open;
  for (size_t at = 0; at < xml.size(); ++at) {
    const std::string rest = xml.substr(at, 2000);
    std::smatch found;
    if (xml[at] == '&' && !std::regex_search(rest, entity)) return "a lone & at " + std::to_string(at);
    if (xml[at] != '<') continue;
    if (!std::regex_search(rest, found, tag)) return "no tag at " + rest.substr(0, 80);
    const std::string attributes = found[3];
    for (size_t i = 0; i < attributes.size(); ++i) {
      if (attributes[i] == '&' && !std::regex_search(attributes.substr(i), entity)) return "a lone & in an attribute";
    }
    if (found[1] == "/") {
      if (open.empty() || open.back() != found[2]) return "</" + found[2].str() + "> closes nothing";
      open.pop_back();
    } else if (found[4] != "/") {
      open.push_back(found[2]);
    }
    at += static_cast<size_t>(found.length()) - 1;
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

TEST_CASE("Markup, NamesCannotBreakOut", "[plan]") {
  CHECK(XmlText("a<b & \"c\">") == "a&lt;b &amp; &quot;c&quot;&gt;");
  CHECK(DotText("a\"b\\c\nd") == "a\\\"b\\\\c\\nd");
  CHECK(CleanText(std::string("a\0b\x01\x7f", 5)) == "a?b??");
  CHECK(CleanText("gr\xc3\xbc\xc3\x9f") == "gr\xc3\xbc\xc3\x9f");
  CHECK(CleanText("\xc3(\xff\xed\xa0\x80") == "?(????");  // half a character, none at all, half of a pair
  CHECK(CleanText("\xef\xbf\xbf") == "???");              // no character of XML
}

TEST_CASE("Markup, LongNamesAreCutBetweenCharacters", "[plan]") {
  CHECK(CleanText("convolution", 11) == "convolution");
  CHECK(CleanText("convolution", 5) == "conv…");
  CHECK(CleanText("\xc3\xbc\xc3\xbc\xc3\xbc", 2) == "\xc3\xbc…");
  CHECK(CleanText("", 3).empty());
}

TEST_CASE("Timelines, EachStepOfEachPlanIsARectangle", "[plan]") {
  const World world = MakeWorld(testing::Inception(2));
  const Plan search = PlanOf(world, "search"), single = PlanOf(world, "single", "cpu");
  const DrawnPlan drawn[] = {{"search", &search}, {"single:cpu", &single}};
  const std::string svg = TimelinesSvg(world.graph, world.platform, drawn, "inception");
  CHECK(XmlFault(svg) == "");
  CHECK(Count(svg, "class=\"step") == StepsThatTakeTime(search) + StepsThatTakeTime(single));
  CHECK(Count(svg, "<title>") == Count(svg, "class=\"step"));
  CHECK(svg.find(">inception</text>") != std::string::npos);
  CHECK(svg.find(">single:cpu: ") != std::string::npos);
  CHECK(Count(svg, "class=\"lane\"") ==
        StepLanesOf(world.platform, search).names.size() + StepLanesOf(world.platform, single).names.size());
  CHECK(Count(svg, "class=\"step critical\"") > 0);
}

TEST_CASE("Timelines, OneScaleForAllPlans", "[plan]") {
  // A chain of one node: its rectangle reaches to the end of the axis in the slower plan.
  World world = MakeWorld(testing::Chain(1), {.fused = false, .blocked = false, .accelerator = false});
  world.costs = {};
  world.costs.SetRun({NodeId(0u)}, UnitClassId(0u), 4000);
  Plan plan = PlanOf(world, "single", "cpu");
  REQUIRE(plan.steps.size() == 1);
  Plan slower = plan;
  slower.steps[0].expected_ns = slower.makespan.ns = 8000;
  plan.lower_bound_ns = 2000;
  const DrawnPlan drawn[] = {{"a", &plan}, {"b", &slower}};
  const std::string svg = TimelinesSvg(world.graph, world.platform, drawn, "chain");
  CHECK(svg.find("x=\"136\"") != std::string::npos);
  const size_t lanes = StepLanesOf(world.platform, plan).names.size();
  const std::string height = " height=\"" + std::to_string(20 * lanes - 4) + "\"";
  CHECK(Count(svg, "width=\"590\"" + height) == 1);                                       // half of the axis
  CHECK(Count(svg, "width=\"1180\"" + height) == 1 + (lanes == 1 ? 2 : 0));               // all of it
  CHECK(Count(svg, "width=\"1180\" height=\"16\"") == 2 * lanes + (lanes == 1 ? 1 : 0));  // the grounds of lanes
  CHECK(svg.find("lower bound 2.00 us") != std::string::npos);
  CHECK(Count(svg, "class=\"bound\"") == 2);  // in the legend and through the plans
}

TEST_CASE("Timelines, MuchSlowerPlansGoOnBeyondTheEdge", "[plan]") {
  const World world = MakeWorld(testing::Chain(8), {.fused = false, .accelerator = false});
  const Plan fast = PlanOf(world, "single", "cpu");
  Plan slow = fast;
  for (Step& step : slow.steps) step.expected_start_ns *= 10, step.expected_ns *= 10;
  slow.makespan.ns *= 10;
  const DrawnPlan drawn[] = {{"slow", &slow}, {"fast", &fast}};
  const std::string svg = TimelinesSvg(world.graph, world.platform, drawn, "chain");
  CHECK(XmlFault(svg) == "");
  const auto within = std::ranges::count_if(slow.steps, [&](const Step& step) {
    return step.expected_ns > 0 && step.expected_start_ns < 4 * fast.makespan.ns;
  });
  CHECK(Count(svg, "class=\"step") == StepsThatTakeTime(fast) + static_cast<size_t>(within));
  CHECK(static_cast<size_t>(within) < StepsThatTakeTime(slow));
  CHECK(Count(svg, "→") == 1);
  CHECK(Count(svg, "class=\"end\"") == 1);
}

TEST_CASE("Timelines, AnEmptyPlanIsAPictureToo", "[plan]") {
  const Plan plan;
  const DrawnPlan drawn[] = {{"<nothing>", &plan}};
  const std::string svg = TimelinesSvg(Graph(), testing::TwoCores(), drawn, "a & b");
  CHECK(XmlFault(svg) == "");
  CHECK(svg.find("&lt;nothing&gt;") != std::string::npos);
  CHECK(Count(svg, "class=\"step") == 0);
}

TEST_CASE("PlanDot, ABoxForEachGroupAndAnEdgeForEachValue", "[plan]") {
  const World world = MakeWorld(testing::Diamond());
  const Plan plan = PlanOf(world, "search");
  const std::string dot = PlanDot(world.graph, world.platform, plan);
  size_t groups = 0, reads = 0;
  for (const Step& step : plan.steps) {
    const auto* run = std::get_if<RunGroup>(&step.work);
    if (run == nullptr) continue;
    ++groups;
    reads += GroupInputs(world.graph, plan.candidates[run->candidate.index()].nodes).size();
  }
  CHECK(Count(dot, "\n  s") - Count(dot, " -> ") - Count(dot, "\n  subgraph") + Count(dot, "\n  v0 -> ") == groups);
  CHECK(Count(dot, " -> ") == reads + world.graph.outputs().size());
  CHECK(dot.starts_with("digraph plan {\n"));
  CHECK(dot.ends_with("}\n"));
  CHECK(Count(dot, "{") == Count(dot, "}"));
}

TEST_CASE("PlanDot, WhatGoesToAnotherDeviceIsDashed", "[plan]") {
  World world = MakeWorld(testing::Chain(2), {.fused = false});
  const UnitClassId accelerator = FindUnitClass(world.platform, "acc:0");
  world.constraints.pin = {{NodeId(0u), FindUnitClass(world.platform, "cpu/1")}, {NodeId(1u), accelerator}};
  const Plan apart = PlanOf(world, "search");
  CHECK(Count(PlanDot(world.graph, world.platform, apart), "style=dashed") == 1);
  world.constraints.pin = {{NodeId(0u), accelerator}, {NodeId(1u), accelerator}};
  const Plan together = PlanOf(world, "search");
  CHECK(Count(PlanDot(world.graph, world.platform, together), "style=dashed") == 0);
}

}  // namespace
}  // namespace pt::pictures_test
