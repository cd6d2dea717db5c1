// A plugin with one library and one kernel: Softsign, y = x / (1 + |x|), on the host. docs/add-a-library.md walks
// through it.
#include <partitiontuner/backend/plugin.h>

#include <cmath>

namespace {

constexpr const char* kName = "softsign";

class BoundSoftsign final : public pt::BoundKernel {
 public:
  BoundSoftsign(pt::TensorView in, pt::TensorView out) : in_(std::move(in)), out_(std::move(out)) {
    for (size_t d = 0; d + 1 < in_.layout.dims.size(); ++d) rows_ *= in_.layout.dims[d];
  }

  // The hot path: the cores of the unit take the rows among them. Nothing is allocated.
  pt::Status Enqueue(const pt::RunContext& run) noexcept override {
    pt::Team& team = *run.stream.team();
    auto rows_of = [this](uint32_t i, uint32_t n) {
      for (int64_t row = rows_ * i / n; row < rows_ * (i + 1) / n; ++row) RunRow(row);
    };
    team.ParallelFor(team.width(), rows_of);
    return {};
  }

 private:
  // Tensors may be slices of bigger ones, so every address comes from the strides.
  void RunRow(int64_t row) const noexcept {
    const auto* from = static_cast<const float*>(in_.data);
    auto* to = static_cast<float*>(out_.data);
    const size_t last = in_.layout.dims.size() - 1;
    for (size_t d = last; d-- > 0; row /= in_.layout.dims[d]) {
      from += row % in_.layout.dims[d] * in_.layout.strides[d];
      to += row % in_.layout.dims[d] * out_.layout.strides[d];
    }
    const int64_t in_step = in_.layout.strides[last], out_step = out_.layout.strides[last];
    for (int64_t i = 0; i < in_.layout.dims[last]; ++i) {
      const float x = from[i * in_step];
      to[i * out_step] = x / (1 + std::fabs(x));
    }
  }

  const pt::TensorView in_, out_;
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

  std::vector<pt::Candidate> Candidates(const pt::Graph& graph, const pt::Platform& platform,
                                        const pt::Precision& precision) const override {
    std::vector<pt::Candidate> all;
    for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
      const pt::NodeId node(n);
      for (pt::Candidate& candidate : CandidatesFor(graph, platform, {&node, 1}, precision))
        all.push_back(std::move(candidate));
    }
    return all;
  }
  std::vector<pt::Candidate> AgnosticCandidates(const pt::Graph&, const pt::Platform&,
                                                std::span<const pt::Candidate>) const override {
    return {};
  }
  std::vector<pt::Candidate> CandidatesFor(const pt::Graph& graph, const pt::Platform& platform,
                                           std::span<const pt::NodeId> nodes, const pt::Precision&) const override {
    if (nodes.size() != 1 || WhyUnsupported(graph, nodes[0])) return {};
    const size_t rank = graph.value(graph.node(nodes[0]).inputs[0]).type.dims.size();
    const pt::Form row_major{pt::RowMajor(rank), pt::DataType::kFloat32};
    pt::Candidate candidate;
    candidate.nodes = {nodes[0]};
    candidate.library = kName;
    candidate.in = candidate.out = {row_major};
    candidate.aliases = {{0, 0, pt::Alias::Kind::kAllowed}};  // each element is read before it is written
    std::vector<pt::Candidate> found;
    for (uint32_t c = 0; c < platform.unit_classes.size(); ++c) {
      candidate.unit_class = pt::UnitClassId(c);
      if (platform.unit_classes[c].on_host()) found.push_back(candidate);
    }
    return found;
  }
  std::optional<std::string> WhyUnsupported(const pt::Graph& graph, pt::NodeId id) const override {
    const pt::Node& node = graph.node(id);
    if (node.op != "Softsign" || !node.domain.empty()) return "only Softsign is here";
    const pt::Value& x = graph.value(node.inputs[0]);
    if (x.type.type != pt::DataType::kFloat32 || !x.type.is_static() || x.type.dims.empty() || x.is_constant()) {
      return "Softsign: the input is no float32 tensor of known size";
    }
    return std::nullopt;
  }

  pt::Result<std::unique_ptr<pt::Kernel>> Compile(const pt::Graph&, const pt::Candidate&,
                                                  std::span<const pt::TensorLayout>, std::span<const pt::TensorLayout>,
                                                  pt::CompileContext&) const override {
    return std::unique_ptr<pt::Kernel>(std::make_unique<SoftsignKernel>());
  }

  bool CanReorder(const pt::Platform&, pt::UnitClassId, std::span<const int64_t>, const pt::Form&,
                  const pt::Form&) const override {
    return false;
  }
  pt::Result<std::unique_ptr<pt::Kernel>> CompileReorder(const pt::TensorLayout&, const pt::TensorLayout&,
                                                         pt::CompileContext&) const override {
    return pt::MakeError(pt::ErrorCode::kUnsupported, "softsign.reorder", "this library reorders nothing");
  }
};

pt::Backend MakeBackend() {
  return {kName, {}, {{kName, "Softsign on host units", []() -> std::unique_ptr<pt::Library> {
                         return std::make_unique<SoftsignLibrary>();
                       }}}};
}

}  // namespace

PT_PLUGIN(kName, MakeBackend)
