#include "lib/backend/host_kernels/elementwise/expression.h"

#include <algorithm>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/arrangement.h"
#include "lib/backend/host_kernels/kernels/walk.h"

namespace pt::host {
namespace {

constexpr size_t kMostRegisters = 128;
constexpr uint32_t kNoSlot = ~uint32_t{0};

// A tensor as the results' elements are counted: where each lies in it.
struct Side {
  enum class Kind : uint8_t {
    kUnread,   // by any operation: what it says is in their parameters
    kDirect,   // in the same order, without gaps
    kRepeats,  // one element again and again
    kMoved,    // anything else: copied from or to a tile
  };
  Kind kind = Kind::kMoved;
  int64_t bytes = 0;
  Walk<1> walk, outer;
  uint32_t slot = kNoSlot;  // its tile, unless direct
};

// The elements are counted as they follow each other in the result.
Side SideOf(const HostOperand& operand, const HostOperand& result) {
  Side side;
  side.bytes = BytesOf(operand.type());
  const size_t lead = result.dims().size() - operand.dims().size();
  for (const MemoryDim& along : MemoryDims(result.layout)) {
    const bool repeats = along.dim < lead || operand.dims()[along.dim - lead] == 1;
    const MemoryDim own{along.dim - lead, along.size, along.step};
    side.walk.Push(along.size, {repeats ? 0 : StrideAlong(operand.layout, own)});
  }
  side.outer = side.walk.Without(0);
  const int64_t stride = side.walk.inner_stride()[0];
  if (side.walk.rank == 0 || (side.walk.rank == 1 && stride == 0)) side.kind = Side::Kind::kRepeats;
  if (side.walk.rank == 1 && stride == 1) side.kind = Side::Kind::kDirect;
  return side;
}

// n elements from `begin` on, between a tensor with any strides and a tile.
template <typename T, bool into_tile>
void MoveElements(const Side& side, int64_t begin, int64_t n, void* tensor, void* tile) {
  const int64_t size = side.walk.inner_size(), stride = side.walk.inner_stride()[0];
  Cursor<1> cursor(side.outer, begin / size);
  auto* dense = static_cast<T*>(tile);
  for (int64_t first = begin % size; n > 0; first = 0, cursor.Next()) {
    const int64_t count = std::min(n, size - first);
    T* from = static_cast<T*>(tensor) + cursor.offsets()[0] + first * stride;
    if (!into_tile) {
      for (int64_t i = 0; i < count; ++i) from[i * stride] = dense[i];
    } else if (stride == 1) {
      std::copy(from, from + count, dense);
    } else if (stride == 0) {
      std::fill(dense, dense + count, *from);
    } else {
      for (int64_t i = 0; i < count; ++i) dense[i] = from[i * stride];
    }
    dense += count;
    n -= count;
  }
}

template <bool into_tile>
void Move(const Side& side, int64_t begin, int64_t n, void* tensor, void* tile) {
  const auto move = side.bytes == 1   ? MoveElements<uint8_t, into_tile>
                    : side.bytes == 2 ? MoveElements<uint16_t, into_tile>
                    : side.bytes == 4 ? MoveElements<uint32_t, into_tile>
                                      : MoveElements<uint64_t, into_tile>;
  move(side, begin, n, tensor, tile);
}

// Where n elements from `begin` on lie next to each other in the tensor, in elements; nullopt where they do not.
std::optional<int64_t> OffsetOfRun(const Side& side, int64_t begin, int64_t n) {
  if (side.kind == Side::Kind::kDirect) return begin;
  const int64_t size = side.walk.inner_size();
  const bool within = side.kind == Side::Kind::kMoved && side.walk.inner_stride()[0] == 1 && begin % size + n <= size;
  return within ? std::optional(side.outer.At(begin / size)[0] + begin % size) : std::nullopt;
}

// An expression with a place for each register.
struct Program {
  Expression expression;
  std::vector<Side> in, out;
  std::vector<uint32_t> slots;  // of the registers behind the inputs; kNoSlot: in an output
  int64_t count = 1;            // elements of a result
  uint64_t slot_bytes = 0, slot_count = 0;
  double work = 0.05;  // nanoseconds of one element

  uint64_t part_bytes() const { return slot_bytes * slot_count; }
};

// Slots are used again once nothing reads their register any more.
void PlaceRegisters(Program& program) {
  const Expression& e = program.expression;
  std::vector<uint32_t> free;
  const auto take = [&] {
    if (free.empty()) return static_cast<uint32_t>(program.slot_count++);
    const uint32_t slot = free.back();
    free.pop_back();
    return slot;
  };
  for (Side& side : program.in) {
    if (side.kind != Side::Kind::kDirect && side.kind != Side::Kind::kUnread) side.slot = take();
  }
  std::vector<size_t> last(e.registers.size(), 0);
  for (size_t i = 0; i < e.operations.size(); ++i) {
    for (uint32_t k = 0; k < e.operations[i].inputs; ++k) last[e.operations[i].in[k]] = i;
  }
  program.slots.assign(e.registers.size(), kNoSlot);
  for (size_t j = 0; j < e.results.size(); ++j) {
    if (program.out[j].kind == Side::Kind::kDirect) continue;
    program.slots[e.results[j]] = program.out[j].slot = take();
  }
  const auto is_result = [&](uint32_t r) {
    return std::find(e.results.begin(), e.results.end(), r) != e.results.end();
  };
  for (size_t i = 0; i < e.operations.size(); ++i) {
    const Operation& operation = e.operations[i];
    if (!is_result(operation.out)) program.slots[operation.out] = take();
    for (uint32_t k = 0; k < operation.inputs; ++k) {
      const uint32_t r = operation.in[k];
      const bool repeated = std::find(operation.in.begin(), operation.in.begin() + k, r) != operation.in.begin() + k;
      if (r >= program.in.size() && !is_result(r) && last[r] == i && !repeated) free.push_back(program.slots[r]);
    }
  }
}

void RunTile(const Program& program, const HostCall& run, std::byte* slots, int64_t begin, int64_t n) {
  const Expression& e = program.expression;
  std::array<void*, kMostRegisters> at;
  const auto slot_at = [&](uint32_t slot) -> void* { return slots + slot * program.slot_bytes; };
  for (size_t i = 0; i < program.in.size(); ++i) {
    const Side& side = program.in[i];
    if (side.kind == Side::Kind::kUnread) continue;
    auto* data = const_cast<std::byte*>(run.input<std::byte>(i));
    const std::optional<int64_t> offset = OffsetOfRun(side, begin, n);
    at[i] = offset ? data + *offset * side.bytes : slot_at(side.slot);
    if (!offset && side.kind == Side::Kind::kMoved) Move<true>(side, begin, n, data, at[i]);
  }
  for (size_t r = program.in.size(); r < e.registers.size(); ++r) {
    if (program.slots[r] != kNoSlot) at[r] = slot_at(program.slots[r]);
  }
  for (size_t j = 0; j < program.out.size(); ++j) {
    const Side& side = program.out[j];
    if (side.slot == kNoSlot) at[e.results[j]] = run.output<std::byte>(j) + begin * side.bytes;
  }
  for (const Operation& o : e.operations) {
    o.function({{at[o.in[0]], at[o.in[1]], at[o.in[2]]}, at[o.out], n, o.p, o.q, o.data.get()});
  }
  for (size_t j = 0; j < program.out.size(); ++j) {
    const Side& side = program.out[j];
    if (side.slot != kNoSlot) Move<false>(side, begin, n, run.output<std::byte>(j), at[e.results[j]]);
  }
}

// Fills the tiles of what is one element everywhere.
void EnterProgram(const Program& program, const HostCall& run, std::byte* slots) {
  const int64_t n = std::min(program.count, kTileElements);
  for (size_t i = 0; i < program.in.size(); ++i) {
    const Side& side = program.in[i];
    if (side.kind != Side::Kind::kRepeats) continue;
    Side one = side;
    one.walk = {};
    one.walk.Push(kTileElements, {0});
    one.outer = {};
    Move<true>(one, 0, n, const_cast<void*>(run.in[i]), slots + side.slot * program.slot_bytes);
  }
}

void RunRange(const Program& program, const HostCall& run, std::byte* slots, int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; at += kTileElements) {
    RunTile(program, run, slots, at, std::min(kTileElements, end - at));
  }
}

void RunProgram(const Program& program, const HostCall& run) {
  const int64_t tiles = (program.count + kTileElements - 1) / kTileElements;
  const double work = program.work * static_cast<double>(std::min(program.count, kTileElements));
  const int64_t most = run.team == nullptr ? 1 : run.team->width();
  ParallelParts(run.team, tiles, work, most, [&](int64_t part, int64_t begin, int64_t end) {
    std::byte* slots = run.scratch + static_cast<uint64_t>(part) * program.part_bytes();
    EnterProgram(program, run, slots);
    RunRange(program, run, slots, begin * kTileElements, std::min(end * kTileElements, program.count));
  });
}

bool BroadcastsTo(const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  if (from.size() > to.size()) return false;
  const size_t lead = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1 && from[d] != to[lead + d]) return false;
  }
  return true;
}

bool IsRead(const Expression& expression, uint32_t r) {
  return std::ranges::any_of(expression.operations, [r](const Operation& operation) {
    return std::ranges::find(operation.in.begin(), operation.in.begin() + operation.inputs, r) !=
           operation.in.begin() + operation.inputs;
  });
}

Result<Program> ProgramOf(const HostSite& site, Expression expression) {
  const std::vector<int64_t>& dims = site.out[0].dims();
  for (const HostOperand& y : site.out) {
    if (y.dims() != dims) return site.Unsupported("its results differ in dims");
  }
  if (expression.registers.size() > kMostRegisters) return site.Unsupported("it has too many values");
  Program program;
  for (const HostOperand& x : site.in) {
    if (!BroadcastsTo(x.dims(), dims)) return site.Unsupported("an input does not broadcast to the result");
    program.in.push_back(SideOf(x, site.out[0]));
    if (!IsRead(expression, static_cast<uint32_t>(program.in.size() - 1))) program.in.back().kind = Side::Kind::kUnread;
  }
  for (const HostOperand& y : site.out) {
    program.out.push_back(SideOf(y, site.out[0]));
    if (program.out.back().kind == Side::Kind::kRepeats) program.out.back().kind = Side::Kind::kDirect;  // one element
  }
  program.count = site.out[0].count();
  int64_t widest = 1;
  for (DataType type : expression.registers) widest = std::max(widest, BytesOf(type));
  for (const Operation& operation : expression.operations) program.work += operation.work;
  program.expression = std::move(expression);
  program.slot_bytes = static_cast<uint64_t>(widest * kTileElements);
  PlaceRegisters(program);
  return program;
}

// Inputs that the result may lie on: the last operation makes the only one, so each tile of an input is read before it
// is written.
std::vector<uint32_t> InPlace(const HostSite& site, const Program& program) {
  std::vector<uint32_t> inputs;
  for (uint32_t i = 0; i < site.in.size() && site.out.size() == 1; ++i) {
    if (program.in[i].kind == Side::Kind::kDirect && site.in[i].dims() == site.out[0].dims() &&
        site.in[i].type() == site.out[0].type()) {
      inputs.push_back(i);
    }
  }
  return inputs;
}

}  // namespace

Result<HostRoutine> MakeElementwise(const HostSite& site) {
  PT_ASSIGN(Expression expression, MakeExpression(site));
  return MakeElementwise(site, std::move(expression));
}

Result<HostRoutine> MakeElementwise(const HostSite& site, Expression expression) {
  PT_ASSIGN(Program program, ProgramOf(site, std::move(expression)));
  HostRoutine routine;
  routine.scratch_bytes = program.part_bytes() * site.width;
  routine.in_place = InPlace(site, program);
  routine.run = [program = std::move(program)](const HostCall& run) -> Status {
    if (program.count != 0) RunProgram(program, run);
    return {};
  };
  return routine;
}

Result<ElementwisePart> MakeElementwisePart(const HostSite& site) {
  PT_ASSIGN(Expression expression, MakeExpression(site));
  PT_ASSIGN(Program made, ProgramOf(site, std::move(expression)));
  const auto program = std::make_shared<const Program>(std::move(made));
  return ElementwisePart{program->part_bytes(), program->work, InPlace(site, *program),
                         [program](const HostCall& run, std::byte* slots) { EnterProgram(*program, run, slots); },
                         [program](const HostCall& run, std::byte* slots, int64_t begin, int64_t end) {
                           RunRange(*program, run, slots, begin, end);
                         }};
}

}  // namespace pt::host
