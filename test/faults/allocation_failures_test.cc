// Memory that is not there: the n-th allocation fails, for the n of a whole stage, on planning, compiling and running.
// Each time: an error that says so, nothing lost, and the next call works.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "partitiontuner/engine/run_buffers.h"
#include "test/allocations/hook.h"
#include "test/fuzz/entries/model_chain.h"
#include "test/testing/filled_inputs.h"
#include "test/testing/forked_trials.h"
#include "test/testing/rounds.h"

namespace pt::testing::allocation_failures_test {
namespace {

constexpr const char* kModels[] = {"conv", "loop", "rich", "quantised", "recurrent"};

// Without oneDNN, whose interface in C ends the process where memory is refused to it.
Engine& TheEngine() {
  static const std::unique_ptr<Engine> engine = MakeFuzzEngine("onednn");
  return *engine;
}

std::string ModelBytesOf(const std::string& model) {
  std::ifstream file(std::filesystem::path(PT_SOURCE_DIR) / "test/fuzz/seeds/model" / model, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// All that a stage is given, made before memory is short. In the process that tries, once.
struct Scene {
  std::shared_ptr<const Model> model;
  PlanOptions plan_options;
  Plan plan;
  std::unique_ptr<Session> session;
  std::vector<Tensor> inputs;
  RunBuffers in, out;

  static Scene Make(const std::string& name) {
    const std::string bytes = ModelBytesOf(name);
    ModelFile file;
    file.path = name;
    file.graph = std::make_shared<const Graph>(LoadOnnxBytes(std::as_bytes(std::span(bytes)), {}).value());
    ModelOptions options;
    options.dims = {{"N", 2}};
    if (name != "rich" && name != "conv") options.dims.clear();
    const auto model = TheEngine().Load(file, options).value();
    PlanOptions plan_options;
    plan_options.planner = "heft";
    plan_options.default_plan = true;
    Plan plan = TheEngine().MakePlan(*model, plan_options).value();
    auto session = TheEngine().MakeSession(*model, plan).value();
    std::vector<Tensor> inputs = FilledInputs(*model->graph, 1);
    RunBuffers in = RunBuffers::ForInputs(*session, inputs).value(), out = RunBuffers::ForOutputs(*session).value();
    return {model, plan_options, plan, std::move(session), inputs, std::move(in), std::move(out)};
  }
};

Scene& SceneOf(const std::string& name) {
  static std::map<std::string, Scene> scenes;
  const auto found = scenes.find(name);
  return found != scenes.end() ? found->second : scenes.emplace(name, Scene::Make(name)).first->second;
}

struct Stage {
  const char* name;
  Status (*call)(Scene& scene);
};

template <typename T>
Status StatusOf(const Result<T>& result) {
  return result.ok() ? Status() : Status(result.error());
}

// Without loading: Protocol Buffers are left broken by an allocation that fails within them.
constexpr Stage kStages[] = {
    {"plan", [](Scene& s) -> Status { return StatusOf(TheEngine().MakePlan(*s.model, s.plan_options)); }},
    {"session", [](Scene& s) -> Status { return StatusOf(TheEngine().MakeSession(*s.model, s.plan)); }},
    {"run", [](Scene& s) -> Status { return StatusOf(s.session->Run(s.in.tensors(), s.out.tensors())); }},
    {"run on tensors", [](Scene& s) -> Status { return StatusOf(RunTensors(*s.session, s.inputs)); }},
};

// "" as it should be. The first call of a process warms what is kept for ever.
std::string WhyWrong(const Stage& stage, Scene& scene, int64_t n) {
  for (int warm = 0; warm < 2; ++warm) {
    if (const Status status = stage.call(scene); !status.ok()) return "does not work: " + ToString(status.error());
  }
  const int64_t alive = AllocationsAlive();
  {
    std::optional<Status> status;
    bool happened = false;
    {
      const RefusedAllocation refused(n);
      status.emplace(stage.call(scene));
      happened = refused.happened();
    }
    if (!status->ok() && !happened) return "fails by itself: " + ToString(status->error());
    if (!status->ok() && status->error().code != ErrorCode::kOutOfMemory) return ToString(status->error());
  }
  const int64_t lost = AllocationsAlive() - alive;
  if (lost > 0) return std::to_string(lost) + " allocations are lost";
  const Status again = stage.call(scene);
  return again.ok() ? "" : "the next call fails: " + ToString(again.error());
}

// What the stage allocates, as text; of a warm process.
std::string CountOf(const Stage& stage, Scene& scene) {
  for (int warm = 0; warm < 2; ++warm) (void)stage.call(scene);
  const int64_t before = AllocationsMade();
  (void)stage.call(scene);
  return std::to_string(AllocationsMade() - before);
}

// At most `most` numbers from 1 to count, spread over it.
std::vector<int64_t> Spread(int64_t count, int64_t most) {
  std::vector<int64_t> numbers;
  const int64_t step = std::max<int64_t>(1, count / most);
  for (int64_t n = 1; n <= count; n += step) numbers.push_back(std::min(count, n + n % step));
  return numbers;
}

void Sweep(int64_t most) {
  const size_t stages = std::size(kStages);
  const std::vector<std::string> counts = RunForked(stages * std::size(kModels), [&](size_t i) {
    return CountOf(kStages[i % stages], SceneOf(kModels[i / stages]));
  });
  int64_t tried = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const Stage& stage = kStages[i % stages];
    const std::string model = kModels[i / stages];
    CAPTURE(stage.name, model, counts[i]);
    int64_t count = 0;
    REQUIRE(std::from_chars(counts[i].data(), counts[i].data() + counts[i].size(), count).ec == std::errc());
    const std::vector<int64_t> numbers = Spread(count, most);
    tried += static_cast<int64_t>(numbers.size());
    const std::vector<std::string> ends =
        RunForked(numbers.size(), [&](size_t t) { return WhyWrong(stage, SceneOf(model), numbers[t]); });
    for (size_t t = 0; t < ends.size(); ++t) {
      if (!ends[t].empty()) FAIL_CHECK("allocation " << numbers[t] << ": " << ends[t]);
    }
  }
  WARN(tried << " failed allocations");
  CHECK(tried > 0);
}

// One of them again, in this process: PT_FAULT="STAGE MODEL N".
void Repeat(const std::string& what) {
  const size_t end = what.find(' '), begin = what.rfind(' ');
  const std::string name = what.substr(0, end), model = what.substr(end + 1, begin - end - 1);
  const auto* stage = std::ranges::find_if(kStages, [&](const Stage& s) { return s.name == name; });
  REQUIRE(stage != std::end(kStages));
  CHECK(WhyWrong(*stage, SceneOf(model), std::stoll(what.substr(begin + 1))) == "");
}

}  // namespace

TEST_CASE("Allocation, AFailureIsRepeated", "[.repeat]") {
  const char* what = std::getenv("PT_FAULT");
  if (what == nullptr) SKIP("PT_FAULT is not set");
  Repeat(what);
}

TEST_CASE("Allocation, OneThatFailsIsAnErrorAndTheNextCallWorks", "[faults]") {
  Sweep(static_cast<int64_t>(Rounds(40)));
}

// Every one of them.
TEST_CASE("Allocation, WhicheverFailsIsAnErrorAndTheNextCallWorks", "[.nightly]") { Sweep(INT64_MAX); }

}  // namespace pt::testing::allocation_failures_test
