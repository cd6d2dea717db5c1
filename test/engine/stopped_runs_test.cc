// Runs that end early, at every kernel that they call, those of nested graphs included: each ends there with its
// reason, and the session's next run is as right as ever.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/exec/kernel_watch.h"
#include "partitiontuner/exec/watched_library.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/filled_inputs.h"
#include "test/testing/test_machine.h"

namespace pt::testing::stopped_runs_test {
namespace {

constexpr uint32_t kCores = 2;

// Counts the calls of kernels of a run, and does something before one of them. A Loop and the kernels of its body
// are calls each.
class CallCounter final : public KernelWatch {
 public:
  // Before the n-th call from now on, counted from 1; 0: before none.
  void Arm(int64_t n, std::function<void()> act) {
    calls_ = 0;
    act_at_ = n;
    act_ = std::move(act);
  }
  int64_t calls() const { return calls_; }

  bool IsExcluded(const WatchedKernelName&) const override { return false; }
  bool ExcludesAnyOf(std::string_view) const override { return false; }
  void Begin(const WatchedKernelName&) noexcept override {}
  void End() noexcept override {}
  std::shared_ptr<KernelProbe> ProbeOf(const Graph&, const Candidate&) override {
    return std::make_shared<Probe>(*this);
  }

 private:
  class Probe final : public KernelProbe {
   public:
    explicit Probe(CallCounter& counter) : counter_(counter) {}
    void Before(TensorSlots) noexcept override {
      if (++counter_.calls_ == counter_.act_at_) counter_.act_();
    }
    void After(TensorSlots) noexcept override {}

   private:
    CallCounter& counter_;
  };

  std::atomic<int64_t> calls_{0};
  int64_t act_at_ = 0;
  std::function<void()> act_;
};

// The reference library on two cores, behind the counter.
class Lab {
 public:
  Lab() {
    Platform platform = MakeTestPlatform(kCores, false);
    std::vector<std::unique_ptr<DeviceDriver>> drivers;
    drivers.push_back(MakeHostDriver(kHostDevice));
    std::vector<std::unique_ptr<Library>> libraries;
    libraries.push_back(MakeWatchedLibrary(MakeReferenceLibrary(), counter_));
    EngineOptions options;
    options.db_path = "none";
    engine_ =
        Engine::Make(Machine::Assemble(std::move(platform), std::move(drivers), std::move(libraries)).value(), options)
            .value();
  }
  Engine& engine() { return *engine_; }
  CallCounter& counter() { return counter_; }

 private:
  CallCounter counter_;
  std::unique_ptr<Engine> engine_;
};

// A seed of the fuzzers; dims that it leaves open are 2.
std::shared_ptr<const Model> Load(Engine& engine, const std::string& name) {
  ModelOptions options;
  const std::string path = (std::filesystem::path(PT_SOURCE_DIR) / "test/fuzz/seeds/model" / name).string();
  const Graph graph = LoadOnnx(path, {}).value();
  for (const UnresolvedDim& dim : UnresolvedDims(graph)) options.dims[dim.name] = 2;
  auto model = engine.Load(path, options);
  if (!model.ok()) FAIL(ToString(model.error()));
  return *model;
}

// A plan with its nodes on units at random, one core and both: as planned, and by a caller who does every step.
std::vector<std::unique_ptr<Session>> Open(Engine& engine, const Model& model) {
  std::mt19937 random(1);
  const Machine& machine = engine.machine();
  const Plan plan = MakeTestPlan(*model.graph, machine, RandomUnits(*model.graph, machine.platform(), random));
  std::vector<std::unique_ptr<Session>> sessions;
  for (const AloneRuns alone : {AloneRuns::kNever, AloneRuns::kAlways}) {
    SessionOptions options;
    options.alone = alone;
    auto session = engine.MakeSession(model, plan, options);
    if (!session.ok()) FAIL(ToString(session.error()));
    sessions.push_back(std::move(session).value());
  }
  return sessions;
}

bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return x.dims() == y.dims() && std::ranges::equal(x.bytes(), y.bytes());
  });
}

// Runs that end before each of their kernels in turn, by what `stop` does there, with the error `id`.
void EndAtEveryKernel(CallCounter& counter, Session& session, const RunOptions& options,
                      const std::function<void()>& stop, const std::function<void()>& go_on, const std::string& id) {
  const std::vector<Tensor> inputs = FilledInputs(session.graph(), 3);
  counter.Arm(0, {});
  const auto expected = RunTensors(session, inputs);
  if (!expected.ok()) FAIL(ToString(expected.error()));
  const int64_t calls = counter.calls();
  REQUIRE(calls > 0);
  for (int64_t n = 1; n <= calls; ++n) {
    CAPTURE(n, calls);
    counter.Arm(n, stop);
    const auto ended = RunTensors(session, inputs, options);
    REQUIRE_FALSE(ended.ok());
    CHECK(ended.error().code == ErrorCode::kRunFailed);
    CHECK(ended.error().id == id);
    CHECK(counter.calls() < n + kCores);  // the other core may have looked just before
    go_on();
    counter.Arm(0, {});
    const auto again = RunTensors(session, inputs);
    if (!again.ok()) FAIL(ToString(again.error()));
    CHECK(counter.calls() == calls);
    CHECK(SameBits(*again, *expected));
  }
}

const char* AnyModel() { return GENERATE("conv", "loop", "rich", "quantised", "recurrent"); }

}  // namespace

TEST_CASE("StoppedRuns, ACancelBeforeAnyKernelEndsTheRunThere", "[engine]") {
  const std::string name = AnyModel();
  Lab lab;
  const auto model = Load(lab.engine(), name);
  CAPTURE(name);
  for (const std::unique_ptr<Session>& session : Open(lab.engine(), *model)) {
    CancelToken cancel;
    RunOptions options;
    options.cancel = &cancel;
    EndAtEveryKernel(
        lab.counter(), *session, options, [&] { cancel.Cancel(); }, [&] { cancel.Reset(); }, "run.cancelled");
  }
}

// The kernel takes until after the deadline; where the machine was too slow to come to it, the run ends before.
TEST_CASE("StoppedRuns, ADeadlineBeforeAnyKernelEndsTheRunThere", "[engine]") {
  using Clock = std::chrono::steady_clock;
  const std::string name = AnyModel();
  Lab lab;
  const auto model = Load(lab.engine(), name);
  CAPTURE(name);
  for (const std::unique_ptr<Session>& session : Open(lab.engine(), *model)) {
    RunOptions options;
    options.deadline = std::chrono::milliseconds(3);
    const auto pass_the_deadline = [&] {
      for (const auto start = Clock::now(); Clock::now() < start + *options.deadline;) {
      }
    };
    EndAtEveryKernel(
        lab.counter(), *session, options, pass_the_deadline, [] {}, "run.deadline");
  }
}

}  // namespace pt::testing::stopped_runs_test
