#include "partitiontuner/cost/profile.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>

#include "partitiontuner/support/file.h"
#include "test/cost/sample_problem.h"

namespace pt::profile_test {
namespace {

Profile SampleProfile() {
  Profile profile;
  profile.platform_fingerprint = "0123";
  profile.environment = {{"governor", "performance"}, {"version", "0.1 \"x\""}};
  for (int i = 0; i < 5; ++i) {
    const MeasurementKey key = SampleKey("run Relu | " + std::to_string(i));
    profile.measurements[key.hash] = SampleMeasurement(key.text, 1000 + i);
  }
  const MeasurementKey failed = SampleKey("run Tile | onednn");
  Measurement m = SampleMeasurement(failed.text, 0);
  m.samples = 0;
  m.failure = "cannot compile: no such primitive";
  profile.measurements[failed.hash] = m;
  const MeasurementKey simulated = SampleKey("run Conv | sim:0");
  m = SampleMeasurement(simulated.text, int64_t{1} << 53 | 1);
  m.median_ns = 1'000'000'000'001;
  m.samples = 0;
  m.provenance = Provenance::kSimulated;
  m.flops = 1.23456789e12;
  m.reference_ns = 66'822;
  m.launch_ns = 4'321;
  m.demand = 0.375;
  profile.measurements[simulated.hash] = m;
  return profile;
}

// The text with one value changed and the digest put right, as somebody would who edits on purpose.
Json Resigned(const std::string& text) {
  Json json = ParseJson(text, "test").value();
  const Result<Profile> refused = ProfileFromJson(json, "test");
  if (refused.ok() || refused.error().id != "profile.digest") return json;
  const std::string& message = refused.error().message;
  const std::string expected = message.substr(message.find("has digest ") + 11, 32);
  Json signed_json = Json::MakeObject();
  for (const auto& [key, value] : *json.as_object()) signed_json.Set(key, key == "digest" ? Json(expected) : value);
  return signed_json;
}

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

TEST_CASE("Profile, JsonAndBackIsTheSame", "[cost]") {
  const Profile profile = SampleProfile();
  const std::string text = WriteJson(ToJson(profile));
  const Result<Profile> back = ProfileFromJson(ParseJson(text, "test").value(), "test");
  REQUIRE(back.ok());
  CHECK(*back == profile);
  CHECK(WriteJson(ToJson(*back)) == text);
  CHECK(WriteJson(ToJson(*ProfileFromJson(ParseJson(WriteJson(ToJson(profile), -1), "t").value(), "t"))) == text);
}

TEST_CASE("Profile, ItsTextHasAMeasurementOnEachLine", "[cost]") {
  for (const Profile& profile : {SampleProfile(), Profile()}) {
    const std::string text = ProfileText(profile);
    CHECK(*ParseJson(text, "test") == ToJson(profile));
    size_t rows = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) rows += line.starts_with("    {\"key\":") ? 1 : 0;
    CHECK(rows == profile.measurements.size());
  }
}

// Of a profile's text, all but its version, which may be an earlier one, and the digest, which covers the version.
std::string WithoutVersion(const std::string& text) {
  std::istringstream lines(text);
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  \"version\"") && !line.starts_with("  \"digest\"")) rest += line + "\n";
  }
  return rest;
}

TEST_CASE("Profile, RecordedOnesAreWrittenAsTheyWereRead", "[cost]") {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PT_SOURCE_DIR "/profiles/zen4-2cores")) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".ptprof.json")) continue;
    INFO(path);
    const std::string text = ReadFile(path, 1 << 24).value();
    const Result<Profile> profile = ProfileFromJson(ParseJson(text, path).value(), path);
    REQUIRE(profile.ok());
    CHECK((WithoutVersion(ProfileText(*profile)) == WithoutVersion(text)));  // not shown: megabytes
    ++files;
  }
  CHECK(files == 7);
}

TEST_CASE("Profile, AnyChangedByteIsRefused", "[cost]") {
  const std::string text = WriteJson(ToJson(SampleProfile()));
  size_t refused = 0, unreadable = 0, same = 0;
  for (size_t at = 0; at < text.size(); at += 3) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const Result<Json> json = ParseJson(changed, "test");
    if (!json.ok()) {
      ++unreadable;
      continue;
    }
    const Result<Profile> profile = ProfileFromJson(*json, "test");
    if (profile.ok()) {
      ++same;
      CHECK(*profile == SampleProfile());  // white space
    } else {
      ++refused;
      CHECK((profile.error().code == ErrorCode::kInvalidInput || profile.error().code == ErrorCode::kStale));
      CHECK(profile.error().file == "test");
    }
  }
  CHECK(refused > 100);
  CHECK(unreadable > 20);
}

TEST_CASE("Profile, TruncatedAnywhereIsRefused", "[cost]") {
  const std::string text = WriteJson(ToJson(SampleProfile()));
  for (size_t length = 0; length + 2 < text.size(); length += 7) {
    CHECK_FALSE(ParseJson(text.substr(0, length), "test").ok());
  }
}

TEST_CASE("Profile, NumbersThatAreNoTimesAreRefused", "[cost]") {
  const std::string text = WriteJson(ToJson(SampleProfile()));
  REQUIRE(ProfileFromJson(Resigned(Replaced(text, "\"median_ns\": 1002", "\"median_ns\": 2002")), "test").ok());
  const auto error_of = [&](const std::string& what, const std::string& by) {
    const Result<Profile> profile = ProfileFromJson(Resigned(Replaced(text, what, by)), "test");
    REQUIRE_FALSE(profile.ok());
    CHECK(profile.error().code == ErrorCode::kInvalidInput);
    return profile.error().message;
  };
  CHECK(error_of("\"median_ns\": 1002", "\"median_ns\": -1").find("-1") != std::string::npos);
  CHECK(error_of("\"median_ns\": 1002", "\"median_ns\": 9000000000000000000").find("median_ns") != std::string::npos);
  CHECK(error_of("\"median_ns\": 1002", "\"median_ns\": 1e300").find("median_ns") != std::string::npos);
  CHECK(error_of("\"median_ns\": 1002", "\"median_ns\": null").find("median_ns") != std::string::npos);
  CHECK(error_of("\"samples\": 11", "\"samples\": -3").find("samples") != std::string::npos);
  CHECK(error_of("\"samples\": 11", "\"samples\": 0").find("without samples") != std::string::npos);
  CHECK(error_of("\"bytes\": 0.1", "\"bytes\": -0.1").find("bytes") != std::string::npos);
  CHECK(error_of("\"bytes\": 0.1", "\"bytes\": null").find("bytes") != std::string::npos);
  CHECK(error_of("\"provenance\": \"measured\"", "\"provenance\": \"guessed\"").find("guessed") != std::string::npos);
}

TEST_CASE("Profile, FaultOfANumberIsNamed", "[cost]") {
  Measurement m = SampleMeasurement("k", 5);
  CHECK(MeasurementFault(m).empty());
  m.flops = std::numeric_limits<double>::quiet_NaN();
  CHECK(MeasurementFault(m).find("flops") != std::string::npos);
  m.flops = std::numeric_limits<double>::infinity();
  CHECK(MeasurementFault(m).find("flops") != std::string::npos);
  m.flops = 1;
  m.reference_ns = -1;
  CHECK(MeasurementFault(m).find("reference_ns") != std::string::npos);
  m.reference_ns = 0;
  m.launch_ns = -1;
  CHECK(MeasurementFault(m).find("launch_ns") != std::string::npos);
  m.launch_ns = 0;
  for (const double none : {-0.1, 1.01, std::nan("")}) {
    m.demand = none;
    CHECK(MeasurementFault(m).find("demand") != std::string::npos);
  }
  m.demand = 0;
  m.spread_ns = -1;
  CHECK(MeasurementFault(m).find("spread_ns") != std::string::npos);
}

TEST_CASE("Profile, AnotherMajorVersionIsStaleAndAnotherFormatInvalid", "[cost]") {
  const std::string text = WriteJson(ToJson(SampleProfile()));
  for (const char* other : {"\"1.0\"", "\"3.0\""}) {
    CHECK(ProfileFromJson(ParseJson(Replaced(text, "\"2.2\"", other), "t").value(), "t").error().code ==
          ErrorCode::kStale);
  }
  CHECK(ProfileFromJson(Resigned(Replaced(text, "\"2.2\"", "\"2.7\"")), "t").ok());
  CHECK(ProfileFromJson(ParseJson(Replaced(text, "partitiontuner-profile", "other"), "t").value(), "t").error().code ==
        ErrorCode::kInvalidInput);
  CHECK_FALSE(ProfileFromJson(Json(3), "t").ok());
  CHECK_FALSE(ProfileFromJson(Json::MakeArray(), "t").ok());
}

TEST_CASE("Provenance, NamesAndBack", "[cost]") {
  for (Provenance p : {Provenance::kMeasured, Provenance::kSimulated, Provenance::kEstimated, Provenance::kTable}) {
    CHECK(ProvenanceFromName(ProvenanceName(p)) == p);
  }
  CHECK_FALSE(ProvenanceFromName("unknown").has_value());
}

}  // namespace
}  // namespace pt::profile_test
