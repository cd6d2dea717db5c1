// A plugin with one library and one kernel: Softsign, y = x / (1 + |x|), on the host. docs/add-a-library.md walks
// through it.
#include <partitiontuner/backend/plugin.h>

#include <cmath>

namespace {

constexpr const char* kName = "softsign";

class BoundSoftsign final : public pt::BoundKernel {
 public:
  BoundSoftsign(const pt::TensorView& in, const pt::TensorView& out) : in_(in), out_(out) {
    for (size_t d = 0; d < last_; ++d) rows_ *= in_.layout.dims[d];
  }

  // The hot path: the cores of the unit take the rows among them. Nothing is allocated.
  pt::Status Enqueue(const pt::RunContext& run) noexcept override {
    auto share = [this](uint32_t i, uint32_t n) {
      for (int64_t row = rows_ * i / n; row < rows_ * (i + 1) / n; ++row) RunRow(row);
    };
    run.stream.team()->ParallelFor(run.stream.team()->width(), share);
    return {};
  }

 private:
  // Tensors may be slices of bigger ones, so every address comes from the strides.
  void RunRow(int64_t row) const noexcept {
    const pt::TensorLayout &in = in_.layout, &out = out_.layout;
    const auto* x = static_cast<const float*>(in_.data);
    auto* y = static_cast<float*>(out_.data);
    for (size_t d = last_; d-- > 0; row /= in.dims[d]) {
      x += row % in.dims[d] * in.strides[d];
      y += row % in.dims[d] * out.strides[d];
    }
    for (int64_t i = 0; i < in.dims[last_]; ++i, x += in.strides[last_], y += out.strides[last_]) {
      *y = *x / (1 + std::fabs(*x));
    }
  }

  const pt::TensorView in_, out_;
  const size_t last_ = in_.layout.dims.size() - 1;
  int64_t rows_ = 1;
};

class SoftsignKernel final : public pt::Kernel {
  pt::Result<std::unique_ptr<pt::BoundKernel>> Bind(pt::TensorSlots in, pt::TensorSlots out,
                                                    std::span<std::byte>) const override {
    return std::unique_ptr<pt::BoundKernel>(std::make_unique<BoundSoftsign>(*in[0], *out[0]));
  }
};

class SoftsignLibrary final : public pt::Library {
 public:
  std::string_view name() const override { return kName; }
  std::string version() const override { return "1"; }
  bool Serves(const pt::Platform&, pt::DeviceId device) const override { return pt::IsHost(device); }

  std::optional<std::string> WhyUnsupported(const pt::Graph& graph, pt::NodeId id) const override {
    const pt::Node& node = graph.node(id);
    if (node.op != "Softsign" || !node.domain.empty()) return "only Softsign is here";
    const pt::Value& x = graph.value(node.inputs[0]);
    const bool fits = x.type.type == pt::DataType::kFloat32 && x.type.is_static() && !x.type.dims.empty();
    if (!fits || x.is_constant()) return "Softsign: the input is not a float32 tensor of known size";
    return std::nullopt;
  }
  std::vector<pt::Candidate> CandidatesFor(const pt::Graph& graph, const pt::Platform& platform,
                                           std::span<const pt::NodeId> nodes, const pt::Precision&) const override {
    if (nodes.size() != 1 || WhyUnsupported(graph, nodes[0])) return {};
    std::vector<pt::Candidate> found;
    for (uint32_t c = 0; c < platform.unit_classes.size(); ++c) {
      if (!platform.unit_classes[c].on_host()) continue;
      found.push_back(pt::RowMajorCandidate(graph, nodes, kName));
      found.back().unit_class = pt::UnitClassId(c);
      found.back().aliases = {{0, 0, pt::Alias::Kind::kAllowed}};  // each element is read before it is written
    }
    return found;
  }
  pt::Result<std::unique_ptr<pt::Kernel>> Compile(const pt::Graph&, const pt::Candidate&,
                                                  std::span<const pt::TensorLayout>, std::span<const pt::TensorLayout>,
                                                  pt::CompileContext&) const override {
    return std::unique_ptr<pt::Kernel>(std::make_unique<SoftsignKernel>());
  }
};

pt::Backend MakeBackend() {
  return {kName, {}, {{kName, "Softsign on host units", []() -> std::unique_ptr<pt::Library> {
                         return std::make_unique<SoftsignLibrary>();
                       }}}};
}

}  // namespace

PT_PLUGIN(kName, MakeBackend)
