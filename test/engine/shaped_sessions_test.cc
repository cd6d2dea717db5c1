// Sessions by the dims of the inputs: what is made, found and dropped, and that it computes what a fresh session does.
#include "partitiontuner/engine/shaped_sessions.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <fstream>
#include <random>
#include <thread>

#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/verify.h"
#include "test/cost/sample_problem.h"
#include "test/testing/onnx_bytes.h"

namespace pt::shaped_sessions_test {
namespace {

// tokens [batch, seq, 4] times a matrix, weighed over the sequence: y [batch, seq, 8], and its sum over the sequence.
std::string SequenceModel() {
  testing::GraphParts graph;
  std::vector<float> weights(4 * 8);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.1F * static_cast<float>(i % 7) - 0.3F;
  graph.inputs = {testing::ValueInfo("x", 1, {"batch", "seq", "4"}), testing::ValueInfo("scale", 1, {})};
  graph.outputs = {testing::ValueInfo("y", 1, {"batch", "seq", "8"}), testing::ValueInfo("total", 1, {"batch", "8"})};
  graph.initializers = {testing::FloatTensor("w", {4, 8}, weights), testing::Int64Tensor("axis", {1}, {1})};
  graph.nodes = {testing::NodeBytes("MatMul", {"x", "w"}, {"p"}), testing::NodeBytes("Mul", {"p", "scale"}, {"q"}),
                 testing::NodeBytes("Softmax", {"q"}, {"y"}, {testing::IntAttribute("axis", 1)}),
                 testing::NodeBytes("ReduceSum", {"y", "axis"}, {"total"}, {testing::IntAttribute("keepdims", 0)})};
  return testing::ModelBytes(graph);
}

struct Scene {
  Scene() {
    path = folder.file("model.onnx");
    std::ofstream(path, std::ios::binary) << SequenceModel();
    EngineOptions options;
    options.db_path = folder.file("profile.db");
    engine = Engine::Make(options).value();
  }
  std::unique_ptr<ShapedSessions> Make(const ShapedSessionsOptions& options = {}) const {
    auto sessions = ShapedSessions::Make(*engine, path, options);
    if (!sessions.ok()) FAIL(ToString(sessions.error()));
    return std::move(sessions).value();
  }
  std::unique_ptr<ShapedSessions> MakeFor(size_t most) const {
    ShapedSessionsOptions options;
    options.most_sessions = most;
    return Make(options);
  }

  TemporaryFolder folder;
  std::string path;
  std::unique_ptr<Engine> engine;
};

using Size = std::pair<int64_t, int64_t>;  // batch and sequence

std::vector<std::vector<int64_t>> DimsAt(const Size& size) { return {{size.first, size.second, 4}, {}}; }

std::vector<Datum> InputsAt(const Size& size) {
  std::vector<float> x(static_cast<size_t>(size.first * size.second * 4));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7 + static_cast<size_t>(size.second)) % 11) - 5;
  return {Datum(Tensor::Float32({size.first, size.second, 4}, x)), Datum(Tensor::Float32({}, {0.5F}))};
}

// By a model that was loaded for this size alone.
std::vector<Datum> FreshResult(const Scene& scene, const Size& size) {
  ModelOptions options;
  options.input_dims = DimsAt(size);
  const auto model = scene.engine->Load(scene.path, options).value();
  const auto session = scene.engine->MakeSession(*model, scene.engine->MakeDefaultPlan(*model).value()).value();
  return RunData(*session, InputsAt(size)).value();
}

bool AreSame(const std::vector<Datum>& a, const std::vector<Datum>& b) { return std::ranges::equal(a, b, SameData); }

void CheckCounts(const UseCounts& counts, const UseCounts& expected) {
  CHECK(counts.hits == expected.hits);
  CHECK(counts.misses == expected.misses);
  CHECK(counts.failed == expected.failed);
  CHECK(counts.dropped == expected.dropped);
  CHECK(counts.kept == expected.kept);
}

TEST_CASE("ShapedSessions, EachSizeIsMadeOnceAndComputesWhatAFreshSessionDoes", "[engine]") {
  const Scene scene;
  const auto sessions = scene.MakeFor(2);
  const Size a{1, 3}, b{2, 3}, c{1, 16};
  const auto run = [&](const Size& size) {
    const auto outputs = sessions->Run(InputsAt(size));
    if (!outputs.ok()) FAIL(ToString(outputs.error()));
    CHECK(outputs->at(0).tensor().dims() == std::vector<int64_t>{size.first, size.second, 8});
    CHECK(AreSame(*outputs, FreshResult(scene, size)));
  };
  run(a);
  run(b);
  CheckCounts(sessions->counts(), {.hits = 0, .misses = 2, .failed = 0, .dropped = 0, .kept = 2});
  run(a);
  run(b);
  run(a);
  CheckCounts(sessions->counts(), {.hits = 3, .misses = 2, .failed = 0, .dropped = 0, .kept = 2});
  run(c);  // in the place of b
  run(a);
  CheckCounts(sessions->counts(), {.hits = 4, .misses = 3, .failed = 0, .dropped = 1, .kept = 2});
  run(b);
  CheckCounts(sessions->counts(), {.hits = 4, .misses = 4, .failed = 0, .dropped = 2, .kept = 2});
}

TEST_CASE("ShapedSessions, ShareTheFileAndItsWeights", "[engine]") {
  const Scene scene;
  const auto sessions = scene.Make();
  const auto bytes_of_w = [](const Graph& graph) {
    const ValueId w = graph.find_value("w");
    REQUIRE(w.valid());
    return graph.value(w).constant->bytes().data();
  };
  const auto one = sessions->For(DimsAt({1, 3})).value(), other = sessions->For(DimsAt({4, 5})).value();
  CHECK(bytes_of_w(*one->model->graph) == bytes_of_w(*sessions->file().graph));
  CHECK(bytes_of_w(*other->model->graph) == bytes_of_w(*sessions->file().graph));
  CHECK(one->made_ns > 0);
  // One element of rank 1 is a scalar to the model.
  CHECK(sessions->For(std::vector<std::vector<int64_t>>{{1, 3, 4}, {1}}).value() == one);
}

TEST_CASE("ShapedSessions, ASessionThatWasDroppedRunsForWhoHoldsIt", "[engine]") {
  const Scene scene;
  const auto sessions = scene.MakeFor(1);
  const auto held = sessions->For(DimsAt({2, 2})).value();
  REQUIRE(sessions->For(DimsAt({3, 3})).ok());
  CHECK(sessions->counts().dropped == 1);
  CHECK(AreSame(RunData(*held->session, InputsAt({2, 2})).value(), FreshResult(scene, {2, 2})));
}

TEST_CASE("ShapedSessions, PlanByWhatWasMeasuredElseByTheDefaultWhereAllowed", "[engine]") {
  const Scene scene;
  ShapedSessionsOptions options;
  options.plan.planner = "heft";
  const auto sessions = scene.Make(options);
  const auto before = sessions->For(DimsAt({2, 4})).value();
  CHECK(before->default_plan);
  CHECK(before->session->plan()->planner == "single:cpu");
  options.plan.default_plan = false;
  const auto strict = scene.Make(options);
  const auto refused = strict->For(DimsAt({2, 4}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kPartial);
  CHECK(refused.error().hint.find("pt-profile") != std::string::npos);
  CheckCounts(strict->counts(), {.hits = 0, .misses = 1, .failed = 1, .dropped = 0, .kept = 0});

  MeasureOptions fast;
  fast.max_time_per_key = std::chrono::milliseconds(5);
  fast.max_noise = 0.5;
  REQUIRE(scene.engine->MeasureModel(*before->model, fast, {}).ok());
  const auto after = strict->For(DimsAt({2, 4}));  // an error is not kept
  if (!after.ok()) FAIL(ToString(after.error()));
  CHECK_FALSE((*after)->default_plan);
  CHECK((*after)->session->plan()->planner == "heft");
  CHECK((*after)->session->plan()->complete);
  CHECK(AreSame(strict->Run(InputsAt({2, 4})).value(), RunData(*(*after)->session, InputsAt({2, 4})).value()));
}

TEST_CASE("ShapedSessions, ManyCallersOfManySizesGetTheirOwnResults", "[engine]") {
  const Scene scene;
  const std::vector<Size> sizes = {{1, 1}, {1, 8}, {2, 8}, {3, 5}, {8, 2}};
  std::vector<std::vector<Datum>> expected;
  for (const Size& size : sizes) expected.push_back(FreshResult(scene, size));
  const size_t most = GENERATE(2U, 5U);
  CAPTURE(most);
  const auto sessions = scene.MakeFor(most);
  constexpr unsigned kThreads = 4, kCalls = 25;
  std::atomic<int> failed{0}, wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (unsigned call = 0; call < kCalls; ++call) {
        const size_t size = random() % sizes.size();
        const auto outputs = sessions->Run(InputsAt(sizes[size]));
        if (!outputs.ok()) {
          ++failed;
        } else if (!AreSame(*outputs, expected[size])) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed.load() == 0);
  CHECK(wrong.load() == 0);
  const UseCounts counts = sessions->counts();
  CHECK(counts.hits + counts.misses == kThreads * kCalls);
  CHECK(counts.misses == counts.dropped + counts.kept);
  CHECK(counts.kept <= most);
  if (most == sizes.size()) CHECK(counts.misses == sizes.size());
}

TEST_CASE("ShapedSessions, WhatDoesNotFitIsRefusedWithTheReason", "[engine]") {
  const Scene scene;
  ShapedSessionsOptions options;
  options.model.dims["batch"] = 2;
  const auto sessions = scene.Make(options);
  const auto refusal = [&](const std::vector<std::vector<int64_t>>& dims) {
    const auto made = sessions->For(dims);
    REQUIRE_FALSE(made.ok());
    return made.error();
  };
  const Error missing = refusal({});
  CHECK(missing.code == ErrorCode::kUsage);
  CHECK(missing.hint == "give --dim seq=N");
  CHECK(missing.file == scene.path);
  CHECK(refusal({{3, 4, 4}, {}}).code == ErrorCode::kInvalidInput);  // not the batch of the options
  CHECK(refusal({{2, 4, 5}, {}}).code == ErrorCode::kInvalidInput);  // not the model's 4
  CHECK(refusal({{2, -4, 4}, {}}).code == ErrorCode::kInvalidInput);
  CHECK(refusal({{2, 4, 4}, {}, {}}).code == ErrorCode::kInvalidInput);
  CHECK(sessions->For(DimsAt({2, 4})).ok());
  CHECK(sessions->counts().kept == 1);
  CHECK(sessions->Run(std::vector<Datum>{InputsAt({2, 4})[0]}).error().code == ErrorCode::kInvalidInput);

  options.model.shapes["x"] = {2, 6, 4};
  const auto fixed = scene.Make(options)->For(DimsAt({2, 4}));
  REQUIRE_FALSE(fixed.ok());
  CHECK(fixed.error().code == ErrorCode::kInvalidInput);
  CHECK(fixed.error().message.find("the options fix them at [2,6,4]") != std::string::npos);

  ShapedSessionsOptions none, pinned;
  none.most_sessions = 0;
  pinned.plan.constraints.pin = {{NodeId(0U), UnitClassId(0U)}};
  CHECK(ShapedSessions::Make(*scene.engine, scene.path, none).error().code == ErrorCode::kUsage);
  CHECK(ShapedSessions::Make(*scene.engine, scene.path, pinned).error().code == ErrorCode::kUsage);
  CHECK(ShapedSessions::Make(*scene.engine, scene.folder.file("absent.onnx"), {}).error().code ==
        ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace pt::shaped_sessions_test
