// How plans scale with the cores of a machine that need not be there: plans models, and fork-joins made here, for p
// cores by a law of costs instead of measurements, and prints a table.
//
//   bench_many_cores [--cores LIST] [--effort N] [--seed N] [MODEL.onnx]... [fork-join:BRANCHESxSTEPSxSTAGES]...
//
// The machine: units of 1, 2, 4, … and p neighbouring cores. The law, from what measurements on this project's machines
// look like: a group takes t = max(flops / 100 a ns, bytes / 10 a ns) + 0.5 us on one core, on w cores
// t * (0.04 + 0.96 / w) + 0.4 us * log2(w) (Amdahl's law with 4 % that do not scale, and a fork and join that grow with
// the tree of cores); a step also costs 0.2 us, waiting for another unit 0.2 us, fetching from other cores 0.02 ns a
// byte. Groups are those that libraries offer for one core here, in row-major form, so that forms play no part. The
// steps of fork-joins take 20 to 180 us on one core, by chance of the seed.
//
// Printed: microseconds of the best plan on one core, of the best that gives all cores to each step, of search on p
// cores, and the lower bound; the gain over one core, over the better of the two, and over one core at most; seconds of
// search.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "partitiontuner/cost/table_costs.h"
#include "partitiontuner/engine/engine.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/support/random.h"

namespace {

using pt::Candidate;
using pt::Graph;
using pt::NodeId;
using pt::UnitClassId;

// What can run as one step, and how long on one core.
struct Work {
  std::vector<NodeId> nodes;
  pt::Elision elision = pt::Elision::kNone;
  double ns = 0;
};

struct Network {
  std::string name;
  Graph graph;
  std::vector<Work> works;
};

double OnCores(double ns, uint32_t cores) {
  return ns * (0.04 + 0.96 / static_cast<double>(cores)) + 400 * std::log2(static_cast<double>(cores));
}

// Units of one core, of two side by side, and so on to all; only the widest where `all_wide`.
pt::Platform Cores(uint32_t count, bool all_wide) {
  pt::Platform platform;
  platform.devices.push_back({"cpu", "cpu", 0, false, "by a law"});
  for (uint32_t core = 0; core < count; ++core) {
    platform.resources.push_back({"core " + std::to_string(core), 1.0, core});
  }
  for (uint32_t width = all_wide ? count : 1; width <= count; width *= 2) {
    platform.unit_classes.push_back({"cpu/" + std::to_string(width), pt::kHostDevice, width});
    for (uint32_t first = 0; first < count; first += width) {
      pt::Unit unit;
      unit.name = "cpu[" + std::to_string(first) + "-" + std::to_string(first + width - 1) + "]";
      unit.unit_class = UnitClassId(platform.unit_classes.size() - 1);
      for (uint32_t core = first; core < first + width; ++core) unit.uses.emplace_back(pt::ResourceId(core), 1.0);
      platform.units.push_back(std::move(unit));
    }
  }
  return platform;
}

struct World {
  pt::Platform platform;
  std::vector<Candidate> candidates;
  pt::TableCosts costs;
};

World MakeWorld(const Network& network, uint32_t cores, bool all_wide) {
  World world;
  world.platform = Cores(cores, all_wide);
  const size_t classes = world.platform.unit_classes.size();
  for (const Work& work : network.works) {
    Candidate candidate = pt::RowMajorCandidate(network.graph, work.nodes, "law");
    candidate.elision = work.elision;
    for (size_t c = 0; c < classes; ++c) {
      candidate.unit_class = UnitClassId(c);
      world.costs.SetRunOf(candidate, std::llround(OnCores(work.ns, world.platform.unit_classes[c].cores)));
      world.candidates.push_back(candidate);
    }
  }
  for (size_t c = 0; c < classes; ++c) {
    world.costs.SetOverhead(UnitClassId(c), 200);
    for (size_t d = 0; d < classes; ++d) {
      world.costs.SetWait(UnitClassId(c), UnitClassId(d), 200);
      world.costs.SetFetch(UnitClassId(c), UnitClassId(d), 0.02);
    }
  }
  return world;
}

pt::Result<Network> FromModel(const std::string& path) {
  pt::EngineOptions options;
  options.db_path = "none";
  options.machine.max_cores = 1;
  PT_ASSIGN(const auto engine, pt::Engine::Make(options));
  PT_ASSIGN(const auto model, engine->Load(path, {}));
  const std::filesystem::path file(path);
  const std::string name = file.stem() == "model" ? file.parent_path().filename().string() : file.stem().string();
  Network network{name, *model->graph, {}};
  std::set<std::vector<NodeId>> known;
  for (const Candidate& candidate : model->candidates) {
    if (!known.insert(candidate.nodes).second) continue;
    const pt::WorkSize size = pt::WorkSizeOf(network.graph, candidate.nodes);
    network.works.push_back({candidate.nodes, candidate.elision, 500 + std::max(size.flops / 100, size.bytes / 10)});
  }
  return network;
}

// Stages one after the other, each a fork into branches of steps and their join.
pt::Result<Network> ForkJoin(const std::string& name, uint64_t seed) {
  int branches = 0, steps = 0, stages = 0;
  if (std::sscanf(name.c_str(), "fork-join:%dx%dx%d", &branches, &steps, &stages) != 3 || branches < 1 || steps < 1 ||
      stages < 1) {
    return pt::MakeError(pt::ErrorCode::kUsage, "usage", "'" + name + "' is not of the form fork-join:8x4x10");
  }
  pt::Random random(seed);
  pt::GraphBuilder builder;
  const pt::ValueType type = pt::StaticType(pt::DataType::kFloat32, {1, 16384});
  pt::ValueId top = builder.AddInput("x", type);
  std::vector<double> ns;
  const auto add = [&](const char* op, std::vector<pt::ValueId> in, double time) {
    ns.push_back(time);
    return builder.AddOp(op, std::move(in), type, {}, "v" + std::to_string(ns.size()));
  };
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<pt::ValueId> ends(static_cast<size_t>(branches), top);
    for (pt::ValueId& end : ends) {
      for (int step = 0; step < steps; ++step)
        end = add("Task", {end}, 20'000 + static_cast<double>(random.Below(160'000)));
    }
    top = add("Join", ends, 5'000);
  }
  builder.AddOutput(top);
  PT_ASSIGN(Graph graph, builder.Build());
  Network network{name, std::move(graph), {}};
  for (size_t n = 0; n < ns.size(); ++n) network.works.push_back({{NodeId(n)}, pt::Elision::kNone, ns[n]});
  return network;
}

struct Settings {
  std::vector<uint32_t> cores = {4, 8, 16, 64};
  uint64_t effort = 0, seed = 1;
};

double Us(int64_t ns) { return static_cast<double>(ns) / 1e3; }

pt::Result<int64_t> Search(const Network& network, const World& world, const Settings& settings) {
  pt::PlanningProblem problem{network.graph, world.platform, world.candidates, world.costs};
  problem.effort = settings.effort;
  problem.seed = settings.seed;
  PT_ASSIGN(const pt::Planner* planner, pt::FindPlanner("search"));
  PT_ASSIGN(const pt::Plan plan, planner->make_plan(problem, nullptr));
  return plan.makespan.ns;
}

pt::Status PrintScaling(const Network& network, const Settings& settings) {
  PT_ASSIGN(const int64_t one_ns, Search(network, MakeWorld(network, 1, true), settings));
  for (uint32_t cores : settings.cores) {
    const World world = MakeWorld(network, cores, false);
    PT_ASSIGN(const int64_t wide_ns, Search(network, MakeWorld(network, cores, true), settings));
    const auto start = std::chrono::steady_clock::now();
    PT_ASSIGN(const int64_t search_ns, Search(network, world, settings));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const pt::Bound bound = pt::BestBound({network.graph, world.platform, world.candidates, world.costs});
    const int64_t best_ns = std::min(one_ns, wide_ns);
    std::printf("| %s | %u | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f | %.2f | %.1f %% | %.1f |\n", network.name.c_str(),
                cores, Us(one_ns), Us(wide_ns), Us(search_ns), Us(bound.ns), Us(one_ns) / Us(search_ns),
                Us(best_ns) / Us(search_ns), Us(one_ns) / Us(bound.ns), 100 * (Us(search_ns) / Us(bound.ns) - 1),
                seconds);
    std::fflush(stdout);
  }
  return {};
}

pt::Status Run(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (text == "--cores" && i + 1 < argc) {
      settings.cores.clear();
      for (char* at = argv[++i]; *at != '\0'; at += *at == ',') {
        settings.cores.push_back(static_cast<uint32_t>(std::strtoul(at, &at, 10)));
        const uint32_t cores = settings.cores.back();
        if (cores < 1 || cores > 1024 || (cores & (cores - 1)) != 0 || (*at != ',' && *at != '\0')) {
          return pt::MakeError(pt::ErrorCode::kUsage, "usage", "--cores takes powers of two up to 1024: 4,8,16,64");
        }
      }
    } else if ((text == "--effort" || text == "--seed") && i + 1 < argc) {
      (text == "--effort" ? settings.effort : settings.seed) = std::strtoull(argv[++i], nullptr, 10);
    } else {
      names.push_back(text);
    }
  }
  std::printf(
      "| network | cores | one core | all wide | search | bound | over one core | over the better | at most | gap | s "
      "|\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& name : names) {
    PT_ASSIGN(const Network network, name.starts_with("fork-join:") ? ForkJoin(name, settings.seed) : FromModel(name));
    PT_CHECK_OK(PrintScaling(network, settings));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: bench_many_cores [--cores LIST] [--effort N] [--seed N] MODEL.onnx|fork-join:BxSxT...\n");
    return 2;
  }
  if (const pt::Status status = Run(argc, argv); !status.ok()) {
    return std::fprintf(stderr, "%s\n", ToString(status.error()).c_str()), 1;
  }
  return 0;
}
