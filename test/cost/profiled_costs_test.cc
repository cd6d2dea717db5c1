#include "partitiontuner/cost/profiled_costs.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <set>
#include <thread>

#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/needed_keys.h"
#include "test/cost/sample_problem.h"

namespace pt::profiled_costs_test {
namespace {

constexpr UnitClassId kNarrow(0u), kWide(1u), kSimulatedClass(2u);
const std::map<std::string, std::string> kVersions = {{"onednn", "3.7"}, {"reference", "1"}};

MeasurementKey KeyOf(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  return CostKey(graph, platform, candidate, "1", ReuseDistance(graph, platform));
}

void Add(Profile& profile, const MeasurementKey& key, int64_t ns, std::string family = "Relu",
         std::string unit_class = "cpu/1", std::string library = "reference", double bytes = 0) {
  Measurement m = SampleMeasurement(key.text, ns);
  m.family = std::move(family);
  m.unit_class = std::move(unit_class);
  m.library = std::move(library);
  m.flops = bytes / 8;
  m.bytes = bytes;
  profile.measurements[key.hash] = m;
}

TEST_CASE("ProfiledCosts, ExactByContentWhereverTheCandidateLies", "[cost]") {
  const Platform platform = SamplePlatform();
  const Graph graph = IndependentRelus(3);
  std::vector<Candidate> candidates;
  for (uint32_t n = 0; n < 3; ++n) candidates.push_back(RunsAlone(graph, NodeId(n), n == 1 ? kWide : kNarrow));
  Profile profile;
  for (int64_t n = 0; n < 2; ++n) {
    Add(profile, KeyOf(graph, platform, candidates[static_cast<size_t>(n)]), 100 + n);
  }
  ProfiledCostsOptions options;
  options.library_versions = kVersions;
  options.allow_estimates = false;
  for (const auto& [listed, at_once] : {std::pair(false, true), std::pair(true, false), std::pair(true, true)}) {
    options.candidates = listed ? std::span<const Candidate>(candidates) : std::span<const Candidate>();
    options.look_up_at_once = at_once;
    const auto costs = MakeProfiledCosts(graph, platform, profile, options);
    for (int repeat = 0; repeat < 2; ++repeat) {
      REQUIRE(costs->OfStep(candidates[0]).run.has_value());
      CHECK(costs->OfStep(candidates[0]).run->ns == 100);
      CHECK(costs->OfStep(candidates[0]).run->provenance == Provenance::kMeasured);
      CHECK(costs->OfStep(candidates[1]).run->ns == 101);
      CHECK_FALSE(costs->OfStep(candidates[2]).run.has_value());  // never measured: cannot run, never free
      const Candidate copy = candidates[1];
      CHECK(costs->OfStep(copy).run->ns == 101);
      Candidate other = candidates[1];
      other.unit_class = kNarrow;
      CHECK_FALSE(costs->OfStep(other).run.has_value());
      other = candidates[0];
      other.variant = "other";
      CHECK_FALSE(costs->OfStep(other).run.has_value());
      other = candidates[0];
      other.library = "unheard of";
      CHECK_FALSE(costs->OfStep(other).run.has_value());
    }
  }
}

TEST_CASE("ProfiledCosts, OfAnEmptyProfileKnowOnlyWhatNoProfileHolds", "[cost]") {
  const Platform platform = SamplePlatform();
  const Graph graph = IndependentRelus(2);
  const std::vector<Candidate> candidates = {RunsAlone(graph, NodeId(0u), kNarrow),
                                             RunsAlone(graph, NodeId(1u), kWide)};
  ProfiledCostsOptions options;
  options.library_versions = kVersions;
  options.candidates = candidates;
  for (const bool at_once : {false, true}) {
    options.look_up_at_once = at_once;
    const auto costs = MakeProfiledCosts(graph, platform, {}, options);
    for (const Candidate& candidate : candidates) CHECK_FALSE(costs->OfStep(candidate).run.has_value());
  }
}

TEST_CASE("ProfiledCosts, AFailureCannotRunEvenWithEstimates", "[cost]") {
  const Platform platform = SamplePlatform();
  const Graph graph = IndependentRelus(1);
  const Candidate candidate = RunsAlone(graph, NodeId(0u), kNarrow);
  Profile profile;
  const MeasurementKey key = KeyOf(graph, platform, candidate);
  Measurement m = SampleMeasurement(key.text, 0);
  m.samples = 0;
  m.failure = "no";
  profile.measurements[key.hash] = m;
  ProfiledCostsOptions options;
  options.library_versions = kVersions;
  CHECK_FALSE(MakeProfiledCosts(graph, platform, profile, options)->OfStep(candidate).run.has_value());
}

TEST_CASE("ProfiledCosts, FamilyFitAnswersTheUnmeasuredAndSaysSo", "[cost]") {
  const Platform platform = SamplePlatform();
  const Graph graph = IndependentRelus(13);
  Profile profile;
  // 2 µs and 4 bytes a nanosecond; node 12 stays unmeasured, and so does everything on the wide unit.
  const auto law = [](double bytes) { return 2000 + bytes / 4; };
  for (uint32_t n = 0; n < 12; ++n) {
    const Candidate c = RunsAlone(graph, NodeId(n), kNarrow);
    const double bytes = WorkSizeOf(graph, c.nodes).bytes;
    Add(profile, KeyOf(graph, platform, c), std::llround(law(bytes)), "Relu", "cpu/1", "reference", bytes);
  }
  ProfiledCostsOptions options;
  options.library_versions = kVersions;
  const auto costs = MakeProfiledCosts(graph, platform, profile, options);
  const Candidate unmeasured = RunsAlone(graph, NodeId(12u), kNarrow);
  const std::optional<Estimate> estimate = costs->OfStep(unmeasured).run;
  REQUIRE(estimate.has_value());
  CHECK(estimate->provenance == Provenance::kEstimated);
  CHECK(estimate->relative_error < 0.05);
  const double expected = law(WorkSizeOf(graph, unmeasured.nodes).bytes);
  CHECK(std::abs(static_cast<double>(estimate->ns) / expected - 1) < 0.05);
  CHECK_FALSE(costs->OfStep(RunsAlone(graph, NodeId(12u), kWide)).run.has_value());
  CHECK_FALSE(costs->OfStep(RunsAlone(graph, NodeId(12u), kNarrow, "onednn")).run.has_value());
  options.allow_estimates = false;
  CHECK_FALSE(MakeProfiledCosts(graph, platform, profile, options)->OfStep(unmeasured).run.has_value());
}

TEST_CASE("ProfiledCosts, TimesOfAnotherProcessorAreNoSamples", "[cost]") {
  const Platform platform = SamplePlatform();
  Platform other = platform;
  other.devices[0].fingerprint = "processor B";
  const Graph graph = IndependentRelus(13);
  Profile profile;
  for (uint32_t n = 0; n < 12; ++n) {
    const Candidate c = RunsAlone(graph, NodeId(n), kNarrow);
    const double bytes = WorkSizeOf(graph, c.nodes).bytes;
    Add(profile, KeyOf(graph, platform, c), 1000, "Relu", "cpu/1", "reference", bytes);
  }
  ProfiledCostsOptions options;
  options.library_versions = kVersions;
  CHECK(MakeProfiledCosts(graph, platform, profile, options)
            ->OfStep(RunsAlone(graph, NodeId(0u), kNarrow))
            .run.has_value());
  CHECK_FALSE(
      MakeProfiledCosts(graph, other, profile, options)->OfStep(RunsAlone(graph, NodeId(0u), kNarrow)).run.has_value());
}

TEST_CASE("ProfiledCosts, AFitNeverMixesMathModes", "[cost]") {
  const Platform platform = SamplePlatform();
  const Graph graph = IndependentRelus(13);
  Profile profile;
  // bf16 takes a quarter of the time.
  const auto law = [](double bytes, MathMode math) {
    return (2000 + bytes / 4) * (math == MathMode::kBf16 ? 0.25 : 1);
  };
  const auto candidate_of = [&](uint32_t n, MathMode math) {
    Candidate c = RunsAlone(graph, NodeId(n), kNarrow);
    c.math = math;
    return c;
  };
  for (const MathMode math : {MathMode::kFp32, MathMode::kBf16}) {
    for (uint32_t n = 0; n < 12; ++n) {
      const Candidate c = candidate_of(n, math);
      const double bytes = WorkSizeOf(graph, c.nodes).bytes;
      const MeasurementKey key = KeyOf(graph, platform, c);
      Add(profile, key, std::llround(law(bytes, math)), "Relu", "cpu/1", "reference", bytes);
      profile.measurements.at(key.hash).math = MathModeName(math);
    }
  }
  ProfiledCostsOptions options;
  options.library_versions = kVersions;
  const auto costs = MakeProfiledCosts(graph, platform, profile, options);
  for (const MathMode math : {MathMode::kFp32, MathMode::kBf16}) {
    const Candidate unmeasured = candidate_of(12, math);
    const double expected = law(WorkSizeOf(graph, unmeasured.nodes).bytes, math);
    const std::optional<Estimate> estimate = costs->OfStep(unmeasured).run;
    REQUIRE(estimate.has_value());
    CHECK(std::abs(static_cast<double>(estimate->ns) / expected - 1) < 0.05);
  }
  CHECK_FALSE(costs->OfStep(candidate_of(12, MathMode::kInt8)).run.has_value());
}

TEST_CASE("ProfiledCosts, TimesOfAnotherMethodAreNoSamples", "[cost]") {
  const Platform platform = SamplePlatform();
  const Graph graph = IndependentRelus(13);
  const std::string field = " | method " + std::to_string(kMeasurementMethodVersion);
  for (const bool same_method : {true, false}) {
    Profile profile;
    for (uint32_t n = 0; n < 12; ++n) {
      const Candidate c = RunsAlone(graph, NodeId(n), kNarrow);
      std::string text = KeyOf(graph, platform, c).text;
      CHECK(IsOfThisMethod(text));
      if (!same_method) text.replace(text.find(field), field.size(), field + "0");  // ten times as high a version
      CHECK(IsOfThisMethod(text) == same_method);
      Add(profile, SampleKey(text), 1000, "Relu", "cpu/1", "reference", WorkSizeOf(graph, c.nodes).bytes);
    }
    ProfiledCostsOptions options;
    options.library_versions = kVersions;
    const auto costs = MakeProfiledCosts(graph, platform, profile, options);
    CHECK(costs->OfStep(RunsAlone(graph, NodeId(12u), kNarrow)).run.has_value() == same_method);
  }
}

TEST_CASE("ProfiledCosts, SimulatedCopiesFollowThePlatformFile", "[cost]") {
  const Platform platform = SamplePlatform(true);
  const Graph graph = IndependentRelus(1);
  ProfiledCostsOptions options;
  options.library_versions = kVersions;
  const auto costs = MakeProfiledCosts(graph, platform, {}, options);
  CHECK(costs->Copy(0, LinkId(0u)).ns == 1000);
  CHECK(costs->Copy(4000, LinkId(0u)).ns == 3000);
  CHECK(costs->Copy(4000, LinkId(1u)).ns == 11000);
  CHECK(costs->Copy(4000, LinkId(1u)).provenance == Provenance::kSimulated);
  CHECK(costs->OfClass(kSimulatedClass).overhead.ns == 0);
  CHECK(costs->OfPair(kNarrow, kSimulatedClass).wait.ns == 0);
  // Nothing was measured on the host: an estimate, never free.
  CHECK(costs->OfClass(kNarrow).overhead.ns > 0);
  CHECK(costs->OfClass(kNarrow).overhead.provenance == Provenance::kEstimated);
  CHECK(costs->OfPair(kNarrow, kWide).wait.ns > 0);
  const Form row{RowMajor(2), DataType::kFloat32};
  CHECK_FALSE(costs->Reorder(std::vector<int64_t>{4, 4}, row, {Layout{{1, 0}, {}}, DataType::kFloat32}, kSimulatedClass)
                  .has_value());
}

TEST_CASE("ProfiledCosts, LaunchesOfSegmentsLieOnALineThroughBothSizes", "[cost]") {
  Platform platform = SamplePlatform(true);
  platform.devices[1].simulated = false;
  platform.simulated.clear();
  const Graph graph = IndependentRelus(1);
  const auto segments = [&](const Profile& profile) {
    ProfiledCostsOptions options;
    options.library_versions = kVersions;
    return MakeProfiledCosts(graph, platform, profile, options)->OfDevice(DeviceId(1u)).segments;
  };
  const auto needed_keys = [&] {
    std::vector<NeededKey> keys = NeededKeys(graph, platform, {}, kVersions);
    std::erase_if(keys, [](const NeededKey& key) { return key.kind != &kSegmentKind; });
    return keys;
  };
  CHECK(needed_keys().empty());  // of a device that records nothing
  platform.devices[1].captures = true;
  const std::vector<NeededKey> needed = needed_keys();
  REQUIRE(needed.size() == 2);
  CHECK(needed[0].of_class().steps == 2);
  CHECK(needed[1].of_class().steps == 34);
  Profile profile;
  CHECK_FALSE(segments(profile));  // of an older release: nothing is made up
  Add(profile, needed[0].key, 9'000, "segment", "any", "");
  CHECK_FALSE(segments(profile));
  Add(profile, needed[1].key, 9'000 + 32 * 250, "segment", "any", "");
  REQUIRE(segments(profile));
  CHECK(segments(profile)->ns(2) == 9'000);
  CHECK(segments(profile)->ns(34) == 17'000);
  CHECK(segments(profile)->ns(100) == 8'500 + 25'000);
  CHECK(segments(profile)->provenance == Provenance::kMeasured);
  // Noise never makes more steps cheaper.
  Profile noisy;
  Add(noisy, needed[0].key, 9'000, "segment", "any", "");
  Add(noisy, needed[1].key, 8'900, "segment", "any", "");
  CHECK(segments(noisy)->ns(100) == 9'000);
  Profile failed = profile;
  failed.measurements.at(needed[1].key.hash).failure = "the device does not record";
  CHECK_FALSE(segments(failed));
}

TEST_CASE("ProfiledCosts, LettingAStreamWaitTakesWhatWasMeasuredOrNothing", "[cost]") {
  Platform platform = SamplePlatform(true);
  const Graph graph = IndependentRelus(1);
  const auto keys = [&] {
    std::vector<NeededKey> keys = NeededKeys(graph, platform, {}, kVersions);
    std::erase_if(keys, [](const NeededKey& key) { return key.kind != &kStreamWaitKind; });
    return keys;
  };
  CHECK(keys().empty());  // the file of a simulated device says nothing of it
  platform.devices[1].simulated = false;
  platform.simulated.clear();
  REQUIRE(keys().size() == 1);
  CHECK(keys()[0].key.text == "stream wait | sim:0 | rates B | method 5");
  ProfiledCostsOptions options;
  options.library_versions = kVersions;
  Profile profile;
  CHECK(MakeProfiledCosts(graph, platform, profile, options)->OfDevice(DeviceId(1u)).stream_wait_ns == 0);
  Add(profile, keys()[0].key, 700, "stream wait", "sim:0", "");
  CHECK(MakeProfiledCosts(graph, platform, profile, options)->OfDevice(DeviceId(1u)).stream_wait_ns == 700);
  CHECK(MakeProfiledCosts(graph, platform, profile, options)->OfDevice(kHostDevice).stream_wait_ns == 0);
}

TEST_CASE("ProfiledCosts, FetchingIsInterpolatedFromNothingAndEndsWithTheCaches", "[cost]") {
  const Platform platform = SamplePlatform();
  const Graph graph = IndependentRelus(1);
  ProfiledCostsOptions options;
  options.library_versions = kVersions;
  Profile profile;
  for (uint64_t bytes = 1 << 10; bytes <= uint64_t{4} << 20; bytes *= 4) {
    Add(profile, FetchKey(platform, kNarrow, kWide, bytes), static_cast<int64_t>(bytes / 16), "fetch", "", "");
  }
  const auto costs = MakeProfiledCosts(graph, platform, profile, options);
  CHECK(costs->OfPair(kNarrow, kWide).fetch.ns(0) == 0);
  CHECK(costs->OfPair(kNarrow, kWide).fetch.ns(512) == 32);
  CHECK(costs->OfPair(kNarrow, kWide).fetch.ns(100'000) == 6250);
  CHECK(costs->OfPair(kNarrow, kWide).fetch.provenance == Provenance::kMeasured);
  CHECK(costs->OfPair(kNarrow, kWide).fetch.ns(uint64_t{1} << 30) == 262'144);
  // Never measured: for nothing, and said to be a guess.
  CHECK(costs->OfPair(kWide, kNarrow).fetch.ns(100'000) == 0);
  CHECK(costs->OfPair(kWide, kNarrow).fetch.provenance == Provenance::kEstimated);
}

// Two Relus of a value each that Relus before them make: 4 KiB, and 4 MiB, another magnitude.
TEST_CASE("ProfiledCosts, AClassFeelsTheShareOfFetchingThatOneOfItDoes", "[cost]") {
  const Platform platform = SamplePlatform();
  GraphBuilder builder;
  for (const int64_t elements : {int64_t{1} << 10, int64_t{1} << 20}) {
    const ValueType type = StaticType(DataType::kFloat32, {elements});
    const ValueId in = builder.AddInput("x" + std::to_string(elements), type);
    builder.AddOutput(builder.AddOp("Relu", {builder.AddOp("Relu", {in}, type)}, type));
  }
  const Graph graph = builder.Build().value();
  std::vector<Candidate> candidates;
  for (const uint32_t node : {0u, 1u, 3u}) candidates.push_back(RunsAlone(graph, NodeId(node), kNarrow));
  const auto costs_if = [&](int64_t longer_ns) {
    Profile profile;
    for (uint64_t bytes = 1 << 10; bytes <= uint64_t{4} << 20; bytes *= 4) {
      Add(profile, FetchKey(platform, kNarrow, kNarrow, bytes), static_cast<int64_t>(bytes / 16), "fetch", "", "");
    }
    const MeasurementKey key = FetchedKey(KeyOf(graph, platform, candidates[1]), platform, kNarrow);
    Add(profile, key, longer_ns, "fetched inputs");
    ProfiledCostsOptions options;
    options.library_versions = kVersions;
    options.candidates = candidates;
    return MakeProfiledCosts(graph, platform, profile, options);
  };
  const auto costs = costs_if(64);  // 256 would be all
  CHECK(costs->OfStep(candidates[1]).fetch_share == 0.25);
  const Candidate copy = candidates[1];
  CHECK(costs->OfStep(copy).fetch_share == 0.25);
  CHECK(costs->OfStep(candidates[0]).fetch_share == 1);  // reads what is the caller's: fetches nothing
  CHECK(costs->OfStep(candidates[2]).fetch_share == 1);  // of another magnitude: not measured
  CHECK(costs_if(512)->OfStep(candidates[1]).fetch_share == 2);
  CHECK(costs_if(1'000'000)->OfStep(candidates[1]).fetch_share == 4);  // noise
}

TEST_CASE("ProfiledCosts, MeasuredCopiesAreInterpolated", "[cost]") {
  Platform platform = SamplePlatform(true);
  platform.devices[1].simulated = false;
  platform.devices[1].kind = "cuda";
  const Graph graph = IndependentRelus(1);
  ProfiledCostsOptions options;
  options.library_versions = kVersions;
  Profile profile;
  for (uint64_t bytes = 256; bytes <= uint64_t{64} << 20; bytes *= 4) {
    Add(profile, CopyKey(platform, LinkId(0u), bytes), static_cast<int64_t>(5000 + bytes / 8), "copy", "", "");
  }
  const auto costs = MakeProfiledCosts(graph, platform, profile, options);
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{256}, uint64_t{100'000}, uint64_t{1} << 28}) {
    const Estimate estimate = costs->Copy(bytes, LinkId(0u));
    const double expected = 5000 + static_cast<double>(bytes) / 8;
    CHECK(std::abs(static_cast<double>(estimate.ns) / expected - 1) < 0.02);
    CHECK(estimate.provenance == Provenance::kMeasured);
  }
  CHECK(costs->Copy(1, LinkId(1u)).provenance == Provenance::kEstimated);  // the other direction: never measured
  CHECK(costs->Copy(1, LinkId(1u)).ns > 0);
}

// Random candidates over a random chain: whatever a planner may ask about them is among the needed keys.
TEST_CASE("NeededKeys, APlannerMissesNothingThatWasMeasured", "[cost]") {
  const uint32_t seed = 77;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<Layout> layouts = {RowMajor(4), ChannelsLast(4), ChannelBlocked(4, 16)};
  for (int round = 0; round < 30; ++round) {
    const Platform platform = SamplePlatform(round % 2 == 0);
    GraphBuilder builder;
    builder.set_opset(25);
    ValueId value = builder.AddInput("x", StaticType(DataType::kFloat32, {1, 8 + round % 3, 4, 4}));
    const ValueType type = builder.graph().value(value).type;
    std::vector<ValueId> made = {value};
    for (int n = 0; n < 8; ++n) {
      if (random() % 3 == 0 && made.size() > 1) {
        value = builder.AddOp("Add", {made[random() % made.size()], value}, type);
      } else {
        value = builder.AddOp(random() % 2 == 0 ? "Relu" : "Sigmoid", {value}, type);
      }
      made.push_back(value);
    }
    builder.AddOutput(value);
    builder.AddOutput(made[random() % made.size()]);
    const Graph graph = builder.Build().value();
    std::vector<Candidate> candidates;
    for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
      for (int c = 0; c < 3; ++c) {
        const UnitClassId unit_class(random() % platform.unit_classes.size());
        candidates.push_back(RunsAlone(graph, NodeId(n), unit_class, "reference", &layouts[random() % layouts.size()]));
        if (candidates.back().in.size() == 2 && random() % 2 == 0)
          candidates.back().in[1].layout = layouts[random() % 3];
      }
    }
    Profile profile;
    std::set<Hash128> distinct;
    for (const NeededKey& needed : NeededKeys(graph, platform, candidates, kVersions)) {
      CHECK(distinct.insert(needed.key.hash).second);
      Add(profile, needed.key, 10 + static_cast<int64_t>(random() % 1000), "any", "any", "any");
    }
    ProfiledCostsOptions options;
    options.library_versions = kVersions;
    options.allow_estimates = false;
    const auto costs = MakeProfiledCosts(graph, platform, profile, options);
    const auto measured = [](const Estimate& e) {
      return e.provenance == Provenance::kMeasured || e.provenance == Provenance::kSimulated;
    };
    for (const Candidate& c : candidates) CHECK(costs->OfStep(c).run.has_value());
    for (const UnitClassId from : {kNarrow, kWide}) {
      CHECK(costs->OfClass(from).overhead.provenance == Provenance::kMeasured);
      for (const UnitClassId to : {kNarrow, kWide}) {
        CHECK(costs->OfPair(from, to).wait.provenance == Provenance::kMeasured);
      }
    }
    // Every form a value is made in, to every form it is taken in.
    std::map<ValueId, std::set<Form>> made_in, taken_in;
    for (ValueId id : graph.inputs()) made_in[id].insert({RowMajor(4), DataType::kFloat32});
    for (ValueId id : graph.outputs()) taken_in[id].insert({RowMajor(4), DataType::kFloat32});
    for (const Candidate& c : candidates) {
      const auto inputs = GroupInputs(graph, c.nodes), outputs = GroupOutputs(graph, c.nodes);
      for (size_t i = 0; i < inputs.size(); ++i) taken_in[inputs[i]].insert(c.in[i]);
      for (size_t i = 0; i < outputs.size(); ++i) made_in[outputs[i]].insert(c.out[i]);
    }
    for (const auto& [id, froms] : made_in) {
      const std::vector<int64_t> dims = *graph.value(id).type.static_dims();
      for (const Form& from : froms) {
        for (const Form& to : taken_in[id]) {
          if (from == to) continue;
          for (const UnitClassId unit_class : {kNarrow, kWide}) {
            const std::optional<Estimate> estimate = costs->Reorder(dims, from, to, unit_class);
            REQUIRE(estimate.has_value());
            CHECK(measured(*estimate));
          }
        }
      }
    }
    for (size_t l = 0; l < platform.links.size(); ++l) CHECK(measured(costs->Copy(1000, LinkId(l))));
  }
}

TEST_CASE("ReuseDistance, CountsOfATableWhatIsLookedUpInIt", "[cost]") {
  GraphBuilder builder;
  const ValueId table =
      builder.AddConstant("table", Tensor::Float32({10'000, 64}, std::vector<float>(size_t{640'000}, 1.0F)));
  const ValueType found = StaticType(DataType::kFloat32, {32, 64});
  const ValueId ids = builder.AddInput("ids", StaticType(DataType::kInt64, {32}));
  builder.AddOutput(builder.AddOp("Gather", {table, ids}, found));
  const Graph graph = builder.Build().value();
  const NodeId gather(0u);
  CHECK(WorkSizeOf(graph, {&gather, 1}).bytes == 2 * 32 * 64 * 4 + 32 * 8);
  CHECK(ReuseDistance(graph, SamplePlatform()) == 64 << 10);
}

TEST_CASE("ReuseDistance, FollowsTheSizeOfTheGraph", "[cost]") {
  Platform platform = SamplePlatform();
  const auto graph_of = [](int64_t elements) {
    GraphBuilder builder;
    const ValueType type = StaticType(DataType::kFloat32, {1, 4});
    const ValueId w =
        builder.AddConstant("w", Tensor::Float32({elements}, std::vector<float>(static_cast<size_t>(elements), 1.0F)));
    builder.AddOutput(builder.AddOp("Add", {builder.AddInput("x", type), w}, type));
    return builder.Build().value();
  };
  platform.devices[0].cache_bytes = {32 << 10, 1 << 20, 32 << 20};
  CHECK(InMemoryDistance(platform) == 64 << 20);
  CHECK(ReuseDistance(graph_of(10), platform) == 64 << 10);
  CHECK(ReuseDistance(graph_of(20'000), platform) == 76 << 10);
  CHECK(ReuseDistance(graph_of(30'000), platform) == 107 << 10);
  CHECK(ReuseDistance(graph_of(1'000'000), platform) == 4 << 20);
  CHECK(ReuseDistance(graph_of(1'250'000), platform) == 4870 << 10);
  CHECK(ReuseDistance(graph_of(20'000'000), platform) == 64 << 20);
  CHECK(ReuseDistance(graph_of(40'000'000), platform) == 64 << 20);
  const Graph small = graph_of(1000);
  const Candidate candidate = RunsAlone(small, NodeId(0u), kNarrow);
  CHECK(CostKey(small, platform, candidate, "1", 1 << 20).hash !=
        CostKey(small, platform, candidate, "1", 2 << 20).hash);
}

TEST_CASE("NeededKeys, EqualGroupsAreNeededOnce", "[cost]") {
  const Platform platform = SamplePlatform();
  GraphBuilder builder;
  const ValueType type = StaticType(DataType::kFloat32, {1, 64});
  ValueId value = builder.AddInput("x", type);
  for (int n = 0; n < 5; ++n) value = builder.AddOp("Relu", {value}, type);
  builder.AddOutput(value);
  const Graph graph = builder.Build().value();
  std::vector<Candidate> candidates;
  for (uint32_t n = 0; n < 5; ++n) candidates.push_back(RunsAlone(graph, NodeId(n), kNarrow));
  std::vector<size_t> runs;
  for (const NeededKey& needed : NeededKeys(graph, platform, candidates, kVersions)) {
    if (needed.kind == &kRunKind) {
      runs.push_back(needed.candidate().candidate);
      CHECK(needed.expected_bytes == 2.0 * 64 * 4);
    }
    CHECK(needed.kind != &kReorderKind);
  }
  // The first reads the caller's buffer, the last writes the caller's: three of one kind lie between.
  CHECK(runs == std::vector<size_t>{0, 1, 4});
}

TEST_CASE("CallersTensors, ArePlainTensorsOfTheGraphsEndsOnTheHost", "[cost]") {
  const Platform platform = SamplePlatform(true);
  GraphBuilder builder;
  const ValueType type = StaticType(DataType::kFloat32, {1, 4, 2, 2});
  const ValueId x = builder.AddInput("x", type), y = builder.AddInput("y", type);
  const ValueId relu = builder.AddOp("Relu", {y}, type);
  const ValueId sum = builder.AddOp("Add", {relu, x}, type);
  const ValueId again = builder.AddOp("Mul", {x, sum}, type);
  builder.AddOutput(sum);
  builder.AddOutput(again);
  const Graph graph = builder.Build().value();
  using Positions = std::vector<uint32_t>;
  const auto of = [&](uint32_t node, UnitClassId unit_class, const Layout* layout = nullptr) {
    return CallersTensorsOf(graph, platform, RunsAlone(graph, NodeId(node), unit_class, "reference", layout));
  };
  CHECK(of(0, kNarrow).in == Positions{0});
  CHECK(of(0, kNarrow).out.empty());
  CHECK(of(1, kNarrow).in == Positions{1});
  CHECK(of(1, kWide).out == Positions{0});
  CHECK(of(2, kNarrow).in.empty());  // the step before has read x
  CHECK(of(2, kNarrow).out == Positions{0});
  const Layout last = ChannelsLast(4);
  CHECK(of(1, kNarrow, &last).in.empty());  // a reorder lies between
  CHECK(of(1, kNarrow, &last).out.empty());
  CHECK(of(1, kSimulatedClass).in.empty());
  CHECK(of(1, kSimulatedClass).out.empty());
}

TEST_CASE("ProfiledCosts, ManyThreadsAskAtOnce", "[cost]") {
  const Platform platform = SamplePlatform();
  const Graph graph = IndependentRelus(14);
  Profile profile;
  for (uint32_t n = 0; n < 12; ++n) {
    const Candidate c = RunsAlone(graph, NodeId(n), kNarrow);
    const double bytes = WorkSizeOf(graph, c.nodes).bytes;
    Add(profile, KeyOf(graph, platform, c), 1000 + n, "Relu", "cpu/1", "reference", bytes);
  }
  ProfiledCostsOptions options;
  options.library_versions = kVersions;
  const auto costs = MakeProfiledCosts(graph, platform, profile, options);
  std::vector<int64_t> sums(4, 0);
  std::vector<std::thread> threads;
  for (int64_t& sum : sums) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        for (uint32_t n = 0; n < 14; ++n) sum += costs->OfStep(RunsAlone(graph, NodeId(n), kNarrow)).run->ns;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sums == std::vector<int64_t>(4, sums[0]));
}

}  // namespace
}  // namespace pt::profiled_costs_test
