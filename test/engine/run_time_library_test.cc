// The run_time library: whatever sizes come, in whatever order, groups and single nodes give what the reference library
// makes of them, and refuse what it refuses.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <thread>

#include "lib/engine/nested_plans.h"
#include "partitiontuner/platform/platform.h"
#include "test/testing/host_lab.h"
#include "test/testing/real_machine.h"
#include "test/testing/run_candidate.h"
#include "test/testing/run_on_reference.h"

namespace pt::testing::run_time_library_test {
namespace {

// Planned as engines plan without measurements, for the widest unit.
class Lab {
 public:
  explicit Lab(const char* text, const SessionOptions& given = {}, bool keep_nan = false)
      : machine_(MakeRealMachine(2, false)) {
    graph = TypedGraph(text);
    const UnitId unit = WidestHostUnit(machine_->platform());
    SessionOptions options = given;
    options.nested_planner = MakeNestedPlanner(*machine_, false);
    const Result<Plan> planned = options.nested_planner(*graph, unit, keep_nan);
    if (!planned.ok()) FAIL(ToString(planned.error()));
    plan = *planned;
    auto opened = Session::Create(graph, plan, *machine_, options);
    if (!opened.ok()) FAIL(ToString(opened.error()));
    session = std::move(opened).value();
  }

  // The nodes of the plan's largest step by this library.
  size_t largest_group() const {
    size_t most = 0;
    for (const Candidate& candidate : plan.candidates) {
      if (candidate.library == "run_time") most = std::max(most, candidate.nodes.size());
    }
    return most;
  }

  void Check(const std::vector<Tensor>& inputs, double tolerance) {
    const std::vector<Tensor> expected = RunOnReference(*graph, inputs);
    const auto results = RunOnce(*session, inputs);
    if (!results.ok()) FAIL(ToString(results.error()));
    for (size_t i = 0; i < expected.size(); ++i) CHECK(Difference((*results)[i], expected[i], tolerance) == "");
  }

 private:
  std::unique_ptr<Machine> machine_;

 public:
  std::shared_ptr<const Graph> graph;
  Plan plan;
  std::unique_ptr<Session> session;
};

Tensor Rows(int64_t rows, int64_t columns, uint32_t seed) {
  return RandomTensor(DataType::kFloat32, {rows, columns}, seed);
}

struct Network {
  const char* name;
  const char* text;
  size_t group = 1;  // nodes of its largest step
};

// Each of one input float32[?,32].
constexpr std::array kNetworks = {
    Network{"a product, its bias and an activation",
            "input x float32[?,32]\nconst w float32[32,48] random 1\nconst b float32[48] random 2\n"
            "m = MatMul(x, w)\na = Add(m, b)\ny = Relu(a)\noutput y\n",
            3},
    Network{"an elementwise chain that joins",
            "input x float32[?,32]\nconst two float32[] value 2\n"
            "a = Div(x, two)\ne = Erf(a)\ns = Mul(x, e)\ny = Add(s, x)\noutput y\n",
            4},
    Network{"attention of the rows among each other",
            "input x float32[?,32]\nconst w float32[32,32] random 1\nconst scale float32[] value 0.25\n"
            "const split int64[3] ints 0 4 8\nconst join int64[2] ints -1 32\n"
            "q = MatMul(x, w)\nq3 = Reshape(q, split)\nk3 = Reshape(x, split)\n"
            "qt = Transpose(q3) perm=[1,0,2]\nkt = Transpose(k3) perm=[1,2,0]\nvt = Transpose(k3) perm=[1,0,2]\n"
            "s = MatMul(qt, kt)\nt = Mul(s, scale)\np = Softmax(t) axis=-1\no = MatMul(p, vt)\n"
            "ot = Transpose(o) perm=[1,0,2]\ny = Reshape(ot, join)\noutput y\n",
            5},
    Network{"normalisation, reduction and selection",
            "input x float32[?,32]\nconst g float32[32] random 3\nconst b float32[32] random 4\n"
            "const ten int64[] ints 5\nn = LayerNormalization(x, g, b) axis=-1\nr = ReduceSum(n) keepdims=0\n"
            "z = NonZero(x)\nt = Transpose(z) perm=[1,0]\nv = GatherND(n, t)\noutput r\noutput v\n"},
    Network{"images of a computed number",
            "input x float32[?,32]\nconst shape int64[4] ints -1 2 4 4\nconst w float32[8,2,3,3] random 1\n"
            "const b float32[8] random 2\ni = Reshape(x, shape)\nc = Conv(i, w, b) pads=[1,1,1,1]\n"
            "y = Relu(c)\np = MaxPool(y) kernel_shape=[2,2] strides=[2,2]\noutput p\n",
            2},
    Network{"what is sized by its own dims",
            "input x float32[?,32]\nconst zero int64[] zeros\nconst one int64[] ones\nconst first int64[1] zeros\n"
            "s = Shape(x)\nn = Gather(s, zero) axis=0\nr = Range(zero, n, one)\ng = Gather(x, r) axis=0\n"
            "u = Unsqueeze(n, first)\nh = Slice(g, first, u, first)\ny = Concat(h, x) axis=1\noutput y\n"},
    Network{"a recurrent network over the rows",
            "input x float32[?,32]\nconst mid int64[1] ones\nconst w float32[1,64,32] random 1\n"
            "const r float32[1,64,16] random 2\nt = Unsqueeze(x, mid)\n"
            "y, h = LSTM(t, w, r) hidden_size=16\noutput h\n"},
};

TEST_CASE("RunTimeLibrary, SizesInAnyOrderGiveWhatTheReferenceGives", "[engine]") {
  for (const Network& network : kNetworks) {
    CAPTURE(network.name);
    Lab lab(network.text);
    CHECK(lab.largest_group() >= network.group);
    std::mt19937 random(7);
    // More sizes than a step keeps, some of them again and again, none and one among them.
    for (int run = 0; run < 40; ++run) {
      const int64_t rows = run % 3 == 0 ? int64_t{run % 2 == 0 ? 1 : 9} : static_cast<int64_t>(random() % 150);
      CAPTURE(run, rows);
      if (rows == 0 && network.name == std::string_view("a recurrent network over the rows")) continue;
      lab.Check({Rows(rows, 32, static_cast<uint32_t>(run))}, 2e-5);
    }
  }
}

TEST_CASE("RunTimeLibrary, MoreSizesThanItKeepsComeBackRight", "[engine]") {
  Lab lab(kNetworks[0].text);
  // A step has room of its own for 64 small sizes, the others share; of the large ones it keeps 16.
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>(1, 100), std::pair<int64_t, int64_t>(1400, 1420)}) {
    for (int round = 0; round < 2; ++round) {
      for (int64_t rows = first; rows < last; ++rows) lab.Check({Rows(rows, 32, static_cast<uint32_t>(rows))}, 2e-5);
    }
  }
}

TEST_CASE("RunTimeLibrary, ContentsThatDecideSizesAreToldApart", "[engine]") {
  Lab lab(
      "input x float32[?,32]\ninput shape int64[3]\ninput from int64[1]\ninput to int64[1]\nconst axis int64[1] zeros\n"
      "s = Slice(x, from, to, axis)\ny = Reshape(s, shape)\ne = Exp(y)\nz = Add(e, y)\noutput z\n");
  const Tensor x = Rows(60, 32, 1);
  const auto run = [&](std::vector<int64_t> shape, int64_t from, int64_t to) {
    lab.Check({x, Tensor::Int64({3}, std::move(shape)), Tensor::Int64({1}, {from}), Tensor::Int64({1}, {to})}, 2e-5);
  };
  for (int round = 0; round < 2; ++round) {
    run({4, -1, 32}, 0, 40);
    run({4, -1, 32}, 20, 60);  // the same sizes of other rows
    run({-1, 4, 32}, 0, 40);   // the same sizes in, others out
    run({2, -1, 2}, -8, 1000);
  }
}

TEST_CASE("RunTimeLibrary, RefusesWhatTheReferenceRefuses", "[engine]") {
  Lab lab(
      "input x float32[?,32]\ninput y float32[?,32]\ninput shape int64[2]\n"
      "a = Add(x, y)\ne = Exp(a)\nr = Reshape(e, shape)\noutput r\n");
  const auto run = [&](int64_t rows, int64_t others, int64_t first) {
    return RunOnce(*lab.session, {Rows(rows, 32, 1), Rows(others, 32, 2), Tensor::Int64({2}, {first, 32})});
  };
  CHECK(run(70, 70, 70).ok());
  CHECK(run(70, 1, 70).ok());  // broadcasts
  for (const auto& refused : {run(70, 69, 70), run(70, 70, 71), run(0, 5, 5)}) {
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::kInvalidInput);
  }
  CHECK(run(70, 70, 70).ok());
}

TEST_CASE("RunTimeLibrary, BroadcastsThatOnlyTheRunShows", "[engine]") {
  Lab lab(
      "input x float32[?,?]\ninput y float32[?,?]\ninput z float32[?,?]\n"
      "a = Add(x, y)\nb = Mul(a, z)\nc = Sub(b, x)\noutput c\n");
  CHECK(lab.largest_group() == 3);
  for (const auto& [x, y, z] : {std::array<std::pair<int64_t, int64_t>, 3>{{{90, 40}, {90, 40}, {90, 40}}},
                                std::array<std::pair<int64_t, int64_t>, 3>{{{1, 40}, {90, 1}, {1, 1}}},
                                std::array<std::pair<int64_t, int64_t>, 3>{{{90, 40}, {1, 40}, {90, 1}}},
                                std::array<std::pair<int64_t, int64_t>, 3>{{{1, 1}, {1, 1}, {90, 40}}},
                                std::array<std::pair<int64_t, int64_t>, 3>{{{0, 40}, {1, 40}, {1, 1}}}}) {
    lab.Check({Rows(x.first, x.second, 1), Rows(y.first, y.second, 2), Rows(z.first, z.second, 3)}, 1e-5);
  }
}

TEST_CASE("RunTimeLibrary, ConcurrentRunsShareWhatIsMade", "[engine]") {
  Lab lab(kNetworks[0].text);
  std::vector<std::pair<Tensor, Tensor>> pairs;  // inputs and what is expected
  for (int64_t rows = 1; rows < 80; rows += 6) {
    const Tensor x = Rows(rows, 32, static_cast<uint32_t>(rows));
    pairs.emplace_back(x, RunOnReference(*lab.graph, std::vector<Tensor>{x})[0]);
  }
  std::vector<std::vector<Tensor>> results(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < pairs.size() * 3; ++i) {
        auto result = RunOnce(*lab.session, {pairs[(i * (t + 1)) % pairs.size()].first});
        if (result.ok()) results[t].push_back((*result)[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < results.size(); ++t) {
    REQUIRE(results[t].size() == pairs.size() * 3);
    for (size_t i = 0; i < results[t].size(); ++i) {
      CHECK(Difference(results[t][i], pairs[(i * (t + 1)) % pairs.size()].second, 2e-5) == "");
    }
  }
}

TEST_CASE("RunTimeLibrary, TheLimitOnARunCountsWhatLiesBetweenItsKernels", "[engine]") {
  SessionOptions options;
  options.run_bytes = 1 << 20;
  Lab lab(kNetworks[0].text, options);
  CHECK(RunOnce(*lab.session, {Rows(100, 32, 1)}).ok());
  const auto refused = RunOnce(*lab.session, {Rows(100000, 32, 1)});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOutOfMemory);
  CHECK(RunOnce(*lab.session, {Rows(100, 32, 1)}).ok());
}

TEST_CASE("RunTimeLibrary, NanStaysWhereTheDefinitionsPutItIfAsked", "[engine]") {
  Lab lab(
      "input x float32[?,32]\nconst w float32[32,256] random 1\nm = MatMul(x, w)\nr = Relu(m)\n"
      "s = Softmax(x) axis=-1\nt = ReduceMax(s) keepdims=1\noutput r\noutput t\n",
      {}, true);
  for (const Candidate& candidate : lab.plan.candidates) CHECK(candidate.library == "run_time");
  for (const int64_t rows : {90, 400}) {
    std::vector<float> values(static_cast<size_t>(rows) * 32, 0.5F);
    values[40] = std::numeric_limits<float>::quiet_NaN();
    lab.Check({Tensor::Float32({rows, 32}, values)}, 1e-5);
  }
}

TEST_CASE("RunTimeLibrary, PoolsLargeImagesAsTheReferenceDoes", "[engine]") {
  Lab lab(
      "input x float32[?,16,40,40]\nconst w float32[32,16,3,3] random 1\nc = Conv(x, w) pads=[1,1,1,1]\nr = Relu(c)\n"
      "p = MaxPool(r) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]\noutput p\n");
  for (const int64_t images : {1, 3, 2, 3}) {
    lab.Check({RandomTensor(DataType::kFloat32, {images, 16, 40, 40}, static_cast<uint64_t>(images))}, 2e-5);
  }
}

TEST_CASE("RunTimeLibrary, SignalsOfAnyLengthThroughFewAndManyFiltersAreAsTheReferenceHasThem", "[engine]") {
  Lab lab(
      "input x float32[1,16,?]\nconst u float32[16,8,8] random 1\nconst v float32[8,8,5] random 2\n"
      "const w float32[8,8,3] random 3\nconst d float32[8,1,31] random 4\nconst m float32[64,8,3] random 5\n"
      "t = ConvTranspose(x, u) strides=[4] pads=[2,2]\nl = LeakyRelu(t)\n"
      "a = Conv(l, v) dilations=[3] pads=[6,6]\nb = Add(a, t)\nr = LeakyRelu(b)\n"
      "c = Conv(r, w) pads=[1,1]\ne = Add(c, b)\nf = Add(e, t)\ng = Conv(f, d) group=8 pads=[15,15]\n"
      "y = Conv(g, m) pads=[1,1]\noutput y\n");
  for (const int64_t length : {3000, 7, 1, 3000, 2999}) {
    lab.Check({RandomTensor(DataType::kFloat32, {1, 16, length}, static_cast<uint64_t>(length))}, 2e-5);
  }
}

}  // namespace
}  // namespace pt::testing::run_time_library_test
