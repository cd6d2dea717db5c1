// Measuring through an asynchronous device: its memory is out of the host's reach, its times are its own clock's.
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "test/profiler/probe_scene.h"

namespace pt::measure_device_test {
namespace {

using testing::ProbeScene;

TEST_CASE("MeasureDevice, KernelsAreTimedByTheDevicesEventsOnInputsThatWereCopied", "[profiler]") {
  ProbeScene scene(true);
  scene.probe.device_ns = 41'234;
  const Result<MeasureReport> report = scene.Measure();
  REQUIRE(report.ok());
  CHECK(report->missing == 0);
  CHECK(report->failed == 0);
  size_t on_device = 0;
  for (const std::string op : {"Relu", "Sigmoid"}) {
    for (const Measurement& row : scene.Rows(op)) {
      if (row.unit_class != "fake:0") continue;
      ++on_device;
      CHECK(row.failure.empty());
      CHECK(row.provenance == Provenance::kMeasured);
      CHECK(row.samples > 0);
      CHECK(row.median_ns == scene.probe.device_ns);
      // A host that is slow enough takes one sample in its time, which says nothing about the next.
      CHECK(row.spread_ns == (row.samples > 1 ? 0 : row.median_ns));
    }
  }
  CHECK(on_device == 2);
  CHECK(scene.probe.unset_inputs == 0);
  CHECK(scene.remote.copies_in > 0);
  CHECK(scene.remote.copies_within > 0);  // what disturbs the device's caches
  CHECK(scene.remote.live_bytes == 0);
}

TEST_CASE("MeasureDevice, CopiesOfBothDirectionsAreTimedFromPinnedMemory", "[profiler]") {
  ProbeScene scene(true);
  REQUIRE(scene.Measure().ok());
  std::set<std::pair<int64_t, int64_t>> times;  // bytes, nanoseconds
  for (const Measurement& row : scene.Rows("copy")) {
    const auto bytes = static_cast<int64_t>(row.bytes);
    CHECK(row.median_ns == scene.remote.copy_ns + bytes / 16);
    times.emplace(bytes, row.median_ns);
  }
  CHECK(scene.Rows("copy").size() == 2 * times.size());
  CHECK(times.begin()->first == 256);
  CHECK(times.rbegin()->first == 64 << 20);
  CHECK(scene.remote.copies_out > 0);
  CHECK(scene.remote.pinned >= 2 * static_cast<int>(times.size()));
}

TEST_CASE("MeasureDevice, ACopyThatTakesMoreThanItsTimeIsMeasuredAllTheSame", "[profiler]") {
  ProbeScene scene(true);
  scene.remote.copy_ns = 1'000'000'000;
  const Result<MeasureReport> report = scene.Measure();
  REQUIRE(report.ok());
  CHECK(report->missing == 0);
  CHECK(scene.Rows("copy").size() == 20);
}

TEST_CASE("MeasureDevice, LaunchesAndHandOversOfAsynchronousUnitsAreMeasured", "[profiler]") {
  ProbeScene scene(true);
  scene.remote.wait_ns = 700;
  REQUIRE(scene.Measure().ok());
  const Platform& platform = scene.machine->platform();
  Profile profile;
  profile.measurements = scene.All();
  const auto row_of = [&](const MeasurementKey& key) {
    const Measurement* row = profile.find(key.hash);
    REQUIRE(row != nullptr);
    CHECK(row->failure.empty());
    CHECK(row->provenance == Provenance::kMeasured);
    return *row;
  };
  const UnitClassId host = FindUnitClass(platform, "cpu/1"), streams = FindUnitClass(platform, "fake:0"),
                    copies = FindUnitClass(platform, "cpu>fake:0");
  CHECK(row_of(OverheadKey(platform, streams)).median_ns > 0);
  CHECK(row_of(OverheadKey(platform, copies)).median_ns > 0);
  CHECK(row_of(MakeKey("stream wait | " + UnitClassFields(platform, streams))).family == "stream wait");
  row_of(WaitKey(platform, host, streams));
  row_of(WaitKey(platform, streams, host));
  row_of(WaitKey(platform, host, copies));
  // By the device's clock, so exact.
  CHECK(row_of(WaitKey(platform, streams, streams)).median_ns == scene.remote.wait_ns);
  CHECK(row_of(WaitKey(platform, copies, streams)).median_ns == scene.remote.wait_ns);
  // Of two units there is only one in this class: nothing is handed over within it.
  CHECK(profile.find(WaitKey(platform, copies, copies).hash) == nullptr);

  ProfiledCostsOptions options;
  options.library_versions = LibraryVersions(*scene.machine);
  options.allow_estimates = false;
  const auto costs = MakeProfiledCosts(scene.graph, platform, profile, options);
  CHECK(costs->OfDevice(platform.unit_class(streams).device).stream_wait_ns > 0);
  for (size_t k = 0; k < platform.unit_classes.size(); ++k) {
    CHECK(costs->OfClass(UnitClassId(k)).overhead.provenance == Provenance::kMeasured);
    for (size_t other = 0; other < platform.unit_classes.size(); ++other) {
      CHECK(costs->OfPair(UnitClassId(k), UnitClassId(other)).wait.provenance == Provenance::kMeasured);
    }
  }
  CHECK(costs->Copy(1 << 20, LinkId(0u)).provenance == Provenance::kMeasured);
}

TEST_CASE("MeasureDevice, VariantsThatAreClearlySlowerThanAnotherKeepTheirFirstSamples", "[profiler]") {
  ProbeScene scene(true);
  scene.probe.variant_ns = {100'000, 160'000, 120'000, 130'000};
  scene.candidates = scene.machine->libraries()[0]->Candidates(scene.graph, scene.machine->platform(), Precision());
  std::erase_if(scene.candidates,
                [&](const Candidate& c) { return scene.machine->platform().unit_class(c.unit_class).on_host(); });
  scene.options.max_time_per_key = std::chrono::seconds(20);
  REQUIRE(scene.Measure().ok());
  std::map<int64_t, uint32_t> samples;
  for (const Measurement& row : scene.Rows("Relu")) samples[row.median_ns] = row.samples;
  REQUIRE(samples.size() == 4);
  CHECK(samples.at(100'000) >= scene.options.min_samples);
  CHECK(samples.at(120'000) >= scene.options.min_samples);
  CHECK(samples.at(130'000) == 3);
  CHECK(samples.at(160'000) == 3);
}

// Elements of which the probe is expected to take some milliseconds.
Graph LargeNode() {
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueType type = StaticType(DataType::kFloat32, {1 << 21});
  builder.AddOutput(builder.AddOp("Relu", {builder.AddInput("x", type)}, type));
  return builder.Build().value();
}

struct VariantScene : ProbeScene {
  VariantScene() : ProbeScene(true) {
    graph = LargeNode();
    options.max_time_per_key = std::chrono::seconds(20);
  }
  // The samples of each time, of all that the database has after these variants were measured on the device.
  std::map<int64_t, uint32_t> SamplesOf(std::vector<int64_t> variants) {
    probe.variant_ns = std::move(variants);
    candidates = machine->libraries()[0]->Candidates(graph, machine->platform(), Precision());
    std::erase_if(candidates,
                  [&](const Candidate& c) { return machine->platform().unit_class(c.unit_class).on_host(); });
    REQUIRE(Measure().ok());
    std::map<int64_t, uint32_t> samples;
    for (const Measurement& row : Rows("Relu")) samples[row.median_ns] = row.samples;
    return samples;
  }
};

TEST_CASE("MeasureDevice, WhatIsAHundredTimesBehindKeepsOneSample", "[profiler]") {
  VariantScene scene;
  const std::map<int64_t, uint32_t> samples = scene.SamplesOf({1'000'000, 90'000'000, 110'000'000});
  CHECK(samples.at(90'000'000) == 3);
  CHECK(samples.at(110'000'000) == 1);
  for (const Measurement& row : scene.Rows("Relu")) {
    if (row.median_ns == 110'000'000) CHECK(row.spread_ns == row.median_ns);
  }
  const int runs = scene.probe.runs;
  CHECK(scene.Measure()->measured == 0);  // one sample is enough for the next time, too
  CHECK(scene.probe.runs == runs);
}

TEST_CASE("MeasureDevice, WhatTheDatabaseKnowsIsAnAlternativeToo", "[profiler]") {
  VariantScene scene;
  scene.SamplesOf({1'000'000});
  const std::map<int64_t, uint32_t> samples = scene.SamplesOf({1'000'000, 110'000'000});
  CHECK(samples.at(1'000'000) >= scene.options.min_samples);
  CHECK(samples.at(110'000'000) == 1);
}

TEST_CASE("MeasureDevice, WhatIsAHundredTimesBehindItsEstimateKeepsOneSample", "[profiler]") {
  VariantScene scene;
  CHECK(scene.SamplesOf({5'000'000'000}).at(5'000'000'000) == 1);
  VariantScene small;  // nothing is given up that takes no longer than a slice
  small.graph = testing::TwoNodes();
  CHECK(small.SamplesOf({19'000'000}).at(19'000'000) >= small.options.min_samples);
}

// What takes the host long to enqueue would count its time, were the device idle meanwhile.
TEST_CASE("MeasureDevice, SlowLaunchesAreCoveredByOtherWorkAndKeptAsWhatTheyAre", "[profiler]") {
  constexpr std::chrono::milliseconds kLaunch{1};
  ProbeScene scene(true);
  std::erase_if(scene.candidates,
                [&](const Candidate& c) { return scene.machine->platform().unit_class(c.unit_class).on_host(); });
  scene.probe.device_ns = 41'234;
  scene.probe.launch_time = kLaunch;
  REQUIRE(scene.Measure().ok());
  ProfiledCostsOptions options;
  options.library_versions = LibraryVersions(*scene.machine);
  Profile profile;
  profile.measurements = scene.All();
  const auto costs = MakeProfiledCosts(scene.graph, scene.machine->platform(), profile, options);
  REQUIRE(scene.candidates.size() == 2);
  for (const Candidate& candidate : scene.candidates) {
    CHECK(costs->OfStep(candidate).run->ns == scene.probe.device_ns);
    CHECK(costs->OfStep(candidate).overhead.ns >= std::chrono::nanoseconds(kLaunch).count());
  }
  // A copy to disturb caches for each of them, and many more to keep the device busy.
  CHECK(scene.remote.copies_within > 4 * scene.probe.runs);
  CHECK(scene.probe.unset_inputs == 0);
}

TEST_CASE("MeasureDevice, ALostDeviceEndsWithItsErrorAndTakesNoCandidateAway", "[profiler]") {
  ProbeScene scene(true);
  scene.remote.lost = true;
  const Result<MeasureReport> report = scene.Measure();
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().code == ErrorCode::kRunFailed);
  CHECK(report.error().id == "remote.lost");
  CHECK(scene.Failures() == 0);
  CHECK(scene.remote.live_bytes == 0);
}

TEST_CASE("MeasureDevice, WhatTheDeviceRefusesIsKeptWhatItFailsIsNot", "[profiler]") {
  for (const ErrorCode code : {ErrorCode::kInvalidInput, ErrorCode::kRunFailed}) {
    CAPTURE(ErrorCodeName(code));
    ProbeScene scene(true);
    std::erase_if(scene.candidates,
                  [&](const Candidate& c) { return scene.machine->platform().unit_class(c.unit_class).on_host(); });
    scene.probe.run_error = code;
    const Result<MeasureReport> report = scene.Measure();
    REQUIRE(report.ok());
    const bool refused = code == ErrorCode::kInvalidInput;
    CHECK(report->failed == (refused ? 2U : 0U));
    CHECK(report->skipped == (refused ? 0U : 2U));
    CHECK(scene.remote.live_bytes == 0);
  }
}

}  // namespace
}  // namespace pt::measure_device_test
