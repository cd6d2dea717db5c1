// What a plan means, as the checker reads it. memory_plan.h holds the reading that PlanMemory, the timeline and the
// executor share; nothing here comes from there, so that a mistake in one of the two shows as a fault.
#pragma once

#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

// What CheckPlan goes by.
struct CheckedPlan {
  const Graph& graph;
  const Platform& platform;
  const Plan& plan;
  std::vector<const Candidate*> candidates;  // by candidate: in its library's words, or in the file's where it has none

  const Candidate& candidate(const RunGroup& group) const { return *candidates[group.candidate.index()]; }
};

// The caller lends its bytes: an input or a computed output of the graph, where the plan says (on the host where it
// says nothing), row-major, in its own type.
bool IsLent(const Graph& graph, const Plan& plan, const Instance& instance);
// Its size is known only at run time, so that no arena can hold a place for it.
bool HasRunTimeSize(const Graph& graph, const Instance& instance);
// A lent input: there from the start, and never written.
bool IsGiven(const Graph& graph, const Plan& plan, const Instance& instance);

// Why a step does nothing: its result lies where its input lies, or is already made of its inputs.
enum class Elided : uint8_t { kNo, kView, kSlices };

// placements: by instance, null where there is none. A step counts as elided exactly when the executor leaves it out.
std::vector<Elided> ElisionsOf(const CheckedPlan& checked, const std::vector<const Placement*>& placements);

}  // namespace pt
