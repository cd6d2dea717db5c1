// pt-run --shape-set: one model at several sizes.
#include <catch2/catch_test_macros.hpp>

#include "test/cli/tools.h"

namespace pt::testing::shape_sets_test {
namespace {

// Two chains with open dims of their own.
std::string OpenModelIn(const Workplace& place) {
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"batch", "seq"}), ValueInfo("k", 1, {"width"})};
  graph.outputs = {ValueInfo("y", 1, {"batch", "seq"}), ValueInfo("r", 1, {"width"})};
  graph.nodes = {NodeBytes("Relu", {"x"}, {"y"}), NodeBytes("Relu", {"k"}, {"r"})};
  return place.Write("model.onnx", ModelBytes(graph));
}

std::vector<int64_t> Ints(const Json& json) {
  std::vector<int64_t> values;
  for (const Json& value : *json.as_array()) values.push_back(*value.as_int());
  return values;
}

int64_t CountOf(const Json& json, const char* what) { return *json.find("sessions")->find(what)->as_int(); }

}  // namespace

TEST_CASE("PtRun, ShapeSetsAreMeasuredEachBySessionsThatAreKept", "[cli]") {
  const Workplace place;
  const std::string model = OpenModelIn(place);
  const std::vector<std::string> run = {model,    "--db",        "none",          "--format",      "json",
                                        "--dim",  "width=5",     "--shape-set",   "batch=2,seq=3", "--shape-set",
                                        "x=4x16", "--shape-set", "batch=1,seq=1", "--iterations",  "6"};
  const CommandResult result = RunTool("pt-run", run);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const Json json = Parsed(result.out);
  const Json::Array& sets = *json.find("shape_sets")->as_array();
  REQUIRE(sets.size() == 3);
  const std::vector<std::vector<int64_t>> shapes = {{2, 3}, {4, 16}, {1, 1}};
  for (size_t i = 0; i < sets.size(); ++i) {
    CHECK(Ints(*sets[i].find("inputs")->find("x")) == shapes[i]);
    CHECK(Ints(*sets[i].find("inputs")->find("k")) == std::vector<int64_t>{5});
    CHECK(*sets[i].find("runs")->as_int() == 6);
    CHECK(*sets[i].find("latency_ns")->find("p50")->as_int() > 0);
    CHECK(*sets[i].find("planner")->as_string() == "single:cpu");
    CHECK(*sets[i].find("made_ns")->as_int() > 0);
  }
  CHECK(*sets[1].find("sizes")->as_string() == "x=4x16");
  CHECK(CountOf(json, "made") == 3);
  CHECK(CountOf(json, "dropped") == 0);
  CHECK(CountOf(json, "kept") == 3);
  // With room for two of three that take turns each has gone when its turn comes.
  const Json tight = Parsed(RunTool("pt-run", Joined(run, {"--sessions", "2"})).out);
  CHECK(CountOf(tight, "found") == 0);
  CHECK(CountOf(tight, "made") == CountOf(tight, "dropped") + 2);
  CHECK(CountOf(tight, "kept") == 2);

  const CommandResult table = RunTool(
      "pt-run", {model, "--db", "none", "--dim", "width=1", "--shape-set", "batch=2,seq=3", "--duration", "0.1s"});
  CHECK(table.exit_code == 0);
  CHECK(table.out.find("batch=2,seq=3") != std::string::npos);
  CHECK(table.out.find("sessions: 1 made") != std::string::npos);
  CHECK(table.err.find("no profile of this model") != std::string::npos);
}

TEST_CASE("PtRun, ShapeSetsArePlannedFromWhatWasMeasured", "[cli]") {
  const Workplace place;
  const std::string model = OpenModelIn(place), db = place.path() + "/profile.db";
  REQUIRE(
      RunTool("pt-profile", {model, "--db", db, "--dim", "batch=2", "--dim", "seq=3", "--dim", "width=5"}).exit_code ==
      0);
  const std::vector<std::string> run = {
      model,           "--db",         db,  "--format",  "json", "--dim", "width=5", "--shape-set",
      "batch=2,seq=3", "--iterations", "2", "--planner", "heft"};
  const Json json = Parsed(RunTool("pt-run", run).out);
  const Json& set = json.find("shape_sets")->as_array()->at(0);
  CHECK(*set.find("planner")->as_string() == "heft");
  CHECK(*set.find("prediction_complete")->as_bool());
  CHECK(RunTool("pt-run",
                {model, "--db", "none", "--dim", "width=5", "--shape-set", "batch=2,seq=3", "--planner", "heft"})
            .exit_code == 6);
}

TEST_CASE("PtRun, ShapeSetsThatSayTooLittleOrTooMuchAreUsageErrors", "[cli]") {
  const Workplace place;
  const std::string model = OpenModelIn(place);
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& why) {
    const CommandResult result = RunTool("pt-run", Joined({model, "--db", "none", "--iterations", "1"}, arguments));
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find(why) != std::string::npos);
  };
  refused({"--shape-set", "batch=2,seq=3"}, "give --dim width=N");
  refused({"--dim", "width=1", "--shape-set", "batch=2"}, "give --dim seq=N");
  refused({"--dim", "width=1", "--shape-set", "batch=2,seq=3", "--shape-set", "batch=2,sequence=3"}, "sequence");
  refused({"--dim", "width=1", "--dim", "batch=1", "--shape-set", "batch=2,seq=3"}, "batch is given twice");
  refused({"--dim", "width=1", "--shape-set", "batch"}, "--shape-set");
  refused({"--dim", "width=1", "--shape-set", "batch=many"}, "--shape-set batch");
  refused({"--dim", "width=1", "--shape-set", "x=2x3,batch=4"}, "batch");
  for (const std::vector<std::string>& other : std::vector<std::vector<std::string>>{
           {"--compare", "single:cpu"}, {"--carry", "r=k"}, {"--verify", "reference"}, {"--sessions", "0"}}) {
    refused(Joined({"--shape-set", "batch=2,seq=3,width=1"}, other), other[0]);
  }
}

}  // namespace pt::testing::shape_sets_test
