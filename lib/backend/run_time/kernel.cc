#include "lib/backend/run_time/kernel.h"

#include <functional>
#include <mutex>
#include <new>

namespace pt::run_time {
namespace {

// What every step stays ready for, in sizes; those with large kernels count for several.
constexpr size_t kOwnRoom = 64, kHeavyRoom = 4;

using Pointer = std::shared_ptr<const Specialisation>;

size_t RoomOf(const Pointer& made) { return made->is_heavy ? kHeavyRoom : 1; }

size_t HashOf(TensorSlots in) {
  size_t hash = 0;
  for (const TensorView* view : in) {
    for (const int64_t dim : view->layout.dims) hash = hash * 1'000'003 + static_cast<size_t>(dim) + 1;
  }
  return hash;
}

// The specialisations of one step, shared by all that run it. Thread-safe.
class Sizes {
 public:
  Sizes(Specialiser specialiser, std::unique_ptr<Kernel> plain, SharedRooms rooms)
      : specialiser_(std::move(specialiser)),
        plain_(std::move(plain)),
        rooms_(std::move(rooms)),
        made_(kOwnRoom, rooms_.made) {}

  Result<Pointer> For(TensorSlots in, TensorSlots out, Team* team) {
    const size_t hash = HashOf(in);
    {
      const std::lock_guard lock(mutex_);
      if (const Pointer* made = made_.Find(hash, [&](const Pointer& entry) { return entry->IsFor(in); })) return *made;
    }
    PT_ASSIGN(Pointer made, specialiser_.Make(in, out, team));
    const std::lock_guard lock(mutex_);
    return made_.Add(hash, made, RoomOf(made));
  }

  const Kernel* plain() const { return plain_.get(); }
  const std::shared_ptr<SharedRoom>& room_of_placed() const { return rooms_.placed; }
  bool is_sized(size_t output) const {
    return specialiser_.graph().value(specialiser_.outputs()[output]).type.is_static();
  }

 private:
  const Specialiser specialiser_;
  const std::unique_ptr<Kernel> plain_;
  const SharedRooms rooms_;
  std::mutex mutex_;
  SizeCache<Pointer> made_;
};

// A specialisation at addresses.
class Placed {
 public:
  explicit Placed(Pointer made) : made_(std::move(made)), in_(made_->in.size()), out_(made_->out.size()) {
    for (size_t i = 0; i < in_.size(); ++i) in_[i].layout = made_->in[i];
    for (size_t i = 0; i < out_.size(); ++i) out_[i].layout = made_->out[i];
    for (const TensorView& view : in_) in_slots_.push_back(&view);
    for (const TensorView& view : out_) out_slots_.push_back(&view);
  }

  const Pointer& made() const { return made_; }

  // Binds the kernels where anything lies elsewhere than last time.
  Status Place(TensorSlots in, TensorSlots out, void* memory) {
    bool moved = !bound_ || memory != memory_;
    const auto take = [&](std::vector<TensorView>& views, TensorSlots slots) {
      for (size_t i = 0; i < views.size(); ++i) {
        moved = moved || views[i].data != slots[i]->data;
        views[i].data = slots[i]->data;
      }
    };
    take(in_, in);
    take(out_, out);
    if (!moved) return {};
    memory_ = memory;
    bound_.reset();
    const std::span bytes(static_cast<std::byte*>(memory), static_cast<size_t>(made_->memory_bytes));
    PT_ASSIGN(BoundComputation bound, BoundComputation::Make(made_->computation, in_slots_, out_slots_, bytes));
    bound_.emplace(std::move(bound));
    return {};
  }

  Status Run(const RunContext& run) noexcept { return bound_->Run(run); }

 private:
  Pointer made_;
  std::vector<TensorView> in_, out_;
  std::vector<const TensorView*> in_slots_, out_slots_;
  void* memory_ = nullptr;
  std::optional<BoundComputation> bound_;
};

class Bound final : public BoundKernel {
 public:
  Bound(std::shared_ptr<Sizes> sizes, TensorSlots in, TensorSlots out, std::unique_ptr<BoundKernel> plain)
      : sizes_(std::move(sizes)),
        in_(in.begin(), in.end()),
        out_(out.begin(), out.end()),
        plain_(std::move(plain)),
        placed_(kOwnRoom, sizes_->room_of_placed()) {}

  Status Enqueue(const RunContext& run) noexcept override try {
    Result<Pointer> made = sizes_->For(in_, out_, run.stream.team());
    // The reference library runs it, or says why not.
    if (!made.ok()) return plain_ != nullptr ? plain_->Enqueue(run) : std::move(made).error();
    if ((*made)->is_small) return plain_->Enqueue(run);
    for (uint32_t i = 0; i < out_.size(); ++i) {
      if (sizes_->is_sized(i)) continue;
      PT_CHECK_OK(run.outputs.Allocate(i, (*made)->out[i].type, (*made)->out[i].dims));
    }
    PT_ASSIGN(void* const memory, run.memory.Take((*made)->memory_bytes));
    Placed& placed = PlacedFor(*made);
    Status status = placed.Place(in_, out_, memory);
    if (status.ok()) status = placed.Run(run);
    run.memory.GiveBack(memory);
    return status;
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorCode::kOutOfMemory, "run_time.memory", "no memory to prepare nodes in the run");
  }

 private:
  Placed& PlacedFor(const Pointer& made) {
    using Entry = std::unique_ptr<Placed>;
    const size_t hash = std::hash<Pointer>()(made);
    if (Entry* known = placed_.Find(hash, [&](const Entry& entry) { return entry->made() == made; })) return **known;
    return *placed_.Add(hash, std::make_unique<Placed>(made), RoomOf(made));
  }

  std::shared_ptr<Sizes> sizes_;
  const std::vector<const TensorView*> in_, out_;
  std::unique_ptr<BoundKernel> plain_;
  SizeCache<std::unique_ptr<Placed>> placed_;
};

class RunTimeKernel final : public Kernel {
 public:
  explicit RunTimeKernel(std::shared_ptr<Sizes> sizes) : sizes_(std::move(sizes)) {}
  uint64_t scratch_bytes() const override { return sizes_->plain() != nullptr ? sizes_->plain()->scratch_bytes() : 0; }
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    std::unique_ptr<BoundKernel> plain;
    if (sizes_->plain() != nullptr) {
      PT_ASSIGN(plain, sizes_->plain()->Bind(in, out, scratch));
    }
    return std::unique_ptr<BoundKernel>(std::make_unique<Bound>(sizes_, in, out, std::move(plain)));
  }

 private:
  std::shared_ptr<Sizes> sizes_;
};

}  // namespace

std::unique_ptr<Kernel> MakeKernel(Specialiser specialiser, std::unique_ptr<Kernel> plain, SharedRooms rooms) {
  auto sizes = std::make_shared<Sizes>(std::move(specialiser), std::move(plain), std::move(rooms));
  return std::make_unique<RunTimeKernel>(std::move(sizes));
}

}  // namespace pt::run_time
