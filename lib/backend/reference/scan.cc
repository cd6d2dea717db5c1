// Scan: a body that is run once for each slice of its inputs.
#include <algorithm>
#include <cstring>

#include "lib/backend/reference/element_copy.h"
#include "lib/backend/reference/feeding.h"
#include "lib/backend/reference/loop_values.h"
#include "partitiontuner/graph/operators/repetition.h"

namespace pt::reference {
namespace {

Error NoAxis(const ScanSlicing& slicing, const char* what, size_t rank) {
  return MakeError(
      ErrorCode::kInvalidInput, "reference.axis",
      "Scan: axis " + std::to_string(slicing.axis) + " does not exist in " + what + " of rank " + std::to_string(rank));
}

// One input, slice by slice, each in the same memory.
class Slices {
 public:
  Status Open(NodeTensors& tensors, const TensorView& whole, const ScanSlicing& slicing) {
    if (IsDatum(whole)) {
      return MakeError(ErrorCode::kUnsupported, "reference.unsupported",
                       "Scan does not slice " + ToString(DatumIn(whole)));
    }
    const std::optional<size_t> at = slicing.AxisIn(whole.layout.dims.size());
    if (!at) return NoAxis(slicing, "a tensor", whole.layout.dims.size());
    if (BitsOf(whole.layout.type) < 8) {
      return MakeError(ErrorCode::kUnsupported, "reference.unsupported",
                       "Scan does not slice tensors of type " + std::string(DataTypeName(whole.layout.type)));
    }
    whole_ = static_cast<const std::byte*>(whole.data);
    reversed_ = slicing.reversed;
    length_ = whole.layout.dims[*at];
    step_bytes_ = whole.layout.strides[*at] * BytesOf(whole.layout.type);
    TensorLayout from = whole.layout;
    from.dims.erase(from.dims.begin() + static_cast<std::ptrdiff_t>(*at));
    from.strides.erase(from.strides.begin() + static_cast<std::ptrdiff_t>(*at));
    from.layout = RowMajor(from.dims.size());
    slice_.layout = Dense(from.type, from.dims);
    copy_.emplace(from, slice_.layout);
    PT_ASSIGN(const uint64_t bytes, BytesOf(slice_.layout));
    PT_ASSIGN(slice_.data, tensors.Take(bytes));
    return {};
  }
  int64_t length() const { return length_; }
  const TensorView& At(int64_t trip, Team* team) {
    const int64_t index = reversed_ ? length_ - 1 - trip : trip;
    if (slice_.data != nullptr) copy_->Run(whole_ + index * step_bytes_, slice_.data, team);
    return slice_;
  }

 private:
  const std::byte* whole_ = nullptr;
  bool reversed_ = false;
  int64_t length_ = 0, step_bytes_ = 0;
  TensorView slice_;
  std::optional<ElementCopy> copy_;
};

// Moves the trips' dim from the front to where it belongs, the trips in reverse if asked for.
Result<TensorView> Arrange(NodeTensors& tensors, TensorView whole, const ScanSlicing& slicing, Team* team) {
  const std::optional<size_t> axis = slicing.AxisIn(whole.layout.dims.size());
  if (!axis) return NoAxis(slicing, "an output", whole.layout.dims.size());
  const int64_t trips = whole.layout.dims[0];
  PT_ASSIGN(const uint64_t bytes, BytesOf(whole.layout));
  if (slicing.reversed && trips > 1 && bytes > 0) {
    PT_ASSIGN(void* const turned, tensors.Take(bytes));
    const uint64_t each = bytes / static_cast<uint64_t>(trips);
    for (int64_t t = 0; t < trips; ++t) {
      std::memcpy(static_cast<std::byte*>(turned) + static_cast<uint64_t>(trips - 1 - t) * each,
                  static_cast<const std::byte*>(whole.data) + static_cast<uint64_t>(t) * each, each);
    }
    whole.data = turned;
  }
  const auto to = static_cast<std::ptrdiff_t>(*axis);
  if (to == 0) return whole;
  TensorLayout from = whole.layout;
  std::rotate(from.dims.begin(), from.dims.begin() + 1, from.dims.begin() + to + 1);
  std::rotate(from.strides.begin(), from.strides.begin() + 1, from.strides.begin() + to + 1);
  TensorView moved{nullptr, Dense(from.type, from.dims)};
  PT_ASSIGN(moved.data, tensors.Take(bytes));
  if (bytes > 0) ElementCopy(from, moved.layout).Run(whole.data, moved.data, team);
  return moved;
}

class BoundScan final : public Repetition {
 public:
  using Repetition::Repetition;

 private:
  static Result<std::vector<Slices>> OpenSlices(NodeTensors& tensors, const ScanNode& scan) {
    std::vector<Slices> slices(scan.scanned);
    for (size_t i = 0; i < slices.size(); ++i) {
      PT_ASSIGN(const TensorView whole, tensors.Input(scan.carried + i));
      PT_CHECK_OK(slices[i].Open(tensors, whole, scan.InputSlicing(i)));
      if (slices[i].length() == slices[0].length()) continue;
      return MakeError(ErrorCode::kInvalidInput, "reference.shape",
                       "Scan: the inputs have " + std::to_string(slices[0].length()) + " and " +
                           std::to_string(slices[i].length()) + " slices");
    }
    return slices;
  }

  Status RunTrips(NodeTensors& tensors, const RunContext& run) override {
    PT_ASSIGN(const ScanNode scan, ReadScan(node()));
    const size_t carried_count = scan.carried;
    if (body_graph().outputs().size() < carried_count) {
      return MakeError(ErrorCode::kInvalidInput, "reference.scan", "Scan: the body returns too little");
    }
    std::vector<Carried> carried(carried_count), aside(carried_count);
    for (size_t i = 0; i < carried_count; ++i) {
      PT_ASSIGN(const TensorView initial, tensors.Input(i));
      PT_CHECK_OK(carried[i].Set(tensors, initial));
    }
    PT_ASSIGN(std::vector<Slices> slices, OpenSlices(tensors, scan));
    std::vector<TensorView> inputs(carried_count + slices.size());
    PT_ASSIGN(inputs, tensors.WithCaptures(std::move(inputs), node().subgraphs[0]));
    std::vector<Collected> collected(body_graph().outputs().size() - carried_count);
    for (int64_t trip = 0; trip < slices[0].length(); ++trip) {
      if (run.stop.ShouldStop()) return MakeError(ErrorCode::kRunFailed, "run.stopped", "the run was stopped");
      for (size_t i = 0; i < carried_count; ++i) inputs[i] = carried[i].view();
      for (size_t i = 0; i < slices.size(); ++i) inputs[carried_count + i] = slices[i].At(trip, run.stream.team());
      PT_CHECK_OK(RunBody(run, inputs));
      for (size_t i = 0; i < collected.size(); ++i) {
        PT_CHECK_OK(collected[i].Add(tensors, body().outputs()[carried_count + i]));
      }
      // Last: what is collected may be a carried value as this trip was given it.
      PT_CHECK_OK(CarryOver(tensors, body().outputs(), carried, aside));
      body().Release(run);
    }
    return SetOutputs(tensors, scan, carried, collected, run.stream.team());
  }

  Status SetOutputs(NodeTensors& tensors, const ScanNode& scan, const std::vector<Carried>& carried,
                    const std::vector<Collected>& collected, Team* team) const {
    for (size_t i = 0; i < node().outputs.size(); ++i) {
      if (i < carried.size()) {
        PT_CHECK_OK(tensors.SetOutput(i, carried[i].view()));
        continue;
      }
      const size_t c = i - carried.size();
      PT_ASSIGN(TensorView whole, collected[c].Whole(body_graph().value(body_graph().outputs()[i]).type));
      PT_ASSIGN(whole, Arrange(tensors, std::move(whole), scan.OutputSlicing(c), team));
      PT_CHECK_OK(tensors.SetOutput(i, whole));
    }
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<BoundKernel>> BindScan(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                              std::span<const std::shared_ptr<const CompiledSubgraph>> nested) {
  return BindRepetition<BoundScan>(graph, id, in, out, nested);
}

}  // namespace pt::reference
