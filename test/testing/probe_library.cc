#include "test/testing/probe_library.h"

#include <thread>

#include "test/testing/remote_device.h"

namespace pt::testing {
namespace {

constexpr float kMark = 12345.0F;  // in the output of every run

class ProbeBoundKernel : public BoundKernel {
 public:
  ProbeBoundKernel(ProbeControl& control, int64_t device_ns, const TensorView& in, const TensorView& out)
      : control_(control), device_ns_(device_ns), in_(in.data), out_(out.data) {}

  Status Enqueue(const RunContext& run) noexcept override {
    Stream& stream = run.stream;
    if (control_.run_error && control_.runs >= control_.first_failing_run)
      return MakeError(*control_.run_error, "probe.run", "told to fail");
    if (stream.team() == nullptr) {
      if (control_.launch_time.count() > 0) std::this_thread::sleep_for(control_.launch_time);
      return LaunchOnRemote(stream, device_ns_, [this] { Run(InRemoteMemory(in_), InRemoteMemory(out_)); });
    }
    Run(in_, out_);
    return {};
  }

 private:
  void Run(const void* in, void* out) const {
    ++control_.runs;
    auto& first = *static_cast<float*>(out);
    if (first == kMark) ++control_.used_outputs;
    if (*static_cast<const float*>(in) == 0) ++control_.unset_inputs;
    first = kMark;
  }

  ProbeControl& control_;
  const int64_t device_ns_;
  void* in_;
  void* out_;
};

class ProbeKernel : public Kernel {
 public:
  ProbeKernel(ProbeControl& control, int64_t device_ns) : control_(control), device_ns_(device_ns) {}
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    if (control_.bind_error) return MakeError(*control_.bind_error, "probe.bind", "told to fail");
    return std::unique_ptr<BoundKernel>(std::make_unique<ProbeBoundKernel>(control_, device_ns_, *in[0], *out[0]));
  }

 private:
  ProbeControl& control_;
  const int64_t device_ns_;
};

class ProbeLibrary : public Library {
 public:
  explicit ProbeLibrary(ProbeControl& control) : control_(control) {}
  std::string_view name() const override { return "probe"; }
  std::string version() const override { return "1"; }
  bool Serves(const Platform&, DeviceId) const override { return true; }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision&) const override {
    std::vector<Candidate> all;
    for (size_t k = 0; k < platform.unit_classes.size(); ++k) {
      const UnitId unit = UnitsOf(platform, UnitClassId(k)).front();
      if (platform.unit(unit).link) continue;
      Candidate candidate = RowMajorCandidate(graph, nodes, name());
      candidate.unit_class = UnitClassId(k);
      if (control_.variant_ns.empty()) all.push_back(candidate);
      for (size_t v = 0; v < control_.variant_ns.size(); ++v) {
        candidate.variant = std::to_string(v);
        all.push_back(candidate);
      }
    }
    return all;
  }
  std::optional<std::string> WhyUnsupported(const Graph&, NodeId) const override { return std::nullopt; }
  Result<std::unique_ptr<Kernel>> Compile(const Graph&, const Candidate& candidate, std::span<const TensorLayout>,
                                          std::span<const TensorLayout>, CompileContext&) const override {
    ++control_.compiled;
    if (control_.compile_error) return MakeError(*control_.compile_error, "probe.compile", "told to fail");
    const std::vector<int64_t>& variants = control_.variant_ns;
    const int64_t ns = variants.empty() ? control_.device_ns : variants[std::stoul(candidate.variant)];
    return std::unique_ptr<Kernel>(std::make_unique<ProbeKernel>(control_, ns));
  }

 private:
  ProbeControl& control_;
};

}  // namespace

std::unique_ptr<Library> MakeProbeLibrary(ProbeControl& control) { return std::make_unique<ProbeLibrary>(control); }

}  // namespace pt::testing
