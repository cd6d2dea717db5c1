// What the way through the library costs: a call of a trivial group by OpenVINO directly and by the library's kernel,
// on a host core and on OpenVINO's CPU device as a device of its own. Prints a table of nanoseconds a call.
//
//   bench_openvino_seam [ELEMENTS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/platform/discover.h"
#include "plugins/openvino/device.h"
#include "plugins/openvino/discover.h"
#include "plugins/openvino/library.h"

namespace {

using namespace pt;  // NOLINT: a program of its own
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 31, kCalls = 2000;

template <typename T>
T Must(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", ToString(result.error()).c_str());
  std::exit(1);
}

void Must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", ToString(status.error()).c_str());
  std::exit(1);
}

// The median of rounds, each the mean of its calls.
double NsPerCall(const std::function<void()>& call) {
  for (int i = 0; i < kCalls; ++i) call();
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    rounds.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kCalls);
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

void Print(const char* what, double ns) { std::printf("%-58s %9.0f\n", what, ns); }

class Seam {
 public:
  explicit Seam(int64_t elements) : elements_(elements), x_(static_cast<size_t>(elements), 1), y_(x_) {
    GraphBuilder builder;
    builder.set_opset(25);
    const ValueType type = StaticType(DataType::kFloat32, {elements});
    builder.AddOutput(builder.AddOp("Relu", {builder.AddInput("x", type)}, type));
    graph_ = Must(builder.Build());
    runtime_ = Must(openvino::Runtime::Get());
    platform_ = Must(DiscoverHost({}));
    DiscoverRequest request;
    request.described.push_back(
        {"here", Must(ParseJson(R"({"version": 1, "kind": "openvino", "device": "CPU"})", "here"))});
    Must(openvino::AddDevices(*runtime_, request, platform_));
  }

  void Run() {
    std::printf("Relu of %lld elements, ns a call, median of %d rounds\n", static_cast<long long>(elements_), kRounds);
    Print("OpenVINO directly, one thread: infer()", Direct({openvino::kCpu, MathMode::kFp32, 1, 1}, false));
    Print("the library's kernel on one core", OnHost());
    Print("OpenVINO directly, a device: start_async(), wait()", Direct({openvino::kCpu, MathMode::kFp32, 0, 1}, true));
    Print("the library's kernel on the device, polled", OnDevice());
  }

 private:
  double Direct(const openvino::Target& target, bool asynchronous) {
    ov::CompiledModel model = Must(runtime_->Compile(Must(runtime_->Read(graph_)), target));
    ov::InferRequest request = model.create_infer_request();
    request.set_input_tensor(ov::Tensor(ov::element::f32, {x_.size()}, x_.data()));
    request.set_output_tensor(ov::Tensor(ov::element::f32, {y_.size()}, y_.data()));
    if (!asynchronous) return NsPerCall([&] { request.infer(); });
    return NsPerCall([&] {
      request.start_async();
      request.wait();
    });
  }

  // The candidate of the library on the first unit class of that device.
  Candidate CandidateOn(const openvino::OpenVinoLibrary& library, DeviceId device, uint32_t cores) const {
    const NodeId node(0u);
    for (Candidate& candidate : library.CandidatesFor(graph_, platform_, std::span(&node, 1), Precision())) {
      const UnitClass& unit_class = platform_.unit_class(candidate.unit_class);
      if (unit_class.device == device && unit_class.cores == cores) return std::move(candidate);
    }
    std::fprintf(stderr, "the library offers nothing there\n");
    std::exit(1);
  }

  double OnHost() {
    const std::unique_ptr<DeviceDriver> driver = MakeHostDriver(kHostDevice);
    const std::unique_ptr<Team> team = MakeSerialTeam();
    const std::unique_ptr<Stream> stream = MakeHostStream(*team);
    return Kernel(*driver, *stream, kHostDevice, 1,
                  [](BoundKernel& kernel, const RunContext& run) { Must(kernel.Enqueue(run)); });
  }

  double OnDevice() {
    const DeviceId device(platform_.devices.size() - 1);
    openvino::OvDriver driver(device, platform_.device(device).name, runtime_, openvino::kCpu);
    const std::unique_ptr<Stream> stream = Must(driver.MakeStream());
    const std::unique_ptr<Event> event = Must(driver.MakeEvent());
    return Kernel(driver, *stream, device, 0, [&](BoundKernel& kernel, const RunContext& run) {
      Must(kernel.Enqueue(run));
      Must(run.stream.Record(*event));
      while (!Must(event->Ready())) {
      }
    });
  }

  double Kernel(DeviceDriver& driver, Stream& stream, DeviceId device, uint32_t cores,
                const std::function<void(BoundKernel&, const RunContext&)>& call) {
    const openvino::OpenVinoLibrary library(runtime_);
    const Candidate candidate = CandidateOn(library, device, cores);
    const std::unique_ptr<Team> team = MakeSerialTeam();
    const std::unique_ptr<WeightStore> weights = MakeWeightStore();
    CompileContext context{platform_, driver, team.get(), *weights, nullptr};
    const std::vector<TensorLayout> layouts = {Must(DenseLayout(DataType::kFloat32, {elements_}, RowMajor(1)))};
    const auto kernel = Must(library.Compile(graph_, candidate, layouts, layouts, context));
    const TensorView in{x_.data(), layouts[0]}, out{y_.data(), layouts[0]};
    const auto in_slots = SlotsOf(std::span(&in, 1)), out_slots = SlotsOf(std::span(&out, 1));
    const auto bound = Must(kernel->Bind(in_slots, out_slots, {}));
    const RunContext run = StaticRun(stream);
    const double ns = NsPerCall([&] { call(*bound, run); });
    static_cast<void>(stream.Synchronize(std::chrono::seconds(10)));
    return ns;
  }

  const int64_t elements_;
  std::vector<float> x_, y_;
  Graph graph_;
  std::shared_ptr<openvino::Runtime> runtime_;
  Platform platform_;
};

}  // namespace

int main(int argc, char** argv) {
  const long long elements = argc > 1 ? std::atoll(argv[1]) : 16;
  if (argc > 2 || elements < 1) {
    std::fprintf(stderr, "usage: bench_openvino_seam [ELEMENTS]\n");
    return 2;
  }
  Seam(elements).Run();
  return 0;
}
