#include "test/cuda/kernel_judge.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace pt::testing {
namespace {

constexpr uint32_t kBeforeLaunches = 1;
// Of one launch; whoever reads more of them learns no more.
constexpr size_t kMostFaults = 8;

uint16_t AsNumber(AccessKind kind) { return static_cast<uint16_t>(kind); }

std::string Verb(uint16_t kind, bool past) {
  if (kind == AsNumber(AccessKind::kRead)) return past ? "has read" : "reads";
  if (kind == AsNumber(AccessKind::kWrite)) return past ? "has written" : "writes";
  return past ? "has changed by an atomic" : "changes by an atomic";
}

}  // namespace

void KernelJudge::AddMemory(uintptr_t begin, size_t bytes, Writers writers) {
  memories_[begin] = {bytes, writers, false, std::vector<Cell>(bytes)};
}

std::map<uintptr_t, KernelJudge::Memory>::iterator KernelJudge::Find(uintptr_t address) {
  const auto after = memories_.upper_bound(address);
  if (after == memories_.begin()) return memories_.end();
  const auto found = std::prev(after);
  return address - found->first < found->second.bytes ? found : memories_.end();
}

void KernelJudge::MarkWritten(uintptr_t begin, size_t bytes) {
  const auto found = Find(begin);
  if (found == memories_.end()) return;
  const size_t from = begin - found->first, to = std::min(from + bytes, found->second.bytes);
  for (size_t i = from; i < to; ++i) found->second.cells[i].written = kBeforeLaunches;
}

void KernelJudge::Copied(uintptr_t to, uintptr_t from, size_t bytes) {
  const auto target = Find(to), source = Find(from);
  if (target == memories_.end() || source == memories_.end()) return;
  const std::span<Cell> made = std::span(target->second.cells).subspan(to - target->first);
  const std::span<const Cell> read = std::span(source->second.cells).subspan(from - source->first);
  for (size_t i = 0; i < std::min({bytes, made.size(), read.size()}); ++i) made[i].written = read[i].written;
}

std::vector<std::string> KernelJudge::TakeFaults() { return std::exchange(told_, {}); }

void KernelJudge::BeginLaunch(const JudgedLaunch& launch) {
  launch_ = launch;
  first_of_launch_ = first_of_block_ = ++interval_;
  first_of_blocks_.clear();
  known_.assign(kMostThreads, {});
  has_met_ = true;
  if (launch.shared_bytes > 0) {
    AddMemory(launch.shared, launch.shared_bytes);
    memories_[launch.shared].is_shared = true;
  }
}

void KernelJudge::EndLaunch() {
  for (const Fault& fault : faults_) told_.push_back(TextOf(fault));
  faults_.clear();
  if (launch_.shared_bytes > 0) RemoveMemory(launch_.shared);
  launch_ = {};
}

void KernelJudge::OnBlock() {
  OnBarrier();
  first_of_block_ = interval_;
  first_of_blocks_.push_back(interval_);
}

void KernelJudge::OnBarrier() {
  ++interval_;
  if (!std::exchange(has_met_, false)) return;
  for (size_t t = 0; t < known_.size(); ++t) {
    known_[t].fill(0);
    known_[t][t % kLanes] = 1;
  }
}

void KernelJudge::OnMeeting(uint32_t first, uint32_t lanes) {
  has_met_ = true;
  std::array<uint16_t, kLanes> together = {};
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    for (uint32_t of = 0; of < kLanes; ++of) together[of] = std::max(together[of], known_[first + lane][of]);
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    known_[first + lane] = together;
    ++known_[first + lane][lane];
    assert(known_[first + lane][lane] < 1U << 14);
  }
}

// What no later access can be in conflict with any more.
inline bool KernelJudge::IsPast(const Memory& memory, const Event& event) const {
  return event.interval < (memory.is_shared ? interval_ : first_of_launch_);
}

inline bool KernelJudge::AreOrdered(const Event& before, const Event& now) const {
  if (before.interval < first_of_block_) return false;  // another block's
  if (before.interval < interval_ || before.thread == now.thread) return true;
  return before.thread / kLanes == now.thread / kLanes && known_[now.thread][before.thread % kLanes] >= before.clock &&
         known_[now.thread][before.thread % kLanes] > 0;
}

bool KernelJudge::IsAllowed(const Memory& memory, uintptr_t address, const Cell& cell, const Event& now, size_t bytes) {
  const auto tell = [&](std::string rest, uintptr_t other) {
    Tell({Who(now.thread, interval_) + " " + Verb(now.kind, false) + " " + std::to_string(bytes) + " bytes at ",
          std::move(rest),
          address,
          {launch_.code + now.caller, other}});
    return false;
  };
  if (now.kind != AsNumber(AccessKind::kWrite) && cell.written < (memory.is_shared ? first_of_block_ : 1)) {
    return tell(std::string(", where ") + (memory.is_shared ? "its block" : "nothing") + " has written before", 0);
  }
  if (memory.writers == Writers::kAnyNumber) return true;
  for (const Event& before : cell.events) {
    if (IsPast(memory, before) || AreOrdered(before, now)) continue;
    if (before.kind == now.kind && now.kind != AsNumber(AccessKind::kWrite)) continue;
    const bool same_block = before.interval >= first_of_block_;
    return tell(", which " + Who(before.thread, before.interval) + " " + Verb(before.kind, true) +
                    (same_block ? " between the same two barriers" : " in the same launch"),
                launch_.code + before.caller);
  }
  return true;
}

void KernelJudge::Remember(const Memory& memory, Cell& cell, const Event& now) const {
  if (now.kind == AsNumber(AccessKind::kWrite)) {
    cell.events = {now, Event(), Event()};
    return;
  }
  Event &first = cell.events[1], &second = cell.events[2];
  for (Event* const event : {&first, &second}) {
    if (event->interval == now.interval && event->thread == now.thread && event->kind == now.kind) {
      *event = now;
      return;
    }
  }
  // What conflicts with an event of the same kind that is ordered before this one conflicts with this one as well.
  for (Event* const event : {&first, &second}) {
    if (IsPast(memory, *event) || (event->kind == now.kind && AreOrdered(*event, now))) {
      *event = now;
      return;
    }
  }
  // Two of a kind that are ordered before say no more than one; two of different warps more than two of the same.
  const auto warp = [](const Event& event) { return event.thread / kLanes; };
  const bool other_warp = first.interval == now.interval && second.interval == now.interval &&
                          warp(first) == warp(second) && warp(now) != warp(first) && second.kind == now.kind;
  if (AreOrdered(second, now) || other_warp) second = now;
}

bool KernelJudge::OnAccess(uint32_t thread, uintptr_t address, size_t bytes, AccessKind kind, uintptr_t caller) {
  const auto found = Find(address);
  if (found == memories_.end() || address - found->first + bytes > found->second.bytes) {
    Tell({Who(thread, interval_) + " " + Verb(AsNumber(kind), false) + " " + std::to_string(bytes) +
              " bytes where there is no memory: at ",
          "",
          address,
          {caller, 0}});
    return false;
  }
  Memory& memory = found->second;
  Event now;
  now.interval = interval_;
  now.caller = static_cast<uint32_t>(caller - launch_.code);
  now.thread = static_cast<uint16_t>(thread);
  now.clock = known_[thread][thread % kLanes] & 0x3fffU;
  now.kind = AsNumber(kind) & 3U;
  bool allowed = true;  // as far as was asked: of an access one byte is told
  // Most bytes of an access have the same history.
  Cell before, after;
  for (size_t i = 0; i < bytes; ++i) {
    Cell& cell = memory.cells[address - found->first + i];
    if (i > 0 && cell == before) {
      cell = after;
      continue;
    }
    before = cell;
    allowed = allowed && IsAllowed(memory, address + i, cell, now, bytes);
    Remember(memory, cell, now);
    if (kind != AccessKind::kRead) cell.written = interval_;
    after = cell;
  }
  return true;
}

void KernelJudge::OnMisuse(uint32_t thread, const std::string& what, unsigned line, uint64_t number) {
  Tell({Who(thread, interval_) + ": " + what + " " + std::to_string(number) + "; " + launch_.places->Line(line)});
}

void KernelJudge::OnDivergence(std::span<const StoppedThread> threads) {
  std::string what = "the threads of a block do not meet at one place";
  for (const StoppedThread& stopped : threads) {
    what += ": " + Who(stopped.thread, interval_) +
            (stopped.has_ended ? " has ended" : " waits in " + launch_.places->Line(stopped.line));
  }
  Tell({std::move(what)});
}

// Of what begins last before it.
std::string KernelJudge::NameOf(uintptr_t address) const {
  const auto after = memories_.upper_bound(address);
  if (after == memories_.begin()) return "an address below all memory";
  const auto& [begin, memory] = *std::prev(after);
  const uintptr_t offset = address - begin;
  std::string name = memory.writers == Writers::kAnyNumber ? "memory for messages" : "memory";
  for (size_t i = 0; i < launch_.arguments->at.size(); ++i) {
    const uintptr_t argument = launch_.arguments->at[i];
    if (argument >= begin && argument - begin < memory.bytes) name = "argument " + std::to_string(i);
  }
  if (memory.is_shared) name = "shared memory";
  const std::string variable = memory.is_shared ? launch_.places->SharedAt(address) : "";
  name += variable.empty() ? " + " + std::to_string(offset) : ", " + variable;
  return offset < memory.bytes ? name : name + ", of " + std::to_string(memory.bytes) + " bytes";
}

std::string KernelJudge::Who(uint32_t thread, uint32_t interval) const {
  const auto after = std::ranges::upper_bound(first_of_blocks_, interval);
  const auto block = after - first_of_blocks_.begin() - 1;
  return "thread " + std::to_string(thread) + " of block " + std::to_string(block);
}

void KernelJudge::Tell(Fault fault) {
  for (Fault& known : faults_) {
    if (fault.callers[0] != 0 && known.callers == fault.callers) {
      ++known.count;
      return;
    }
  }
  if (faults_.size() < kMostFaults) faults_.push_back(std::move(fault));
}

std::string KernelJudge::TextOf(const Fault& fault) const {
  std::string text =
      launch_.kernel + ": " + fault.what + (fault.address == 0 ? "" : NameOf(fault.address)) + fault.rest;
  for (const uintptr_t caller : fault.callers) {
    if (caller != 0) text += "; " + launch_.places->LineAt(caller);
  }
  return text + (fault.count > 1 ? " (" + std::to_string(fault.count) + " times)" : "");
}

}  // namespace pt::testing
