// Plans of all planners, run in turns.
#pragma once

#include "lib/engine/planning_context.h"
#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/engine/finalists.h"

namespace pt {

struct Entrant {
  Finalist finalist;
  bool always_runs = false;      // Contender::always_runs
  bool several_streams = false;  // on some device beside the host the plan's groups run in several streams
};

// Those that run, by beside_ns, after the first, which runs in any case: `most` of them, at least 1, and beyond that
// number those that always run and are predicted to take no more than a quarter longer than the first, and the best of
// those that use several streams where the first does not, or the other way round.
std::vector<Finalist> Admit(std::vector<Entrant> entrants, uint32_t most);

// `beside`: the context's costs, with how steps slow each other down; which plans run is decided by them. Errors: those
// of the planner asked for, of sessions and of runs; other planners that find no plan take no part.
Result<FinalChoice> RunFinalists(const PlanningContext& context, const CostModel& beside,
                                 const FinalistOptions& options);

}  // namespace pt
