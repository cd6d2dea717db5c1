// Pages of --html: one file that holds everything, whatever names the model has.
#include <catch2/catch_test_macros.hpp>
#include <regex>

#include "partitiontuner/support/file.h"
#include "test/cli/tools.h"

namespace pt::testing::html_page_test {
namespace {

// What would break out of a string, a tag, a script or a comment, or is not UTF-8.
const std::string kHostile = "</script><script>alert(1)</script><!-- \"'`&lt; \\u003c \xff\xc3( \x01 ]]> ${x}";

// A chain of that many Relu and Sigmoid, named so.
std::string ChainModel(size_t nodes, const std::string& name) {
  GraphParts graph;
  const std::vector<std::string> dims = {"1", "64"};
  graph.inputs = {ValueInfo("v0", 1, dims)};
  graph.outputs = {ValueInfo("v" + std::to_string(nodes), 1, dims)};
  for (size_t i = 0; i < nodes; ++i) {
    graph.nodes.push_back(NodeBytes(i % 2 == 0 ? "Sigmoid" : "Relu", {"v" + std::to_string(i)},
                                    {"v" + std::to_string(i + 1)}, {}, name + std::to_string(i)));
  }
  ModelParts model;
  model.graph = GraphBytes(graph);
  return ModelBytes(model);
}

// What lies between the tags; the page is cut there.
std::string TakeElement(std::string& html, const std::string& begin, const std::string& end) {
  const size_t from = html.find(begin);
  REQUIRE(from != std::string::npos);
  const size_t to = html.find(end, from);
  REQUIRE(to != std::string::npos);
  const std::string content = html.substr(from + begin.size(), to - from - begin.size());
  html.erase(from, to + end.size() - from);
  return content;
}

struct PageParts {
  std::string whole, style, data, script, markup;  // the markup is what is left
  Json json() const { return Parsed(data); }
  size_t steps(size_t plan = 0) const {
    return json().find("plans")->as_array()->at(plan).find("steps")->as_array()->size();
  }
};
PageParts PartsOf(const std::string& file) {
  PageParts parts;
  parts.whole = *ReadFile(file, 0);
  std::string html = parts.whole;
  parts.style = TakeElement(html, "<style>", "</style>");
  parts.data = TakeElement(html, "<script type=\"application/json\" id=\"data\">", "</script>");
  parts.script = TakeElement(html, "<script>", "</script>");
  parts.markup = std::move(html);
  return parts;
}

// The page of runs of a model that nothing is known of, each node a step.
PageParts PageOfModel(const Workplace& place, const std::string& bytes) {
  const std::string file = place.path() + "/page.html";
  const CommandResult run = RunTool("pt-run", {place.Write("m.onnx", bytes), "--db", "none", "--libraries", "reference",
                                               "--iterations", "1", "--html", file, "-q"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return PartsOf(file);
}

// The page of a profile of such a model.
PageParts PageOfProfile(const Workplace& place, const std::string& bytes, const std::vector<std::string>& more = {}) {
  const std::string file = place.path() + "/page.html";
  const CommandResult profiled =
      RunTool("pt-profile", Joined({place.Write("m.onnx", bytes), "--db", place.path() + "/p.db", "--libraries",
                                    "reference", "--max-time", "1ms", "--html", file, "-q"},
                                   more));
  INFO(profiled.err);
  REQUIRE(profiled.exit_code == 0);
  return PartsOf(file);
}

// Empty, or what is wrong with the tags.
std::string MarkupFault(const std::string& html) {
  static const std::regex tag("<(/?)([a-z0-9]+)((?: [A-Za-z-]+(?:=\"[^\"<>]*\")?)*)>");
  std::vector<std::string> open;
  std::string rest = html.substr(html.find('\n'));  // without the doctype
  for (std::smatch found; std::regex_search(rest, found, tag); rest = found.suffix()) {
    if (found.prefix().str().find_first_of("<>") != std::string::npos) return "a lone < or >: " + found.prefix().str();
    if (found[2] == "meta") continue;
    if (found[1].length() == 0) {
      open.push_back(found[2]);
    } else if (open.empty() || open.back() != found[2]) {
      return "</" + found[2].str() + "> closes nothing";
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

TEST_CASE("HtmlPage, NamesCannotBreakOut", "[cli]") {
  const Workplace place;
  const PageParts parts = PageOfModel(place, ChainModel(4, kHostile));
  CHECK(MarkupFault(parts.markup) == "");
  CHECK(parts.script.find("alert") == std::string::npos);
  CHECK(parts.data.find('<') == std::string::npos);
  CHECK(parts.data.find("\\u003c/script>\\u003cscript>alert(1)") != std::string::npos);
  // As they were, but for bytes that are not UTF-8.
  bool shown = false;
  const Json json = parts.json();
  for (const Json& text : *json.find("plans")->as_array()->at(0).find("strings")->as_array()) {
    shown = shown ||
            text.as_string()->find("</script><script>alert(1)</script><!-- \"'`&lt; \\u003c ?") != std::string::npos;
  }
  CHECK(shown);
}

TEST_CASE("HtmlPage, StandsAloneWithoutNetwork", "[cli]") {
  const Workplace place;
  const PageParts parts = PageOfModel(place, ChainModel(4, "n"));
  static const std::regex reference("(src|href|srcset|action)=|@import|url\\(|fetch\\(|XMLHttp|import\\(|innerHTML");
  for (std::string part : {parts.style, parts.script, parts.markup}) {
    CHECK_FALSE(std::regex_search(part, reference));
    const std::string svg = "http://www.w3.org/2000/svg";  // a name that is never asked for
    for (size_t at = 0; (at = part.find(svg)) != std::string::npos;) part.erase(at, svg.size());
    CHECK(part.find("://") == std::string::npos);
  }
  CHECK(parts.markup.find("default-src 'none'") != std::string::npos);
}

TEST_CASE("HtmlPage, ScriptAndPagesStaySmall", "[cli]") {
  const Workplace place;
  const PageParts of_many = PageOfModel(place, ChainModel(1'000, "features/block/conv/Relu_"));
  CHECK(of_many.script.size() < 33'000);
  CHECK(of_many.steps() >= 900);
  CHECK(of_many.whole.size() < 300'000);
  // However long names are.
  CHECK(PageOfModel(place, ChainModel(1'000, std::string(1'000, 'x'))).whole.size() < 400'000);
  const PageParts of_more = PageOfModel(place, ChainModel(10'000, "features/block/conv/Relu_"));
  CHECK(of_more.steps() >= 9'000);
  CHECK(of_more.whole.size() < 3'000'000);
}

// What a browser makes of the page.
CommandResult DrawnByBrowser(const Workplace& place) {
  return RunCommand({"/bin/sh", "-c",
                     "chromium --headless --no-sandbox --disable-gpu --enable-logging=stderr --user-data-dir=" +
                         place.path() + "/browser --dump-dom file://" + place.path() + "/page.html"});
}

// Where a browser is installed: the script draws every step and complains of nothing.
TEST_CASE("HtmlPage, ABrowserDrawsIt", "[cli]") {
  if (RunCommand({"/bin/sh", "-c", "command -v chromium"}).exit_code != 0) SKIP("chromium is not installed");
  const Workplace place;
  for (const size_t steps : {size_t{20}, size_t{6'000}}) {
    (void)PageOfModel(place, ChainModel(steps, kHostile));
    const CommandResult shown = DrawnByBrowser(place);
    INFO(shown.err);
    REQUIRE(shown.exit_code == 0);
    CHECK(shown.err.find("CONSOLE") == std::string::npos);
    CHECK(shown.out.find("id=\"step0\"") != std::string::npos);
    CHECK((shown.out.find("<rect") != std::string::npos) == (steps <= 5'000));  // else on a canvas
    CHECK((shown.out.find("<canvas") != std::string::npos) == (steps > 5'000));
  }
}

TEST_CASE("HtmlPage, AProfileHasEachOperatorAndGroupWithItsWays", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), page = place.path() + "/p.html";
  const CommandResult profiled = RunTool(
      "pt-profile", {model, "--db", place.path() + "/p.db", "--max-time", "2ms", "--html", page, "--format", "json"});
  INFO(profiled.err);
  REQUIRE(profiled.exit_code == 0);
  const PageParts parts = PartsOf(page);
  CHECK(MarkupFault(parts.markup) == "");
  const Json json = parts.json();
  CHECK(json.find("plans")->as_array()->empty());
  const Json works = *json.find("works");
  const auto strings = *works.find("strings")->as_array();
  const auto rows = *works.find("rows")->as_array();
  CHECK(static_cast<size_t>(*works.find("count")->as_int()) == rows.size());
  // By time, each way of a row no faster than the first; the operators add up to what shares are of.
  int64_t last = INT64_MAX, sum = 0;
  size_t operators = 0;
  for (const Json& row : rows) {
    const auto cells = *row.as_array();
    const auto ways = *cells[4].as_array();
    REQUIRE_FALSE(ways.empty());
    const int64_t ns = *ways[0].as_array()->at(5).as_int();
    CHECK(ns <= last);
    for (const Json& way : ways) CHECK(*way.as_array()->at(5).as_int() >= ns);
    last = ns;
    if (*cells[1].as_int() > 1) continue;
    ++operators;
    sum += ns;
  }
  CHECK(sum == *works.find("total")->as_int());
  CHECK(operators == Parsed(profiled.out).find("operators")->as_array()->size());
  const std::string& first = *strings[static_cast<size_t>(*rows[0].as_array()->at(0).as_int())].as_string();
  CHECK_FALSE(first.empty());
  CHECK(parts.data.find("--max-time 2ms") != std::string::npos);  // the command
}

TEST_CASE("HtmlPage, ProfilesOfManyNodesWithAnyNamesStaySmallAndWhole", "[cli]") {
  const Workplace place;
  const PageParts hostile = PageOfProfile(place, ChainModel(4, kHostile));
  CHECK(MarkupFault(hostile.markup) == "");
  CHECK(hostile.data.find('<') == std::string::npos);
  CHECK(PageOfProfile(place, ChainModel(1'000, "features/block/conv/Relu_")).whole.size() < 300'000);
  CHECK(PageOfProfile(place, ChainModel(3'000, std::string(1'000, 'x'))).whole.size() < 300'000);
  CHECK(RunTool("pt-profile", {place.path() + "/m.onnx", "--db", "none", "--dry-run", "--html", "p.html"}).exit_code ==
        2);
  CHECK(RunTool("pt-profile", {place.path() + "/m.onnx", "--db", "none", "--html", "-"}).exit_code == 2);
}

TEST_CASE("HtmlPage, ABrowserDrawsAProfile", "[cli]") {
  if (RunCommand({"/bin/sh", "-c", "command -v chromium"}).exit_code != 0) SKIP("chromium is not installed");
  const Workplace place;
  (void)PageOfProfile(place, ChainModel(20, kHostile));
  const CommandResult shown = DrawnByBrowser(place);
  INFO(shown.err);
  REQUIRE(shown.exit_code == 0);
  CHECK(shown.err.find("CONSOLE") == std::string::npos);
  CHECK(shown.out.find("<h2>Operators and groups") != std::string::npos);
  CHECK(shown.out.find("<h2>Timeline") == std::string::npos);
}

TEST_CASE("HtmlPage, PlanRunAndDiffWriteOne", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/p.db", plan = place.path() + "/a.json",
                    other = place.path() + "/b.json", page = place.path() + "/p.html";
  REQUIRE(RunTool("pt-profile", {model, "--db", db, "--max-time", "2ms", "-q"}).exit_code == 0);
  const CommandResult planned = RunTool("pt-plan", {model, "--db", db, "-o", plan, "--html", page, "--format", "json"});
  INFO(planned.err);
  REQUIRE(planned.exit_code == 0);
  const auto steps = static_cast<size_t>(*Parsed(planned.out).find("steps")->as_int());
  const PageParts of_plan = PartsOf(page);
  CHECK(of_plan.steps() == steps);
  CHECK(MarkupFault(of_plan.markup) == "");

  const CommandResult run = RunTool("pt-run", {model, "--db", db, "--plan", plan, "--iterations", "3", "--html", page});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const PageParts of_run = PartsOf(page);
  CHECK(of_run.steps() == steps);
  CHECK(*of_run.json().find("plans")->as_array()->at(0).find("measured_end")->as_int() > 0);

  REQUIRE(RunTool("pt-plan", {model, "--db", db, "--planner", "single:cpu", "-o", other}).exit_code == 0);
  REQUIRE(RunTool("pt-plan", {"--diff", plan, other, "--html", page}).exit_code == 0);
  const PageParts of_both = PartsOf(page);
  CHECK(of_both.json().find("plans")->as_array()->size() == 2);
  CHECK(of_both.steps(0) == steps);

  CHECK(RunTool("pt-plan", {model, "--db", db, "--html", place.path() + "/nowhere/p.html"}).exit_code == 3);
  CHECK(RunTool("pt-plan", {model, "--db", db, "--html", "-"}).exit_code == 2);
  CHECK(RunTool("pt-run", {model, "--db", db, "--html", page, "--compare", "search"}).exit_code == 2);
}

}  // namespace
}  // namespace pt::testing::html_page_test
