// What candidates ask of a device that its units share, and what launching them costs, from what was measured.
#include <catch2/catch_test_macros.hpp>

#include "lib/cost/kinds/demand.h"
#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/needed_keys.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "test/cost/sample_problem.h"

namespace pt::demands_test {
namespace {

const UnitClassId kOneCore(0u), kStreams(2u);
const std::map<std::string, std::string> kVersions = {{"reference", "1"}, {"other", "2"}};

// Four Relu of work in steps of two, on one core and on either stream of a device that is no simulated one.
struct Scene {
  Scene() {
    platform.devices[1].simulated = false;
    platform.simulated.clear();
    platform.units.back().uses.front().second = 0.5;
    Unit second = platform.units.back();
    second.name = "sim:0#1";
    platform.units.push_back(second);
    for (uint32_t n = 0; n < 4; ++n) {
      for (const char* library : {"reference", "other"}) {
        candidates.push_back(RunsAlone(graph, NodeId(n), kStreams, library));
      }
      candidates.push_back(RunsAlone(graph, NodeId(n), kOneCore));
    }
  }
  const Candidate& OnStreams(size_t node, size_t library = 0) const { return candidates[3 * node + library]; }
  MeasurementKey KeyOf(const Candidate& candidate) const {
    return CostKey(graph, platform, candidate, kVersions.at(candidate.library), ReuseDistance(graph, platform));
  }
  Measurement& Note(const MeasurementKey& key) {
    Measurement& row = profile.measurements[key.hash];
    row = SampleMeasurement(key.text, 1000);
    row.unit_class = "sim:0";
    row.device = platform.devices[1].fingerprint;
    return row;
  }
  std::unique_ptr<CostModel> Costs() const {
    ProfiledCostsOptions options;
    options.library_versions = kVersions;
    options.candidates = candidates;
    return MakeProfiledCosts(graph, platform, profile, options);
  }

  Platform platform = SamplePlatform(true);
  const Graph graph = IndependentRelus(4);
  std::vector<Candidate> candidates;
  Profile profile;
};

TEST_CASE("NeededKeys, TheHeaviestOfEachClassAndMagnitudeSeveralTimesAtOnce", "[cost]") {
  const Scene scene;
  CHECK(SharesItsDevice(scene.platform, kStreams));
  CHECK_FALSE(SharesItsDevice(scene.platform, kOneCore));
  std::vector<size_t> nodes;
  for (const NeededKey& needed : NeededKeys(scene.graph, scene.platform, scene.candidates, kVersions)) {
    if (needed.kind != &kDemandKind) continue;
    const Candidate& candidate = scene.candidates[needed.candidate().candidate];
    CHECK(candidate.unit_class == kStreams);
    CHECK(needed.key.text == scene.KeyOf(candidate).text + " | demand");
    if (candidate.library == "reference") nodes.push_back(candidate.nodes.front().index());
  }
  // Somewhat more than 512, 1024, 2048 and 4096 bytes of work: the middle two are of one magnitude, and the heavier of
  // them stands for both.
  CHECK(nodes == std::vector<size_t>{0, 2, 3});
}

TEST_CASE("NeededKeys, AUnitAloneOnItsDeviceAsksForNoDemand", "[cost]") {
  Scene scene;
  scene.platform.units.pop_back();
  CHECK_FALSE(SharesItsDevice(scene.platform, kStreams));
  CHECK(HeaviestOfDemandClasses(scene.graph, scene.platform, scene.candidates).empty());
  Scene simulated;
  simulated.platform.devices[1].simulated = true;  // its file says it
  CHECK_FALSE(SharesItsDevice(simulated.platform, kStreams));
}

TEST_CASE("ProfiledCosts, ADemandIsThatOfTheCandidatesClass", "[cost]") {
  Scene scene;
  CHECK(scene.Costs()->OfStep(scene.OnStreams(1)).demand == 0);  // not known
  scene.Note(DemandKey(scene.KeyOf(scene.OnStreams(2)))).demand = 0.375;
  Measurement& failed = scene.Note(DemandKey(scene.KeyOf(scene.OnStreams(3))));
  failed.failure = "no room for it twice";
  failed.samples = 0;
  const auto costs = scene.Costs();
  CHECK(costs->OfStep(scene.OnStreams(2)).demand == 0.375);
  CHECK(costs->OfStep(scene.OnStreams(1)).demand == 0.375);
  CHECK(costs->OfStep(scene.OnStreams(3)).demand == 1);
  CHECK(costs->OfStep(scene.OnStreams(0)).demand == 0);
  CHECK(costs->OfStep(scene.OnStreams(2, 1)).demand == 0);  // of another library
  CHECK(costs->OfStep(scene.candidates[8]).demand == 0);    // on the host
}

TEST_CASE("DemandOf, WhatWasMeasuredComesBeforeWhatTheFileSays", "[cost]") {
  Scene scene;
  scene.platform.simulated[DeviceId(1u)].families["*"] = {100, 1, 1, 0.625};
  const Candidate& candidate = scene.OnStreams(2);
  CHECK(DemandOf(scene.graph, scene.platform, candidate, scene.Costs()->OfStep(candidate)) == 0.625);
  scene.Note(DemandKey(scene.KeyOf(candidate))).demand = 0.375;
  CHECK(DemandOf(scene.graph, scene.platform, candidate, scene.Costs()->OfStep(candidate)) == 0.375);
}

TEST_CASE("ProfiledCosts, ALaunchTakesWhatItTakesTheLibrarysKernels", "[cost]") {
  Scene scene;
  Measurement& overhead = scene.Note(OverheadKey(scene.platform, kStreams));
  overhead.median_ns = 2'000;
  const int64_t launches[] = {5'000, 7'000, 4'000};
  for (size_t n = 0; n < 3; ++n) {
    Measurement& row = scene.Note(scene.KeyOf(scene.OnStreams(n)));
    row.library = "reference";
    row.launch_ns = launches[n];
  }
  // Rows of another version of a library, and of another device, say nothing of this one.
  Measurement stale = SampleMeasurement("run old | other 1 | \"\" | sim:0 | rates B | method 5", 10);
  stale.unit_class = "sim:0";
  stale.device = scene.platform.devices[1].fingerprint;
  stale.library = "other";
  stale.launch_ns = 90'000;
  scene.profile.measurements[HashText(stale.key_text)] = stale;
  const auto costs = scene.Costs();
  CHECK(costs->OfStep(scene.OnStreams(3)).overhead.ns == 5'000);
  CHECK(costs->OfStep(scene.OnStreams(3)).overhead.provenance == Provenance::kMeasured);
  CHECK(costs->OfStep(scene.OnStreams(3, 1)).overhead.ns == 2'000);  // as the least work there
  CHECK(costs->OfClass(kStreams).overhead.ns == 2'000);
}

}  // namespace
}  // namespace pt::demands_test
