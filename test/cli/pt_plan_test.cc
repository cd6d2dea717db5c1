// pt-profile and pt-plan: one model through measuring, planning, checking and explaining.
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>

#include "partitiontuner/support/file.h"
#include "partitiontuner/support/json.h"
#include "test/cli/tools.h"

namespace pt::testing::pt_plan_test {
namespace {

// A model with a profile of few samples: enough to plan by.
class Profiled {
 public:
  explicit Profiled(const std::vector<std::string>& more = {})
      : model(place.Branchy()), db(place.path() + "/profile.db") {
    result = RunTool("pt-profile", Joined({model, "--db", db, "--max-time", "2ms", "--format", "json"}, more));
  }
  CommandResult Plan(std::vector<std::string> arguments) const {
    return RunTool("pt-plan", Joined({model, "--db", db}, arguments));
  }

  Workplace place;
  std::string model, db;
  CommandResult result;
};

TEST_CASE("PtProfile, MeasuresOnceAndReusesAll", "[cli]") {
  // On one core, where no hand-over can have become faster since.
  const std::vector<std::string> one_core = {"--threads", "1"};
  const Profiled profiled(one_core);
  INFO(profiled.result.err);
  REQUIRE(profiled.result.exit_code == 0);
  const Json first = Parsed(profiled.result.out);
  CHECK(*first.find("status")->as_string() == "complete");
  CHECK(*first.find("measured")->as_int() > 0);
  CHECK(first.find("operators")->as_array()->size() > 10);
  const std::vector<std::string> same = Joined({profiled.model, "--db", profiled.db, "--format", "json"}, one_core);
  const Json again = Parsed(RunTool("pt-profile", same).out);
  CHECK(*again.find("measured")->as_int() == 0);
  CHECK(*again.find("reused")->as_int() == *again.find("needed")->as_int());
  const CommandResult dry = RunTool("pt-profile", Joined(same, {"--dry-run"}));
  CHECK(*Parsed(dry.out).find("known")->as_int() == *Parsed(dry.out).find("needed")->as_int());
}

std::vector<std::vector<std::string>> CsvRows(const std::string& text) {
  std::vector<std::vector<std::string>> rows = {{""}};
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      if (quoted && i + 1 < text.size() && text[i + 1] == '"')
        rows.back().back() += text[i++];
      else
        quoted = !quoted;
    } else if (quoted) {
      rows.back().back() += text[i];
    } else if (text[i] == ',') {
      rows.back().emplace_back();
    } else if (text[i] == '\n') {
      rows.push_back({""});
    } else if (text[i] != '\r') {
      rows.back().back() += text[i];
    }
  }
  rows.pop_back();
  return rows;
}

TEST_CASE("PtProfile, FeaturesAndDependenciesOfEveryNode", "[cli]") {
  const Profiled profiled;
  const std::string file = profiled.place.path() + "/f.csv";
  REQUIRE(RunTool("pt-profile", {profiled.model, "--db", profiled.db, "--dry-run", "--features", file}).exit_code == 0);
  const auto rows = CsvRows(*ReadFile(file, 0)),
             edges = CsvRows(*ReadFile(profiled.place.path() + "/f.dependencies.csv", 0));
  const auto column = [&](const std::string& title) {
    return static_cast<size_t>(std::ranges::find(rows[0], title) - rows[0].begin());
  };
  REQUIRE(column("flops") < rows[0].size());
  CHECK(rows[0].back() == "spread_ns");
  std::set<std::string> nodes;
  for (size_t i = 1; i < rows.size(); ++i) {
    REQUIRE(rows[i].size() == rows[0].size());
    if (rows[i][0].find(' ') == std::string::npos && !rows[i][0].empty()) nodes.insert(rows[i][0]);
    CHECK((rows[i][0].empty() == (rows[i][column("family")] == "reorder")));
    CHECK(std::stod(rows[i][column("bytes")]) > 0);
    CHECK(std::stod(rows[i][column("median_ns")]) > 0);  // all of it was measured
  }
  CHECK(nodes.size() > 10);
  CHECK(edges[0] == std::vector<std::string>{"consumer", "producer", "bytes"});
  CHECK(edges.size() > nodes.size() - 2);
  for (size_t i = 1; i < edges.size(); ++i) {
    CHECK(std::stoi(edges[i][1]) < std::stoi(edges[i][0]));  // nodes are in order
    CHECK(std::stod(edges[i][2]) > 0);
    CHECK(nodes.contains(edges[i][0]));
  }
  CHECK(RunTool("pt-profile", {profiled.model, "--db", profiled.db, "--features", "-"}).exit_code == 2);
}

TEST_CASE("PtProfile, ValidateSaysHowWellTheDatabasePredictsItself", "[cli]") {
  const Profiled profiled;
  const CommandResult result = RunTool("pt-profile", {"--validate", "--db", profiled.db, "--format", "json"});
  REQUIRE(result.exit_code == 0);
  const Json json = Parsed(result.out);
  const Json::Array& families = *json.find("families")->as_array();
  REQUIRE(!families.empty());
  for (const Json& family : families) {
    CHECK(*family.find("count")->as_int() > 0);
    CHECK(*family.find("unpredicted")->as_int() <= *family.find("count")->as_int());
    if (const Json* inside = family.find("inside_interval")) CHECK(inside->as_number() <= 1);
  }
  CHECK(RunTool("pt-profile", {"--validate", "--db", profiled.db}).exit_code == 0);
  CHECK(RunTool("pt-profile", {"--validate", "--db", "none"}).exit_code == 2);
  CHECK(RunTool("pt-profile", {profiled.model, "--validate", "--db", profiled.db}).exit_code == 2);
}

TEST_CASE("PtProfile, ExportAndImportCarryAProfile", "[cli]") {
  const Profiled profiled;
  const std::string file = profiled.place.path() + "/p.json", other = profiled.place.path() + "/other.db";
  REQUIRE(RunTool("pt-profile", {profiled.model, "--db", profiled.db, "-o", file}).exit_code == 0);
  REQUIRE(RunTool("pt-profile", {"--import", file, "--db", other}).exit_code == 0);
  const Json again = Parsed(RunTool("pt-profile", {profiled.model, "--db", other, "--format", "json"}).out);
  CHECK(*again.find("measured")->as_int() == 0);
  CHECK(RunTool("pt-plan", {profiled.model, "--profile", file}).exit_code == 0);
  const std::string text = *ReadFile(file, 0);
  profiled.place.Write("cut.json", text.substr(0, text.size() / 2));
  CHECK(RunTool("pt-profile", {"--import", profiled.place.path() + "/cut.json", "--db", other}).exit_code == 3);
  CHECK(RunTool("pt-plan", {profiled.model, "--profile", profiled.place.path() + "/cut.json"}).exit_code == 3);
}

TEST_CASE("PtProfile, ShardsOfSeveralDatabasesMakeOneProfile", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), shards = place.path() + "/shards", whole = place.path() + "/whole.db";
  std::filesystem::create_directories(shards);
  int64_t needed = 0, elsewhere = 0;
  const std::vector<std::pair<std::string, std::vector<std::string>>> jobs = {
      {"0/3", {}}, {"3", {"SLURM_ARRAY_TASK_ID=5", "SLURM_ARRAY_TASK_MIN=4"}}, {"3", {"JOB_COMPLETION_INDEX=2"}}};
  for (size_t i = 0; i < jobs.size(); ++i) {
    CommandOptions options;
    options.environment = jobs[i].second;
    const std::string name = shards + "/" + std::to_string(i);
    const CommandResult result = RunTool("pt-profile",
                                         {model, "--db", name + ".db", "--shard", jobs[i].first, "-o", name + ".json",
                                          "--format", "json", "--max-time", "5ms", "--max-noise", "50%"},
                                         options);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    const Json report = Parsed(result.out);
    needed += *report.find("needed")->as_int();
    elsewhere += *report.find("in_other_shards")->as_int();
  }
  CHECK(elsewhere == 2 * needed);
  const CommandResult merged = RunTool("pt-profile", {"--import", shards, "--db", whole});
  REQUIRE(merged.exit_code == 0);
  CHECK(merged.err.find(" 0 known already, 0 in place of others") != std::string::npos);
  const Json all = Parsed(RunTool("pt-profile", {model, "--db", whole, "--format", "json"}).out);
  CHECK(*all.find("measured")->as_int() == 0);
  CHECK(*all.find("reused")->as_int() == needed);
  const std::string first = shards + "/0.json", second = shards + "/1.json";
  const CommandResult again = RunTool("pt-profile", {"--import", first, "--import", second, "--db", whole});
  CHECK(again.exit_code == 0);
  CHECK(again.err.find(" 0 new, ") != std::string::npos);
  CHECK(RunTool("pt-profile", {"--import", place.path() + "/branchy", "--db", whole}).exit_code == 3);
}

TEST_CASE("PtProfile, AShardThatDoesNotExistIsRefused", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy();
  const auto code = [&](const std::string& shard, const std::vector<std::string>& environment = {}) {
    CommandOptions options;
    options.environment = environment;
    return RunTool("pt-profile", {model, "--db", place.path() + "/p.db", "--dry-run", "--shard", shard}, options)
        .exit_code;
  };
  CHECK(code("0/1") == 0);
  for (const char* wrong : {"1/1", "4/4", "1/0", "0", "-1/3", "a/3", "1/b", "/", "1/", "1/2/3", "0/9999999999", "3"}) {
    CAPTURE(wrong);
    CHECK(code(wrong) == 2);
  }
  CHECK(code("3", {"SLURM_ARRAY_TASK_ID=3"}) == 2);
  CHECK(code("3", {"SLURM_ARRAY_TASK_ID=one"}) == 2);
  CHECK(code("3", {"SLURM_ARRAY_TASK_ID=1", "SLURM_ARRAY_TASK_MIN=2"}) == 2);
  CHECK(code("3", {"JOB_COMPLETION_INDEX=2"}) == 0);
  CHECK(RunTool("pt-profile", {"--shard", "0/2"}).exit_code == 2);
}

TEST_CASE("PtProfile, BudgetOverIsExitSixAndInterruptIsResumed", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/profile.db";
  const CommandResult budget = RunTool("pt-profile", {model, "--db", db, "--budget", "1ms"});
  CHECK(budget.exit_code == 6);
  CHECK(budget.err.find("missing") != std::string::npos);

  CommandOptions options;
  options.signal = SIGINT;
  options.signal_after = "[";
  const CommandResult interrupted =
      RunTool("pt-profile", {model, "--db", db, "--progress", "tty", "--max-noise", "0"}, options);
  INFO(interrupted.err);
  CHECK(interrupted.exit_code == 130);
  const CommandResult resumed = RunTool("pt-profile", {model, "--db", db, "--max-time", "2ms", "--format", "json"});
  CHECK(resumed.exit_code == 0);
  CHECK(*Parsed(resumed.out).find("reused")->as_int() > 0);
}

TEST_CASE("PtPlan, BaselinesHaveTheFixedForm", "[cli]") {
  const Profiled profiled;
  const CommandResult result = profiled.Plan({"--baselines", "--format", "json"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const Json json = Parsed(result.out);
  const int64_t bound = *json.find("bound_ns")->as_int();
  CHECK(bound > 0);
  std::map<std::string, int64_t> makespans;
  for (const Json& row : *json.find("planners")->as_array()) {
    const std::string name = *row.find("planner")->as_string();
    if (row.find("not_run") != nullptr) {
      CHECK(!row.find("not_run")->as_string()->empty());
      continue;
    }
    makespans[name] = *row.find("makespan_ns")->as_int();
    CHECK(makespans[name] >= bound);
    CHECK(row.find("gap")->as_number().has_value());
    CHECK(*row.find("search_ms")->as_number() >= 0);
  }
  REQUIRE(makespans.contains("search"));
  REQUIRE(makespans.contains("single:cpu"));
  for (const auto& [name, ns] : makespans) {
    INFO(name);
    CHECK(makespans["search"] <= ns);
  }
}

TEST_CASE("PtPlan, PlansAreCheckedRefusedAndExplained", "[cli]") {
  const Profiled profiled;
  const std::string plan = profiled.place.path() + "/p.ptplan.json";
  const CommandResult made = profiled.Plan({"-o", plan});
  INFO(made.err);
  REQUIRE(made.exit_code == 0);
  CHECK(made.out.find("result: ") != std::string::npos);
  CHECK(profiled.Plan({"--check", plan}).exit_code == 0);
  CHECK(RunTool("pt-run", {profiled.model, "--db", profiled.db, "--plan", plan, "--iterations", "3"}).exit_code == 0);

  SECTION("the same profile gives the same bytes") {
    const std::string again = profiled.place.path() + "/again.json";
    REQUIRE(profiled.Plan({"-o", again}).exit_code == 0);
    CHECK(*ReadFile(plan, 0) == *ReadFile(again, 0));
    const CommandResult piped = profiled.Plan({"-o", "-"});
    CHECK(piped.out == *ReadFile(plan, 0));
  }
  SECTION("an edited plan is illegal: all faults, exit 3, and not run") {
    Json json = Parsed(*ReadFile(plan, 0));
    std::string text = WriteJson(json);
    // Every wait forgotten: steps on other units read what is not yet written, or the last step is
    // lost.
    const size_t at = text.rfind("\"steps\"");
    REQUIRE(at != std::string::npos);
    Json edited = Json::MakeObject();
    for (const auto& [key, value] : *json.as_object()) {
      if (key != "steps") {
        edited.Set(key, value);
        continue;
      }
      Json::Array steps = *value.as_array();
      steps.pop_back();
      edited.Set(key, steps);
    }
    profiled.place.Write("edited.json", WriteJson(edited));
    const CommandResult checked = profiled.Plan({"--check", profiled.place.path() + "/edited.json"});
    INFO(checked.out << checked.err);
    CHECK(checked.exit_code == 3);
    CHECK((checked.out.find("fault: ") != std::string::npos || !checked.err.empty()));
    CHECK(RunTool("pt-run", {profiled.model, "--plan", profiled.place.path() + "/edited.json", "--iterations", "1"})
              .exit_code == 3);
  }
  SECTION("a plan of another model is stale") {
    const std::string other = profiled.place.ReluPlusOne("other");
    const CommandResult checked = RunTool("pt-plan", {other, "--db", "none", "--check", plan});
    INFO(checked.out << checked.err);
    CHECK(checked.exit_code == 7);
    CHECK(RunTool("pt-run", {other, "--db", "none", "--plan", plan, "--iterations", "1"}).exit_code == 7);
  }
  SECTION("without its library only the structure of a plan is checked, exit 5, and it is not run") {
    std::string edited = *ReadFile(plan, 0);
    const std::string library = "\"onednn\"";
    for (size_t at = edited.find(library); at != std::string::npos; at = edited.find(library)) {
      edited.replace(at, library.size(), "\"elsewhere\"");
    }
    REQUIRE(edited != *ReadFile(plan, 0));
    profiled.place.Write("elsewhere.json", edited);
    const std::string file = profiled.place.path() + "/elsewhere.json";
    const CommandResult text = profiled.Plan({"--check", file});
    INFO(text.out << text.err);
    CHECK(text.exit_code == 5);
    CHECK(text.out.find("structure only: not loaded: elsewhere") != std::string::npos);
    CHECK(text.out.find("legal: ") == std::string::npos);
    const Json json = Parsed(profiled.Plan({"--check", file, "--format", "json"}).out);
    CHECK_FALSE(*json.find("legal")->as_bool());
    CHECK(*json.find("checked")->as_string() == "structure");
    CHECK(json.find("absent_libraries")->as_array()->size() == 1);
    CHECK(RunTool("pt-run", {profiled.model, "--plan", file, "--iterations", "1"}).exit_code == 5);
    CHECK(*Parsed(profiled.Plan({"--check", plan, "--format", "json"}).out).find("checked")->as_string() == "full");
  }
  SECTION("a plan made with another version of a library is stale, both versions are named") {
    std::string edited = *ReadFile(plan, 0);
    const size_t at = edited.find("\"onednn\": \"");
    REQUIRE(at != std::string::npos);
    edited.insert(at + std::string("\"onednn\": \"").size(), "9");
    profiled.place.Write("older.json", edited);
    const CommandResult checked = profiled.Plan({"--check", profiled.place.path() + "/older.json"});
    INFO(checked.out << checked.err);
    CHECK(checked.exit_code == 7);
    CHECK(checked.out.find("does not fit: library onednn: plan made with 9") != std::string::npos);
  }
  SECTION("no file, no JSON, no plan") {
    CHECK(profiled.Plan({"--check", "/nonexistent.json"}).exit_code == 3);
    profiled.place.Write("none.json", "{}");
    CHECK(profiled.Plan({"--check", profiled.place.path() + "/none.json"}).exit_code == 3);
  }
  SECTION("explanations name unit and library") {
    const CommandResult explained = profiled.Plan({"--explain", "Gemm*", "--explain", "0"});
    CHECK(explained.exit_code == 0);
    CHECK(explained.out.find("Gemm") != std::string::npos);
    CHECK(explained.out.find("cpu") != std::string::npos);
    CHECK(profiled.Plan({"--explain", "nosuchnode"}).exit_code == 2);
  }
  SECTION("nodes can be pinned to a unit class") {
    const std::string pinned = profiled.place.path() + "/pinned.json";
    REQUIRE(profiled.Plan({"--place", "*=cpu/1", "-o", pinned}).exit_code == 0);
    CHECK(profiled.Plan({"--check", pinned}).exit_code == 0);
    CHECK(profiled.Plan({"--place", "*=nosuchunit"}).exit_code == 2);
    CHECK(profiled.Plan({"--forbid", "*=cpu"}).exit_code == 9);
  }
  SECTION("a plan that cannot be written leaves the old file") {
    const std::string before = *ReadFile(plan, 0);
    CHECK(profiled.Plan({"-o", profiled.place.path() + "/no/such/folder/p.json"}).exit_code == 3);
    CommandOptions full;
    full.out_file = "/dev/full";
    CHECK(RunTool("pt-plan", {profiled.model, "--db", profiled.db, "-o", "-"}, full).exit_code == 3);
    CHECK(*ReadFile(plan, 0) == before);
  }
}

TEST_CASE("PtPlan, WhatAStepComputesIsAModelOfItsOwn", "[cli]") {
  const Profiled profiled;
  const std::string plan = profiled.place.path() + "/p.json", part = profiled.place.path() + "/part.onnx";
  REQUIRE(profiled.Plan({"-o", plan}).exit_code == 0);
  const Json steps = *Parsed(*ReadFile(plan, 0)).find("steps");
  const auto step_of = [&](bool runs_a_group) {
    for (const Json& step : *steps.as_array()) {
      if ((*step.find("work")->as_string() == "run") == runs_a_group) return std::to_string(*step.find("id")->as_int());
    }
    return std::string();
  };
  const std::string step = step_of(true);
  REQUIRE(!step.empty());
  const auto refused = [&](const std::vector<std::string>& arguments) {
    const CommandResult result = profiled.Plan(arguments);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(std::filesystem::exists(part));
    return result.err;
  };
  SECTION("of a plan file, and it runs on its own") {
    const CommandResult made = profiled.Plan({"--check", plan, "--export-group", step, "-o", part, "--format", "json"});
    INFO(made.err);
    REQUIRE(made.exit_code == 0);
    const Json json = Parsed(made.out);
    CHECK(*json.find("step")->as_int() == std::stoi(step));
    CHECK(!json.find("nodes")->as_array()->empty());
    CHECK(!json.find("outputs")->as_array()->empty());
    const CommandResult run = RunTool("pt-run", {part, "--db", "none", "--verify", "reference"});
    INFO(run.out << run.err);
    CHECK(run.exit_code == 0);
    const CommandResult piped = profiled.Plan({"--check", plan, "--export-group", step, "-o", "-"});
    CHECK(piped.out == *ReadFile(part, 0));
  }
  SECTION("of the plan that is made") {
    const CommandResult made = profiled.Plan({"--export-group", step, "-o", part});
    INFO(made.err);
    CHECK(made.exit_code == 0);
    CHECK(std::filesystem::exists(part));
  }
  SECTION("of every step") {
    for (const Json& row : *steps.as_array()) {
      if (*row.find("work")->as_string() != "run") continue;
      const std::string id = std::to_string(*row.find("id")->as_int());
      INFO(id);
      const CommandResult made = profiled.Plan({"--check", plan, "--export-group", id, "-o", part});
      CHECK(made.exit_code == 0);
      CHECK(made.out.find("step " + id + " on ") == 0);
      CHECK(made.out.find("\n  output ") != std::string::npos);
    }
  }
  SECTION("what is no step of a group is refused with those that are") {
    CHECK(refused({"--check", plan, "--export-group", "99999", "-o", part}).find("steps that run a group: ") !=
          std::string::npos);
    CHECK(refused({"--check", plan, "--export-group", "conv1", "-o", part}).find("number of a step") !=
          std::string::npos);
    if (const std::string other = step_of(false); !other.empty()) {
      CHECK(refused({"--check", plan, "--export-group", other, "-o", part}).find("runs no group: ") !=
            std::string::npos);
    }
    CHECK(refused({"--export-group", step}).find("needs -o") != std::string::npos);
    CHECK(refused({"--export-group", step, "-o", part, "--baselines"}).find("cannot be combined") != std::string::npos);
  }
  SECTION("a plan that does not fit gives no part") {
    const std::string other = profiled.place.ReluPlusOne("other");
    const CommandResult stale =
        RunTool("pt-plan", {other, "--db", "none", "--check", plan, "--export-group", step, "-o", part});
    CHECK(stale.exit_code == 7);
    CHECK_FALSE(std::filesystem::exists(part));
  }
}

TEST_CASE("PtPlan, WhatTheCallerHasOnADeviceIsUsedThere", "[cli]") {
  const Workplace place;
  const std::string model = place.ReluPlusOne("lent"), data = place.path() + "/lent/test_data_set_0";
  const std::string plan = place.path() + "/lent.json";
  const std::vector<std::string> setting = {model, "--db", "none", "--platform",
                                            std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json"};
  const auto plan_with = [&](const std::vector<std::string>& lend) {
    return RunTool("pt-plan", Joined(Joined(setting, {"--planner", "single:sim:0", "-o", plan}), lend));
  };
  const auto copies = [&] {
    const std::string text = *ReadFile(plan, 0);
    size_t count = 0;
    for (size_t at = 0; (at = text.find("\"work\": \"copy\"", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  REQUIRE(plan_with({}).exit_code == 0);
  CHECK(copies() == 2);
  REQUIRE(plan_with({"--lend", "x=sim:0"}).exit_code == 0);
  CHECK(copies() == 1);
  const CommandResult planned = plan_with({"--lend", "x=sim:0", "--lend", "y=sim:0"});
  INFO(planned.err);
  REQUIRE(planned.exit_code == 0);
  CHECK(copies() == 0);
  CHECK(RunTool("pt-plan", Joined(setting, {"--check", plan})).exit_code == 0);
  for (const char* clock : {"virtual", "real"}) {
    const CommandResult verified =
        RunTool("pt-run", Joined(setting, {"--sim-clock", clock, "--plan", plan, "--verify", place.path() + "/lent"}));
    INFO(verified.out << verified.err);
    CHECK(verified.exit_code == 0);
    CHECK(verified.out.find("PASS") != std::string::npos);
  }
  const CommandResult unknown = plan_with({"--lend", "z=sim:0"});
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("one of x, y") != std::string::npos);
  CHECK(plan_with({"--lend", "x=npu"}).exit_code == 2);
}

TEST_CASE("PtPlan, MemoryCapsHoldAndTheFrontTradesTimeForMemory", "[cli]") {
  const Profiled profiled;
  const std::string pattern = profiled.place.path() + "/plan-%.json";
  const CommandResult front = profiled.Plan({"--pareto", "--effort", "500", "--format", "json", "-o", pattern});
  INFO(front.out << front.err);
  REQUIRE(front.exit_code == 0);
  const Json json = Parsed(front.out);
  const Json::Array rows = *json.find("front")->as_array();
  REQUIRE(!rows.empty());
  int64_t makespan_ns = 0, bytes = INT64_MAX;
  for (const Json& row : rows) {
    CHECK(*row.find("makespan_ns")->as_int() > makespan_ns);
    CHECK(*row.find("memory_bytes")->as_int() < bytes);
    makespan_ns = *row.find("makespan_ns")->as_int();
    bytes = *row.find("memory_bytes")->as_int();
    CHECK(profiled.Plan({"--check", *row.find("file")->as_string()}).exit_code == 0);
  }
  // With more effort: under a cap the search takes another way to the same plan.
  CHECK(profiled.Plan({"--memory", "cpu=" + std::to_string(bytes)}).exit_code == 0);
  CHECK(profiled.Plan({"--memory", "cpu=1GiB"}).exit_code == 0);
  const CommandResult none = profiled.Plan({"--memory", "cpu=1", "--effort", "500"});
  INFO(none.err);
  CHECK(none.exit_code == 11);
  CHECK(none.err.find("bytes where 1 are allowed") != std::string::npos);
  for (const char* bad : {"cpu", "cpu=", "cpu=2GB", "cpu=-1", "npu:7=1MiB"}) {
    INFO(bad);
    CHECK(profiled.Plan({"--memory", bad}).exit_code == 2);
  }
  CHECK(profiled.Plan({"--pareto", "--baselines"}).exit_code == 2);
  CHECK(profiled.Plan({"--pareto", "-o", profiled.place.path() + "/one.json"}).exit_code == 2);
}

// A simulated device's times come from its file; the host's from nobody here.
TEST_CASE("PtPlan, SaysWhichDevicesItLeavesOutForWantOfMeasurements", "[cli]") {
  const Workplace place;
  const std::string platform = std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json";
  const CommandResult plan =
      RunTool("pt-plan", {place.Branchy(), "--db", "none", "--threads", "1", "--platform", platform});
  INFO(plan.out << plan.err);
  CHECK(plan.exit_code == 0);
  CHECK(plan.err.find("left out for want of measurements: cpu; pt-profile " + place.path() +
                      "/branchy/model.onnx --platform " + platform + " --threads 1 measures there") !=
        std::string::npos);
  CHECK(plan.out.find("result: none. Nothing was measured on cpu") != std::string::npos);
  CHECK(plan.out.find("no useful split") == std::string::npos);
}

TEST_CASE("PtPlan, WithoutMeasurementsTheHintIsToMeasure", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.Write("empty.db", "");
  CHECK(RunTool("pt-plan", {model, "--db", db, "--planner", "best"}).exit_code == 2);  // unknown, measured or not
  const CommandResult result = RunTool("pt-plan", {model, "--db", db});
  INFO(result.out << result.err);
  CHECK(result.exit_code != 0);
  CHECK(result.err.find("pt-profile") != std::string::npos);
}

// Allowed, measured, planned, run and judged by its own tolerance; a plan file remembers what it was allowed.
TEST_CASE("PtPlan, Bf16FromTheProfileToTheVerdict", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/bf16.db", file = place.path() + "/bf16.json";
  const CommandResult profile =
      RunTool("pt-profile", {model, "--db", db, "--max-time", "2ms", "--precision", "bf16", "--format", "json"});
  INFO(profile.err);
  if (profile.exit_code == 5) SKIP("this processor has no bf16 instructions");
  REQUIRE(profile.exit_code == 0);
  std::string narrow;
  for (int seed = 1; seed <= 10 && narrow.empty(); ++seed) {
    const CommandResult plan = RunTool("pt-plan", {model, "--db", db, "--precision", "bf16", "--planner",
                                                   "random:" + std::to_string(seed), "-o", file, "-v"});
    REQUIRE(plan.exit_code == 0);
    if (ReadFile(file, 0)->find("\"math\": \"bf16\"") != std::string::npos) narrow = plan.out + plan.err;
  }
  REQUIRE(!narrow.empty());
  CHECK(narrow.find(" in bf16") != std::string::npos);
  const CommandResult verified = RunTool("pt-run", {model, "--plan", file, "--verify", "reference"});
  INFO(verified.out << verified.err);
  CHECK(verified.exit_code == 0);
  CHECK(verified.out.find("0.04 of the largest magnitude") != std::string::npos);
  CHECK(verified.out.find("the plan computes in bf16") != std::string::npos);
  const CommandResult refused = RunTool("pt-run", {model, "--plan", file, "--precision", "fp32", "--iterations", "1"});
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("the plan computes in bf16, but --precision allows fp32") != std::string::npos);
}

TEST_CASE("Tools, PrecisionsNobodyComputesInAreRefused", "[cli]") {
  const Workplace place;
  for (const char* precision : {"fp8", "int8", "fp32;bf16"}) {
    const CommandResult result = RunTool("pt-plan", {place.Branchy(), "--db", "none", "--precision", precision});
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("expected fp32, tf32, bf16 or fp16") != std::string::npos);
  }
}

}  // namespace
}  // namespace pt::testing::pt_plan_test
