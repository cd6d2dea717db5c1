#include "partitiontuner/profiler/measure.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/graph/graph_builder.h"
#include "test/cost/sample_problem.h"

namespace pt::measure_test {
namespace {

// Convolution, activation, pooling and a residual: singles, groups and several layouts.
Graph SmallGraph() {
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueType type = StaticType(DataType::kFloat32, {1, 16, 12, 12});
  const ValueId x = builder.AddInput("x", type);
  const auto conv = [&](ValueId in, const char* name) {
    const ValueId w =
        builder.AddConstant(name, Tensor::Float32({16, 16, 3, 3}, std::vector<float>(16 * 16 * 9, 0.01F)));
    return builder.AddOp("Conv", {in, w}, type, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  };
  const ValueId a = builder.AddOp("Relu", {conv(x, "w1")}, type);
  const ValueId b = builder.AddOp("Add", {conv(a, "w2"), x}, type);
  const ValueId p =
      builder.AddOp("MaxPool", {builder.AddOp("Relu", {b}, type)}, StaticType(DataType::kFloat32, {1, 16, 6, 6}),
                    {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  builder.AddOutput(p);
  return builder.Build().value();
}

struct Scene {
  explicit Scene(MachineOptions options = {}) : graph(SmallGraph()), machine(Machine::Make(options).value()) {
    candidates = EnumerateCandidates(graph, machine->platform(), machine->libraries());
    std::erase_if(candidates, [](const Candidate& c) { return c.library == "reference"; });
    fast.max_time_per_key = std::chrono::milliseconds(5);
    fast.max_noise = 0.5;
    fast.watch_hand_overs = false;  // what other tests on this machine may change at any time
  }
  Result<MeasureReport> Measure(ProfileDb& db, const MeasureOptions& options, const ProgressCallback& progress = {}) {
    return MeasureProfile(graph, candidates, *machine, db, options, progress);
  }

  Graph graph;
  std::unique_ptr<Machine> machine;
  std::vector<Candidate> candidates;
  MeasureOptions fast;
};

TEST_CASE("Measure, EveryNeededKeyOnceThenNothing", "[profiler]") {
  const TemporaryFolder folder;
  Scene scene;
  ProfileDb db = ProfileDb::Open(folder.file("profile.db")).value();
  REQUIRE(scene.candidates.size() > 20);
  size_t calls = 0, last_done = 0;
  const Result<MeasureReport> first = scene.Measure(db, scene.fast, [&](const MeasureProgress& progress) {
    ++calls;
    CHECK(progress.done == last_done + 1);
    last_done = progress.done;
    CHECK(progress.done <= progress.total);
    CHECK_FALSE(progress.current.empty());
  });
  REQUIRE(first.ok());
  CHECK(first->needed > scene.candidates.size() / 2);
  CHECK(first->measured == first->needed);
  CHECK(calls == first->needed);
  CHECK(first->missing == 0);
  CHECK(first->failed == 0);
  CHECK_FALSE(first->interrupted);

  const Result<MeasureReport> again =
      scene.Measure(db, scene.fast, [](const MeasureProgress&) { FAIL("measured again"); });
  REQUIRE(again.ok());
  CHECK(again->reused == first->needed);
  CHECK(again->measured == 0);

  // A planner that accepts no estimates finds a cost for everything.
  Profile profile;
  profile.measurements = db.All().value();
  ProfiledCostsOptions options;
  options.library_versions = LibraryVersions(*scene.machine);
  options.allow_estimates = false;
  const auto costs = MakeProfiledCosts(scene.graph, scene.machine->platform(), profile, options);
  for (const Candidate& candidate : scene.candidates) {
    const std::optional<Estimate> cost = costs->OfStep(candidate).run;
    REQUIRE(cost.has_value());
    CHECK(cost->ns > 0);
    CHECK(cost->provenance == Provenance::kMeasured);
    CHECK(cost->reference_ns > 0);
  }
  for (const auto& [hash, m] : profile.measurements) {
    CHECK(m.failure.empty());
    CHECK(m.samples > 0);
    CHECK_FALSE(m.family.empty());
    CHECK(m.device == scene.machine->platform().devices[0].fingerprint);
    CHECK(m.reference_ns > 0);
  }
}

TEST_CASE("Measure, ShardsHaveEveryDecisionOnce", "[profiler]") {
  const TemporaryFolder folder;
  Scene scene;
  std::map<Hash128, Measurement> together;
  size_t needed = 0;
  for (uint32_t index = 0; index < 3; ++index) {
    ProfileDb db = ProfileDb::Open(folder.file("shard" + std::to_string(index))).value();
    MeasureOptions options = scene.fast;
    options.shard = {index, 3};
    const Result<MeasureReport> report = scene.Measure(db, options);
    REQUIRE(report.ok());
    CHECK(report->measured == report->needed);
    CHECK(report->missing == 0);
    needed += report->needed;
    const std::map<Hash128, Measurement> rows = db.All().value();
    CHECK(rows.size() == report->needed);
    for (const auto& [hash, row] : rows) CHECK(together.emplace(hash, row).second);
  }
  const auto keys =
      NeededKeys(scene.graph, MeasuredPlatform(*scene.machine), scene.candidates, LibraryVersions(*scene.machine));
  CHECK(needed == keys.size());
  // All ways to do the same work are in one shard.
  std::map<std::string, uint32_t> shard_of;
  for (const NeededKey& key : keys) {
    uint32_t homes = 0;
    for (uint32_t index = 0; index < 3; ++index) {
      if (!IsInShard(scene.graph, scene.candidates, key, {index, 3})) continue;
      ++homes;
      if (key.kind != &kRunKind) continue;
      const std::string work = WorkSignature(scene.graph, scene.candidates[key.candidate().candidate].nodes);
      CHECK(shard_of.emplace(work, index).first->second == index);
    }
    CHECK(homes == 1);
  }
  // Put together they are the profile of one machine.
  ProfileDb joined = ProfileDb::Open(folder.file("joined")).value();
  Profile profile;
  profile.measurements = together;
  REQUIRE(joined.Import(profile).ok());
  const Result<MeasureReport> rest =
      scene.Measure(joined, scene.fast, [](const MeasureProgress&) { FAIL("measured again"); });
  REQUIRE(rest.ok());
  CHECK(rest->reused == keys.size());
}

TEST_CASE("Measure, CostsOfSlowHandOversAreMeasuredAgain", "[profiler]") {
  Scene scene;
  const Platform& platform = scene.machine->platform();
  const std::vector<UnitId> cores = SingleCoreUnits(platform);
  if (cores.size() < 2) SKIP("one core: nothing is handed over");
  const TemporaryFolder folder;
  ProfileDb db = ProfileDb::Open(folder.file("profile.db")).value();
  const MeasureReport first = scene.Measure(db, scene.fast).value();
  const MeasurementKey wait =
      WaitKey(platform, platform.unit(cores.front()).unit_class, platform.unit(cores.back()).unit_class);
  const std::map<Hash128, Measurement> rows = db.All().value();
  const auto of_executor = static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const auto& row) {
    const std::string& family = row.second.family;
    return family == "overhead" || family == "wait" || family == "fetch";
  }));
  REQUIRE(of_executor > 0);
  MeasureOptions watching = scene.fast;
  watching.watch_hand_overs = true;
  const auto measured_after = [&](int64_t ns) {
    Measurement row = rows.at(wait.hash);
    row.median_ns = ns;
    REQUIRE(db.Put(wait, row).ok());
    return scene.Measure(db, watching).value().measured;
  };
  constexpr int64_t kSecond = 1'000'000'000;
  CHECK(measured_after(1) == 0);
  CHECK(measured_after(kSecond) == of_executor);
  CHECK(db.All().value().at(wait.hash).median_ns < kSecond);
}

TEST_CASE("Measure, CancelledKeepsWhatItHasAndResumes", "[profiler]") {
  const TemporaryFolder folder;
  Scene scene;
  ProfileDb db = ProfileDb::Open(folder.file("profile.db")).value();
  CancelToken cancel;
  MeasureOptions options = scene.fast;
  options.cancel = &cancel;
  const Result<MeasureReport> stopped = scene.Measure(db, options, [&](const MeasureProgress& progress) {
    if (progress.done == 5) cancel.Cancel();
  });
  REQUIRE(stopped.ok());
  CHECK(stopped->interrupted);
  CHECK(stopped->measured >= 5);
  CHECK(stopped->missing > 0);
  CHECK(stopped->measured + stopped->missing + stopped->failed == stopped->needed);
  CHECK(db.All()->size() == stopped->measured);

  cancel.Reset();
  const Result<MeasureReport> resumed = scene.Measure(db, options);
  REQUIRE(resumed.ok());
  CHECK(resumed->reused == stopped->measured);
  CHECK(resumed->measured == stopped->missing);
  CHECK(resumed->missing == 0);
}

TEST_CASE("Measure, ASpentBudgetLeavesAValidReport", "[profiler]") {
  const TemporaryFolder folder;
  Scene scene;
  ProfileDb db = ProfileDb::Open(folder.file("profile.db")).value();
  MeasureOptions options = scene.fast;
  options.budget = std::chrono::nanoseconds(1);
  const Result<MeasureReport> report = scene.Measure(db, options);
  REQUIRE(report.ok());
  CHECK(report->out_of_budget);
  CHECK(report->missing == report->needed);
  CHECK(db.All()->empty());
}

// A network of large convolutions with a small pooling behind: by weight alone this would come last, and a budget that
// ends before could not even estimate it.
TEST_CASE("Measure, EveryOperatorHasItsTurnBeforeTheRestByWeight", "[profiler]") {
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueType type = StaticType(DataType::kFloat32, {1, 16, 24, 24});
  ValueId x = builder.AddInput("x", type);
  for (const int64_t kernel : {7, 5, 3}) {
    const auto count = static_cast<size_t>(16 * 16 * kernel * kernel);
    const Tensor filters = Tensor::Float32({16, 16, kernel, kernel}, std::vector<float>(count, 0.01F));
    const int64_t pad = kernel / 2;
    x = builder.AddOp("Conv", {x, builder.AddConstant("w" + std::to_string(kernel), filters)}, type,
                      {{"pads", std::vector<int64_t>{pad, pad, pad, pad}}});
  }
  builder.AddOutput(builder.AddOp("GlobalMaxPool", {x}, StaticType(DataType::kFloat32, {1, 16, 1, 1})));
  Scene scene;
  scene.graph = builder.Build().value();
  scene.candidates = EnumerateCandidates(scene.graph, scene.machine->platform(), scene.machine->libraries());
  const TemporaryFolder folder;
  ProfileDb db = ProfileDb::Open(folder.file("profile.db")).value();
  std::vector<std::string> seen;
  REQUIRE(
      scene.Measure(db, scene.fast, [&](const MeasureProgress& progress) { seen.push_back(progress.current); }).ok());
  const auto first_of = [&](const std::string& node) {
    return std::ranges::find_if(seen, [&](const std::string& label) { return label.find(node) != std::string::npos; }) -
           seen.begin();
  };
  INFO(seen[0] << "; " << seen.back());
  CHECK(first_of("GlobalMaxPool (#3)") < first_of("Conv (#0)"));
  CHECK(first_of("Conv (#0)") < first_of("Conv (#1)"));
  CHECK(first_of("Conv (#1)") < first_of("Conv (#2)"));
}

TEST_CASE("Measure, RefreshMeasuresWhatMatchesAgain", "[profiler]") {
  const TemporaryFolder folder;
  Scene scene;
  ProfileDb db = ProfileDb::Open(folder.file("profile.db")).value();
  REQUIRE(scene.Measure(db, scene.fast).ok());
  MeasureOptions options = scene.fast;
  options.refresh = "*MaxPool*";
  const Result<MeasureReport> report = scene.Measure(db, options);
  REQUIRE(report.ok());
  CHECK(report->measured > 0);
  CHECK(report->reused > report->measured);
  CHECK(report->measured + report->reused == report->needed);
}

TEST_CASE("Measure, TwoProcessesShareOneDatabase", "[profiler]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("profile.db");
  std::vector<pid_t> children;
  for (int p = 0; p < 2; ++p) {
    const pid_t child = fork();  // before any thread of a machine exists
    REQUIRE(child >= 0);
    if (child == 0) {
      Scene scene;
      Result<ProfileDb> db = ProfileDb::Open(path);
      if (!db.ok()) _exit(1);
      const Result<MeasureReport> report = scene.Measure(*db, scene.fast);
      _exit(report.ok() && report->missing == 0 && report->failed == 0 ? 0 : 2);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  Scene scene;
  ProfileDb db = ProfileDb::Open(path).value();
  CHECK(scene.Measure(db, scene.fast)->measured == 0);
}

}  // namespace
}  // namespace pt::measure_test
