#include "test/testing/probe_library.h"

#include "test/testing/remote_device.h"

namespace pt::testing {
namespace {

constexpr float kMark = 12345.0F;  // in the output of every run

class ProbeBoundKernel : public BoundKernel {
 public:
  ProbeBoundKernel(ProbeControl& control, const TensorView& in, const TensorView& out)
      : control_(control), in_(in.data), out_(out.data) {}

  Status Enqueue(const RunContext& run) noexcept override {
    Stream& stream = run.stream;
    if (control_.run_error && control_.runs >= control_.first_failing_run)
      return MakeError(*control_.run_error, "probe.run", "told to fail");
    if (stream.team() == nullptr) {
      return LaunchOnRemote(stream, control_.device_ns, [this] { Run(InRemoteMemory(in_), InRemoteMemory(out_)); });
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
  void* in_;
  void* out_;
};

class ProbeKernel : public Kernel {
 public:
  explicit ProbeKernel(ProbeControl& control) : control_(control) {}
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    if (control_.bind_error) return MakeError(*control_.bind_error, "probe.bind", "told to fail");
    return std::unique_ptr<BoundKernel>(std::make_unique<ProbeBoundKernel>(control_, *in[0], *out[0]));
  }

 private:
  ProbeControl& control_;
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
      all.push_back(RowMajorCandidate(graph, nodes, name()));
      all.back().unit_class = UnitClassId(k);
    }
    return all;
  }
  std::optional<std::string> WhyUnsupported(const Graph&, NodeId) const override { return std::nullopt; }
  Result<std::unique_ptr<Kernel>> Compile(const Graph&, const Candidate&, std::span<const TensorLayout>,
                                          std::span<const TensorLayout>, CompileContext&) const override {
    ++control_.compiled;
    if (control_.compile_error) return MakeError(*control_.compile_error, "probe.compile", "told to fail");
    return std::unique_ptr<Kernel>(std::make_unique<ProbeKernel>(control_));
  }

 private:
  ProbeControl& control_;
};

}  // namespace

std::unique_ptr<Library> MakeProbeLibrary(ProbeControl& control) { return std::make_unique<ProbeLibrary>(control); }

}  // namespace pt::testing
