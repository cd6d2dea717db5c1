// Which of several plans is kept after they ran: by tables of times, and on a model.
#include "lib/engine/finalists.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <map>
#include <set>

#include "partitiontuner/engine/engine.h"
#include "test/cost/sample_problem.h"
#include "test/testing/onnx_bytes.h"

namespace pt::finalists_test {
namespace {

using Medians = std::vector<std::vector<int64_t>>;

// The one that is chosen; their speedups stay in `finalists`.
size_t Choose(const Medians& medians, std::vector<Finalist>& finalists) {
  finalists.assign(medians.size(), Finalist());
  return ChooseFinalist(finalists, medians);
}

TEST_CASE("Finalists, TheFastestOneIsKept", "[engine]") {
  std::vector<Finalist> finalists;
  CHECK(Choose({{100, 101, 99}, {90, 91, 89}, {80, 81, 79}, {120, 119, 121}}, finalists) == 2);
  CHECK(finalists[0].speedup == 1);
  CHECK(finalists[0].noise == 0);
  CHECK(finalists[2].measured_ns == 80);
  CHECK(finalists[2].speedup == 1.25);
}

TEST_CASE("Finalists, TheFirstStaysUnlessAnotherIsFasterBeyondTheNoise", "[engine]") {
  std::vector<Finalist> finalists;
  CHECK(Choose({{100, 100, 100}, {100, 100, 100}}, finalists) == 0);
  CHECK(Choose({{1000, 1000, 1000}, {996, 996, 996}}, finalists) == 0);  // less than half a per cent
  CHECK(Choose({{1000, 1000, 1000}, {990, 990, 990}}, finalists) == 1);
  // Two per cent in the median, from quotients that differ by ten.
  CHECK(Choose({{100, 100, 100, 100, 100}, {90, 94, 98, 104, 110}}, finalists) == 0);
  CHECK(finalists[1].noise > finalists[1].speedup - 1);
}

// A machine that slows down hits both plans of a round alike.
TEST_CASE("Finalists, RoundsAreComparedWithinThemselves", "[engine]") {
  std::vector<Finalist> finalists;
  CHECK(Choose({{100, 200, 300, 100, 400}, {95, 190, 285, 95, 380}}, finalists) == 1);
  CHECK(finalists[1].noise < 1e-9);
}

std::vector<std::string> Admitted(const std::vector<std::tuple<std::string, int64_t, bool>>& rows, uint32_t most) {
  std::vector<Entrant> entrants;
  for (const auto& [name, beside_ns, always_runs] : rows) {
    Entrant entrant;
    entrant.finalist.planner = name;
    entrant.finalist.beside_ns = beside_ns;
    entrant.always_runs = always_runs;
    entrants.push_back(std::move(entrant));
  }
  std::vector<std::string> names;
  for (const Finalist& finalist : Admit(std::move(entrants), most)) names.push_back(finalist.planner);
  return names;
}

TEST_CASE("Finalists, TheBestPredictionsRunAndWhatAlwaysRunsBesides", "[engine]") {
  using Names = std::vector<std::string>;
  CHECK(Admitted({{"first", 100, false}, {"b", 90, false}, {"c", 80, false}, {"d", 95, false}}, 3) ==
        Names{"first", "c", "b"});
  CHECK(Admitted({{"first", 100, false}, {"b", 90, false}, {"runtime", 125, true}, {"d", 95, false}}, 2) ==
        Names{"first", "b", "runtime"});
  CHECK(Admitted({{"first", 100, true}, {"runtime", 110, true}, {"b", 90, false}}, 1) == Names{"first", "runtime"});
}

// More than a quarter behind by prediction it takes a place as the others do.
TEST_CASE("Finalists, WhatIsFarBehindDoesNotRunInAnyCase", "[engine]") {
  using Names = std::vector<std::string>;
  CHECK(Admitted({{"first", 100, false}, {"runtime", 126, true}, {"b", 90, false}}, 2) == Names{"first", "b"});
  CHECK(Admitted({{"first", 100, false}, {"runtime", 126, true}, {"b", 90, false}}, 3) ==
        Names{"first", "b", "runtime"});
}

TEST_CASE("Finalists, PlansInOneStreamAndInSeveralAreAmongThem", "[engine]") {
  const auto admitted = [](bool first_uses_several) {
    std::vector<Entrant> entrants(4);
    for (size_t i = 0; i < entrants.size(); ++i) {
      entrants[i].finalist.planner = "abcd"[i];
      entrants[i].finalist.beside_ns = 100 * static_cast<int64_t>(i + 1);
      entrants[i].several_streams = first_uses_several == (i < 2);
    }
    std::string names;
    for (const Finalist& finalist : Admit(std::move(entrants), 2)) names += finalist.planner;
    return names;
  };
  CHECK(admitted(true) == "abc");
  CHECK(admitted(false) == "abc");
}

// x ─ Relu ─┬─ Tanh ─┬─ Add ─ y
//           └─ Exp ──┘
std::string Branches() {
  constexpr int kFloat = 1;  // of TensorProto.DataType
  testing::GraphParts graph;
  graph.inputs = {testing::ValueInfo("x", kFloat, {"64", "64"})};
  graph.outputs = {testing::ValueInfo("y", kFloat, {"64", "64"})};
  graph.nodes = {testing::NodeBytes("Relu", {"x"}, {"r"}), testing::NodeBytes("Tanh", {"r"}, {"a"}),
                 testing::NodeBytes("Exp", {"r"}, {"b"}), testing::NodeBytes("Add", {"a", "b"}, {"y"})};
  return testing::ModelBytes(graph);
}

TEST_CASE("Finalists, OfAModelRunAndEachIsAPlanOfItsOwn", "[engine]") {
  TemporaryFolder folder;
  std::ofstream(folder.file("model.onnx"), std::ios::binary) << Branches();
  EngineOptions engine_options;
  engine_options.db_path = folder.file("profile.db");
  const auto engine = Engine::Make(engine_options).value();
  const auto model = engine->Load(folder.file("model.onnx"), {}).value();
  MeasureOptions fast;
  fast.max_time_per_key = std::chrono::milliseconds(2);
  fast.max_noise = 0.5;
  REQUIRE(engine->MeasureModel(*model, fast, {}).ok());
  FinalistOptions options;
  options.most = 3;
  options.rounds = 3;
  options.turn = std::chrono::milliseconds(1);
  options.inputs = {Tensor::Float32({64, 64}, std::vector<float>(64 * 64, 0.5F))};
  const Result<FinalChoice> choice = engine->MakeFinalPlan(*model, {}, options);
  INFO((choice.ok() ? "" : ToString(choice.error())));
  REQUIRE(choice.ok());
  CHECK(choice->finalists[0].planner == "search");
  CHECK(choice->finalists.size() <= 3);
  CHECK(choice->chosen < choice->finalists.size());
  for (const Finalist& finalist : choice->finalists) {
    CHECK(finalist.measured_ns > 0);
    CHECK(engine->MakeSession(*model, finalist.plan).ok());
  }
  // What runs in place leads to plans of their own, or to none when nothing changes; the kept one is predicted as it
  // ran.
  options.most = 1;
  options.refine = 2;
  const Result<FinalChoice> refined = engine->MakeFinalPlan(*model, {}, options);
  INFO((refined.ok() ? "" : ToString(refined.error())));
  REQUIRE(refined.ok());
  CHECK(refined->finalists.size() <= 3);
  for (size_t i = 1; i < refined->finalists.size(); ++i) {
    CHECK(refined->finalists[i].planner == "search, refined " + std::to_string(i));
  }
  const Plan& kept = refined->finalists[refined->chosen].plan;
  CHECK(kept.report.reference_ns > 0);
  CHECK(kept.makespan.ns > 0);
  CHECK(engine->MakeSession(*model, kept).ok());
  options.refine = 0;
  options.most = 0;
  CHECK(engine->MakeFinalPlan(*model, {}, options).error().code == ErrorCode::kUsage);
  options.most = 1;
  options.inputs.clear();
  CHECK(engine->MakeFinalPlan(*model, {}, options).error().code == ErrorCode::kInvalidInput);
}

// Relu, four branches of one operator and their sum.
std::string FourBranches() {
  constexpr int kFloat = 1;
  testing::GraphParts graph;
  graph.inputs = {testing::ValueInfo("x", kFloat, {"64", "64"})};
  graph.outputs = {testing::ValueInfo("y", kFloat, {"64", "64"})};
  graph.nodes = {testing::NodeBytes("Relu", {"x"}, {"r"}),    testing::NodeBytes("Tanh", {"r"}, {"a"}),
                 testing::NodeBytes("Exp", {"r"}, {"b"}),     testing::NodeBytes("Sin", {"r"}, {"c"}),
                 testing::NodeBytes("Sigmoid", {"r"}, {"d"}), testing::NodeBytes("Sum", {"a", "b", "c", "d"}, {"y"})};
  return testing::ModelBytes(graph);
}

// Two streams; every operator takes 100 us alone and eight tenths of the device.
constexpr const char* kStreams = R"({"version": 1, "name": "sim:0", "memory_bytes": 1073741824, "streams": 2,
  "to_device": {"latency_ns": 0, "bytes_per_ns": 1000000}, "from_device": {"latency_ns": 0, "bytes_per_ns": 1000000},
  "families": {"*": {"fixed_ns": 100000, "flops_per_ns": 0, "bytes_per_ns": 0, "demand": 0.8}}})";

size_t StreamsOf(const Plan& plan, const Platform& platform) {
  std::set<UnitId> units;
  for (const Step& step : plan.steps) {
    if (std::holds_alternative<RunGroup>(step.work) && platform.device_of(step.unit) != kHostDevice)
      units.insert(step.unit);
  }
  return units.size();
}

TEST_CASE("Finalists, OnADeviceWithStreamsSomeUseOneAndSomeSeveral", "[engine]") {
  TemporaryFolder folder;
  std::ofstream(folder.file("model.onnx"), std::ios::binary) << FourBranches();
  std::ofstream(folder.file("streams.json")) << kStreams;
  EngineOptions engine_options;
  engine_options.db_path = folder.file("profile.db");
  engine_options.machine.libraries = {"reference", "simulated"};
  engine_options.machine.platform_files = {folder.file("streams.json")};
  const auto engine = Engine::Make(engine_options).value();
  const auto model = engine->Load(folder.file("model.onnx"), {}).value();
  MeasureOptions fast;
  fast.max_time_per_key = std::chrono::milliseconds(2);
  fast.max_noise = 0.5;
  REQUIRE(engine->MeasureModel(*model, fast, {}).ok());
  const Platform& platform = engine->machine().platform();
  PlanOptions planning;
  for (size_t n = 0; n < model->graph->nodes().size(); ++n) {
    planning.constraints.pin.emplace_back(NodeId(n), FindUnitClass(platform, "sim:0"));
  }
  FinalistOptions options;
  options.most = 1;
  options.rounds = 2;
  options.turn = std::chrono::milliseconds(1);
  options.inputs = {Tensor::Float32({64, 64}, std::vector<float>(64 * 64, 0.5F))};
  for (const char* planner : {"search", "single:sim:0"}) {
    planning.planner = planner;
    const Result<FinalChoice> choice = engine->MakeFinalPlan(*model, planning, options);
    INFO(planner << ": " << (choice.ok() ? "" : ToString(choice.error())));
    REQUIRE(choice.ok());
    REQUIRE(choice->finalists.size() == 2);
    CHECK(choice->finalists[0].planner == planner);
    std::map<size_t, int64_t> predicted_ns;  // by streams
    for (const Finalist& finalist : choice->finalists) {
      predicted_ns[StreamsOf(finalist.plan, platform)] = finalist.plan.makespan.ns;
      CHECK(finalist.beside_ns == finalist.plan.makespan.ns);
    }
    // Six operators one after another; or two pairs, each 1.6 times as long, between two of them.
    REQUIRE(predicted_ns.size() == 2);
    CHECK(predicted_ns.at(1) >= 600'000);
    CHECK(predicted_ns.at(2) >= 520'000);
    CHECK(predicted_ns.at(2) < 600'000);
  }
}

}  // namespace
}  // namespace pt::finalists_test
