// Runs in a row with outputs carried into inputs: the state is that of the last good run, whatever happens.
#include "partitiontuner/engine/carried_runs.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <random>
#include <thread>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/test_data.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/testing/host_lab.h"
#include "test/testing/test_data.h"
#include "test/testing/test_machine.h"

namespace pt::testing::carried_runs_test {
namespace {

// The state is the sum of all x; `i` picks elements of it and fails where there are none.
constexpr const char* kSum =
    "input x float32[4]\n"
    "input h float32[4]\n"
    "input i int64[1]\n"
    "s = Add(x, h)\n"
    "y = Gather(s, i)\n"
    "output y\n"
    "output s\n";

CarriedRuns MakeRuns(Session& session, std::vector<Carry> carries) {
  Result<CarriedRuns> runs = CarriedRuns::Make(session, std::move(carries));
  if (!runs.ok()) FAIL(ToString(runs.error()));
  return std::move(runs).value();
}

std::string RefusalOf(Session& session, std::vector<Carry> carries) {
  const Result<CarriedRuns> runs = CarriedRuns::Make(session, std::move(carries));
  return runs.ok() ? "" : runs.error().id + ": " + ToString(runs.error());
}

std::vector<float> FloatsOf(const Datum& datum) {
  const auto values = datum.tensor().values<float>();
  return {values.begin(), values.end()};
}

std::vector<float> StateOf(const CarriedRuns& runs, size_t carry = 0) { return FloatsOf(runs.State(carry).value()); }

// Whatever stands for h, nobody looks at it.
Result<std::vector<Datum>> Add(CarriedRuns& runs, const std::vector<float>& x, int64_t i = 0,
                               const RunOptions& options = {}) {
  return runs.RunData(std::vector<Datum>{Datum(Tensor::Float32({4}, x)), Datum(), Datum(Tensor::Int64({1}, {i}))},
                      options);
}

}  // namespace

TEST_CASE("CarriedRuns, ASumCountsEveryRunUntilReset", "[engine]") {
  const auto seed = GENERATE(range(1U, 5U));
  CAPTURE(seed);
  HostLab lab;
  const auto session = lab.Open(TypedGraph(kSum), seed);
  std::mt19937 random(seed);
  const std::vector<float> first = {1, 2, 3, 4};
  const bool zeros = seed % 2 == 0;
  CarriedRuns runs = MakeRuns(*session, {zeros ? Carry{"s", "h"} : Carry{"s", "h", Tensor::Float32({4}, first)}});
  for (int round = 0; round < 2; ++round) {
    std::vector<float> sum = zeros ? std::vector<float>(4, 0.0F) : first;
    CHECK(StateOf(runs) == sum);
    for (int run = 0; run < 7; ++run) {
      std::vector<float> x(4);
      for (float& value : x) value = static_cast<float>(random() % 100);
      for (size_t k = 0; k < 4; ++k) sum[k] += x[k];
      const auto outputs = Add(runs, x, 2);
      if (!outputs.ok()) FAIL(ToString(outputs.error()));
      CHECK(FloatsOf(outputs->at(0)) == std::vector<float>{sum[2]});
      CHECK(FloatsOf(outputs->at(1)) == sum);
      CHECK(StateOf(runs) == sum);
    }
    REQUIRE(runs.Reset().ok());
  }
}

TEST_CASE("CarriedRuns, AFailedRunLeavesTheStateOfTheLastGoodOne", "[engine]") {
  const int good = GENERATE(0, 1, 2, 3);
  CAPTURE(good);
  HostLab lab;
  const auto session = lab.Open(TypedGraph(kSum), 1);
  CarriedRuns runs = MakeRuns(*session, {{"s", "h"}});
  std::vector<float> sum(4, 0.0F);
  for (int run = 0; run < good; ++run) {
    REQUIRE(Add(runs, {1, 2, 3, 4}).ok());
    for (size_t k = 0; k < 4; ++k) sum[k] += static_cast<float>(k + 1);
  }
  CancelToken cancelled;
  cancelled.Cancel();
  RunOptions cancel, late;
  cancel.cancel = &cancelled;
  late.deadline = std::chrono::nanoseconds(0);
  CHECK(Add(runs, {1, 1, 1, 1}, 4).error().code == ErrorCode::kInvalidInput);  // after s was made
  CHECK(Add(runs, {1, 1, 1, 1}, 0, cancel).error().code == ErrorCode::kRunFailed);
  CHECK(Add(runs, {1, 1, 1, 1}, 0, late).error().code == ErrorCode::kRunFailed);
  CHECK(runs.Run({}, {}).error().code == ErrorCode::kInvalidInput);
  CHECK(StateOf(runs) == sum);
  REQUIRE(Add(runs, {1, 1, 1, 1}).ok());
  for (float& value : sum) value += 1;
  CHECK(StateOf(runs) == sum);
}

TEST_CASE("CarriedRuns, OneSessionHoldsManyStates", "[engine]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph(kSum), 1);
  std::vector<std::vector<float>> ends(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < ends.size(); ++t) {
    threads.emplace_back([&, t] {
      Result<CarriedRuns> runs = CarriedRuns::Make(*session, {{"s", "h"}});
      if (!runs.ok()) return;
      bool ok = true;
      for (int run = 0; run < 50; ++run) ok = Add(*runs, std::vector<float>(4, static_cast<float>(t + 1))).ok() && ok;
      if (ok) ends[t] = StateOf(*runs);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < ends.size(); ++t) CHECK(ends[t] == std::vector<float>(4, 50 * static_cast<float>(t + 1)));
}

TEST_CASE("CarriedRuns, OneOutputGoesIntoSeveralInputs", "[engine]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph("input a float32[2]\ninput b float32[2]\ninput x float32[2]\n"
                                           "c = Add(a, b)\nd = Add(c, x)\noutput d\noutput d\n"),
                                1);
  CarriedRuns runs = MakeRuns(*session, {{"d", "a", Tensor::Float32({2}, {1, 10})}, {"d", "b"}});
  float sum = 1;
  for (int run = 0; run < 5; ++run) {
    sum = (run == 0 ? sum : 2 * sum) + 3;
    const auto outputs = runs.RunData(std::vector<Datum>{Datum(), Datum(), Datum(Tensor::Float32({2}, {3, 3}))});
    if (!outputs.ok()) FAIL(ToString(outputs.error()));
    CHECK(FloatsOf(outputs->at(0))[0] == sum);
    CHECK(FloatsOf(outputs->at(1)) == FloatsOf(outputs->at(0)));
    CHECK(StateOf(runs, 1) == FloatsOf(outputs->at(0)));
  }
}

// What a decoder remembers of all tokens before.
TEST_CASE("CarriedRuns, AStateMayGrowFromRunToRun", "[engine]") {
  HostLab lab;
  const auto session =
      lab.Open(TypedGraph("input past float32[?]\ninput x float32[2]\npresent = Concat(past, x) axis=0\n"
                          "sum = ReduceSum(present) keepdims=0\noutput sum\noutput present\n"),
               1);
  CHECK(RefusalOf(*session, {{"present", "past"}}).starts_with("carry.zeros"));
  CarriedRuns runs = MakeRuns(*session, {{"present", "past", Tensor::Float32({0}, {})}});
  for (int round = 0; round < 2; ++round) {
    std::vector<float> all;
    for (int run = 0; run < 6; ++run) {
      const auto value = static_cast<float>(run);
      all.insert(all.end(), {value, value + 1});
      const auto outputs = runs.RunData(
          std::vector<Datum>{Datum(Tensor::Float32({0}, {})), Datum(Tensor::Float32({2}, {value, value + 1}))});
      if (!outputs.ok()) FAIL(ToString(outputs.error()));
      CHECK(FloatsOf(outputs->at(1)) == all);
      CHECK(FloatsOf(outputs->at(0))[0] == static_cast<float>((run + 1) * (run + 1)));
    }
    REQUIRE(runs.Reset().ok());
  }
}

TEST_CASE("CarriedRuns, ASizeKnownOnlyInTheRunMustBeTheInputs", "[engine]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph("input h float32[3]\ninput x float32[3]\ninput n int64[1]\n"
                                           "const zero int64[1] zeros\n"
                                           "t = Add(h, x)\ns = Slice(t, zero, n)\noutput s\n"),
                                1);
  CarriedRuns runs = MakeRuns(*session, {{"s", "h"}});
  const auto run = [&](int64_t n) {
    return runs.RunData(std::vector<Datum>{Datum(), Datum(Tensor::Float32({3}, {1, 2, 3})), Tensor::Int64({1}, {n})});
  };
  REQUIRE(run(3).ok());
  REQUIRE(run(5).ok());
  const auto refused = run(2);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kRunFailed);
  CHECK(refused.error().id == "carry.size");
  CHECK(StateOf(runs) == std::vector<float>{2, 4, 6});
  REQUIRE(run(3).ok());
  CHECK(StateOf(runs) == std::vector<float>{3, 6, 9});
  REQUIRE(runs.Reset().ok());
  REQUIRE(run(3).ok());
  CHECK(StateOf(runs) == std::vector<float>{1, 2, 3});
}

TEST_CASE("CarriedRuns, StringsAreCarriedToo", "[engine]") {
  HostLab lab;
  const auto session =
      lab.Open(TypedGraph("input h string[1]\ninput x string[1]\ns = StringConcat(h, x)\noutput s\n"), 1);
  CHECK(RefusalOf(*session, {{"s", "h"}}).starts_with("carry.zeros"));
  const auto text = [](const char* word) { return Datum(Tensor::FromStrings({1}, {word}).value()); };
  CarriedRuns runs = MakeRuns(*session, {{"s", "h", text("-")}});
  for (const char* word : {"a", "b", "c"}) {
    REQUIRE(runs.RunData(std::vector<Datum>{Datum(), text(word)}).ok());
  }
  CHECK(runs.State(0)->tensor().strings()[0] == "-abc");
}

TEST_CASE("CarriedRuns, WhatCannotBeCarriedIsRefusedBeforeTheFirstRun", "[engine]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph("input a float32[2]\ninput b float32[3]\ninput i int64[2]\n"
                                           "c = Relu(a)\nd = Relu(b)\nj = Add(i, i)\n"
                                           "output c\noutput d\noutput j\n"),
                                1);
  const auto refusal = [&](std::vector<Carry> carries) { return RefusalOf(*session, std::move(carries)); };
  CHECK(refusal({{"c", "a"}, {"d", "b"}, {"j", "i"}}).empty());
  CHECK(refusal({}).empty());
  CHECK(refusal({{"a", "a"}}).find("no output \"a\"; its outputs: c, d, j") != std::string::npos);
  CHECK(refusal({{"c", ""}}).find("no input \"\"; its inputs: a, b, i") != std::string::npos);
  CHECK(refusal({{"c", "a"}, {"c", "a"}}).starts_with("carry.twice"));
  CHECK(refusal({{"c", "b"}}).find("the output is float32[2], the input float32[3]") != std::string::npos);
  CHECK(refusal({{"c", "i"}}).starts_with("carry.type"));
  CHECK(refusal({{"c", "a", Tensor::Float32({1, 2}, {0, 0})}}).starts_with("carry.initial"));
  CHECK(refusal({{"c", "a", Tensor::Int64({2}, {0, 0})}}).starts_with("carry.initial"));
}

// A state that lies on a device stays there.
TEST_CASE("CarriedRuns, NothingIsCopiedBetweenRunsOnADevice", "[engine]") {
  FakeControl control;
  SimulatedCalls calls;
  const std::unique_ptr<Machine> machine =
      MakeSimulatedMachine(MakeTestPlatform(1, true), control, {SimulatedClock::kVirtual, &calls});
  const auto graph = std::make_shared<const Graph>(
      ParseGraph("input h float32[8]\na = Mix(h) : float32[8]\ns = Mix(a) : float32[8]\noutput s\n").value());
  const UnitId unit = FindUnit(machine->platform(), "fake:0#0");
  const ValueId in = graph->inputs()[0], out = graph->outputs()[0];
  const Plan there = MakeTestPlan(*graph, *machine, {unit, unit}, {{in, DeviceId(1U)}, {out, DeviceId(1U)}});
  const auto session = Session::Create(graph, there, *machine).value();
  CarriedRuns runs = MakeRuns(*session, {{"s", "h", Tensor::Float32({8}, {1, 2, 3, 4, 5, 6, 7, 8})}});
  std::vector<Buffer> state = {{{8}, {1, 2, 3, 4, 5, 6, 7, 8}}};
  const std::vector<LentTensor> nothing(1);
  for (int run = 0; run < 4; ++run) {
    calls.Take();
    const Result<RunReport> report = runs.Run(nothing, nothing);
    if (!report.ok()) FAIL(ToString(report.error()));
    for (const std::string& call : calls.Take()) CHECK(call.find("copy") == std::string::npos);
    state[0].data = Interpret(*graph, state)[0];
    CHECK(StateOf(runs) == state[0].data);
  }
  const Plan half = MakeTestPlan(*graph, *machine, {unit, unit}, {{in, DeviceId(1U)}});
  const auto apart = Session::Create(graph, half, *machine).value();
  CHECK(RefusalOf(*apart, {{"s", "h"}}).starts_with("carry.device"));
}

TEST_CASE("RunBuffers, DimsMustBeTheGraphsWhateverTheBytes", "[engine]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph("input x float32[2,3]\ninput k float32[]\ny = Add(x, k)\noutput y\n"), 1);
  const Tensor one = Tensor::Float32({1}, {1});  // a scalar as many files have it
  CHECK(RunTensors(*session, std::vector<Tensor>{Tensor::Float32({2, 3}, std::vector<float>(6)), one}).ok());
  const auto refused = RunTensors(*session, std::vector<Tensor>{Tensor::Float32({3, 2}, std::vector<float>(6)), one});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
}

// One network in two exports, of different operators and another order of inputs: fed the same speech, each by its own
// state, they say the same.
TEST_CASE("CarriedRuns, TwoExportsOfAStreamingNetworkAgreeRunForRun", "[engine][slow]") {
  const std::string models = TestDataFolder("models");
  if (models.empty()) SKIP("no test data: set PARTITIONTUNER_TEST_DATA");
  EngineOptions options;
  options.db_path = "none";
  const auto engine = Engine::Make(options).value();
  constexpr const char* kWindows[] = {"speech3", "speech7", "speech11"};
  struct Export {
    std::unique_ptr<Session> session;
    std::optional<CarriedRuns> runs;
    std::vector<std::vector<Datum>> windows;  // inputs, in the order of the export's
    std::vector<ExpectedTensor> expected;     // of the first window
  };
  std::vector<Export> exports;
  for (const char* name : {"silero-vad-v5", "silero-vad-op18-ifless"}) {
    CAPTURE(name);
    const std::string folder = models + "/" + name;
    ModelOptions model_options;
    Export& network = exports.emplace_back();
    for (const char* window : kWindows) {
      const auto inputs = LoadTestInputs(folder + "/test_data_set_" + window, 3).value();
      network.windows.emplace_back(inputs.begin(), inputs.end());
      if (model_options.input_dims.empty()) {
        for (const Tensor& input : inputs) model_options.input_dims.push_back(input.dims());
      }
    }
    const auto model = engine->Load(folder + "/model.onnx", model_options);
    if (!model.ok()) FAIL(ToString(model.error()));
    network.expected = LoadExpectedOutputs(folder + "/test_data_set_speech3", 2).value();
    network.session = engine->MakeSession(**model, engine->MakeDefaultPlan(**model).value()).value();
    const std::span<const ValueId> inputs = (*model)->graph->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if ((*model)->graph->value(inputs[i]).name != "state") continue;
      network.runs.emplace(MakeRuns(*network.session, {{"stateN", "state", network.windows[0][i]}}));
    }
  }
  const Tolerance tolerance{Tolerance::Kind::kOfMaximum, 1e-4, 0, 0};
  const auto close = [&](const Datum& a, const Datum& b) {
    ExpectedTensor expected;
    expected.dims = a.tensor().dims();
    expected.tensor = a.tensor();
    const Comparison comparison = CompareTensors(expected, b.tensor(), tolerance);
    INFO(comparison.reason);
    CHECK(comparison.equal);
  };
  for (size_t run = 0; run < 12; ++run) {
    CAPTURE(run);
    std::vector<std::vector<Datum>> outputs;
    for (Export& network : exports) {
      auto result = network.runs->RunData(network.windows[run % std::size(kWindows)]);
      if (!result.ok()) FAIL(ToString(result.error()));
      if (run == 0) {
        for (size_t i = 0; i < 2; ++i) CHECK(CompareData(network.expected[i], (*result)[i], tolerance).equal);
      }
      outputs.push_back(std::move(*result));
    }
    close(outputs[0][0], outputs[1][0]);
    close(outputs[0][1], outputs[1][1]);
  }
  // The state matters: without it the same window is heard otherwise.
  const float carried = FloatsOf(*exports[0].runs->State(0))[0];
  REQUIRE(exports[0].runs->Reset().ok());
  REQUIRE(exports[0].runs->RunData(exports[0].windows[2]).ok());
  CHECK(FloatsOf(*exports[0].runs->State(0))[0] != carried);
}

}  // namespace pt::testing::carried_runs_test
