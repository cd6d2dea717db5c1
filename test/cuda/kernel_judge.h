// Holds kernels that run on the host to what CUDA asks of their threads, whatever the order in which they run here:
//
// - two threads of a block touch the same byte, one of them to write, only with a barrier between them, or with a
//   meeting of their warp that orders memory (__syncwarp; shuffles and votes order none). Blocks of one launch never
//   do. Atomics of several threads do not race with each other, and order nothing either; nor do fences here, so that
//   a block which reads what it knows by an atomic to be there is told.
// - no access lies outside the memory that there is, outside its array, or at an address its type does not allow.
// - nothing is read that was never written: in shared memory, by this block.
// - all threads of a block meet at the same barrier, none of them having ended.
//
// It knows every access by its address, not what was computed from it. Of the lanes of one warp that read a byte
// without an order among them it remembers two: where only a part of them meet later, it may overlook a third.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plugins/cuda/programs.h"
#include "test/cuda/host_state.h"

namespace pt::testing {

struct StoppedThread {
  uint32_t thread = 0;
  bool has_ended = false;
  unsigned line = 0, place = 0;
};

// Where an address of a kernel's code or shared memory is in its text.
class KernelPlaces {
 public:
  virtual ~KernelPlaces() = default;
  // "line 12: `left[k][m] = 0;`" for what was called from there.
  virtual std::string LineAt(uintptr_t caller) const = 0;
  virtual std::string Line(unsigned line) const = 0;
  // "left + 12"
  virtual std::string SharedAt(uintptr_t address) const = 0;
};

struct JudgedLaunch {
  std::string kernel;
  const KernelPlaces* places = nullptr;        // outlives the launch
  const cuda::Arguments* arguments = nullptr;  // likewise
  uintptr_t code = 0;                          // its lowest address
  uintptr_t shared = 0;
  size_t shared_bytes = 0;
};

// Not thread-safe.
class KernelJudge {
 public:
  // May be written by several threads and blocks at once: one of them is believed, whichever it is.
  enum class Writers : uint8_t { kOne, kAnyNumber };

  // Memory of a device, [begin, begin + bytes), until it is removed. What is not added is out of bounds.
  void AddMemory(uintptr_t begin, size_t bytes, Writers writers = Writers::kOne);
  void RemoveMemory(uintptr_t begin) { memories_.erase(begin); }
  // Between launches. What lies outside of added memory is left alone.
  void MarkWritten(uintptr_t begin, size_t bytes);
  void Copied(uintptr_t to, uintptr_t from, size_t bytes);

  // What was found since it was asked last, each kind of it once a launch, with how often.
  std::vector<std::string> TakeFaults();

  // For who runs kernels.
  void BeginLaunch(const JudgedLaunch& launch);
  void EndLaunch();
  void OnBlock();  // the next one
  void OnBarrier();
  // These lanes of the warp whose first thread that is know of each other's accesses from now on.
  void OnMeeting(uint32_t first, uint32_t lanes);
  // False where the access must not be made.
  bool OnAccess(uint32_t thread, uintptr_t address, size_t bytes, AccessKind kind, uintptr_t caller);
  void OnMisuse(uint32_t thread, const std::string& what, unsigned line, uint64_t number);
  void OnDivergence(std::span<const StoppedThread> threads);

 private:
  static constexpr uint32_t kMostThreads = 1024, kLanes = 32;

  // An interval is the time of a block between two barriers; they are numbered through all launches, from 2 on. 1 is
  // what comes before all of them, 0 never.
  struct Event {
    uint32_t interval = 0;
    uint32_t caller = 0;  // from the kernel's lowest address on
    uint16_t thread = 0;
    uint16_t clock : 14 = 0;  // of its thread, which counts the meetings of the interval
    uint16_t kind : 2 = 0;
    bool operator==(const Event&) const = default;
  };
  // A byte. The last write, then two of what came after it, by different threads if there are.
  struct Cell {
    std::array<Event, 3> events;
    uint32_t written = 0;  // the interval
    bool operator==(const Cell&) const = default;
  };
  struct Memory {
    size_t bytes = 0;
    Writers writers = Writers::kOne;
    bool is_shared = false;
    std::vector<Cell> cells;
  };
  // Complete but for what has to be looked up, which kernels have no stack for.
  struct Fault {
    std::string what = {}, rest = {};
    uintptr_t address = 0;  // what is named between the two
    std::array<uintptr_t, 2> callers = {};
    size_t count = 1;
  };

  std::map<uintptr_t, Memory>::iterator Find(uintptr_t address);
  bool IsPast(const Memory& memory, const Event& event) const;
  bool AreOrdered(const Event& before, const Event& now) const;
  bool IsAllowed(const Memory& memory, uintptr_t address, const Cell& cell, const Event& now, size_t bytes);
  void Remember(const Memory& memory, Cell& cell, const Event& now) const;

  std::string NameOf(uintptr_t address) const;
  // "thread 3 of block 0", at that time
  std::string Who(uint32_t thread, uint32_t interval) const;
  void Tell(Fault fault);
  std::string TextOf(const Fault& fault) const;

  std::map<uintptr_t, Memory> memories_;
  JudgedLaunch launch_;
  std::vector<std::string> told_;
  std::vector<Fault> faults_;
  uint32_t interval_ = 1, first_of_launch_ = 2, first_of_block_ = 2;
  std::vector<uint32_t> first_of_blocks_;  // of this launch: the first interval of each block
  // Of each thread: up to which clock it knows of the lanes of its warp; its own is its clock.
  std::vector<std::array<uint16_t, kLanes>> known_;
  bool has_met_ = false;  // in this interval
};

}  // namespace pt::testing
