// Subject: one candidate or reorder, compiled and bound, that can be timed again and again as a step of a run.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/exec/unit_runner.h"

namespace pt {

// Brings the caches of a unit's cores into the state a step of a run finds: its inputs have just been written, its
// constants lie where the rest of the model has left them, nothing else of it is in the private caches.
class CacheState {
 public:
  // cache_bytes: Device::cache_bytes of the host; width: cores of the unit.
  CacheState(std::span<const uint64_t> cache_bytes, uint32_t width, Residence residence);

  // On the leading core, with the unit's team: pushes what the cores hold out of their private caches (out of all, for
  // the constants, when they reside in memory).
  void Disturb(Team& team, std::span<const std::span<const std::byte>> constants);

 private:
  Residence residence_;
  uint32_t width_;
  size_t bytes_per_core_ = 0;
  std::vector<std::byte> junk_;
  uint64_t sink_ = 0;
};

struct Timing {
  int64_t ns = 0;
  bool preempted = false;  // the system took a core away meanwhile: says nothing about the work
};

class Subject {
 public:
  static Result<std::unique_ptr<Subject>> OfCandidate(const Graph& graph, const Candidate& candidate, Machine& machine,
                                                      const UnitRunner& runner);
  // By the first library that can; kUnsupported when none does.
  static Result<std::unique_ptr<Subject>> OfReorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                                    Machine& machine, const UnitRunner& runner);
  ~Subject();

  // Within UnitRunner::Run: prepares, then times `batch` executions in a row; returns the time of one.
  Result<Timing> Sample(Stream& stream, CacheState& caches, uint32_t batch);

 private:
  struct State;
  explicit Subject(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What reading the clock twice costs by itself.
int64_t ClockOverheadNs();

}  // namespace pt
