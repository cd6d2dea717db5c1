#include "bench/seam.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 31, kCalls = 2000;

// The library's candidate on the unit class of that device with this many cores.
Candidate CandidateOn(const Library& library, const Graph& graph, const Platform& platform, DeviceId device,
                      uint32_t cores) {
  const NodeId node(0u);
  for (Candidate& candidate : library.CandidatesFor(graph, platform, std::span(&node, 1), Precision())) {
    const UnitClass& unit_class = platform.unit_class(candidate.unit_class);
    if (unit_class.device == device && unit_class.cores == cores) return std::move(candidate);
  }
  std::fprintf(stderr, "the library offers nothing on %s\n", platform.device(device).name.c_str());
  std::exit(1);
}

}  // namespace

void Die(const Error& error) {
  std::fprintf(stderr, "%s\n", ToString(error).c_str());
  std::exit(1);
}

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

TrivialGroup::TrivialGroup(int64_t elements)
    : elements_(elements), x_(static_cast<size_t>(elements), 1), y_(static_cast<size_t>(elements)) {
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueType type = StaticType(DataType::kFloat32, {elements});
  builder.AddOutput(builder.AddOp("Relu", {builder.AddInput("x", type)}, type));
  graph_ = Must(builder.Build());
}

void TrivialGroup::PrintHead() const {
  std::printf("Relu of %lld elements, ns a call, median of %d rounds\n", static_cast<long long>(elements_), kRounds);
}

double TrivialGroup::OnHost(const Library& library, const Platform& platform) {
  const std::unique_ptr<DeviceDriver> driver = MakeHostDriver(kHostDevice);
  const std::unique_ptr<Team> team = MakeSerialTeam();
  const std::unique_ptr<Stream> stream = MakeHostStream(*team);
  return OfKernel(library, platform, *driver, *stream, 1,
                  [](BoundKernel& kernel, const RunContext& run) { Must(kernel.Enqueue(run)); });
}

double TrivialGroup::OnDevice(const Library& library, const Platform& platform, DeviceDriver& driver) {
  const std::unique_ptr<Stream> stream = Must(driver.MakeStream());
  const std::unique_ptr<Event> event = Must(driver.MakeEvent());
  return OfKernel(library, platform, driver, *stream, 0, [&](BoundKernel& kernel, const RunContext& run) {
    Must(kernel.Enqueue(run));
    Must(run.stream.Record(*event));
    while (!Must(event->Ready())) {
    }
  });
}

double TrivialGroup::OfKernel(const Library& library, const Platform& platform, DeviceDriver& driver, Stream& stream,
                              uint32_t cores, const Call& call) {
  const Candidate candidate = CandidateOn(library, graph_, platform, driver.id(), cores);
  const std::unique_ptr<Team> team = MakeSerialTeam();
  const std::unique_ptr<WeightStore> weights = MakeWeightStore();
  CompileContext context{platform, driver, team.get(), *weights, nullptr};
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

int64_t ElementsOf(int argc, char** argv, const char* program) {
  const long long elements = argc > 1 ? std::atoll(argv[1]) : 16;
  if (argc <= 2 && elements >= 1) return elements;
  std::fprintf(stderr, "usage: %s [ELEMENTS]\n", program);
  std::exit(2);
}

}  // namespace pt::bench
