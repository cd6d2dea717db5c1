// How steps slow each other down, from what was measured of each class of candidates.
#include "partitiontuner/cost/beside_costs.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "lib/cost/candidate_classes.h"
#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/needed_keys.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/cost/table_costs.h"
#include "test/cost/sample_problem.h"

namespace pt::beside_costs_test {
namespace {

using Catch::Approx;

const UnitClassId kOneCore(0u), kBothCores(1u), kAccelerator(2u);
const std::map<std::string, std::string> kOnlyReference = {{"reference", "1"}};

// Three Relu of 512, 1024 and 2048 bytes of traffic, each on one core, on both, and on the simulated device.
struct Scene {
  explicit Scene(bool in_memory = true) {
    if (in_memory) platform.devices[0].cache_bytes = {16 << 10};  // less than any run is taken to touch
    for (uint32_t n = 0; n < 3; ++n) {
      for (const UnitClassId unit_class : {kOneCore, kBothCores, kAccelerator}) {
        candidates.push_back(RunsAlone(graph, NodeId(n), unit_class));
        alone.SetRunOf(candidates.back(), 1024);
      }
    }
  }
  const Candidate& on(UnitClassId unit_class, size_t node) const { return candidates[3 * node + unit_class.index()]; }
  MeasurementKey KeyOf(const Candidate& candidate) const {
    return CostKey(graph, platform, candidate, "1", ReuseDistance(graph, platform));
  }
  void Note(const MeasurementKey& key, int64_t ns) { profile.measurements[key.hash] = SampleMeasurement(key.text, ns); }
  // Of the heaviest on one core: half as long again beside memory hogs, a tenth beside others; a hog: 2 bytes a ns.
  void NoteAll() {
    const MeasurementKey key = KeyOf(on(kOneCore, 2));
    Note(key, 1000);
    Note(BesideKey(key, kMemoryHogs), 500);
    Note(BesideKey(key, kComputeHogs), 100);
    Note(MemoryHogKey(platform, kOneCore), static_cast<int64_t>(kHogBytes / 2));
  }
  std::unique_ptr<CostModel> Make() const {
    return MakeBesideCosts(graph, platform, candidates, profile, kOnlyReference, alone);
  }

  Platform platform = SamplePlatform(true);
  const Graph graph = IndependentRelus(3);
  std::vector<Candidate> candidates;
  Profile profile;
  TableCosts alone;
};

TEST_CASE("BesideCosts, SlowDownByHowMuchMemoryTheNeighbourUses", "[cost]") {
  Scene scene;
  scene.NoteAll();
  const auto costs = scene.Make();
  REQUIRE(costs->has_slowdown());
  const Candidate& small = scene.on(kOneCore, 0);
  const auto beside = [&](const Candidate& other) {
    const Candidate* others[] = {&other};
    return costs->Slowdown(small, others);
  };
  CHECK(costs->Slowdown(small, {}) == 1);
  CHECK(beside(scene.on(kOneCore, 0)) == Approx(1 + 0.1 + 0.4 * 0.25));  // 512 bytes in 1024 ns: a quarter of a hog
  CHECK(beside(scene.on(kOneCore, 1)) == Approx(1 + 0.1 + 0.4 * 0.5));
  CHECK(beside(scene.on(kOneCore, 2)) == Approx(1 + 0.1 + 0.4));
  CHECK(beside(scene.on(kAccelerator, 2)) == 1);  // on no core of the host
  CHECK(costs->OfStep(small).run->ns == 1024);
}

TEST_CASE("BesideCosts, WhatCachesHoldAsksNothingOfMemory", "[cost]") {
  Scene scene(false);
  scene.NoteAll();
  const auto costs = scene.Make();
  const Candidate* others[] = {&scene.on(kOneCore, 2)};
  CHECK(costs->Slowdown(scene.on(kOneCore, 0), others) == Approx(1.1));
}

TEST_CASE("BesideCosts, WhatWasNotMeasuredSlowsNothingDown", "[cost]") {
  Scene scene;
  CHECK_FALSE(scene.Make()->has_slowdown());
  scene.NoteAll();
  const auto costs = scene.Make();
  const Candidate* others[] = {&scene.on(kOneCore, 2)};
  CHECK(costs->Slowdown(scene.on(kAccelerator, 0), others) == 1);
  CHECK(costs->Slowdown(scene.on(kBothCores, 0), others) == 1);
  scene.profile.measurements.erase(BesideKey(scene.KeyOf(scene.on(kOneCore, 2)), kComputeHogs).hash);
  CHECK_FALSE(scene.Make()->has_slowdown());
}

TEST_CASE("NeededKeys, TheHeaviestOfEachClassBesideHogsWhereCoresAreLeft", "[cost]") {
  const Scene scene;
  CHECK(OtherCores(scene.platform, kOneCore) == 1);
  CHECK(OtherCores(scene.platform, kBothCores) == 0);
  std::vector<std::string> beside;
  size_t hogs = 0;
  for (const NeededKey& needed : NeededKeys(scene.graph, scene.platform, scene.candidates, kOnlyReference)) {
    if (needed.kind == &kMemoryHogKind) {
      ++hogs;
      CHECK(needed.key.text == MemoryHogKey(scene.platform, kOneCore).text);
    }
    if (needed.kind != &kBesideMemoryKind && needed.kind != &kBesideComputeKind) continue;
    CHECK(&scene.candidates[needed.candidate().candidate] == &scene.on(kOneCore, 2));
    beside.push_back(needed.key.text);
  }
  const std::string key = scene.KeyOf(scene.on(kOneCore, 2)).text;
  CHECK(beside == std::vector<std::string>{key + " | beside memory", key + " | beside compute"});
  CHECK(hogs == 1);
}

}  // namespace
}  // namespace pt::beside_costs_test
