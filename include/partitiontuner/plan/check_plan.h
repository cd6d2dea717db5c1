// CheckPlan: is this plan legal? It believes nothing that it can work out or that a library can say. With planners,
// PlanMemory and the executor it shares the data (plan.h), what a step reads and writes (lib/plan/work.h) and the
// arithmetic of layouts (candidate/layout.h); order, lent buffers, elided steps and who may share bytes it decides by
// rules of its own (lib/plan/check_*). The executor relies on it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

struct PlanFault {
  std::string id;       // stable: "node_missing", "race", "wait_order", "memory_overlap", …
  std::string message;  // names the steps, nodes and numbers concerned
};

// What the libraries of a machine say of a plan. DescribePlan (exec/judge_plan.h) collects it: plans see no library.
struct PlanDescription {
  std::vector<Result<Candidate>>
      candidates;  // by candidate of the plan; errors: its library makes none such, or is absent
  std::map<StepId, std::string> reorders;  // reorder steps that their library cannot do, and why
  std::set<size_t> nan_droppers;           // candidates that may lose NaN or make more of it, asked where that matters
  std::set<std::string> absent;            // libraries that the plan names and that were not there to be asked
};

// All faults found, none when legal: every candidate is what its library says it is, aliases, elision and sizes
// included, and keeps NaN where the plan was to; every node computed exactly once; every instance written before read
// by happens-before (vector clocks over resource lists and `after`), written once; units of the candidate's class;
// copies over existing links; reorders that their library can do; layouts and storage agree; memory placements inside
// the arena, aligned to 64 bytes (slices to their element); no byte overwritten while a step may use it, and none with
// two writers at a time: shared are only views, slices of one concatenation and results that a library lets lie on an
// input; numbers sane. graph is the planned graph. Near-linear time.
std::vector<PlanFault> CheckPlan(const Graph& graph, const Platform& platform, const Plan& plan,
                                 const PlanDescription& description);

// The same for a plan of which some library is absent: its candidates are believed, its reorders taken for possible. A
// plan without such faults may still be wrong and must not run.
std::vector<PlanFault> CheckPlanStructure(const Graph& graph, const Platform& platform, const Plan& plan,
                                          const PlanDescription& description);

// The libraries that the candidates and reorders of a plan name; "" for a reorder that names none.
std::set<std::string> LibrariesOf(const Plan& plan);

// Does the plan belong to this graph, machine and version? Empty when so; else lines naming what differs. libraries:
// names and versions of those present; those that are absent have no line. A version differs when major or minor do.
std::vector<std::string> PlanMismatches(const Graph& graph, const Platform& platform,
                                        const std::map<std::string, std::string>& libraries, const Plan& plan);

}  // namespace pt
