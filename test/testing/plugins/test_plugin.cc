// The plugins that the tests load: one source, built once for each of the ways in which a plugin can be right or wrong
// (PT_TEST_PLUGIN_*; test/CMakeLists.txt).
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/backend/plugin.h"

namespace {

#if defined(PT_TEST_PLUGIN_MISBEHAVES)
// Takes more of the stack than there is.
// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] int OverflowStack(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? 0 : OverflowStack(depth - 1) + frame[0];
}

// Whether candidates whose first node is of this operator are bad: those of PT_TEST_MISBEHAVING, Relu without it.
bool IsBad(std::string_view op) {
  const char* const wanted = std::getenv("PT_TEST_MISBEHAVING");
  return (std::string_view(wanted == nullptr ? "Relu" : wanted)).find(op) != std::string_view::npos;
}

// What PT_TEST_MISBEHAVIOUR says, which a process that measures is told by its environment.
void Misbehave(std::string_view where) {
  const char* const wanted = std::getenv("PT_TEST_MISBEHAVIOUR");
  const std::string_view how = wanted == nullptr ? "" : wanted;
  if (!how.starts_with(where)) return;
  if (how.ends_with("crashes")) raise(SIGSEGV);
  if (how.ends_with("aborts")) std::abort();
  if (how.ends_with("exits")) _exit(3);
  if (how.ends_with("overflows")) OverflowStack(1 << 20);
  if (how.ends_with("throws")) throw std::runtime_error("not this one");
  if (how.ends_with("hangs")) std::fputs("it hangs now\n", stderr);  // for whoever waits for that
  while (how.ends_with("hangs")) pause();
}

// A kernel that misbehaves when it is run.
class BadKernel final : public pt::Kernel {
 public:
  pt::Result<std::unique_ptr<pt::BoundKernel>> Bind(pt::TensorSlots, pt::TensorSlots,
                                                    std::span<std::byte>) const override {
    class Bound final : public pt::BoundKernel {
      pt::Status Enqueue(const pt::RunContext& run) noexcept override {
        if (++calls_ == 2) Misbehave("later, ");
        Misbehave("run ");
        auto help = [](uint32_t core, uint32_t) {
          if (core > 0) Misbehave("helper ");
        };
        run.stream.team()->OnEveryCore(help);
        return {};
      }
      int calls_ = 0;
    };
    return std::unique_ptr<pt::BoundKernel>(std::make_unique<Bound>());
  }
};
#endif

#if defined(PT_TEST_PLUGIN_LIES)
// What PT_TEST_LIE says of the last node of an operator in the graph:
//   channel      a Conv leaves its last channel 0
//   zero-point   a DequantizeLinear takes the zero point to be one less than it is
//   rounding     every Conv rounds otherwise, as right libraries do
class LyingKernel final : public pt::Kernel {
 public:
  using Lie = void (*)(const pt::TensorView& output, float step);
  LyingKernel(std::unique_ptr<pt::Kernel> honest, Lie lie, float step)
      : honest_(std::move(honest)), lie_(lie), step_(step) {}
  uint64_t scratch_bytes() const override { return honest_->scratch_bytes(); }
  pt::Result<std::unique_ptr<pt::BoundKernel>> Bind(pt::TensorSlots in, pt::TensorSlots out,
                                                    std::span<std::byte> scratch) const override {
    struct Bound final : pt::BoundKernel {
      pt::Status Enqueue(const pt::RunContext& run) noexcept override {
        PT_CHECK_OK(honest->Enqueue(run));
        lie(*output, step);
        return {};
      }
      std::unique_ptr<pt::BoundKernel> honest;
      const pt::TensorView* output = nullptr;
      Lie lie = nullptr;
      float step = 0;
    };
    auto bound = std::make_unique<Bound>();
    PT_ASSIGN(bound->honest, honest_->Bind(in, out, scratch));
    bound->output = out[0];
    bound->lie = lie_;
    bound->step = step_;
    return std::unique_ptr<pt::BoundKernel>(std::move(bound));
  }

 private:
  std::unique_ptr<pt::Kernel> honest_;
  Lie lie_;
  float step_;
};

std::span<float> Numbers(const pt::TensorView& view) {
  return {static_cast<float*>(view.data), static_cast<size_t>(pt::BytesOf(view.layout).value()) / sizeof(float)};
}
void DropLastChannel(const pt::TensorView& output, float) {
  const std::span<float> numbers = Numbers(output);
  std::ranges::fill(numbers.last(numbers.size() / static_cast<size_t>(output.layout.dims[1])), 0.0F);
}
void MoveByAStep(const pt::TensorView& output, float step) {
  for (float& number : Numbers(output)) number += step;
}
void RoundOtherwise(const pt::TensorView& output, float) {
  const std::span<float> numbers = Numbers(output);
  const float error = 4e-6F * std::ranges::max(numbers);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] += i % 2 == 0 ? error : -error;
}

std::unique_ptr<pt::Kernel> Lied(const pt::Graph& graph, pt::NodeId id, std::unique_ptr<pt::Kernel> kernel) {
  const char* const wanted = std::getenv("PT_TEST_LIE");
  const std::string_view lie = wanted == nullptr ? "" : wanted;
  const pt::Node& node = graph.node(id);
  const auto is_last = [&] {
    return std::ranges::none_of(graph.nodes().subspan(id.index() + 1),
                                [&](const pt::Node& later) { return later.op == node.op; });
  };
  if (lie == "channel" && node.op == "Conv" && is_last()) {
    return std::make_unique<LyingKernel>(std::move(kernel), DropLastChannel, 0.0F);
  }
  if (lie == "zero-point" && node.op == "DequantizeLinear" && is_last()) {
    const float step = graph.value(node.inputs[1]).constant->values<float>()[0];
    return std::make_unique<LyingKernel>(std::move(kernel), MoveByAStep, step);
  }
  if (lie == "rounding" && node.op == "Conv") {
    return std::make_unique<LyingKernel>(std::move(kernel), RoundOtherwise, 0.0F);
  }
  return kernel;
}
#endif

// The reference library under another name. Serves the device of this plugin where the platform has one, else the host;
// without its device it serves nothing in the variant that has none.
class TestLibrary : public pt::Library {
 public:
  std::string_view name() const override { return "test-plugin"; }
  std::string version() const override { return "1"; }
  bool Serves(const pt::Platform&, pt::DeviceId device) const override {
#if defined(PT_TEST_PLUGIN_NO_DEVICE)
    return (void)device, false;
#else
    return pt::IsHost(device);
#endif
  }
  std::vector<pt::Candidate> Candidates(const pt::Graph& graph, const pt::Platform& platform,
                                        const pt::Precision& precision) const override {
#if defined(PT_TEST_PLUGIN_THROWS)
    throw std::runtime_error("candidates are out");
#endif
    return Renamed(reference_->Candidates(graph, platform, precision));
  }
  std::vector<pt::Candidate> CandidatesFor(const pt::Graph& graph, const pt::Platform& platform,
                                           std::span<const pt::NodeId> nodes,
                                           const pt::Precision& precision) const override {
    return Renamed(reference_->CandidatesFor(graph, platform, nodes, precision));
  }
  std::optional<std::string> WhyUnsupported(const pt::Graph& graph, pt::NodeId node) const override {
    return reference_->WhyUnsupported(graph, node);
  }
  pt::Result<std::unique_ptr<pt::Kernel>> Compile(const pt::Graph& graph, const pt::Candidate& candidate,
                                                  std::span<const pt::TensorLayout> in,
                                                  std::span<const pt::TensorLayout> out,
                                                  pt::CompileContext& context) const override {
#if defined(PT_TEST_PLUGIN_THROWS)
    throw 42;
#endif
#if defined(PT_TEST_PLUGIN_MISBEHAVES)
    if (IsBad(graph.node(candidate.nodes[0]).op)) {
      Misbehave("compile ");
      return std::unique_ptr<pt::Kernel>(std::make_unique<BadKernel>());
    }
#endif
#if defined(PT_TEST_PLUGIN_LIES)
    PT_ASSIGN(std::unique_ptr<pt::Kernel> honest, reference_->Compile(graph, candidate, in, out, context));
    return Lied(graph, candidate.nodes[0], std::move(honest));
#else
    return reference_->Compile(graph, candidate, in, out, context);
#endif
  }

 private:
  std::vector<pt::Candidate> Renamed(std::vector<pt::Candidate> candidates) const {
    for (pt::Candidate& candidate : candidates) candidate.library = name();
    return candidates;
  }

  std::unique_ptr<pt::Library> reference_ = pt::MakeReferenceLibrary();
};

// One asynchronous device, driven by the first core; its memory is the host's.
pt::Status FindWidget(const pt::DiscoverRequest& request, pt::Platform& platform) {
#if defined(PT_TEST_PLUGIN_BROKEN_DEVICE)
  return pt::MakeError(pt::ErrorCode::kDeviceUnusable, "widget.driver", "the widget's driver is too old");
#endif
#if defined(PT_TEST_PLUGIN_NO_DEVICE)
  return (void)request, (void)platform, pt::Status();
#endif
  platform.devices.push_back({"widget:0", "widget", 0, false, "widget " + std::to_string(request.described.size())});
  const pt::DeviceId device(platform.devices.size() - 1);
  platform.unit_classes.push_back({"widget:0", device, 0});
  platform.resources.push_back({"widget:0", 1.0, std::nullopt});
  platform.units.push_back({"widget:0#0",
                            pt::UnitClassId(platform.unit_classes.size() - 1),
                            {{pt::ResourceId(platform.resources.size() - 1), 1.0}},
                            pt::ResourceId(0u),
                            std::nullopt});
  return {};
}

pt::Result<std::unique_ptr<pt::DeviceDriver>> MakeWidgetDriver(const pt::Platform&, pt::DeviceId id) {
  return pt::MakeHostDriver(id);
}

[[maybe_unused]] pt::Backend MakeBackend() {
#if defined(PT_TEST_PLUGIN_THROWS_AT_ONCE)
  throw std::runtime_error("not today");
#endif
#if defined(PT_TEST_PLUGIN_TAKEN_NAME)
  const char* library = "reference";
#else
  const char* library = "test-plugin";
#endif
  return {"test",
          {{"widget", "a device for tests", false, FindWidget, MakeWidgetDriver}},
          {{library, "the reference library again",
            []() -> std::unique_ptr<pt::Library> { return std::make_unique<TestLibrary>(); }}}};
}

}  // namespace

#if defined(PT_TEST_PLUGIN_OTHER_ABI)
extern "C" __attribute__((visibility("default"))) const pt::PluginEntry* pt_plugin_v1() {
  static const pt::PluginEntry entry{pt::kPluginAbi + 1, sizeof(pt::PluginEntry), PT_PLUGIN_BUILD_TAG, PT_TEST_PLUGIN,
                                     MakeBackend};
  return &entry;
}
#elif defined(PT_TEST_PLUGIN_OTHER_BUILD)
extern "C" __attribute__((visibility("default"))) const pt::PluginEntry* pt_plugin_v1() {
  static const pt::PluginEntry entry{pt::kPluginAbi, sizeof(pt::PluginEntry), "partitiontuner 0.0.1, a compiler of old",
                                     PT_TEST_PLUGIN, nullptr};
  return &entry;
}
#elif !defined(PT_TEST_PLUGIN_NO_ENTRY)
PT_PLUGIN(PT_TEST_PLUGIN, MakeBackend)
#endif
