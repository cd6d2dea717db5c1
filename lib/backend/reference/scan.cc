// Scan: a body that is run once for each slice of its inputs.
#include <algorithm>
#include <cstring>

#include "lib/backend/reference/element_copy.h"
#include "lib/backend/reference/feeding.h"
#include "lib/backend/reference/loop_values.h"

namespace pt::reference {
namespace {

// One input, slice by slice, each in the same memory.
class Slices {
 public:
  Status Open(NodeTensors& tensors, const TensorView& whole, int64_t axis, bool reversed) {
    if (IsDatum(whole)) {
      return MakeError(ErrorCode::kUnsupported, "reference.unsupported",
                       "Scan does not slice " + ToString(DatumIn(whole)));
    }
    const int64_t rank = static_cast<int64_t>(whole.layout.dims.size());
    if (axis < -rank || axis >= rank) {
      return MakeError(
          ErrorCode::kInvalidInput, "reference.axis",
          "Scan: axis " + std::to_string(axis) + " does not exist in a tensor of rank " + std::to_string(rank));
    }
    if (BitsOf(whole.layout.type) < 8) {
      return MakeError(ErrorCode::kUnsupported, "reference.unsupported",
                       "Scan does not slice tensors of type " + std::string(DataTypeName(whole.layout.type)));
    }
    const auto at = axis < 0 ? axis + rank : axis;
    whole_ = static_cast<const std::byte*>(whole.data);
    reversed_ = reversed;
    length_ = whole.layout.dims[static_cast<size_t>(at)];
    step_bytes_ = whole.layout.strides[static_cast<size_t>(at)] * BytesOf(whole.layout.type);
    TensorLayout from = whole.layout;
    from.dims.erase(from.dims.begin() + at);
    from.strides.erase(from.strides.begin() + at);
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

// The trips' dim from the front to `axis`, the trips in reverse if asked for.
Result<TensorView> Arrange(NodeTensors& tensors, TensorView whole, int64_t axis, bool reversed, Team* team) {
  const int64_t rank = static_cast<int64_t>(whole.layout.dims.size());
  if (axis < -rank || axis >= rank) {
    return MakeError(
        ErrorCode::kInvalidInput, "reference.axis",
        "Scan: axis " + std::to_string(axis) + " does not exist in an output of rank " + std::to_string(rank));
  }
  const int64_t trips = whole.layout.dims[0];
  PT_ASSIGN(const uint64_t bytes, BytesOf(whole.layout));
  if (reversed && trips > 1 && bytes > 0) {
    PT_ASSIGN(void* const turned, tensors.Take(bytes));
    const uint64_t each = bytes / static_cast<uint64_t>(trips);
    for (int64_t t = 0; t < trips; ++t) {
      std::memcpy(static_cast<std::byte*>(turned) + static_cast<uint64_t>(trips - 1 - t) * each,
                  static_cast<const std::byte*>(whole.data) + static_cast<uint64_t>(t) * each, each);
    }
    whole.data = turned;
  }
  const int64_t to = axis < 0 ? axis + rank : axis;
  if (to == 0) return whole;
  TensorLayout from = whole.layout;
  std::rotate(from.dims.begin(), from.dims.begin() + 1, from.dims.begin() + to + 1);
  std::rotate(from.strides.begin(), from.strides.begin() + 1, from.strides.begin() + to + 1);
  TensorView moved{nullptr, Dense(from.type, from.dims)};
  PT_ASSIGN(moved.data, tensors.Take(bytes));
  if (bytes > 0) ElementCopy(from, moved.layout).Run(whole.data, moved.data, team);
  return moved;
}

int64_t At(const std::vector<int64_t>& list, size_t i) { return i < list.size() ? list[i] : 0; }

class BoundScan final : public Repetition {
 public:
  using Repetition::Repetition;

 private:
  Result<std::vector<Slices>> OpenSlices(NodeTensors& tensors, size_t carried_count) const {
    const std::vector<int64_t> axes = node().ints_or("scan_input_axes", {}),
                               directions = node().ints_or("scan_input_directions", {});
    std::vector<Slices> slices(node().formal_inputs - carried_count);
    for (size_t i = 0; i < slices.size(); ++i) {
      PT_ASSIGN(const TensorView whole, tensors.Input(carried_count + i));
      PT_CHECK_OK(slices[i].Open(tensors, whole, At(axes, i), At(directions, i) != 0));
      if (slices[i].length() == slices[0].length()) continue;
      return MakeError(ErrorCode::kInvalidInput, "reference.shape",
                       "Scan: the inputs have " + std::to_string(slices[0].length()) + " and " +
                           std::to_string(slices[i].length()) + " slices");
    }
    return slices;
  }

  Status RunTrips(NodeTensors& tensors, const RunContext& run) override {
    const int64_t scanned = node().int_or("num_scan_inputs", 0);
    if (scanned < 1 || scanned > static_cast<int64_t>(node().formal_inputs)) {
      return MakeError(ErrorCode::kInvalidInput, "reference.scan",
                       "Scan: num_scan_inputs is " + std::to_string(scanned) + ", with " +
                           std::to_string(node().formal_inputs) + " inputs");
    }
    const size_t carried_count = node().formal_inputs - static_cast<size_t>(scanned);
    if (body_graph().outputs().size() < carried_count) {
      return MakeError(ErrorCode::kInvalidInput, "reference.scan", "Scan: the body returns too little");
    }
    std::vector<Carried> carried(carried_count), aside(carried_count);
    for (size_t i = 0; i < carried_count; ++i) {
      PT_ASSIGN(const TensorView initial, tensors.Input(i));
      PT_CHECK_OK(carried[i].Set(tensors, initial));
    }
    PT_ASSIGN(std::vector<Slices> slices, OpenSlices(tensors, carried_count));
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
    return SetOutputs(tensors, carried, collected, run.stream.team());
  }

  Status SetOutputs(NodeTensors& tensors, const std::vector<Carried>& carried, const std::vector<Collected>& collected,
                    Team* team) const {
    const std::vector<int64_t> axes = node().ints_or("scan_output_axes", {}),
                               directions = node().ints_or("scan_output_directions", {});
    for (size_t i = 0; i < node().outputs.size(); ++i) {
      if (i < carried.size()) {
        PT_CHECK_OK(tensors.SetOutput(i, carried[i].view()));
        continue;
      }
      const size_t c = i - carried.size();
      PT_ASSIGN(TensorView whole, collected[c].Whole(body_graph().value(body_graph().outputs()[i]).type));
      PT_ASSIGN(whole, Arrange(tensors, std::move(whole), At(axes, c), At(directions, c) != 0, team));
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
