// Platforms as data: look-ups, conflicts, JSON and what differs between two.
#include "partitiontuner/platform/platform.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/platform/discover.h"
#include "partitiontuner/support/file.h"

namespace pt::platform_test {
namespace {

// Two cores, a unit each and one of both.
Platform TwoCores() {
  Platform platform;
  platform.devices.push_back({"cpu", "cpu", 1 << 20, false, "model 1"});
  platform.resources.push_back({"core 0", 1.0, 3});
  platform.resources.push_back({"core 1", 1.0, 5});
  platform.unit_classes.push_back({"cpu/2", DeviceId(0u), 2});
  platform.unit_classes.push_back({"cpu/1", DeviceId(0u), 1});
  const ResourceId one(0u), two(1u);
  platform.units.push_back({"cpu[0-1]", UnitClassId(0u), {{one, 1.0}, {two, 1.0}}, {}, {}});
  platform.units.push_back({"cpu[0]", UnitClassId(1u), {{one, 1.0}}, {}, {}});
  platform.units.push_back({"cpu[1]", UnitClassId(1u), {{two, 1.0}}, {}, {}});
  return platform;
}

Json Accelerator() {
  return ParseJson(R"({
    "version": 1, "name": "sim:0", "memory_bytes": 1000000, "streams": 2,
    "to_device": {"latency_ns": 10000, "bytes_per_ns": 8.0},
    "from_device": {"latency_ns": 20000, "bytes_per_ns": 4.0},
    "families": {"Conv": {"fixed_ns": 15000, "flops_per_ns": 800, "bytes_per_ns": 0},
                 "*": {"fixed_ns": 1, "flops_per_ns": 0, "bytes_per_ns": 0.5}},
    "exact_ns": {"00ff": 77}, "unsupported": ["Loop"]})",
                   "accelerator")
      .value();
}

Platform WithAccelerator() {
  Platform platform = TwoCores();
  REQUIRE(AddSimulatedDevice(platform, Accelerator(), "accelerator").ok());
  return platform;
}

}  // namespace

TEST_CASE("Platform, LookUpsFindByNameAndSayWhenAbsent", "[platform]") {
  const Platform platform = WithAccelerator();
  CHECK(FindDevice(platform, "cpu") == DeviceId(0u));
  CHECK(FindDevice(platform, "sim:0") == DeviceId(1u));
  CHECK_FALSE(FindDevice(platform, "cuda:0").valid());
  CHECK(FindUnit(platform, "cpu[1]") == UnitId(2u));
  CHECK_FALSE(FindUnit(platform, "cpu[2]").valid());
  CHECK(UnitsOf(platform, FindUnitClass(platform, "cpu/1")) == std::vector{UnitId(1u), UnitId(2u)});
  const LinkId there = FindLink(platform, DeviceId(0u), DeviceId(1u));
  REQUIRE(there.valid());
  CHECK(platform.link(there).latency_ns == 10000);
  CHECK(platform.link(FindLink(platform, DeviceId(1u), DeviceId(0u))).bytes_per_ns == 4.0);
  CHECK_FALSE(FindLink(platform, DeviceId(0u), DeviceId(0u)).valid());
  CHECK(platform.unit(FindCopyUnit(platform, there)).name == "cpu>sim:0");
  CHECK_FALSE(FindCopyUnit(platform, LinkId()).valid());
}

TEST_CASE("Platform, UnitsThatShareACoreConflict", "[platform]") {
  const Platform platform = WithAccelerator();
  const auto unit = [&](const char* name) { return FindUnit(platform, name); };
  CHECK(UnitsConflict(platform, unit("cpu[0-1]"), unit("cpu[0]")));
  CHECK(UnitsConflict(platform, unit("cpu[1]"), unit("cpu[0-1]")));
  CHECK_FALSE(UnitsConflict(platform, unit("cpu[0]"), unit("cpu[1]")));
  CHECK_FALSE(UnitsConflict(platform, unit("sim:0#0"), unit("cpu[1]")));   // driving is not using
  CHECK_FALSE(UnitsConflict(platform, unit("sim:0#0"), unit("sim:0#1")));  // each has its share
  CHECK_FALSE(UnitsConflict(platform, unit("cpu>sim:0"), unit("sim:0>cpu")));
}

TEST_CASE("Platform, JsonFormIsTheInverseOfItsReader", "[platform]") {
  for (const Platform& platform : {TwoCores(), WithAccelerator()}) {
    const std::string text = WriteJson(ToJson(platform));
    const Result<Platform> read = PlatformFromJson(ParseJson(text, "text").value(), "text");
    REQUIRE(read.ok());
    CHECK(WriteJson(ToJson(*read)) == text);
    CHECK(PlatformFingerprint(*read) == PlatformFingerprint(platform));
    CHECK(read->units.back().driver == platform.units.back().driver);
    CHECK(read->units.back().link == platform.units.back().link);
  }
}

TEST_CASE("Platform, ARecordedOneIsWrittenAsItWasRead", "[platform]") {
  const std::string path = PT_SOURCE_DIR "/profiles/zen4-2cores/platform.json";
  const Json file = ParseJson(ReadFile(path, 1 << 20).value(), path).value();
  const Result<Platform> platform = PlatformFromJson(file, path);
  REQUIRE(platform.ok());
  Json written = Json::MakeObject();
  written.Set("format", *file.find("format")).Set("version", *file.find("version"));
  const Json json = ToJson(*platform);
  for (const auto& [key, value] : *json.as_object()) written.Set(key, value);
  CHECK(WriteJson(written) == WriteJson(file));
}

TEST_CASE("Platform, RulesOfCallsAreReadAsWrittenAndCounted", "[platform]") {
  const Platform plain = WithAccelerator();
  Platform platform = plain;
  platform.devices[1].calls = {{"Conv", "Relu"}, 1e6, true, "fp16"};
  const Result<Platform> read = PlatformFromJson(ToJson(platform), "test");
  if (!read.ok()) FAIL(ToString(read.error()));
  CHECK(read->devices[1].calls == platform.devices[1].calls);
  CHECK(PlatformFingerprint(*read) == PlatformFingerprint(platform));
  CHECK(PlatformFingerprint(plain) != PlatformFingerprint(platform));
  for (const char* bad : {R"({"math": "fp8"})", R"({"least_flops": -1})", R"({"operators": []})",
                          R"({"operators": [1]})", R"({"islands": 1})", R"({"island": true})", "[]"}) {
    INFO(bad);
    const Result<CallRules> rules = CallRulesFromJson(ParseJson(bad, "test").value(), "file.json");
    REQUIRE_FALSE(rules.ok());
    CHECK(rules.error().message.find("file.json") != std::string::npos);
  }
}

TEST_CASE("Platform, CallsInTf32AreReadAsWrittenButOfSimulatedDevices", "[platform]") {
  Platform platform = WithAccelerator();
  platform.devices[1].calls.math = "tf32";
  CHECK_FALSE(CheckPlatform(platform).ok());
  platform.simulated.clear();
  platform.devices[1].simulated = false;
  const Result<Platform> read = PlatformFromJson(ToJson(platform), "test");
  if (!read.ok()) FAIL(ToString(read.error()));
  CHECK(read->devices[1].calls == platform.devices[1].calls);
}

TEST_CASE("Platform, CoresKeepTheirMemoryNodeInJsonAndUnitsHaveAHome", "[platform]") {
  Platform platform = TwoCores();
  for (size_t i = 0; i < platform.units.size(); ++i) CHECK_FALSE(HomeNode(platform, UnitId(i)).has_value());
  platform.resources[0].node = 4;
  platform.resources[1].node = 0;
  const std::string text = WriteJson(ToJson(platform));
  const Platform read = PlatformFromJson(ParseJson(text, "text").value(), "text").value();
  CHECK(WriteJson(ToJson(read)) == text);
  CHECK_FALSE(HomeNode(read, FindUnit(read, "cpu[0-1]")).has_value());
  CHECK(HomeNode(read, FindUnit(read, "cpu[0]")) == 4u);
  CHECK(HomeNode(read, FindUnit(read, "cpu[1]")) == 0u);
  // Where cores lie says nothing about what they cost: profiles and plans stay valid.
  CHECK(PlatformFingerprint(read) == PlatformFingerprint(TwoCores()));
}

TEST_CASE("Platform, ReaderNamesWhatIsWrong", "[platform]") {
  const std::string good = WriteJson(ToJson(WithAccelerator()));
  const auto error_with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    const Result<Platform> read = PlatformFromJson(ParseJson(text, "file").value(), "file");
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == ErrorCode::kInvalidInput);
    return read.error().message;
  };
  CHECK(error_with("\"class\": \"cpu/1\"", "\"class\": \"cpu/9\"").find("cpu/9") != std::string::npos);
  CHECK(error_with("\"driver\": \"core 1\"", "\"driver\": \"core 7\"").find("core 7") != std::string::npos);
  CHECK(error_with("\"driver\": \"core 1\"", "\"driver\": \"sim:0\"").find("not a core") != std::string::npos);
  CHECK(error_with("\"name\": \"cpu[1]\"", "\"name\": \"cpu[0]\"").find("duplicate") != std::string::npos);
  CHECK(error_with("\"units\"", "\"unit\"").find("units") != std::string::npos);
}

TEST_CASE("Platform, FingerprintFollowsCostsAndNothingElse", "[platform]") {
  const Platform platform = WithAccelerator();
  Platform same = platform;
  same.devices[0].memory_bytes = 5;
  same.resources[0].core = 9;  // other cores of the same kind
  CHECK(PlatformFingerprint(same) == PlatformFingerprint(platform));
  CHECK(PlatformDifferences(platform, same).empty());

  Platform other = platform;
  other.devices[0].fingerprint = "model 2";
  other.simulated[DeviceId(1u)].families["Conv"].flops_per_ns = 900;
  CHECK(PlatformFingerprint(other) != PlatformFingerprint(platform));
  const std::vector<std::string> lines = PlatformDifferences(platform, other);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "fingerprint of cpu: model 1, now model 2");
  CHECK(lines[1].find("rate of Conv on sim:0") == 0);

  Platform fewer = TwoCores();
  fewer.units.pop_back();
  const std::vector<std::string> absent = PlatformDifferences(TwoCores(), fewer);
  REQUIRE(absent.size() == 1);
  CHECK(absent[0].find("unit cpu[1]: ") == 0);
  CHECK(absent[0].find("now absent") != std::string::npos);
}

TEST_CASE("Platform, UnitsInAnotherOrderAreAnotherPlatform", "[platform]") {
  // Plans name units by position, so the same units in another order must not pass for equal.
  Platform swapped = TwoCores();
  std::swap(swapped.units[1], swapped.units[2]);
  CHECK_FALSE(PlatformDifferences(TwoCores(), swapped).empty());
}

TEST_CASE("SimulatedDevice, BadFilesAreRefusedAndChangeNothing", "[platform]") {
  const auto refused = [](const char* key, Json value) {
    Json changed = Json::MakeObject();
    const Json accelerator = Accelerator();
    for (const auto& [name, field] : *accelerator.as_object()) {
      if (name != key) changed.Set(name, field);
    }
    if (!value.is_null()) changed.Set(key, std::move(value));
    Platform platform = TwoCores();
    const Status status = AddSimulatedDevice(platform, changed, "file");
    CHECK(platform.devices.size() == 1);
    CHECK(platform.units.size() == 3);
    return !status.ok() &&
           (status.error().code == ErrorCode::kInvalidInput || status.error().code == ErrorCode::kStale);
  };
  CHECK(refused("version", Json(2)));
  CHECK(refused("version", Json()));
  CHECK(refused("name", Json("cpu")));
  CHECK(refused("streams", Json(0)));
  CHECK(refused("streams", Json(1000)));
  CHECK(refused("calls", Json::MakeObject().Set("math", "tf32")));
  CHECK(refused("familys", Json::MakeObject()));
  CHECK(refused("families", Json()));
  Json slow = Json::MakeObject();
  slow.Set("latency_ns", 1).Set("bytes_per_ns", 0);
  CHECK(refused("to_device", slow));
  Json negative = Json::MakeObject();
  negative.Set("*", Json::MakeObject().Set("fixed_ns", -1).Set("flops_per_ns", 1).Set("bytes_per_ns", 1));
  CHECK(refused("families", negative));
  Json demanding = Json::MakeObject();
  demanding.Set("*",
                Json::MakeObject().Set("fixed_ns", 1).Set("flops_per_ns", 1).Set("bytes_per_ns", 1).Set("demand", 1.5));
  CHECK(refused("families", demanding));
  Json link = Json::MakeObject();
  link.Set("latency_ns", 1).Set("bytes_per_ns", 1);
  CHECK(refused("peers", Json::MakeObject().Set("sim:7", Json::MakeObject().Set("to", link))));
  CHECK(refused("peers", Json::MakeObject().Set("cpu", Json::MakeObject().Set("to", link))));
  CHECK(refused("peers", Json::MakeObject().Set("sim:0", Json::MakeObject().Set("to", link))));  // itself
  Platform twice = WithAccelerator();
  CHECK_FALSE(AddSimulatedDevice(twice, Accelerator(), "again").ok());
}

TEST_CASE("SimulatedDevice, CapturesWhereItsFileSaysWhatASegmentTakes", "[platform]") {
  const auto with = [](Json launches) {
    Json description = Accelerator();
    Platform platform = TwoCores();
    const Status status = AddSimulatedDevice(platform, description.Set("launches", std::move(launches)), "file");
    return status.ok() ? std::optional<Platform>(platform) : std::nullopt;
  };
  const Json steps = Json::MakeObject().Set("step_ns", 4000);
  const std::optional<Platform> single = with(steps);
  REQUIRE(single);
  CHECK_FALSE(single->devices[1].captures);
  CHECK(single->simulated.at(DeviceId(1u)).launches.step_ns == 4000);
  const std::optional<Platform> records = with(Json(steps).Set("segment_ns", 7000).Set("segment_step_ns", 300));
  REQUIRE(records);
  CHECK(records->devices[1].captures);
  const Result<Platform> read = PlatformFromJson(ToJson(*records), "test");
  REQUIRE(read.ok());
  CHECK(read->devices[1].captures);
  CHECK(read->simulated.at(DeviceId(1u)).launches == SimulatedRates::Launches{4000, 7000, 300});
  CHECK_FALSE(PlatformDifferences(*single, *records).empty());
  CHECK_FALSE(with(Json(steps).Set("segment_ns", 7000)));
  CHECK_FALSE(with(Json(steps).Set("segment_ns", -1).Set("segment_step_ns", 0)));
  CHECK_FALSE(with(Json(steps).Set("step", 1)));
  CHECK_FALSE(with(Json::MakeObject()));
}

TEST_CASE("SimulatedDevice, PeersAreLinkedEachWayThatIsGiven", "[platform]") {
  Platform platform = WithAccelerator();
  Json second = Json::MakeObject();
  const Json accelerator = Accelerator();
  for (const auto& [name, field] : *accelerator.as_object()) {
    if (name != "name") second.Set(name, field);
  }
  second.Set("name", "sim:1");
  Json link = Json::MakeObject();
  link.Set("latency_ns", 5).Set("bytes_per_ns", 2.0);
  second.Set("peers", Json::MakeObject().Set("sim:0", Json::MakeObject().Set("from", link)));
  REQUIRE(AddSimulatedDevice(platform, second, "second").ok());
  const LinkId there = FindLink(platform, DeviceId(1u), DeviceId(2u));
  REQUIRE(there.valid());
  CHECK(CopyNs(platform.link(there), 1000) == 505);
  const UnitId engine = FindCopyUnit(platform, there);
  CHECK(platform.unit(engine).name == "sim:0>sim:1");
  CHECK(platform.device_of(engine) == DeviceId(2u));
  CHECK_FALSE(FindLink(platform, DeviceId(2u), DeviceId(1u)).valid());
  // It survives being written with a plan.
  const Result<Platform> read = PlatformFromJson(ToJson(platform), "again");
  REQUIRE(read.ok());
  CHECK(PlatformFingerprint(*read) == PlatformFingerprint(platform));
}

}  // namespace pt::platform_test
