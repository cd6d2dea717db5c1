// What Loop and Scan share: the kernel around a body that runs again and again, and what they keep meanwhile.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "lib/backend/reference/control_flow.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {

// A node with one nested graph, its body. What a run takes is given back however the run ends.
class Repetition : public BoundKernel {
 public:
  Repetition(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out, std::unique_ptr<BoundSubgraph> body)
      : graph_(graph), id_(id), in_(in.begin(), in.end()), out_(out.begin(), out.end()), body_(std::move(body)) {}

  Status Enqueue(const RunContext& run) noexcept final try {
    NodeTensors tensors(graph_, id_, in_, out_, run);
    const Status status = RunTrips(tensors, run);
    body_->Release(run);
    return status;
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorCode::kOutOfMemory, "reference.memory", "no memory to run a loop");
  }

 protected:
  const Node& node() const { return graph_.node(id_); }
  const Graph& body_graph() const { return *node().subgraphs[0].graph; }
  BoundSubgraph& body() { return *body_; }
  Status RunBody(const RunContext& run, std::span<const TensorView> inputs) {
    NoPlaces places;
    return body_->Run(Within(run, places), inputs);
  }

 private:
  virtual Status RunTrips(NodeTensors& tensors, const RunContext& run) = 0;

  const Graph& graph_;
  const NodeId id_;
  const std::vector<const TensorView*> in_, out_;
  std::unique_ptr<BoundSubgraph> body_;
};

template <typename Kind>
Result<std::unique_ptr<BoundKernel>> BindRepetition(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                                    std::span<const std::shared_ptr<const CompiledSubgraph>> nested) {
  PT_ASSIGN(auto body, nested[0]->Bind());
  return std::unique_ptr<BoundKernel>(std::make_unique<Kind>(graph, id, in, out, std::move(body)));
}

// A value that goes from trip to trip, in memory of its own that stays where it is as long as it is large enough, so
// that the body's kernels need not be bound again.
class Carried {
 public:
  Status Set(NodeTensors& tensors, const TensorView& from) {
    if (IsDatum(from)) {
      datum_ = DatumIn(from);
      view_ = ViewOf(datum_);
      capacity_ = 0;
      return {};
    }
    PT_ASSIGN(const uint64_t bytes, BytesOf(from.layout));
    if (bytes > capacity_) {
      const uint64_t capacity = std::max(2 * capacity_, bytes);  // a value that grows shall not take memory each time
      PT_ASSIGN(view_.data, tensors.Take(capacity));
      capacity_ = capacity;
    }
    view_.layout = from.layout;
    if (bytes > 0 && view_.data != from.data) std::memmove(view_.data, from.data, bytes);
    return {};
  }
  const TensorView& view() const { return view_; }
  // Whether the bytes there are (part of) this value's, or its datum.
  bool Holds(const void* data) const {
    if (data == &datum_) return true;
    const auto* begin = static_cast<const std::byte*>(view_.data);
    return begin != nullptr && !std::less<>()(static_cast<const std::byte*>(data), begin) &&
           std::less<>()(static_cast<const std::byte*>(data), begin + capacity_);
  }

 private:
  TensorView view_;
  uint64_t capacity_ = 0;
  Datum datum_;
};

// A body may return what it was given under another name: that is put aside before anything is overwritten.
inline Status CarryOver(NodeTensors& tensors, std::span<const TensorView> returned, std::vector<Carried>& carried,
                        std::vector<Carried>& aside) {
  std::vector<const TensorView*> next;
  for (size_t i = 0; i < carried.size(); ++i) {
    const bool others = std::any_of(carried.begin(), carried.end(), [&](const Carried& value) {
      return &value != &carried[i] && value.Holds(returned[i].data);
    });
    if (others) PT_CHECK_OK(aside[i].Set(tensors, returned[i]));
    next.push_back(others ? &aside[i].view() : &returned[i]);
  }
  for (size_t i = 0; i < carried.size(); ++i) PT_CHECK_OK(carried[i].Set(tensors, *next[i]));
  return {};
}

// One value a trip, put behind each other along a new first dim.
class Collected {
 public:
  Status Add(NodeTensors& tensors, const TensorView& value) {
    if (IsDatum(value)) {
      return MakeError(ErrorCode::kUnsupported, "reference.unsupported",
                       "what a loop collects is a tensor of numbers, not " + ToString(DatumIn(value)));
    }
    PT_ASSIGN(const uint64_t bytes, BytesOf(value.layout));
    if (trips_ == 0) {
      layout_ = value.layout;
      trip_bytes_ = bytes;
    } else if (layout_ != value.layout) {
      return MakeError(
          ErrorCode::kInvalidInput, "reference.shape",
          "a value that is collected is " + Text(value.layout) + " in one trip and " + Text(layout_) + " in another");
    }
    if (BitsOf(layout_.type) < 8) {
      return MakeError(ErrorCode::kUnsupported, "reference.unsupported",
                       "values cannot be collected of type " + std::string(DataTypeName(layout_.type)));
    }
    const std::optional<uint64_t> used = CheckedMul(trip_bytes_, trips_);
    if (!used || *used > std::numeric_limits<uint64_t>::max() / 4 - bytes) {
      return MakeError(ErrorCode::kOutOfMemory, "reference.size", "a collected value does not fit 62 bits");
    }
    if (*used + bytes > capacity_) {
      const uint64_t capacity = std::max(2 * capacity_, *used + bytes);
      PT_ASSIGN(void* const larger, tensors.Take(capacity));
      if (*used > 0) std::memcpy(larger, data_, *used);
      data_ = static_cast<std::byte*>(larger);
      capacity_ = capacity;
    }
    if (bytes > 0) std::memcpy(data_ + *used, value.data, bytes);
    ++trips_;
    return {};
  }

  // Of a type that only the body's graph knows when there was no trip: dims that it leaves open are then 0.
  Result<TensorView> Whole(const ValueType& declared) const {
    std::vector<int64_t> dims = {static_cast<int64_t>(trips_)};
    DataType type = declared.type;
    if (trips_ > 0) {
      dims.insert(dims.end(), layout_.dims.begin(), layout_.dims.end());
      type = layout_.type;
    } else {
      // Nothing was collected: only the declared type says of what there is none.
      if (!declared.other.empty() || BitsOf(type) == 0) {
        return MakeError(ErrorCode::kUnsupported, "reference.unsupported",
                         "what a loop collects is a tensor of numbers, not " + ToString(declared));
      }
      for (const Dim& dim : declared.dims) dims.push_back(dim.known() ? dim.value : 0);
    }
    PT_ASSIGN(TensorLayout layout, DenseLayout(type, dims, RowMajor(dims.size())));
    return TensorView{data_, std::move(layout)};
  }

 private:
  static std::string Text(const TensorLayout& layout) { return ToString(StaticType(layout.type, layout.dims)); }

  TensorLayout layout_;
  uint64_t trip_bytes_ = 0, trips_ = 0, capacity_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace pt::reference
