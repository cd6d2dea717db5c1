// Finalists: the plans with the best predictions, run in turns, and the one that is kept. A prediction that was lucky
// wins among predictions; it does not win again when it runs.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

// How many plans run beside each other before one is kept, and for how long.
struct FinalistOptions {
  // Plans that run; at least 1. Those without the runtimes of plugins, and by each of them, run beyond that number
  // where their predictions are within a quarter of the first one's; so does, in any case, the best plan in one stream
  // of each device where the first uses several of one, or the other way round.
  uint32_t most = 4;
  // More plans of the planner asked for, each made from what the steps of the one before took while it ran. They run
  // beside the others; when one is kept, its times are those of its steps in place.
  uint32_t refine = 0;
  std::vector<Tensor> inputs;                 // that they run on, in the order of the graph's
  uint32_t rounds = 15;                       // every plan has its turn in each
  std::chrono::nanoseconds turn{20'000'000};  // at least one run
};

// A plan that ran beside the others.
struct Finalist {
  // As PlanOptions::planner names it, with the seed where that was not the one asked for, ", refined 1" and so on,
  // ", without openvino", ", by openvino".
  std::string planner;
  Plan plan;
  int64_t beside_ns = 0;    // predicted with how its steps slow each other down (cost/beside_costs.h)
  int64_t measured_ns = 0;  // median of the rounds' medians
  double speedup = 1;       // how many times as fast as the first: median over the rounds
  double noise = 0;         // of the speedup: two standard errors of that median
};

// The plans that ran, and the one to keep.
struct FinalChoice {
  std::vector<Finalist> finalists;  // the one of the planner asked for first, the others by beside_ns
  size_t chosen = 0;
};

// Where PlanOptions::watch ends it early, those that were made by then stand here, and the first is chosen unless every
// one had a turn (measured_ns is 0 then); its plan is stopped by "interrupted".

// Which of them to keep, by the medians of each in every round, all of one length: the first, unless another is faster
// by more than the noise and by half a per cent. Fills measured_ns, speedup and noise.
size_t ChooseFinalist(std::span<Finalist> finalists, std::span<const std::vector<int64_t>> round_medians);

}  // namespace pt
