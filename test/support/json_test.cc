#include "partitiontuner/support/json.h"

#include <catch2/catch_test_macros.hpp>
#include <clocale>
#include <cmath>
#include <filesystem>

#include "partitiontuner/support/file.h"
#include "test/testing/test_data.h"

namespace pt::json_test {
namespace {

TEST_CASE("Json, WriteAndParseAreInverses", "[support]") {
  Json json = Json::MakeObject();
  json.Set("int", int64_t{INT64_MIN})
      .Set("big", INT64_MAX)
      .Set("double", 1.0)
      .Set("tiny", 5e-324)
      .Set("text", "a\"\\\n\x01é");
  json.Set("list", Json::Array{1, 2.5, "x", nullptr, true})
      .Set("nested", Json::MakeObject().Set("b", 1).Set("a", Json::MakeArray()));
  for (int indent : {-1, 0, 2}) {
    const auto parsed = ParseJson(WriteJson(json, indent), "test");
    REQUIRE(parsed.ok());
    CHECK(*parsed == json);
  }
  CHECK(WriteJson(Json(1.0), -1) == "1.0");
  CHECK(WriteJson(Json(NAN), -1) == "null");
  CHECK(WriteJson(Json(std::string("\xff")), -1) == "\"\xEF\xBF\xBD\"");
}

TEST_CASE("Json, ErrorsNameLineAndColumn", "[support]") {
  const auto message = [](std::string_view text) {
    const auto parsed = ParseJson(text, "plan.json");
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == ErrorCode::kInvalidInput);
    CHECK(parsed.error().file == "plan.json");
    return parsed.error().message;
  };
  CHECK(message("{\"a\": 1,\n \"a\": 2}").starts_with("line 2, column 4: duplicate key \"a\""));
  CHECK(message("[1,\n2,]").starts_with("line 2, column 3"));
  CHECK(message("[1e999]").starts_with("line 1, column"));
  CHECK(message("").starts_with("line 1, column 1"));
  CHECK(message("\xEF\xBB\xBF{}").starts_with("line 1, column 1"));
  CHECK(message("[1] x").starts_with("line 1, column 5"));
  CHECK(message(std::string_view("[\0]", 3)).starts_with("line 1, column 2"));
  CHECK(message("[\"\xff\"]").starts_with("line 1"));
}

TEST_CASE("Json, DepthIsLimitedNotTheStack", "[support]") {
  CHECK(ParseJson(std::string(128, '[') + std::string(128, ']'), "t").ok());
  CHECK_FALSE(ParseJson(std::string(129, '[') + std::string(129, ']'), "t").ok());
  CHECK_FALSE(ParseJson(std::string(1'000'000, '['), "t").ok());
}

TEST_CASE("Json, IntegersKeep64Bits", "[support]") {
  const auto parsed =
      ParseJson("[9007199254740993, 9223372036854775807, 18446744073709551615, -9223372036854775808]", "t");
  REQUIRE(parsed.ok());
  const Json::Array& array = *parsed->as_array();
  CHECK(*array[0].as_int() == 9007199254740993);
  CHECK(*array[1].as_int() == INT64_MAX);
  CHECK(array[2].as_int() == nullptr);
  CHECK(array[2].as_number() == 18446744073709551615.0);
  CHECK(*array[3].as_int() == INT64_MIN);
}

TEST_CASE("Json, DecimalCommaLocaleChangesNothing", "[support]") {
  const std::string old = std::setlocale(LC_NUMERIC, nullptr);
  const bool comma = std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr;
  const auto parsed = ParseJson("[1.5]", "t");
  const std::string written = WriteJson(Json(1.5), -1);
  std::setlocale(LC_NUMERIC, old.c_str());
  REQUIRE(parsed.ok());
  CHECK(*parsed->as_array()->front().as_number() == 1.5);
  CHECK(written == "1.5");
  if (!comma) SKIP("no locale with a decimal comma is installed");
}

TEST_CASE("Json, ATextThatIsNotThereIsNamed", "[support]") {
  const Json json = ParseJson(R"({"s": "x", "i": 1})", "t").value();
  CHECK(JsonString(json, "s", "steps[3]").value() == "x");
  CHECK(JsonString(json, "i", "steps[3]").error().message == "steps[3]: \"i\" is not a string");
  CHECK(JsonString(json, "none", "steps[3]").error().message == "steps[3]: \"none\" is missing");
  CHECK(JsonString(Json(1), "s", "steps[3]").error().message == "steps[3] is not an object");
}

TEST_CASE("Json, JsonTestSuiteIsAcceptedAndRejectedAsItSays", "[support]") {
  const std::string folder = testing::TestDataFolder("json-test-suite");
  if (folder.empty()) SKIP("no JSON test suite; set PARTITIONTUNER_TEST_DATA");
  int accepted = 0, rejected = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".json" || name.size() < 2 || name[1] != '_') continue;
    const auto text = ReadFile(entry.path().string(), 0);
    REQUIRE(text.ok());
    INFO(name);
    const bool ok = ParseJson(*text, name).ok();
    if (name[0] == 'y' && name == "y_object_duplicated_key.json") continue;  // we refuse these on purpose
    if (name[0] == 'y' && name == "y_object_duplicated_key_and_value.json") continue;
    if (name[0] == 'y') CHECK((ok && ++accepted));
    if (name[0] == 'n') CHECK((!ok && ++rejected));
  }
  CHECK(accepted >= 90);
  CHECK(rejected >= 180);
}

}  // namespace
}  // namespace pt::json_test
