// Schemas and the tables of the formats' pages are what the descriptions of the fields say. After a change of a
// description, write them anew with `build/release/bin/test_structure "[renew]"`.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "lib/cost/profile_fields.h"
#include "lib/plan/plan_fields.h"
#include "lib/planner/workload_file.h"
#include "lib/platform/platform_files.h"
#include "partitiontuner/support/file.h"
#include "test/testing/field_pages.h"

namespace pt::testing::format_pages_test {
namespace {

constexpr std::array kPages = {"docs/plan-format.md", "docs/profile-format.md", "docs/workloads.md",
                               "profiles/README.md"};

template <typename T, typename... Context>
Json SchemaOf(const Context&... context) {
  T nothing{};
  return SchemaBy([&](FieldVisitor& v) { Fields(v, nothing, context...); });
}

const std::map<std::string, Json>& Schemas() {
  const Graph* const no_graph = nullptr;
  static const std::map<std::string, Json> schemas = {{"plan", SchemaOf<Plan>(no_graph)},
                                                      {"profile", SchemaOf<Profile>()},
                                                      {"workload", SchemaOf<WorkloadFile>()},
                                                      {"platform", SchemaOf<Platform>()},
                                                      {"simulated", SchemaOf<SimulatedFile>()}};
  return schemas;
}

std::string SchemaFileText(const std::string& name, const std::string& title, const std::string& description) {
  Json schema = Json::MakeObject();
  schema.Set("$schema", "http://json-schema.org/draft-07/schema#").Set("$id", name + ".schema.json");
  schema.Set("title", title).Set("description", description);
  for (const auto& [key, value] : *Schemas().at(name).as_object()) schema.Set(key, value);
  return SchemaText(schema);
}

std::string PathOf(const std::string& file) { return std::string(PT_SOURCE_DIR) + "/" + file; }
std::string Read(const std::string& file) { return ReadFile(PathOf(file), 1 << 22).value(); }

// What each file should hold.
std::map<std::string, std::string> Documents() {
  std::map<std::string, std::string> documents;
  documents["docs/schema/plan.schema.json"] =
      SchemaFileText("plan", "partitiontuner plan, version 1",
                     "See docs/plan-format.md. Times are integers in nanoseconds, sizes in bytes. Readers ignore keys "
                     "they do not know.");
  documents["docs/schema/profile.schema.json"] = SchemaFileText(
      "profile", "partitiontuner profile",
      "What was measured on one machine: docs/profile-format.md. Keys that are not listed are ignored by "
      "readers of this major version.");
  for (const char* page : kPages) {
    documents[page] =
        RenewedPage(Read(page), [](const std::string& name) -> const Json& { return Schemas().at(name); });
  }
  return documents;
}

TEST_CASE("FormatPages, SchemasAndTablesAreWhatTheFieldsSay", "[structure]") {
  for (const auto& [file, text] : Documents()) {
    INFO(file << " is not what the fields say: write it anew with test_structure \"[renew]\"");
    CHECK(Read(file) == text);
  }
}

TEST_CASE("FormatPages, NoFieldIsLaterThanItsFormat", "[structure]") {
  CHECK(LatestSince(Schemas().at("plan")) == "1." + std::to_string(kPlanMinor));
  const Json profile = ToJson(Profile());
  CHECK(LatestSince(Schemas().at("profile")) == *profile.find("version")->as_string());
}

TEST_CASE("FormatPages, AreWrittenAnew", "[.][renew]") {
  for (const auto& [file, text] : Documents()) REQUIRE(WriteFileAtomically(PathOf(file), text).ok());
}

}  // namespace
}  // namespace pt::testing::format_pages_test
