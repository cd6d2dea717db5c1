// Own kernels for LSTM, GRU and RNN on host units, with several ways to share the work among the cores of a unit.
#include <algorithm>
#include <array>

#include "lib/backend/built_in.h"
#include "lib/backend/recurrent/recurrence.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/backend/nan.h"
#include "partitiontuner/platform/discover.h"

namespace pt {
namespace recurrent {
namespace {

constexpr std::string_view kName = "recurrent";

// Raised when a kernel changes so that its old measurements no longer hold.
constexpr const char* kVersion = "3";

struct SharingRow {
  std::string_view variant;
  Sharing sharing;
};
constexpr std::array kSharings = {SharingRow{"units", Sharing::kUnits}, SharingRow{"sequences", Sharing::kSequences}};

Error Unsupported(std::string why) {
  return MakeError(ErrorCode::kUnsupported, "recurrent.unsupported", std::move(why));
}

Result<Place> InputPlace(const Graph& graph, ValueId value, std::span<const ValueId> inputs,
                         std::span<const TensorLayout> in) {
  Place place;
  if (!value.valid()) return place;
  if (const std::optional<Tensor>& constant = graph.value(value).constant) {
    PT_ASSIGN(const TensorLayout layout,
              DenseLayout(constant->type(), constant->dims(), RowMajor(constant->dims().size())));
    return Place{std::nullopt, constant, layout.strides};
  }
  const auto at = std::find(inputs.begin(), inputs.end(), value);
  if (at == inputs.end()) return Unsupported("an operand is not an input of the node");
  place.slot = static_cast<uint32_t>(at - inputs.begin());
  place.strides = in[*place.slot].strides;
  return place;
}

Place OutputPlace(ValueId value, std::span<const ValueId> outputs, std::span<const TensorLayout> out) {
  Place place;
  const auto at = std::find(outputs.begin(), outputs.end(), value);
  if (!value.valid() || at == outputs.end()) return place;
  place.slot = static_cast<uint32_t>(at - outputs.begin());
  place.strides = out[*place.slot].strides;
  return place;
}

// Elements of the innermost dim are read and written side by side. Lengths alone are integers.
bool IsTaken(const TensorLayout& tensor) {
  return (tensor.type == DataType::kFloat32 || tensor.type == DataType::kInt32) && tensor.layout.is_row_major() &&
         !tensor.strides.empty() && (tensor.strides.back() == 1 || tensor.dims.back() == 1);
}

class RecurrentLibrary final : public Library, public TellsOfNan {
 public:
  std::string_view name() const override { return kName; }
  std::string version() const override { return kVersion; }
  // How units are cut into blocks, and so how they can be shared, is known for the vectors of this processor only. A
  // platform that says nothing of its instruction sets is taken to be this machine's.
  bool Serves(const Platform& platform, DeviceId device) const override {
    const std::string& isa = platform.device(device).isa;
    return IsHost(device) && (isa.empty() || isa == isa_);
  }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision&) const override {
    if (nodes.size() != 1) return {};
    const Result<RecurrentNode> node = ReadRecurrentNode(graph, graph.node(nodes[0]));
    if (!node.ok()) return {};
    const Result<Sizes> sizes = SizesOf(*node);
    if (!sizes.ok()) return {};
    Candidate candidate = RowMajorCandidate(graph, nodes, kName);
    candidate.scratch_bytes = sizes->scratch_bytes;
    candidate.constant_bytes = sizes->constant_bytes;
    std::vector<Candidate> candidates;
    for (uint32_t c = 0; c < platform.unit_classes.size(); ++c) {
      if (!Serves(platform, platform.unit_classes[c].device)) continue;
      candidate.unit_class = UnitClassId(c);
      for (const SharingRow& row : kSharings) {
        if (!IsOffered(*node, row.sharing, platform.unit_classes[c].cores)) continue;
        candidate.variant = row.variant;
        candidates.push_back(candidate);
      }
    }
    return candidates;
  }

  bool KeepsNan(const Graph&, const Candidate&) const override { return true; }
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId id) const override {
    const Result<RecurrentNode> node = ReadRecurrentNode(graph, graph.node(id));
    if (!node.ok()) return graph.node(id).op + ": " + node.error().message;
    const Result<Sizes> sizes = SizesOf(*node);
    return sizes.ok() ? std::nullopt : std::optional(graph.node(id).op + ": " + sizes.error().message);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    const std::vector<ValueId> inputs = GroupInputs(graph, candidate.nodes);
    const std::vector<ValueId> outputs = GroupOutputs(graph, candidate.nodes);
    const auto* row = std::ranges::find(kSharings, candidate.variant, &SharingRow::variant);
    if (candidate.nodes.size() != 1 || row == kSharings.end() || in.size() != inputs.size() ||
        out.size() != outputs.size() || !std::ranges::all_of(in, IsTaken) || !std::ranges::all_of(out, IsTaken)) {
      return MakeError(ErrorCode::kStale, "recurrent.candidate", "this is not a candidate of the recurrent library");
    }
    PT_ASSIGN(RecurrentNode node, ReadRecurrentNode(graph, graph.node(candidate.nodes[0])));
    Places places;
    PT_ASSIGN(places.x, InputPlace(graph, node.x, inputs, in));
    PT_ASSIGN(places.lengths, InputPlace(graph, node.lengths, inputs, in));
    PT_ASSIGN(places.initial_h, InputPlace(graph, node.initial_h, inputs, in));
    PT_ASSIGN(places.initial_c, InputPlace(graph, node.initial_c, inputs, in));
    places.y = OutputPlace(node.y, outputs, out);
    places.y_h = OutputPlace(node.y_h, outputs, out);
    places.y_c = OutputPlace(node.y_c, outputs, out);
    return MakeRecurrence(std::move(node), row->sharing, std::move(places), context);
  }

 private:
  const std::string isa_ = HostInstructionSets();
};

}  // namespace
}  // namespace recurrent

std::unique_ptr<Library> MakeRecurrentLibrary() { return std::make_unique<recurrent::RecurrentLibrary>(); }

Backend RecurrentBackend() {
  return {"recurrent", {}, {{"recurrent", "own kernels for LSTM, GRU and RNN on host units", MakeRecurrentLibrary}}};
}

}  // namespace pt
