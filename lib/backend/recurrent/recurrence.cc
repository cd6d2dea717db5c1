#include "lib/backend/recurrent/recurrence.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "lib/backend/recurrent/packing.h"
#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/even_share.h"

namespace pt::recurrent {
namespace {

constexpr size_t kMostDirections = 2;

// Where each direction's memory lies in scratch, in bytes.
struct ScratchPlan {
  struct Of {
    uint64_t parts = 0, c = 0, update = 0, reset = 0, h[2] = {};
  };
  std::array<Of, kMostDirections> directions;
  uint64_t bytes = 0;
};

Result<ScratchPlan> PlanScratch(const RecurrentNode& node, int64_t lanes) {
  ScratchPlan plan;
  bool fits = true;
  const auto take = [&](std::initializer_list<int64_t> factors) {
    const uint64_t at = plan.bytes;
    const std::optional<int64_t> count = CheckedProduct(std::vector<int64_t>(factors));
    const std::optional<int64_t> bytes = count ? CheckedMul(*count, sizeof(float)) : std::nullopt;
    const std::optional<uint64_t> end =
        bytes ? CheckedAlignUp(at + static_cast<uint64_t>(*bytes), kTensorAlignment) : std::nullopt;
    fits = fits && end && *end < uint64_t{1} << 62;
    if (fits) plan.bytes = *end;
    return at;
  };
  const int64_t blocks = (node.hidden - 1) / lanes + 1;
  for (size_t d = 0; d < static_cast<size_t>(node.directions); ++d) {
    ScratchPlan::Of& of = plan.directions[d];
    of.parts = take({blocks, node.time, node.batch, node.gates, lanes});
    if (node.cell == RecurrentCell::kLstm) of.c = take({node.batch, blocks, lanes});
    if (ResetsBeforeProduct(node)) {
      for (uint64_t* state : {&of.update, &of.reset}) *state = take({node.batch, blocks, lanes});
    }
    for (uint64_t& h : of.h) h = take({node.batch, blocks, lanes});
  }
  if (!fits) return MakeError(ErrorCode::kUnsupported, "recurrent.size", "its memory does not fit 64 bits");
  return plan;
}

// Of a state tensor, whose dims depend on the layout.
struct StateStrides {
  int64_t direction = 0, batch = 0;
};
StateStrides StridesOfState(const RecurrentNode& node, const Place& place) {
  if (place.strides.empty()) return {};
  return node.batch_first ? StateStrides{place.strides[1], place.strides[0]}
                          : StateStrides{place.strides[0], place.strides[1]};
}

// What a kernel shares with its bound ones.
struct Parts {
  RecurrentNode node;
  Sharing sharing = Sharing::kUnits;
  Places places;
  ScratchPlan scratch;
  std::shared_ptr<DeviceBuffer> w, r, hidden_r;
  std::vector<float> bias, product_bias, peepholes;
  std::array<Direction, kMostDirections> directions;  // all but the addresses of one run state
};

class Bound final : public BoundKernel {
 public:
  Bound(std::shared_ptr<const Parts> parts, TensorSlots in, TensorSlots out, std::byte* scratch)
      : parts_(std::move(parts)), directions_(parts_->directions) {
    const Places& places = parts_->places;
    const auto input_of = [&]<typename T>(const Place& place, T) -> const T* {
      if (place.constant) return place.constant->values<T>().data();
      return place.slot ? static_cast<const T*>(in[*place.slot]->data) : nullptr;
    };
    const auto input = [&](const Place& place) { return input_of(place, float()); };
    const auto output = [&](const Place& place) {
      return place.slot ? static_cast<float*>(out[*place.slot]->data) : nullptr;
    };
    initial_h_ = input(places.initial_h);
    initial_c_ = input(places.initial_c);
    y_h_ = output(places.y_h);
    y_c_ = output(places.y_c);
    for (size_t d = 0; d < count(); ++d) {
      Direction& direction = directions_[d];
      direction.x = input(places.x);
      direction.lengths = input_of(places.lengths, int32_t());
      if (float* y = output(places.y)) {
        direction.y = y + static_cast<int64_t>(d) * places.y.strides[parts_->node.batch_first ? 2 : 1];
      }
      const ScratchPlan::Of& of = parts_->scratch.directions[d];
      direction.parts = reinterpret_cast<float*>(scratch + of.parts);
      direction.c = reinterpret_cast<float*>(scratch + of.c);
      direction.update = reinterpret_cast<float*>(scratch + of.update);
      direction.reset = reinterpret_cast<float*>(scratch + of.reset);
      for (size_t i = 0; i < 2; ++i) direction.h[i] = reinterpret_cast<float*>(scratch + of.h[i]);
    }
  }

  Status Enqueue(const RunContext& run) noexcept override {
    PT_CHECK_OK(FindSteps());
    Team* team = run.stream.team();
    const uint32_t width = team == nullptr ? 1 : team->width();
    if (width == 1) {
      RunAlone(0, 1);
    } else if (parts_->sharing == Sharing::kSequences) {
      auto body = [this](uint32_t i, uint32_t n) { RunAlone(i, n); };
      team->ParallelFor(width, body);
    } else {
      RunTogether(*team, width);
    }
    return {};
  }

 private:
  size_t count() const { return static_cast<size_t>(parts_->node.directions); }

  int64_t LengthOf(int64_t row) const { return directions_[0].LengthOf(row); }

  // As many as the longest sequence has.
  Status FindSteps() {
    steps_ = 0;
    for (int64_t row = 0; row < parts_->node.batch; ++row) {
      const int64_t length = LengthOf(row);
      if (length < 0 || length > parts_->node.time)
        return MakeError(ErrorCode::kInvalidInput, "recurrent.length", "a sequence length is out of range");
      steps_ = std::max(steps_, length);
    }
    return {};
  }

  // f(d, share) for the i-th of n parts of all directions' blocks of units.
  template <typename F>
  void ForUnits(uint32_t i, uint32_t n, F&& f) const {
    const int64_t blocks = directions_[0].blocks;
    const auto [begin, end] = EvenShare(static_cast<int64_t>(count()) * blocks, i, n);
    for (size_t d = 0; d < count(); ++d) {
      const int64_t first = static_cast<int64_t>(d) * blocks;
      const Share share{std::max(begin, first) - first, std::min(end, first + blocks) - first, 0, parts_->node.batch};
      if (share.first_block < share.last_block) f(d, share);
    }
  }

  // The same for parts of all directions' entries of the batch.
  template <typename F>
  void ForSequences(uint32_t i, uint32_t n, F&& f) const {
    const int64_t batch = parts_->node.batch;
    const auto [begin, end] = EvenShare(static_cast<int64_t>(count()) * batch, i, n);
    for (size_t d = 0; d < count(); ++d) {
      const int64_t first = static_cast<int64_t>(d) * batch;
      const Share share{0, directions_[0].blocks, std::max(begin, first) - first, std::min(end, first + batch) - first};
      if (share.first_row < share.last_row) f(d, share);
    }
  }

  void RunTogether(Team& team, uint32_t width) {
    for (size_t d = 0; d < count(); ++d) StartStates(d, 0, parts_->node.batch);
    auto input_part = [this](uint32_t i, uint32_t n) {
      ForUnits(i, n, [this](size_t d, const Share& share) { ComputeInputPart(directions_[d], share); });
    };
    team.ParallelFor(width, input_part);
    for (int64_t step = 0; step < steps_; ++step) {
      for (int phase = 0; phase < directions_[0].phases(); ++phase) {
        auto advance = [this, step, phase](uint32_t i, uint32_t n) {
          ForUnits(i, n, [&](size_t d, const Share& share) { ComputeStep(directions_[d], share, step, phase); });
        };
        team.ParallelFor(width, advance);
      }
    }
    for (size_t d = 0; d < count(); ++d) GiveStates(d, 0, parts_->node.batch);
  }

  void RunAlone(uint32_t i, uint32_t n) {
    ForSequences(i, n, [this](size_t d, const Share& share) {
      StartStates(d, share.first_row, share.last_row);
      ComputeInputPart(directions_[d], share);
      for (int64_t step = 0; step < steps_; ++step) {
        for (int phase = 0; phase < directions_[d].phases(); ++phase) ComputeStep(directions_[d], share, step, phase);
      }
      GiveStates(d, share.first_row, share.last_row);
    });
  }

  void StartStates(size_t d, int64_t first_row, int64_t last_row) {
    Fill(directions_[d].h[0], initial_h_, parts_->places.initial_h, d, first_row, last_row);
    if (parts_->node.cell != RecurrentCell::kLstm) return;
    Fill(directions_[d].c, initial_c_, parts_->places.initial_c, d, first_row, last_row);
  }

  // What lies beside the units, up to whole vectors, is computed with but never read.
  void Fill(float* to, const float* from, const Place& place, size_t d, int64_t first_row, int64_t last_row) const {
    const int64_t padded = directions_[d].padded();
    const StateStrides strides = StridesOfState(parts_->node, place);
    for (int64_t n = first_row; n < last_row; ++n) {
      std::fill_n(to + n * padded, padded, 0.0F);
      if (from == nullptr) continue;
      std::memcpy(to + n * padded, from + static_cast<int64_t>(d) * strides.direction + n * strides.batch, bytes());
    }
  }

  // The states behind the last steps, and zeros for what lies behind these.
  void GiveStates(size_t d, int64_t first_row, int64_t last_row) const {
    const Direction& direction = directions_[d];
    for (int64_t n = first_row; n < last_row; ++n) {
      const int64_t length = LengthOf(n);
      Give(direction.h[length % 2], y_h_, parts_->places.y_h, d, n);
      Give(direction.c, y_c_, parts_->places.y_c, d, n);
      for (int64_t t = length; direction.y != nullptr && t < parts_->node.time; ++t)
        std::fill_n(direction.y + t * direction.y_time + n * direction.y_batch, parts_->node.hidden, 0.0F);
    }
  }

  // A sequence without steps has no state.
  void Give(const float* from, float* to, const Place& place, size_t d, int64_t row) const {
    if (to == nullptr) return;
    const StateStrides strides = StridesOfState(parts_->node, place);
    to += static_cast<int64_t>(d) * strides.direction + row * strides.batch;
    if (LengthOf(row) == 0) {
      std::fill_n(to, parts_->node.hidden, 0.0F);
    } else {
      std::memcpy(to, from + row * directions_[d].padded(), bytes());
    }
  }

  size_t bytes() const { return static_cast<size_t>(parts_->node.hidden) * sizeof(float); }

  std::shared_ptr<const Parts> parts_;
  std::array<Direction, kMostDirections> directions_;
  int64_t steps_ = 0;
  const float* initial_h_ = nullptr;
  const float* initial_c_ = nullptr;
  float* y_h_ = nullptr;
  float* y_c_ = nullptr;
};

class Recurrence final : public Kernel {
 public:
  explicit Recurrence(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  uint64_t scratch_bytes() const override { return parts_->scratch.bytes; }
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    if (scratch.size() < scratch_bytes()) {
      return MakeError(ErrorCode::kInternal, "recurrent.scratch", "a kernel was bound to too little scratch memory");
    }
    return std::unique_ptr<BoundKernel>(std::make_unique<Bound>(parts_, in, out, scratch.data()));
  }

 private:
  std::shared_ptr<const Parts> parts_;
};

Direction DirectionOf(const Parts& parts, size_t d) {
  const RecurrentNode& node = parts.node;
  Direction s;
  s.cell = node.cell;
  const size_t functions = node.activations.size() / static_cast<size_t>(node.directions);
  std::copy_n(node.activations.begin() + static_cast<std::ptrdiff_t>(d * functions), functions, s.functions.begin());
  s.usual = node.clip == 0 && std::ranges::equal(UsualActivations(node.cell), std::span(s.functions).first(functions));
  s.clip = node.clip;
  s.input_forget = node.input_forget;
  s.backwards = node.reverse || d == 1;
  if (!parts.places.lengths.strides.empty()) s.length_stride = parts.places.lengths.strides[0];
  s.time = node.time;
  s.batch = node.batch;
  s.input = node.input;
  s.hidden = node.hidden;
  s.gates = node.gates;
  s.lanes = Lanes();
  s.blocks = (node.hidden - 1) / s.lanes + 1;
  const auto of = [&](const void* data, int64_t gates, int64_t depth) {
    return static_cast<const float*>(data) + static_cast<int64_t>(d) * s.padded() * gates * depth;
  };
  s.w = of(parts.w->data(), node.gates, node.input);
  s.r = of(parts.r->data(), parts.hidden_r ? 2 : node.gates, node.hidden);
  if (parts.hidden_r) s.hidden_r = of(parts.hidden_r->data(), 1, node.hidden);
  s.bias = of(parts.bias.data(), node.gates, 1);
  if (!parts.product_bias.empty()) s.product_bias = of(parts.product_bias.data(), 1, 1);
  if (!parts.peepholes.empty()) s.peephole = of(parts.peepholes.data(), 3, 1);
  const size_t time = node.batch_first ? 1 : 0, batch = node.batch_first ? 0 : 1;
  s.x_time = parts.places.x.strides[time];
  s.x_batch = parts.places.x.strides[batch];
  if (!parts.places.y.strides.empty()) {
    // Y is [time, directions, batch, hidden] or [batch, time, directions, hidden].
    s.y_time = parts.places.y.strides[time];
    s.y_batch = parts.places.y.strides[node.batch_first ? 0 : 2];
  }
  return s;
}

}  // namespace

bool IsOffered(const RecurrentNode& node, Sharing sharing, uint32_t width) {
  if (width == 1) return sharing == Sharing::kUnits;
  if (sharing == Sharing::kSequences) return node.directions * node.batch >= 2;
  // With a direction for each core there is nothing to meet for.
  if (node.directions == 2 && width == 2) return false;
  const int64_t blocks = (node.hidden - 1) / Lanes() + 1;
  return node.directions * blocks >= 2;
}

Result<Sizes> SizesOf(const RecurrentNode& node) {
  PT_ASSIGN(const ScratchPlan scratch, PlanScratch(node, Lanes()));
  const Gates all{0, node.gates};
  PT_ASSIGN(const int64_t w, PackedCount(node, all, node.input, Lanes()));
  PT_ASSIGN(const int64_t r, PackedCount(node, all, node.hidden, Lanes()));
  return Sizes{scratch.bytes, (static_cast<uint64_t>(w) + static_cast<uint64_t>(r)) * sizeof(float)};
}

Result<std::unique_ptr<Kernel>> MakeRecurrence(RecurrentNode node, Sharing sharing, Places places,
                                               CompileContext& context) {
  auto parts = std::make_shared<Parts>();
  PT_ASSIGN(parts->scratch, PlanScratch(node, Lanes()));
  const Gates all{0, node.gates};
  PT_ASSIGN(parts->w, PackWeights(node, all, node.w, Lanes(), context));
  PT_ASSIGN(parts->r, PackWeights(node, ResetsBeforeProduct(node) ? Gates{0, 2} : all, node.r, Lanes(), context));
  if (ResetsBeforeProduct(node)) {
    PT_ASSIGN(parts->hidden_r, PackWeights(node, {2, 3}, node.r, Lanes(), context));
  }
  parts->bias = PackInputBias(node, Lanes());
  parts->product_bias = PackProductBias(node, Lanes());
  parts->peepholes = PackPeepholes(node, Lanes());
  // What is packed is needed no more.
  node.w = node.r = Tensor();
  node.bias.reset();
  node.peephole.reset();
  parts->node = std::move(node);
  parts->sharing = sharing;
  parts->places = std::move(places);
  for (size_t d = 0; d < static_cast<size_t>(parts->node.directions); ++d)
    parts->directions[d] = DirectionOf(*parts, d);
  return std::unique_ptr<Kernel>(std::make_unique<Recurrence>(std::move(parts)));
}

}  // namespace pt::recurrent
