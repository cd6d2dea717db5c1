// pt-run: the numbers it prints, verification, suites, interruption.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <thread>

#include "partitiontuner/engine/npy.h"
#include "partitiontuner/support/file.h"
#include "partitiontuner/support/json.h"
#include "test/cli/tools.h"
#include "test/testing/trace_checks.h"

namespace pt::testing::pt_run_test {
namespace {

Json Parsed(const CommandResult& result) {
  INFO(result.out << result.err);
  const auto json = ParseJson(result.out, "output");
  REQUIRE(json.ok());
  return *json;
}

TEST_CASE("PtRun, JsonHoldsTheFixedFields", "[cli]") {
  const Workplace place;
  for (const std::vector<std::string>& length :
       {std::vector<std::string>{"--duration", "0.1s"}, {"--iterations", "5"}}) {
    const CommandResult result =
        RunTool("pt-run", Joined({place.Branchy(), "--db", "none", "--format", "json"}, length));
    REQUIRE(result.exit_code == 0);
    const Json json = Parsed(result);
    const Json* const latency = json.find("latency_ns");
    REQUIRE(latency != nullptr);
    double last = 0;
    for (const char* key : {"min", "p50", "p90", "p99"}) {
      REQUIRE(latency->find(key) != nullptr);
      CHECK(*latency->find(key)->as_number() >= last);
      last = *latency->find(key)->as_number();
    }
    CHECK(*latency->find("mean")->as_number() > 0);
    CHECK(*json.find("runs")->as_int() >= 1);
    if (length[0] == "--iterations") CHECK(*json.find("runs")->as_int() == 5);
    CHECK(json.find("predicted_ns")->as_int() != nullptr);
    CHECK(json.find("plan")->as_string() != nullptr);
    CHECK(json.find("model")->as_string()->ends_with("branchy/model.onnx"));
    double sum = 0;
    for (const auto& [name, share] : *json.find("shares")->as_object()) sum += *share.as_number();
    CHECK(sum > 0.99);
    CHECK(sum < 1.01);
  }
}

TEST_CASE("PtRun, AloneFixesWhoDoesTheStepsOfAPlanForSeveralCores", "[cli]") {
  const Workplace place;
  const std::string db = place.path() + "/alone.db";
  REQUIRE(RunTool("pt-profile", {place.Branchy(), "--db", db}).exit_code == 0);
  const std::vector<std::string> run{place.Branchy(), "--db", db,         "--planner", "random:7",
                                     "--iterations",  "5",    "--format", "json"};
  const auto alone_runs = [&](const std::vector<std::string>& flags) {
    return *Parsed(RunTool("pt-run", Joined(run, flags))).find("alone_runs")->as_int();
  };
  CHECK(alone_runs({"--alone", "never"}) == 0);
  if (std::thread::hardware_concurrency() < 2) return;  // no unit of two cores
  CHECK(alone_runs({"--alone", "always"}) == 5);
  CHECK(alone_runs({"--alone", "always", "--pin", "core"}) == 5);
  CHECK(alone_runs({"--alone", "always", "--pin", "none"}) == 5);
}

// Plans whose times were measured say how fast the host was then; others have nothing to compare with.
TEST_CASE("PtRun, SaysAtWhichPaceThePredictionHolds", "[cli]") {
  const Workplace place;
  // On one core there are no hand-overs, whose pace is another.
  const std::vector<std::string> run{place.Branchy(), "--iterations", "5", "--format",
                                     "json",          "--threads",    "1", "--db"};
  CHECK(Parsed(RunTool("pt-run", Joined(run, {"none"}))).find("pace") == nullptr);
  const std::string db = place.path() + "/pace.db";
  REQUIRE(RunTool("pt-profile", {place.Branchy(), "--threads", "1", "--db", db}).exit_code == 0);
  const Json json = Parsed(RunTool("pt-run", Joined(run, {db})));
  REQUIRE(json.find("pace") != nullptr);
  const double pace = *json.find("pace")->as_number(), error = *json.find("prediction_error")->as_number();
  CHECK(pace > 0);
  CHECK(json.find("hand_over_ns") == nullptr);
  const auto measured_ns = static_cast<double>(*json.find("latency_ns")->find("p50")->as_int());
  const double off = *json.find("prediction_error_at_pace")->as_number() - (pace * (1 + error) - 1);
  // The time of each step is rounded to nanoseconds.
  CHECK(std::abs(off) * measured_ns <= static_cast<double>(*json.find("steps")->as_int() + 1));
}

TEST_CASE("PtRun, ConcurrencyComparesCallersAtOnceWithOneAlone", "[cli]") {
  const Workplace place;
  for (const std::vector<std::string>& length :
       {std::vector<std::string>{"--duration", "0.1s"}, {"--iterations", "5"}}) {
    const CommandResult result =
        RunTool("pt-run", Joined({place.Branchy(), "--db", "none", "--concurrency", "3", "--format", "json"}, length));
    const Json json = Parsed(result);
    REQUIRE(result.exit_code == 0);
    CHECK(*json.find("concurrency")->as_int() == 3);
    for (const char* who : {"alone", "together"}) {
      const Json* const tally = json.find(who);
      REQUIRE(tally != nullptr);
      CHECK(*tally->find("runs_per_s")->as_number() > 0);
      CHECK(*tally->find("latency_ns")->find("p50")->as_number() > 0);
      const int64_t callers = std::string_view(who) == "alone" ? 1 : 3;
      if (length[0] == "--iterations") CHECK(*tally->find("runs")->as_int() == 5 * callers);
    }
    CHECK(*json.find("throughput")->as_number() > 0);
  }
  const CommandResult table =
      RunTool("pt-run", {place.Branchy(), "--db", "none", "--concurrency", "2", "--iterations", "2"});
  CHECK(table.exit_code == 0);
  CHECK(table.out.find("runs/s") != std::string::npos);
  CHECK(RunTool("pt-run", {place.Branchy(), "--concurrency", "2", "--compare", "single:cpu"}).exit_code == 2);
  CHECK(RunTool("pt-run", {place.Branchy(), "--concurrency", "0x"}).exit_code == 2);
}

TEST_CASE("PtRun, SpeedupsComeWithTheirInterval", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy();
  const std::string db = place.path() + "/speedup.db";
  REQUIRE(RunTool("pt-profile", {model, "--threads", "1", "--db", db}).exit_code == 0);
  const std::vector<std::string> both{model, "--threads", "1", "--db", db, "--compare", "single:cpu,random:1"};
  const std::vector<std::string> run = Joined(both, {"--duration", "0.5s"});
  const Json json = Parsed(RunTool("pt-run", Joined(run, {"--format", "json"})));
  const Json row = (*json.find("compared")->as_array())[1];
  const double low = *row.find("speedup_low")->as_number(), high = *row.find("speedup_high")->as_number();
  CHECK(low <= *row.find("speedup")->as_number());
  CHECK(*row.find("speedup")->as_number() <= high);
  CHECK(*row.find("difference")->as_bool() == (low > 1 || high < 1));
  // One turn says nothing of the next.
  const CommandResult once = RunTool("pt-run", Joined(both, {"--iterations", "1"}));
  CHECK(once.exit_code == 0);
  CHECK(once.out.find("too few turns to tell") != std::string::npos);
}

TEST_CASE("PtRun, AaComparesThePlanWithItself", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy();
  const CommandResult result = RunTool("pt-run", {model, "--db", "none", "--aa", "--duration", "0.5s"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("single:cpu again") != std::string::npos);
  CHECK(result.out.find(" floor: the same plan twice differs by ") != std::string::npos);
  CHECK(RunTool("pt-run", {model, "--aa", "--compare", "search"}).exit_code == 2);
  CHECK(RunTool("pt-run", {model, "--aa", "--verify", "reference"}).exit_code == 2);
}

TEST_CASE("PtRun, AssertsByTheInterval", "[cli]") {
  const Workplace place;
  const std::vector<std::string> run = {place.Branchy(), "--db", "none", "--threads", "1", "--iterations", "400"};
  const auto with = [&](const std::vector<std::string>& more) { return RunTool("pt-run", Joined(run, more)); };
  const CommandResult holds = with({"--assert", "p50<1h", "--assert", "p99.5 > 1ns"});
  INFO(holds.out << holds.err);
  CHECK(holds.exit_code == 0);
  CHECK(holds.out.find(" assert p50<1h: holds: ") != std::string::npos);
  const CommandResult fails = with({"--assert", "p50<1h", "--assert", "p50<=1ns"});
  CHECK(fails.exit_code == 10);
  CHECK(fails.out.find(" assert p50<=1ns: fails: ") != std::string::npos);
  // 400 runs have no upper end of their 99.9th percentile.
  const CommandResult few = with({"--assert", "p99.9<1h", "--format", "json"});
  CHECK(few.exit_code == 10);
  const Json json = *ParseJson(few.out, "output");
  const Json& row = (*json.find("assertions")->as_array())[0];
  CHECK(*row.find("verdict")->as_string() == "not shown");
  CHECK(row.find("high") == nullptr);
}

TEST_CASE("PtRun, AssertsSpeedupsOfTheLastPlanOverTheFirst", "[cli]") {
  const Workplace place;
  const std::vector<std::string> on = {place.Branchy(), "--threads", "1", "--db", place.path() + "/assert.db"};
  REQUIRE(RunTool("pt-profile", on).exit_code == 0);
  const auto with = [&](const std::string& claim) {
    return RunTool("pt-run", Joined(on, {"--compare", "single:cpu,random:1", "--duration", "0.5s", "--assert", claim}));
  };
  CHECK(with("speedup>0.001").exit_code == 0);
  CHECK(with("speedup>=1000").exit_code == 10);
  CHECK(with("p50<1h").exit_code == 0);
}

TEST_CASE("PtRun, RefusesAssertionsThatItCannotRead", "[cli]") {
  const Workplace place;
  const auto of = [&](const std::vector<std::string>& more) {
    return RunTool("pt-run", Joined({place.Branchy(), "--db", "none"}, more));
  };
  for (const char* text : {"p99", "p99<", "p99<5", "q99<5ms", "p0<5ms", "p100<5ms", "p<5ms", "speedup>1.05", ""}) {
    INFO(text);
    CHECK(of({"--assert", text}).exit_code == 2);
  }
  CHECK(of({"--compare", "single:cpu", "--assert", "speedup>x"}).exit_code == 2);
  CHECK(of({"--aa", "--assert", "p50<1s"}).exit_code == 2);
}

// With nothing measured all is an estimate, and the command that measures has the flags of this call.
TEST_CASE("PtRun, SaysHowMuchOfThePredictionIsEstimated", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("open/model.onnx", OneNodeModel("Relu", {"n", "4"}));
  const std::string other = place.Write("other.onnx", OneNodeModel("Softmax", {"2", "4"}));
  REQUIRE(RunTool("pt-profile", {other, "--threads", "1", "--db", place.path() + "/my.db"}).exit_code == 0);
  const CommandResult result = RunTool(
      "pt-run", {model, "--db", place.path() + "/my.db", "--dim", "n=3", "--threads", "1", "--iterations", "2"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.err.find("left out for want of measurements") == std::string::npos);  // it runs on what was not measured
  CHECK(result.err.find("100.0 % of the predicted time is estimated, not measured: pt-profile " + model +
                        " --dim n=3 --threads 1 --db " + place.path() + "/my.db measures it") != std::string::npos);
  CHECK(result.out.find("100.0 % of the prediction is estimated") != std::string::npos);
}

TEST_CASE("PtRun, VerifyPassesFailsAndRefuses", "[cli]") {
  const Workplace place;
  const std::string good = place.ReluPlusOne("good"), bad = place.ReluPlusOne("bad", 0.01f);
  const CommandResult pass =
      RunTool("pt-run", {good, "--db", "none", "--verify", place.path() + "/good/test_data_set_0"});
  INFO(pass.out << pass.err);
  CHECK(pass.exit_code == 0);
  CHECK(pass.out.find("max abs 0") != std::string::npos);
  CHECK(pass.out.ends_with("PASS\n"));
  const CommandResult fail =
      RunTool("pt-run", {bad, "--db", "none", "--verify", place.path() + "/bad/test_data_set_0"});
  CHECK(fail.exit_code == 8);
  CHECK(fail.out.find("element 4 is 4, expected 4.01") != std::string::npos);
  CHECK(fail.out.ends_with("FAIL\n"));
  CHECK(RunTool("pt-run", {bad, "--db", "none", "--atol", "0.02", "--verify", place.path() + "/bad/test_data_set_0"})
            .exit_code == 0);
  const Json json =
      Parsed(RunTool("pt-run", {bad, "--db", "none", "--format", "json", "--verify", place.path() + "/bad"}));
  CHECK(*json.find("pass")->as_bool() == false);

  std::filesystem::remove(place.path() + "/good/test_data_set_0/output_0.pb");
  CHECK(RunTool("pt-run", {good, "--db", "none", "--verify", place.path() + "/good/test_data_set_0"}).exit_code == 3);
  place.Write("good/test_data_set_0/output_0.pb", "garbage");
  CHECK(RunTool("pt-run", {good, "--db", "none", "--verify", place.path() + "/good/test_data_set_0"}).exit_code == 3);
  CHECK(RunTool("pt-run", {good, "--db", "none", "--verify", place.path() + "/nowhere"}).exit_code == 3);
  std::filesystem::remove(place.path() + "/good/test_data_set_0/output_0.pb");
  place.Write("good/test_data_set_0/output_0.sample.json",
              R"({"name": "y", "shape": [2, 3], "stride": 2, "values": [1, 2, 4]})");
  CHECK(RunTool("pt-run", {good, "--db", "none", "--verify", place.path() + "/good/test_data_set_0"}).exit_code == 0);
}

TEST_CASE("PtRun, VerifyTakesDimsFromTheData", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("model.onnx", OneNodeModel("Relu", {"n", "2"}));
  for (const int64_t rows : {2, 3}) {
    const std::string data = "test_data_set_" + std::to_string(rows);
    const std::vector<float> values(static_cast<size_t>(rows) * 2, 0.5f);
    place.Write(data + "/input_0.pb", FloatFile({rows, 2}, values));
    place.Write(data + "/output_0.pb", FloatFile({rows, 2}, values));
  }
  CHECK(RunTool("pt-run", {model, "--db", "none", "--verify", place.path()}).exit_code == 0);
}

TEST_CASE("PtRun, VerifyBlamesTypesThatNothingRunsNotTheDataOfThatType", "[cli]") {
  const Workplace place;
  const Wire strings = Wire().Message(1, Wire().Signed(1, 8));  // a TypeProto: a tensor of strings
  const Wire map = Wire().Message(5, Wire().Signed(1, 7).Message(2, strings));
  const Wire sequence = Wire().Bytes(1, "s").Message(2, Wire().Message(4, Wire().Message(1, map)));
  GraphParts graph;
  graph.inputs = {sequence};
  graph.outputs = {ValueInfo("n", 7, {})};
  graph.nodes = {NodeBytes("SequenceLength", {"s"}, {"n"})};
  const std::string model = place.Write("model.onnx", ModelBytes(graph));
  place.Write("test_data_set_0/input_0.pb", "maps, not a tensor");
  const CommandResult result =
      RunTool("pt-run", {model, "--db", "none", "--verify", place.path() + "/test_data_set_0"});
  CHECK(result.exit_code == 4);
  CHECK(result.err.find("SequenceLength") != std::string::npos);
}

TEST_CASE("PtRun, AnyPlanEqualsItsTwinAndTheReference", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/profile.db";
  REQUIRE(RunTool("pt-profile", {model, "--db", db, "--max-time", "2ms", "-q"}).exit_code == 0);
  for (int seed = 1; seed <= 5; ++seed) {
    const CommandResult result = RunTool("pt-run", {model, "--db", db, "--planner", "random:" + std::to_string(seed),
                                                    "--verify", "reference", "--twin"});
    INFO(seed << ": " << result.out << result.err);
    CHECK(result.exit_code == 0);
    CHECK(result.out.find("bit for bit") != std::string::npos);
  }
}

TEST_CASE("PtRun, MoreMemoryThanAllowedIsRefusedBeforeTheRun", "[cli]") {
  const Workplace place;
  const std::vector<std::string> run{place.Branchy(), "--db", "none", "--iterations", "2", "--memory"};
  CHECK(RunTool("pt-run", Joined(run, {"cpu=1GiB"})).exit_code == 0);
  const CommandResult refused = RunTool("pt-run", Joined(run, {"cpu=1"}));
  INFO(refused.err);
  CHECK(refused.exit_code == 11);
  CHECK(refused.err.find(" bytes on cpu, --memory allows 1") != std::string::npos);
  CHECK(RunTool("pt-run", Joined(run, {"cpu=1", "--verify", "reference"})).exit_code == 11);
  CHECK(RunTool("pt-run", Joined(run, {"cpu=1GiB", "--verify", "reference"})).exit_code == 0);
  for (const char* bad : {"cpu", "cpu=2GB", "npu:7=1MiB"}) {
    CAPTURE(bad);
    CHECK(RunTool("pt-run", Joined(run, {bad})).exit_code == 2);
  }
}

TEST_CASE("PtRun, WhatOnlyTheRunSizesCountsToo", "[cli]") {
  const Workplace place;
  GraphParts graph;
  graph.inputs = {ValueInfo("n", 7, {"1"})};
  graph.outputs = {ValueInfo("y", 1, {"count"})};
  graph.nodes = {NodeBytes("ConstantOfShape", {"n"}, {"y"})};
  ModelParts parts;
  parts.graph = GraphBytes(graph);
  const std::string model = place.Write("grows.onnx", ModelBytes(parts));
  const std::string file = place.Write("n.pb", Int64Tensor("", {1}, {int64_t{1} << 30}).bytes());
  const CommandResult refused =
      RunTool("pt-run", {model, "--db", "none", "--iterations", "1", "--memory", "cpu=64MiB", "--input", "n=@" + file});
  INFO(refused.err);
  CHECK(refused.exit_code == 11);
  CHECK(refused.err.find("4294967296 bytes") != std::string::npos);
}

TEST_CASE("PtRun, InputsComeFromNpyAndOutputsGoToNpy", "[cli]") {
  const Workplace place;
  const std::string model = place.ReluPlusOne("m");
  const std::string input = place.Write("x.npy", *NpyBytes(Tensor::Float32({2, 3}, {-1, 2, 3, 4, 5, -6})));
  const std::string out = place.path() + "/out";
  const CommandResult result =
      RunTool("pt-run", {model, "--db", "none", "--input", "x=@" + input, "--iterations", "1", "--save-outputs", out});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const auto saved = LoadNpy(out + "/output_0.npy");
  REQUIRE(saved.ok());
  const std::vector<float> want = {1, 3, 4, 5, 6, 1};
  CHECK(std::ranges::equal(saved->values<float>(), want));
  CHECK(RunTool("pt-run", {model, "--db", "none", "--input", "nosuch=@" + input, "--iterations", "1"}).exit_code == 2);
  const std::string wrong = place.Write("wrong.npy", *NpyBytes(Tensor::Float32({3, 2}, {1, 2, 3, 4, 5, 6})));
  CHECK(RunTool("pt-run", {model, "--db", "none", "--input", "x=@" + wrong, "--iterations", "1"}).exit_code == 2);
}

TEST_CASE("PtRun, SuiteCountsEachOutcomeAndGoesOnAfterEach", "[cli]") {
  const Workplace place;
  place.ReluPlusOne("suite/test_good");
  place.ReluPlusOne("suite/deep/test_also_good");
  place.ReluPlusOne("suite/test_wrong", 1);
  place.ReluPlusOne("suite/test_broken");
  place.Write("suite/test_broken/model.onnx", "garbage");
  place.ReluPlusOne("suite/test_custom");
  place.Write("suite/test_custom/model.onnx", OneNodeModel("Frobnicate", {"2", "3"}, "my.domain"));
  place.ReluPlusOne("suite/test_lost");
  std::filesystem::remove(place.path() + "/suite/test_lost/test_data_set_0/output_0.pb");
  place.Write("suite/light.onnx", OneNodeModel("Relu", {"4"}));
  place.Write("suite/light_output_0.pb", FloatFile({4}, {0, 0.25f, 0.5f, 0.75f}));

  const CommandResult result = RunTool("pt-run", {"--suite", place.path() + "/suite"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 8);
  CHECK(result.out.find("PASS deep/test_also_good\n") != std::string::npos);
  CHECK(result.out.find("PASS light\n") != std::string::npos);
  CHECK(result.out.find("FAIL test_wrong: output y: element") != std::string::npos);
  CHECK(result.out.find("ERROR test_broken: ") != std::string::npos);
  CHECK(result.out.find("ERROR test_lost: ") != std::string::npos);
  CHECK(result.out.find("UNSUPPORTED test_custom: ") != std::string::npos);
  CHECK(result.out.ends_with("\n3 passed, 1 failed, 1 unsupported, 2 errors\n"));

  const CommandResult only = RunTool("pt-run", {"--suite", place.path() + "/suite", "--only", "*good"});
  CHECK(only.exit_code == 0);
  CHECK(only.out.ends_with("2 passed, 0 failed, 0 unsupported, 0 errors\n"));
  CHECK(RunTool("pt-run", {"--suite", place.path() + "/suite", "--only", "test_custom"}).exit_code == 0);
  CHECK(RunTool("pt-run", {"--suite", place.path() + "/suite", "--only", "nothing*"}).exit_code == 3);
  CHECK(RunTool("pt-run", {"--suite", "/nonexistent"}).exit_code == 3);

  const Json json = Parsed(RunTool("pt-run", {"--suite", place.path() + "/suite", "--format", "json"}));
  CHECK(*json.find("passed")->as_int() == 3);
  CHECK(*json.find("errors")->as_int() == 2);
  CHECK(json.find("cases")->as_array()->size() == 7);
}

TEST_CASE("PtRun, CaseThatTakesTooLongIsAnErrorAndTheNextOneRuns", "[cli]") {
  const Workplace place;
  place.ReluPlusOne("suite/test_a");
  place.ReluPlusOne("suite/test_b");
  const CommandResult result = RunTool("pt-run", {"--suite", place.path() + "/suite", "--case-timeout", "1us"});
  CHECK(result.exit_code != 0);
  CHECK(result.out.find("PASS") == std::string::npos);
}

TEST_CASE("PtRun, InterruptEndsAMeasurementWithItsOwnCode", "[cli]") {
  const Workplace place;
  CommandOptions options;
  options.signal = SIGINT;
  options.signal_after = "note:";
  const CommandResult result = RunTool("pt-run", {place.Branchy(), "--db", "none", "--duration", "50s"}, options);
  CHECK(result.exit_code == 130);
  CHECK(result.out.empty());
}

TEST_CASE("PtRun, TraceIsJsonAndDoesNotDisturbStandardOutput", "[cli]") {
  const Workplace place;
  const std::string trace = place.path() + "/trace.json";
  const CommandResult result =
      RunTool("pt-run", {place.Branchy(), "--db", "none", "--iterations", "2", "--format", "json", "--trace", trace});
  REQUIRE(result.exit_code == 0);
  Parsed(result);
  const auto text = ReadFile(trace, 0);
  REQUIRE(text.ok());
  const TraceTally tally = CheckTraceEvents(*text);
  CHECK(tally.steps.at("measured") == tally.steps.at("predicted"));
  CHECK(tally.counters.contains("measured: memory of cpu"));
}

TEST_CASE("PtRun, ResidualsAddUpAndNameEveryStep", "[cli]") {
  const Workplace place;
  const CommandResult result =
      RunTool("pt-run", {place.Branchy(), "--db", "none", "--iterations", "2", "--format", "json", "--residuals"});
  REQUIRE(result.exit_code == 0);
  const Json json = Parsed(result);
  const Json* residuals = json.find("residuals");
  REQUIRE(residuals != nullptr);
  const auto ns = [&](const char* name) { return *residuals->find(name)->as_int(); };
  int64_t sum = 0;
  for (const char* term : {"drift_ns", "kernels_ns", "inputs_ns", "reorders_ns", "copies_ns", "waits_ns"}) {
    sum += ns(term);
  }
  CHECK(sum == ns("measured_ns") - ns("predicted_ns"));
  CHECK(residuals->find("steps")->as_array()->size() == static_cast<size_t>(*json.find("steps")->as_int()));
  const CommandResult table = RunTool("pt-run", {place.Branchy(), "--db", "none", "--iterations", "2", "--residuals"});
  CHECK(table.out.find("measured, traced") != std::string::npos);
  CHECK(RunTool("pt-run", {place.Branchy(), "--residuals", "--compare", "single:cpu"}).exit_code == 2);
}

TEST_CASE("PtRun, CompareMeasuresEachPlanAndItsSpeedupOverTheFirst", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/profile.db";
  REQUIRE(RunTool("pt-profile", {model, "--db", db, "--max-time", "2ms", "-q"}).exit_code == 0);
  for (const std::vector<std::string>& length :
       {std::vector<std::string>{"--duration", "0.1s"}, {"--iterations", "5"}}) {
    const CommandResult result =
        RunTool("pt-run", Joined({model, "--db", db, "--compare", "random:1,random:2", "--format", "json"}, length));
    REQUIRE(result.exit_code == 0);
    const Json json = Parsed(result);
    const Json::Array& rows = *json.find("compared")->as_array();
    REQUIRE(rows.size() == 2);
    CHECK(*rows[0].find("plan")->as_string() == "random:1");
    CHECK(*rows[1].find("plan")->as_string() == "random:2");
    CHECK(*rows[0].find("speedup")->as_number() == 1);
    CHECK(*rows[1].find("speedup")->as_number() > 0);
    for (const Json& row : rows) {
      CHECK(*row.find("latency_ns")->find("min")->as_number() > 0);
      CHECK(*row.find("runs")->as_int() >= 1);
      if (length[0] == "--iterations") CHECK(*row.find("runs")->as_int() == 5);
    }
  }
}

}  // namespace
}  // namespace pt::testing::pt_run_test
