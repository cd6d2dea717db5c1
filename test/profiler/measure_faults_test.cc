// What a measurement makes of errors: only what a kernel says of itself may be remembered.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "lib/profiler/fault.h"
#include "partitiontuner/cost/needed_keys.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "test/profiler/probe_scene.h"

namespace pt::measure_faults_test {
namespace {

using testing::ProbeScene;

TEST_CASE("VerdictOf, OnlyAKernelCanSayThatItCannotRun", "[profiler]") {
  for (const Origin origin : {Origin::kKernel, Origin::kDevice}) {
    CHECK(VerdictOf(origin, ErrorCode::kUnsupported) == Verdict::kCannotRun);
    CHECK(VerdictOf(origin, ErrorCode::kInvalidInput) == Verdict::kCannotRun);
    for (const ErrorCode code : {ErrorCode::kOutOfMemory, ErrorCode::kInternal, ErrorCode::kDeviceUnusable}) {
      CHECK(VerdictOf(origin, code) == Verdict::kNotNow);
    }
  }
  CHECK(VerdictOf(Origin::kKernel, ErrorCode::kRunFailed) == Verdict::kCannotRun);
  CHECK(VerdictOf(Origin::kDevice, ErrorCode::kRunFailed) == Verdict::kNotNow);
  for (const ErrorCode code : {ErrorCode::kInvalidInput, ErrorCode::kUnsupported, ErrorCode::kRunFailed,
                               ErrorCode::kInternal, ErrorCode::kUsage, ErrorCode::kStale}) {
    CHECK(VerdictOf(Origin::kElsewhere, code) == Verdict::kEnd);
  }
  CHECK(VerdictOf(Origin::kElsewhere, ErrorCode::kOutOfMemory) == Verdict::kNotNow);
  for (const Origin origin : {Origin::kKernel, Origin::kDevice, Origin::kElsewhere}) {
    CHECK(VerdictOf(origin, ErrorCode::kInterrupted) == Verdict::kStopped);
  }
}

// Keys of candidates: alone, and of some beside others.
size_t KeysOfCandidates(const ProbeScene& scene) {
  const auto needed =
      NeededKeys(scene.graph, MeasuredPlatform(*scene.machine), scene.candidates, LibraryVersions(*scene.machine));
  return static_cast<size_t>(std::count_if(needed.begin(), needed.end(), [](const NeededKey& key) {
    return key.kind == &kRunKind || key.kind == &kBesideMemoryKind || key.kind == &kBesideComputeKind;
  }));
}

TEST_CASE("Measure, ARefusalOfTheKernelIsKept", "[profiler]") {
  for (const int stage : {0, 1, 2}) {
    CAPTURE(stage);
    ProbeScene scene(false);
    if (stage == 0) scene.probe.compile_error = ErrorCode::kUnsupported;
    if (stage == 1) scene.probe.bind_error = ErrorCode::kInvalidInput;
    if (stage == 2) scene.probe.run_error = ErrorCode::kRunFailed;
    const Result<MeasureReport> report = scene.Measure();
    REQUIRE(report.ok());
    CHECK(report->failed == KeysOfCandidates(scene));
    CHECK(report->skipped == 0);
    CHECK(report->missing == 0);
    CHECK(scene.Failures() == KeysOfCandidates(scene));
    const int compiled = scene.probe.compiled;
    CHECK(scene.Measure()->measured == 0);
    CHECK(scene.probe.compiled == compiled);
  }
}

TEST_CASE("Measure, WhatSaysNothingAboutTheKernelIsTriedAgain", "[profiler]") {
  for (const ErrorCode code : {ErrorCode::kOutOfMemory, ErrorCode::kInternal, ErrorCode::kDeviceUnusable}) {
    for (const bool late : {false, true}) {  // late: after the first samples, among the finalists
      CAPTURE(ErrorCodeName(code), late);
      ProbeScene scene(false);
      (late ? scene.probe.run_error : scene.probe.compile_error) = code;
      scene.probe.first_failing_run = late ? 40 : 0;
      scene.options.min_samples = 60;
      scene.options.max_time_per_key = std::chrono::seconds(10);
      const Result<MeasureReport> report = scene.Measure();
      REQUIRE(report.ok());
      CHECK(report->skipped > 0);
      CHECK(report->missing == report->skipped);
      CHECK(report->failed == 0);
      CHECK(report->skip_reason.find("told to fail") != std::string::npos);
      CHECK(scene.Failures() == 0);

      scene.probe.run_error = scene.probe.compile_error = std::nullopt;
      const Result<MeasureReport> again = scene.Measure();
      REQUIRE(again.ok());
      CHECK(again->measured == report->missing);
      CHECK(again->missing == 0);
    }
  }
}

TEST_CASE("Measure, AnUnusableLockEndsWithItsErrorAndStoresNothing", "[profiler]") {
  ProbeScene scene(false);
  REQUIRE(mkdir(scene.locks.lock_file("cpu").c_str(), 0755) == 0);
  const Result<MeasureReport> report = scene.Measure();
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().id == "profiler.lock");
  CHECK(report.error().file == scene.locks.lock_file("cpu"));
  CHECK(scene.All().empty());
}

// However short: a second run in a row would find its constants where the first has left them.
TEST_CASE("Measure, EverySampleFindsItsMemoryAsItsKeySays", "[profiler]") {
  ProbeScene scene(false);
  REQUIRE(scene.Measure().ok());
  CHECK(scene.probe.runs > 0);
  CHECK(scene.probe.used_outputs == 0);
  CHECK(scene.probe.unset_inputs == 0);
}

TEST_CASE("Measure, AForeignLibraryIsTheCallersMistake", "[profiler]") {
  ProbeScene scene(false);
  for (Candidate& candidate : scene.candidates) candidate.library = "elsewhere";
  const Result<MeasureReport> report = scene.Measure();
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().code == ErrorCode::kUsage);
  CHECK(scene.Failures() == 0);
}

}  // namespace
}  // namespace pt::measure_faults_test
