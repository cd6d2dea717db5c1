// A simulated device on the wall clock is measured like a real one; on the virtual clock its file is believed.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/profiler/measure.h"
#include "test/cost/sample_problem.h"
#include "test/testing/lock_folder.h"

namespace pt::measure_simulated_test {
namespace {

constexpr int64_t kKernelNs = 300'000, kLatencyNs = 20'000;
constexpr const char* kFile = R"({"version": 1, "name": "sim:0", "memory_bytes": 536870912, "streams": 2,
  "to_device": {"latency_ns": 20000, "bytes_per_ns": 16}, "from_device": {"latency_ns": 20000, "bytes_per_ns": 16},
  "families": {"*": {"fixed_ns": 300000, "flops_per_ns": 0, "bytes_per_ns": 0}},
  "launches": {"step_ns": 4000, "segment_ns": 9000, "segment_step_ns": 500}})";

struct SimulatedScene {
  Result<MeasureReport> Measure(SimulatedClock clock) {
    std::ofstream(folder.file("sim.json")) << kFile;
    MachineOptions options;
    options.max_cores = 2;
    options.libraries = {"simulated"};
    options.platform_files = {folder.file("sim.json")};
    options.simulated_clock = clock;
    machine = Machine::Make(options).value();
    candidates = EnumerateCandidates(graph, machine->platform(), machine->libraries());
    MeasureOptions measure;
    measure.max_time_per_key = std::chrono::milliseconds(20);
    measure.watch_hand_overs = false;
    return MeasureProfile(graph, candidates, *machine, db, measure, {});
  }

  std::unique_ptr<CostModel> Costs() {
    Profile profile;
    profile.measurements = db.All().value();
    ProfiledCostsOptions options;
    options.library_versions = LibraryVersions(*machine);
    options.allow_estimates = false;
    options.candidates = candidates;
    measured = MeasuredPlatform(*machine);
    return MakeProfiledCosts(graph, measured, std::move(profile), options);
  }

  Graph graph = IndependentRelus(2);
  testing::OwnLockFolder locks;
  TemporaryFolder folder;
  ProfileDb db = ProfileDb::Open(folder.file("profile.db")).value();
  std::unique_ptr<Machine> machine;
  Platform measured;  // outlives the costs that are made with it
  std::vector<Candidate> candidates;
};

// The device takes the file's time at least, and the events tell what it took: so no measured time is below the file's,
// and how far above it is tells of the machine that simulates.
TEST_CASE("MeasureSimulated, OnTheWallClockEveryTimeIsMeasured", "[profiler]") {
  SimulatedScene scene;
  const Result<MeasureReport> report = scene.Measure(SimulatedClock::kReal);
  INFO((report.ok() ? report->skip_reason : ToString(report.error())));
  REQUIRE(report.ok());
  CHECK(report->missing == 0);
  CHECK(report->failed == 0);
  const Platform& platform = scene.machine->platform();
  const auto costs = scene.Costs();
  REQUIRE(scene.candidates.size() == 2);
  for (const Candidate& candidate : scene.candidates) {
    const std::optional<Estimate> cost = costs->OfStep(candidate).run;
    REQUIRE(cost.has_value());
    CHECK(cost->provenance == Provenance::kMeasured);
    CHECK(cost->ns >= kKernelNs);
    CHECK(costs->OfStep(candidate).demand > 0);
    CHECK(costs->OfStep(candidate).overhead.provenance == Provenance::kMeasured);
  }
  for (size_t l = 0; l < platform.links.size(); ++l) {
    const Estimate small = costs->Copy(256, LinkId(l)), large = costs->Copy(64 << 20, LinkId(l));
    CHECK(small.provenance == Provenance::kMeasured);
    CHECK(small.ns >= kLatencyNs);
    CHECK(large.ns >= kLatencyNs + (64 << 20) / 16);
  }
  for (size_t k = 0; k < platform.unit_classes.size(); ++k) {
    CHECK(costs->OfClass(UnitClassId(k)).overhead.provenance == Provenance::kMeasured);
    for (size_t other = 0; other < platform.unit_classes.size(); ++other) {
      CHECK(costs->OfPair(UnitClassId(k), UnitClassId(other)).wait.provenance == Provenance::kMeasured);
    }
  }
  // Host times, whatever the file says of a virtual clock: two rows, few steps and many.
  const std::optional<SegmentLaunch> segment = costs->OfDevice(DeviceId(1u)).segments;
  REQUIRE(segment);
  CHECK(segment->provenance == Provenance::kMeasured);
  CHECK(segment->ns(34) > 0);
  const std::map<Hash128, Measurement> rows = scene.db.All().value();
  CHECK(std::ranges::count_if(rows, [](const auto& row) { return row.second.family == "segment"; }) == 2);
  for (const auto& [hash, row] : rows) {
    CHECK(row.failure.empty());
    CHECK(row.provenance == Provenance::kMeasured);
    CHECK(row.samples > 0);
  }
}

TEST_CASE("MeasureSimulated, WhatOneClockSaysIsNoAnswerForTheOther", "[profiler]") {
  SimulatedScene scene;
  REQUIRE(scene.Measure(SimulatedClock::kVirtual).ok());
  for (const Candidate& candidate : scene.candidates) {
    CHECK(scene.Costs()->OfStep(candidate).run->ns == kKernelNs);
    CHECK(scene.Costs()->OfStep(candidate).run->provenance == Provenance::kSimulated);
  }
  const auto costs = scene.Costs();
  REQUIRE(costs->OfDevice(DeviceId(1u)).segments);
  CHECK(costs->OfDevice(DeviceId(1u)).segments->ns(10) == 9000 + 10 * 500);
  CHECK(costs->OfDevice(DeviceId(1u)).segments->provenance == Provenance::kSimulated);
  CHECK(costs->OfClass(FindUnitClass(scene.measured, "sim:0")).overhead.ns == 4000);
  const size_t with_virtual_clock = scene.db.All()->size();
  const Result<MeasureReport> real = scene.Measure(SimulatedClock::kReal);
  REQUIRE(real.ok());
  CHECK(real->measured > with_virtual_clock - real->reused);
  for (const Candidate& candidate : scene.candidates) {
    CHECK(scene.Costs()->OfStep(candidate).run->provenance == Provenance::kMeasured);
  }
  // The host is the same: its hand-overs are not measured again, and nothing on the virtual clock is.
  const Result<MeasureReport> again = scene.Measure(SimulatedClock::kVirtual);
  REQUIRE(again.ok());
  CHECK(again->measured == 0);
}

}  // namespace
}  // namespace pt::measure_simulated_test
