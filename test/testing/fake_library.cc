#include "test/testing/fake_library.h"

#include <sched.h>

#include <cstring>
#include <stdexcept>
#include <thread>

#include "lib/backend/simulated/simulated_stream.h"
#include "lib/exec/team.h"
#include "partitiontuner/support/checked.h"
#include "test/testing/fake_device.h"

namespace pt::testing {
namespace {

// What a kernel takes on a simulated device where its attributes do not say.
constexpr int64_t kFakeNs = 1000;

// The value of one element; the node's number keeps equal inputs of different nodes apart.
float Element(size_t node, const std::vector<const float*>& in, int64_t i) {
  float sum = static_cast<float>(node % 13) * 0.125f + static_cast<float>(i % 5);
  float weight = 0.5f;
  for (const float* values : in) {
    sum += weight * values[i];
    weight *= 0.75f;
  }
  return sum;
}

class FakeBoundKernel : public BoundKernel, private SimulatedTask {
 public:
  FakeBoundKernel(FakeControl& control, NodeId node, const Node& definition, uint32_t width, TensorSlots in,
                  const TensorView& out)
      : control_(control),
        node_(node),
        fails_(definition.int_or("fail", 0) != 0),
        holds_(definition.int_or("hold", 0) != 0),
        own_threads_(static_cast<uint32_t>(definition.int_or("threads", 0))),
        fails_late_(definition.int_or("fail_late", 0) != 0),
        fails_after_(definition.int_or("fail_after", 0) != 0),
        ns_(definition.int_or("ns", kFakeNs)),
        width_(width),
        out_(static_cast<float*>(out.data)),
        count_(CheckedProduct(out.layout.dims).value()) {
    for (const TensorView* slot : in) in_.push_back(static_cast<const float*>(slot->data));
  }

  Status Enqueue(const RunContext& run) noexcept override {
    Stream& stream = run.stream;
    control_.enqueued.fetch_add(1);
    if (fails_) return MakeError(ErrorCode::kRunFailed, "fake.fail", "told to fail");
    if (SimulatedStream* simulated = AsSimulated(stream)) {
      SimulatedWork work;
      work.ns = ns_;
      work.demand = 1;
      work.task = this;
      PT_CHECK_OK(simulated->Enqueue(work, "kernel"));
      if (fails_after_) return MakeError(ErrorCode::kRunFailed, "fake.fail", "told to fail after a part was enqueued");
      return {};
    }
    PT_ASSIGN(const bool asynchronous, EnqueueOnFakeDevice(stream, [this] { return Compute(0, 1), Status(); }));
    if (asynchronous) return {};
    if (stream.team() == nullptr || stream.team()->width() != width_) control_.wrong_team.fetch_add(1);
    if (holds_) Hold();
    if (own_threads_ > 0) {
      ComputeOnOwnThreads(dynamic_cast<WorkerTeam&>(*stream.team()));
      return {};
    }
    auto body = [this](uint32_t i, uint32_t n) { Compute(i, n); };
    // Several parallel regions a kernel, of different sizes, as primitives do.
    auto first_half = [&](uint32_t i, uint32_t n) { Compute(2 * i, 2 * n); };
    auto second_half = [&](uint32_t i, uint32_t n) { Compute(2 * i + 1, 2 * n); };
    if (node_.index() % 2 == 0) {
      stream.team()->ParallelFor(stream.team()->width(), body);
    } else {
      stream.team()->ParallelFor(5, first_half);
      stream.team()->ParallelFor(5, second_half);
    }
    return {};
  }

 private:
  // On a simulated device.
  Status Run() noexcept override {
    control_.begun.fetch_add(1);
    if (holds_) Hold();
    Compute(0, 1);
    control_.ended.fetch_add(1);
    if (fails_late_) return MakeError(ErrorCode::kRunFailed, "fake.fail", "told to fail on the device");
    return {};
  }

  void Hold() const {
    control_.holding.fetch_add(1);
    while (!control_.release.load()) sched_yield();
    control_.holding.fetch_sub(1);
  }

  // What helpers spin is counted when they wake, so they are woken before and after, and sleep both times.
  void ComputeOnOwnThreads(WorkerTeam& team) const {
    const auto all_sleep = [&team] {
      while (team.sleeping_helpers() + 1 < team.width()) sched_yield();
    };
    auto nothing = [](uint32_t, uint32_t) {};
    all_sleep();
    team.OnEveryCore(nothing);
    all_sleep();
    const uint64_t before = team.turns_spun();
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < own_threads_; ++i) threads.emplace_back([this, i] { Compute(i, own_threads_); });
    for (std::thread& thread : threads) thread.join();
    team.OnEveryCore(nothing);
    control_.turns_spun.fetch_add(team.turns_spun() - before);
  }

  void Compute(uint32_t part, uint32_t parts) const {
    const int64_t begin = count_ * part / parts;
    const int64_t end = count_ * (part + 1) / parts;
    for (int64_t i = begin; i < end; ++i) out_[i] = Element(node_.index(), in_, i);
  }

  FakeControl& control_;
  NodeId node_;
  bool fails_, holds_;
  uint32_t own_threads_;
  bool fails_late_, fails_after_;
  int64_t ns_;
  uint32_t width_;
  std::vector<const float*> in_;
  float* out_;
  int64_t count_;
};

class FakeKernel : public Kernel {
 public:
  FakeKernel(FakeControl& control, const Graph& graph, NodeId node, uint32_t width)
      : control_(control), definition_(graph.node(node)), node_(node), width_(width) {}
  std::shared_ptr<DeviceBuffer> constant;

  bool brings_threads() const override {
    return definition_.int_or("threads", 0) > 0 && definition_.int_or("silent", 0) == 0;
  }
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    if (control_.fail_bind.load() == static_cast<int>(node_.value)) {
      if (control_.throws.load()) throw std::runtime_error("out of reach");
      return MakeError(ErrorCode::kOutOfMemory, "fake.bind", "told not to bind");
    }
    control_.bound.fetch_add(1);
    return std::unique_ptr<BoundKernel>(
        std::make_unique<FakeBoundKernel>(control_, node_, definition_, width_, in, *out[0]));
  }

 private:
  FakeControl& control_;
  const Node definition_;
  NodeId node_;
  uint32_t width_;
};

class FakeLibrary : public Library {
 public:
  explicit FakeLibrary(FakeControl& control) : control_(control) {}
  std::string_view name() const override { return "fake"; }
  std::string version() const override { return "1"; }
  bool Serves(const Platform&, DeviceId) const override { return true; }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision&) const override {
    std::vector<Candidate> all;
    if (nodes.size() != 1) return all;
    for (size_t c = 0; c < platform.unit_classes.size(); ++c) {
      Candidate candidate = RowMajorCandidate(graph, nodes, name());
      candidate.unit_class = UnitClassId(c);
      // Elementwise: in-place is always right.
      for (uint32_t i = 0; i < candidate.in.size(); ++i) {
        candidate.aliases.push_back({0, i, Alias::Kind::kAllowed});
      }
      all.push_back(std::move(candidate));
    }
    return all;
  }
  std::optional<std::string> WhyUnsupported(const Graph&, NodeId) const override { return std::nullopt; }
  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate, std::span<const TensorLayout>,
                                          std::span<const TensorLayout>, CompileContext& context) const override {
    const uint32_t width = context.team == nullptr ? 1 : context.team->width();
    auto kernel = std::make_unique<FakeKernel>(control_, graph, candidate.nodes[0], width);
    if (const int64_t name = graph.node(candidate.nodes[0]).int_or("packed", 0); name != 0) {
      const auto pack = [this](DeviceBuffer& buffer) -> Status {
        control_.packed.fetch_add(1);
        std::memset(buffer.data(), 1, buffer.bytes());
        return {};
      };
      PT_ASSIGN(kernel->constant,
                context.weights.Get(Hash128{0, static_cast<uint64_t>(name)}, "fake", context.device, 64 << 10, pack));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  std::optional<int64_t> KnownCost(const Graph& graph, const Platform&, const Candidate& candidate) const override {
    return graph.node(candidate.nodes[0]).int_or("ns", kFakeNs);
  }

 private:
  FakeControl& control_;
};

}  // namespace

std::unique_ptr<Library> MakeFakeLibrary(FakeControl& control) { return std::make_unique<FakeLibrary>(control); }

void FakeCompute(const Graph&, NodeId node, const std::vector<const float*>& in, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = Element(node.index(), in, i);
}

}  // namespace pt::testing
