// pt-plan on workloads, and what it draws and compares.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/support/file.h"
#include "test/cli/tools.h"

namespace pt::testing::pt_plan_data_test {
namespace {

// A chain of two beside a third node; an accelerator is ten times as fast and has room for two of them.
constexpr const char* kWorkload = R"({
  "maxCPUs": 1, "maxFPGAs": 1, "maxSizePerFPGA": 20,
  "nodes": [
    {"id": 1, "name": "a<b", "supportedOnFpga": 1, "cpuLatency": 10, "fpgaLatency": 1, "size": 10, "colorClass": 1},
    {"id": 2, "supportedOnFpga": 1, "cpuLatency": 10, "fpgaLatency": 1, "size": 10, "colorClass": 1},
    {"id": 3, "supportedOnFpga": 1, "cpuLatency": 4, "fpgaLatency": 0.5, "size": 10}],
  "edges": [{"sourceId": 1, "destId": 2, "cost": 0.25}]})";

TEST_CASE("PtPlan, PlansAWorkload", "[cli]") {
  const Workplace place;
  const std::string file = place.Write("w.json", kWorkload);
  const CommandResult result = RunTool("pt-plan", {"--workload", file, "--format", "json"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const Json json = Parsed(result.out);
  CHECK(*json.find("objective")->as_string() == "latency");
  CHECK(*json.find("makespan_ns")->as_int() == 4'000'000);  // 1 and 2 on the accelerator, 3 beside them
  CHECK(*json.find("resident_bytes")->find("acc:0")->as_int() == 20);
  const CommandResult text = RunTool("pt-plan", {"--workload", file});
  CHECK(text.out.find("3 operators on 1 cores and 1 accelerators of 20 B, 1 classes that share a device; planned for "
                      "latency") != std::string::npos);
  CHECK(text.out.find("acc:0: busy 50 %, keeps 20 B") != std::string::npos);
}

TEST_CASE("PtPlan, ComparesPlannersOfAWorkloadAndDrawsThem", "[cli]") {
  const Workplace place;
  const std::string file = place.Write("w.json", kWorkload), svg = place.path() + "/w.svg", plan = place.path() + "/p";
  const CommandResult result =
      RunTool("pt-plan", {"--workload", file, "--baselines", "--format", "json", "--export", svg, "-o", plan});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const Json json = Parsed(result.out);
  const int64_t bound = *json.find("bound_ns")->as_int();
  CHECK(bound > 0);
  size_t planned = 0;
  for (const Json& row : *json.find("planners")->as_array()) {
    const std::string& name = *row.find("planner")->as_string();
    INFO(name);
    if (name == "single:acc:0") {
      REQUIRE(row.find("not_run") != nullptr);
      CHECK(row.find("not_run")->as_string()->find("keep 30 bytes there, which has 20") != std::string::npos);
      continue;
    }
    if (name == "rnn-pipeline") {  // for other graphs
      CHECK(row.find("not_run") != nullptr);
      continue;
    }
    ++planned;
    CHECK(*row.find("makespan_ns")->as_int() >= bound);
  }
  CHECK(planned > 10);
  const std::string picture = ReadFile(svg, 0).value();
  CHECK(picture.starts_with("<svg "));
  CHECK(picture.find("a&lt;b") != std::string::npos);
  CHECK(picture.find(">search: 4.00 ms") != std::string::npos);
  CHECK(picture.find(">heft: ") != std::string::npos);
  // Plans of workloads are files like others, but for what runs them.
  const std::string other = place.path() + "/q";
  REQUIRE(RunTool("pt-plan", {"--workload", file, "--planner", "single:cpu", "-o", other}).exit_code == 0);
  const CommandResult diff = RunTool("pt-plan", {"--diff", plan, other});
  INFO(diff.out << diff.err);
  CHECK(diff.exit_code == 0);
  CHECK(diff.out.find("makespan: 4.00 ms in A, 24.0 ms (+500.00 %) in B") != std::string::npos);
  CHECK(diff.out.find("acc:0#0 in A, cpu[0] in B") != std::string::npos);
  const Json rows = Parsed(RunTool("pt-plan", {"--diff", plan, other, "--format", "json"}).out);
  CHECK(rows.find("differences")->as_array()->size() >= 3);
  CHECK(RunTool("pt-plan", {"--diff", plan, plan}).out.find("the plans do the same") != std::string::npos);
  CHECK(RunTool("pt-plan", {"--diff", plan}).exit_code == 2);
  CHECK(RunTool("pt-plan", {"--diff", plan, file}).exit_code == 3);
}

TEST_CASE("PtPlan, RefusesWorkloadsThatAreNone", "[cli]") {
  const Workplace place;
  const std::string good = place.Write("w.json", kWorkload), bad = place.Write("bad.json", "{\"maxFPGAs\": 1}");
  const CommandResult result = RunTool("pt-plan", {"--workload", bad, "--format", "json"});
  CHECK(result.exit_code == 3);
  CHECK(result.err.find("maxCPUs") != std::string::npos);
  CHECK(result.err.find(bad) != std::string::npos);
  CHECK(RunTool("pt-plan", {"--workload", place.path() + "/absent.json"}).exit_code == 3);
  CHECK(RunTool("pt-plan", {"--workload", good, "model.onnx"}).exit_code == 2);
  CHECK(RunTool("pt-plan", {"--workload", good, "--finalists", "2"}).exit_code == 2);
  CHECK(RunTool("pt-plan", {"--workload", good, "--planner", "single:acc:0"}).exit_code == 11);
}

TEST_CASE("PtPlan, DrawsThePlanOfAModel", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), svg = place.path() + "/p.svg", dot = place.path() + "/p.dot";
  const std::string db = place.path() + "/db", plan = place.path() + "/plan.json";
  REQUIRE(RunTool("pt-profile", {model, "--db", db, "--max-time", "2ms", "--libraries", "reference"}).exit_code == 0);
  const std::vector<std::string> by = {model, "--db", db, "--libraries", "reference"};
  REQUIRE(RunTool("pt-plan", Joined(by, {"--export", svg, "-o", plan})).exit_code == 0);
  REQUIRE(RunTool("pt-plan", Joined(by, {"--export", dot})).exit_code == 0);
  CHECK(ReadFile(svg, 0)->starts_with("<svg "));
  CHECK(ReadFile(dot, 0)->starts_with("digraph plan {"));
  const CommandResult unknown = RunTool("pt-plan", Joined(by, {"--export", place.path() + "/p.png"}));
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find(".svg (timelines), .dot (the planned graph)") != std::string::npos);
  CHECK(RunTool("pt-plan", Joined(by, {"--export", svg, "--check", plan})).exit_code == 2);
}

}  // namespace
}  // namespace pt::testing::pt_plan_data_test
