// Runs whose threads stand still for 50 ms anywhere, as they do on a machine whose cores others take: they end, and
// give the same bits.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/exec/request_queue.h"
#include "test/exec/session_setting.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::testing::stalled_workers_test {
namespace {

// Of the signals that the library's threads do not leave to the application, one that nothing else here uses.
constexpr int kSignal = SIGSYS;
std::atomic<uint64_t> stalls{0};

// On the thread that is to stand still, between any two of its instructions.
void StandStill(int /*signal*/) {
  constexpr long kStallNs = 50'000'000;
  const int error = errno;
  timespec left{0, kStallNs};
  while (nanosleep(&left, &left) != 0) {
  }
  errno = error;
  stalls.fetch_add(1);
}

// The library's threads of this process: those of cores and of request queues.
std::vector<pid_t> ThreadsOfTheLibrary() {
  std::vector<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    if (name.starts_with("pt-core") || name.starts_with("pt-request")) {
      threads.push_back(static_cast<pid_t>(std::stol(entry.path().filename())));
    }
  }
  return threads;
}

// From a thread of its own has the library's threads, and the one that makes this, stand still one after another, each
// after a while that is drawn, until there were enough stalls.
class Stalling {
 public:
  explicit Stalling(uint32_t seed) : random_(seed), threads_(ThreadsOfTheLibrary()) {
    struct sigaction action = {};
    action.sa_handler = StandStill;
    action.sa_flags = SA_RESTART;
    REQUIRE(sigaction(kSignal, &action, &before_) == 0);
    REQUIRE_FALSE(threads_.empty());
    threads_.push_back(static_cast<pid_t>(syscall(SYS_gettid)));
    thread_ = std::thread([this] { Stall(); });
  }
  ~Stalling() {
    thread_.join();
    sigaction(kSignal, &before_, nullptr);
  }
  Stalling(const Stalling&) = delete;
  Stalling& operator=(const Stalling&) = delete;

  bool over() const { return over_; }

 private:
  void Stall() {
    constexpr int kStalls = 8;
    for (int i = 0; i < kStalls; ++i) {
      for (auto turns = random_() % 50; turns > 0; --turns) std::this_thread::yield();
      const uint64_t before = stalls.load();
      const pid_t thread = threads_[random_() % threads_.size()];
      if (syscall(SYS_tgkill, getpid(), thread, kSignal) != 0) continue;
      while (stalls.load() == before) std::this_thread::yield();
    }
    over_ = true;
  }

  std::mt19937 random_;
  std::vector<pid_t> threads_;
  struct sigaction before_ = {};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// x ─ MatMul ─ Relu ─┬─ MatMul ─┬─ Add ─ y, in float32
//                    └─ Tanh ───┘
std::string Network() {
  constexpr int kFloat = 1;  // of TensorProto.DataType
  std::vector<float> weights(128 * 128);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 13) * 0.01F - 0.06F;
  GraphParts graph;
  graph.inputs = {ValueInfo("x", kFloat, {"128", "128"})};
  graph.outputs = {ValueInfo("y", kFloat, {"128", "128"})};
  graph.initializers = {FloatTensor("w", {128, 128}, weights), FloatTensor("v", {128, 128}, weights)};
  graph.nodes = {NodeBytes("MatMul", {"x", "w"}, {"m"}), NodeBytes("Relu", {"m"}, {"r"}),
                 NodeBytes("MatMul", {"r", "v"}, {"a"}), NodeBytes("Tanh", {"r"}, {"b"}),
                 NodeBytes("Add", {"a", "b"}, {"y"})};
  return ModelBytes(graph);
}

}  // namespace

TEST_CASE("StalledWorkers, RunsOnSeveralCoresEndAndAreRight", "[exec]") {
  const uint32_t cores = GENERATE(2u, 4u);
  const AloneRuns alone = GENERATE(AloneRuns::kNever, AloneRuns::kAuto);
  const uint32_t seed = std::random_device()();
  CAPTURE(cores, alone, seed);
  Setting setting(cores, false);
  std::mt19937 random(seed);
  setting.graph = MakeRandomGraph(random, 12, 256);
  const Plan plan =
      MakeTestPlan(*setting.graph, *setting.machine, RandomUnits(*setting.graph, setting.machine->platform(), random));
  const auto session = setting.Create(plan, {.alone = alone});
  const Stalling stalling(seed);
  for (int run = 0; !stalling.over(); ++run) REQUIRE(RunsRight(*session, static_cast<float>(run % 100)));
}

// A deadline that is over while a thread stands still ends the run when that goes on; the session stays usable.
TEST_CASE("StalledWorkers, DeadlinesEndRunsAndTheNextOnesAreRight", "[exec]") {
  const uint32_t seed = std::random_device()();
  CAPTURE(seed);
  Setting setting(4, false);
  setting.graph = Diamond();
  const UnitId all = FindUnit(setting.machine->platform(), "cpu[0-3]"),
               two = FindUnit(setting.machine->platform(), "cpu[2-3]");
  const auto session = setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {all, two, all, two}),
                                      {.alone = AloneRuns::kNever});
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 5);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), -1000);
  const auto expected = Interpret(*setting.graph, inputs);
  const Stalling stalling(seed);
  while (!stalling.over()) {
    const Result<RunReport> report =
        session->Run(Lend(inputs), Lend(outputs), {.deadline = std::chrono::milliseconds(10)});
    if (report.ok()) {
      for (size_t i = 0; i < outputs.size(); ++i) REQUIRE(outputs[i].data == expected[i]);
    } else {
      REQUIRE(report.error().id == "run.deadline");
    }
  }
  REQUIRE(RunsRight(*session, 7));
}

TEST_CASE("StalledWorkers, RequestsInFlightEndWithTheBitsOfARunByItself", "[exec]") {
  const AloneRuns alone = GENERATE(AloneRuns::kNever, AloneRuns::kAuto, AloneRuns::kAlways);
  const uint32_t seed = std::random_device()();
  CAPTURE(alone, seed);
  TemporaryFolder folder;
  std::ofstream(folder.file("model.onnx"), std::ios::binary) << Network();
  EngineOptions options;
  options.db_path = "none";
  options.machine.plugins = {"none"};
  const auto engine = Engine::Make(options).value();
  const auto model = engine->Load(folder.file("model.onnx"), {}).value();
  const auto session = engine->MakeSession(*model, engine->MakeDefaultPlan(*model).value(), {.alone = alone}).value();
  std::vector<float> numbers(128 * 128);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 31) * 0.1F - 1.5F;
  const std::vector<Tensor> input = {Tensor::Float32({128, 128}, numbers)};
  const std::vector<Tensor> expected = RunTensors(*session, input).value();
  const RunBuffers in = RunBuffers::ForInputs(*session, input).value();
  const auto queue = RequestQueue::Make(*session, {.in_flight = 3, .waiting = 16}).value();
  const Stalling stalling(seed);
  while (!stalling.over()) {
    std::vector<RunBuffers> outputs;
    std::vector<std::future<Result<RequestReport>>> answers;
    for (int i = 0; i < 8; ++i) {
      outputs.push_back(RunBuffers::ForOutputs(*session).value());
      answers.push_back(queue->Submit(in.tensors(), outputs.back().tensors()).value());
    }
    for (size_t i = 0; i < answers.size(); ++i) {
      const Result<RequestReport> report = answers[i].get();
      REQUIRE(report.ok());
      REQUIRE(std::ranges::equal(outputs[i].Copy(report->run).value(), expected, SameBits));
    }
  }
}

}  // namespace pt::testing::stalled_workers_test
