// Sessions on a device without streams of its own that is lost, hangs or fails: the plugins' drivers, streams and
// events with work that a test makes misbehave, told of from elsewhere (as OpenVINO's requests) or made by the stream's
// thread (as ONNX Runtime's calls).
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/platform/asynchronous_device.h"
#include "plugins/shared/call_stream.h"
#include "test/testing/test_machine.h"

namespace pt::plugins::faulty_device_test {
namespace {

using testing::Buffer;

struct Control {
  std::atomic<int> begun{0}, ended{0};
  std::atomic<int> lose_at{0}, fail_at{0};  // which request, counted from 1; 0 = none
  std::atomic<bool> hang{false};            // requests do not end while this holds
};

// What becomes of one run of a kernel that copies its input.
DeviceCall::Outcome CopyOrFail(Control& control, int number, const TensorView& in, const TensorView& out) {
  while (control.hang) std::this_thread::yield();
  if (number == control.lose_at) return {MakeError(ErrorCode::kRunFailed, "fake", "the device is gone"), true};
  if (number == control.fail_at) return {MakeError(ErrorCode::kRunFailed, "fake", "a request failed")};
  const auto* from = static_cast<const float*>(in.data);
  std::copy(from, from + in.layout.dims[0], static_cast<float*>(out.data));
  return {};
}

// On a thread that it makes for each run.
class FaultyTask final : public BoundKernel, private DeviceTask {
 public:
  FaultyTask(Control& control, const TensorView& in, const TensorView& out) : control_(control), in_(in), out_(out) {}
  ~FaultyTask() override { Join(); }

  Status Enqueue(const RunContext& run) noexcept override { return dynamic_cast<QueueStream&>(run.stream).Do(*this); }

 private:
  Status Begin(const WorkTicket& ticket) noexcept override {
    Join();
    thread_ = std::thread([this, ticket, number = ++control_.begun] {
      DeviceCall::Outcome outcome = CopyOrFail(control_, number, in_, out_);
      ticket.queue->End(ticket, std::move(outcome.status), outcome.lost);
      ++control_.ended;
    });
    return {};
  }
  void Cancel() noexcept override {}
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

  Control& control_;
  const TensorView &in_, &out_;
  std::thread thread_;
};

// On the stream's.
class FaultyCall final : public BoundKernel, private DeviceCall {
 public:
  FaultyCall(Control& control, const TensorView& in, const TensorView& out) : control_(control), in_(in), out_(out) {}
  Status Enqueue(const RunContext& run) noexcept override {
    return dynamic_cast<CallStream&>(run.stream).Enqueue(*this);
  }

 private:
  Outcome Call() noexcept override {
    Outcome outcome = CopyOrFail(control_, ++control_.begun, in_, out_);
    ++control_.ended;
    return outcome;
  }
  void Cancel() noexcept override {}

  Control& control_;
  const TensorView &in_, &out_;
};

template <typename Bound>
class FaultyKernel final : public Kernel {
 public:
  explicit FaultyKernel(Control& control) : control_(control) {}
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    return std::unique_ptr<BoundKernel>(std::make_unique<Bound>(control_, *in[0], *out[0]));
  }

 private:
  Control& control_;
};

enum class Way : uint8_t { kTasks, kCalls };

class FaultyLibrary final : public Library {
 public:
  FaultyLibrary(Control& control, Way way) : control_(control), way_(way) {}
  std::string_view name() const override { return "faulty"; }
  std::string version() const override { return "1"; }
  bool Serves(const Platform&, DeviceId device) const override { return !IsHost(device); }
  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision&) const override {
    Candidate candidate = RowMajorCandidate(graph, nodes, name());
    candidate.unit_class = FindUnitClass(platform, "fake:0");
    return {candidate};
  }
  std::optional<std::string> WhyUnsupported(const Graph&, NodeId) const override { return std::nullopt; }
  Result<std::unique_ptr<Kernel>> Compile(const Graph&, const Candidate&, std::span<const TensorLayout>,
                                          std::span<const TensorLayout>, CompileContext&) const override {
    if (way_ == Way::kTasks) return std::unique_ptr<Kernel>(std::make_unique<FaultyKernel<FaultyTask>>(control_));
    return std::unique_ptr<Kernel>(std::make_unique<FaultyKernel<FaultyCall>>(control_));
  }

 private:
  Control& control_;
  const Way way_;
};

std::unique_ptr<DeviceDriver> MakeDriver(Way way) {
  if (way == Way::kTasks) return std::make_unique<QueueDriver>(DeviceId(1u), "fake", "fake:0");
  return std::make_unique<CallDriver>(DeviceId(1u), "fake", "fake:0", std::vector<uint32_t>());
}

struct Lab {
  explicit Lab(Way way) {
    Platform platform = testing::MakeTestPlatform(2, false);
    Device device;
    device.name = "fake:0";
    device.kind = "fake";
    REQUIRE(AddAsynchronousDevice(platform, device, 2, Link(), Link()).ok());
    std::vector<std::unique_ptr<DeviceDriver>> drivers;
    drivers.push_back(MakeHostDriver(kHostDevice));
    drivers.push_back(MakeDriver(way));
    std::vector<std::unique_ptr<Library>> libraries;
    libraries.push_back(MakeReferenceLibrary());
    libraries.push_back(std::make_unique<FaultyLibrary>(control, way));
    machine = Machine::Assemble(std::move(platform), std::move(drivers), std::move(libraries)).value();
    graph = std::make_shared<const Graph>(
        ParseGraph("input x float32[8]\na = Identity(x) : float32[8]\nb = Identity(a) : float32[8]\n"
                   "c = Identity(a) : float32[8]\nd = Identity(b) : float32[8]\noutput d\noutput c\n")
            .value());
  }

  std::unique_ptr<Session> SessionOn(const char* first, const char* second,
                                     std::chrono::milliseconds grace = {}) const {
    const UnitId one = FindUnit(machine->platform(), first), two = FindUnit(machine->platform(), second);
    SessionOptions options;
    if (grace.count() > 0) options.device_grace = grace;
    const std::vector<UnitId> units = {one, two, one, two};
    auto session = Session::Create(graph, testing::MakeTestPlan(*graph, *machine, units), *machine, options);
    if (!session.ok()) FAIL(ToString(session.error()));
    return std::move(session).value();
  }

  Result<RunReport> Run(Session& session, const RunOptions& options = {}) {
    std::vector<Buffer> inputs = testing::MakeBuffers(*graph, graph->inputs(), 3);
    std::vector<Buffer> outputs = testing::MakeBuffers(*graph, graph->outputs(), 0);
    Result<RunReport> report = session.Run(testing::Lend(inputs), testing::Lend(outputs), options);
    if (report.ok()) {
      for (const Buffer& output : outputs) CHECK(output.data == inputs[0].data);
    }
    return report;
  }

  Control control;
  std::unique_ptr<Machine> machine;
  std::shared_ptr<const Graph> graph;
};

constexpr const char* kFirst = "fake:0#0";
constexpr const char* kSecond = "fake:0#1";

}  // namespace

TEST_CASE("FaultyDevice, AFailedRequestEndsItsRunAndTheNextOneIsRight", "[plugins]") {
  const Way way = GENERATE(Way::kTasks, Way::kCalls);
  INFO((way == Way::kTasks ? "tasks" : "calls"));
  Lab lab(way);
  const auto session = lab.SessionOn(kFirst, kSecond);
  REQUIRE(lab.Run(*session).ok());
  for (int at = 1; at <= 4; ++at) {
    INFO("request " << at);
    lab.control.fail_at = lab.control.begun + at;
    const auto report = lab.Run(*session);
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().message.find("a request failed") != std::string::npos);
    lab.control.fail_at = 0;
    CHECK(lab.Run(*session).ok());
  }
}

TEST_CASE("FaultyDevice, ADeviceLostInTheMiddleOfARunLeavesTheHost", "[plugins]") {
  const Way way = GENERATE(Way::kTasks, Way::kCalls);
  INFO((way == Way::kTasks ? "tasks" : "calls"));
  Lab lab(way);
  const auto session = lab.SessionOn(kFirst, kSecond);
  REQUIRE(lab.Run(*session).ok());
  lab.control.lose_at = lab.control.begun + 2;
  for (int run = 0; run < 2; ++run) {
    const auto report = lab.Run(*session);
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().code == ErrorCode::kRunFailed);
    CHECK(report.error().id == "fake.lost");
    CHECK(report.error().device == "fake:0");
  }
  CHECK(lab.Run(*lab.SessionOn("cpu[0]", "cpu[1]")).ok());
}

TEST_CASE("FaultyDevice, ARequestThatHangsEndsWithTheDeadlineAndTheDeviceIsLost", "[plugins]") {
  const Way way = GENERATE(Way::kTasks, Way::kCalls);
  INFO((way == Way::kTasks ? "tasks" : "calls"));
  Lab lab(way);
  auto session = lab.SessionOn(kFirst, kSecond, std::chrono::milliseconds(20));
  REQUIRE(lab.Run(*session).ok());
  lab.control.hang = true;
  RunOptions options;
  options.deadline = std::chrono::milliseconds(20);
  const auto report = lab.Run(*session, options);
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().id == "device.hung");
  CHECK(lab.Run(*lab.SessionOn("cpu[0]", "cpu[1]")).ok());
  lab.control.hang = false;  // it lets go, so that nothing of this test is left
  while (lab.control.ended < lab.control.begun) std::this_thread::yield();
}

}  // namespace pt::plugins::faulty_device_test
