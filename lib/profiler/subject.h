// Subject: one candidate or reorder, compiled and bound, that can be timed again and again as a step of a run.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/exec/unit_runner.h"

namespace pt {

// Brings the caches of all cores into the state that a step of a run finds.
class CacheState {
 public:
  // cores: of the whole host; reuse_distance: bytes touched between two uses of a constant; in_memory: so many that
  // no cache keeps it.
  CacheState(uint32_t cores, uint64_t reuse_distance, bool in_memory);

  // On the leading core of a unit of all cores, with its team. The cores touch as much other memory as a run does
  // between two uses of a constant (or push the constants out of all caches, when no cache would keep them). Then every
  // core writes every so-many-th block of `outputs`, and after that of `inputs` (copied from `fresh`): the steps before
  // have left a tensor's lines in the caches of all the cores that worked on it, and to take them over costs more than
  // to compute on one's own. Work without constants only finds the private caches disturbed.
  void Prepare(Team& team, std::span<const std::span<const std::byte>> constants,
               std::span<const std::span<std::byte>> outputs, std::span<const std::span<std::byte>> inputs,
               std::span<const std::vector<std::byte>> fresh);

 private:
  uint32_t cores_;
  bool in_memory_;
  size_t bytes_per_core_ = 0, bytes_without_constants_ = 0;  // touched by each core
  std::vector<std::byte> junk_;
  std::vector<uint64_t> sums_;  // what was read, so that reading is not dropped
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

  // Within UnitRunner::Run of a unit of all cores; before every sample.
  void Prepare(Team& team, CacheState& caches);
  // Within UnitRunner::Run of the unit itself: times `batch` executions in a row; returns the time of one.
  Result<Timing> Sample(Stream& stream, uint32_t batch);

 private:
  struct State;
  explicit Subject(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What reading the clock twice costs by itself.
int64_t ClockOverheadNs();

}  // namespace pt
