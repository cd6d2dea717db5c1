// Worlds for planner and plan tests: a graph, a machine, made-up candidates for its nodes (each unit class, row-major
// and blocked forms, fused pairs, in-place, accumulating and elidable kernels) and table costs for all of them.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/cost/table_costs.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/plan/check_plan.h"
#include "partitiontuner/planner/planner.h"

namespace pt::testing {

// Two cores as units cpu[0], cpu[1] (class cpu/1) and cpu[0-1] (class cpu/2); with an accelerator "acc:0" behind
// links with one copy engine each, driven by the second core.
Platform TwoCores(bool accelerator = true);

// Cores as units of one ("cpu[0-0]", …), of two side by side, of four, and so on up to all: classes cpu/1, cpu/2,
// cpu/4, … Precondition: a power of two.
Platform Cores(uint32_t count);

// Chains, forks, joins, concatenations and views in random order; every value has 8 channels a piece or a multiple.
Graph RandomGraph(uint64_t seed, size_t nodes);
Graph Chain(size_t nodes);
Graph Diamond();                 // Conv -> (Relu | Conv) -> Add
Graph Inception(size_t blocks);  // four branches a block, concatenated along the channels
Graph Residual(size_t blocks);   // Conv, Relu, Conv, Add with what came in, Relu

Graph Fan(size_t readers);  // one Conv, so many Relus that read it, all of them concatenated
Graph TwoConcatenations();  // a = Conv, b = Conv, c = Conv, Concat(a, b) + Concat(a, c)

// Of searches in tests, which are many and on small graphs; users get more.
inline constexpr uint64_t kTestEffort = 2000;

struct World {
  Graph graph;
  Platform platform;
  std::vector<Candidate> candidates;
  TableCosts costs;
  Constraints constraints = {};

  PlanningProblem problem() const {
    PlanningProblem problem{graph, platform, candidates, costs, constraints};
    problem.effort = kTestEffort;
    return problem;
  }
};

struct WorldOptions {
  bool fused = true;        // Conv+Relu, Conv+Add (accumulating), Conv+Add+Relu where nothing else reads between
  bool blocked = true;      // blocked forms besides row-major
  bool elided = true;       // views and slices
  bool contention = false;  // steps beside each other run 1.25 times as long
  bool accelerator = true;
  bool captures = false;  // which records steps: a launch of a segment takes 2000 ns and 150 for each step
  uint32_t cores = 2;     // otherwise Cores(cores), without accelerator
};

World MakeWorld(Graph graph, const WorldOptions& options = {}, uint64_t seed = 1);

// The named planner's plan of the world. Asserts that it makes one.
Plan PlanOf(const World& world, std::string_view planner, std::string_view argument = {});

// The world's own candidates as what its libraries say of the plan; reorders are all possible.
PlanDescription DescribePlan(const World& world, const Plan& plan);
// Faults as one text; empty when the plan is legal.
std::string FaultText(const World& world, const Plan& plan);
bool HasFault(const World& world, const Plan& plan, std::string_view id);
// The operators' output names in step order: "a, b, copy c, reorder c, …"; for exact expectations.
std::string OrderText(const World& world, const Plan& plan);

}  // namespace pt::testing
