// Schemas and the tables of the formats' pages are what the descriptions of the fields say. After a change of a
// description, write them anew with `build/release/bin/test_structure "[renew]"`.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "lib/platform/platform_files.h"
#include "partitiontuner/support/file.h"
#include "test/testing/field_pages.h"

namespace pt::testing {
namespace {

constexpr std::array kPages = {"profiles/README.md"};

template <typename T, typename... Context>
Json SchemaOf(const Context&... context) {
  T nothing{};
  return SchemaBy([&](FieldVisitor& v) { Fields(v, nothing, context...); });
}

const std::map<std::string, Json>& Schemas() {
  static const std::map<std::string, Json> schemas = {{"platform", SchemaOf<Platform>()},
                                                      {"simulated", SchemaOf<SimulatedFile>()}};
  return schemas;
}

std::string PathOf(const std::string& file) { return std::string(PT_SOURCE_DIR) + "/" + file; }
std::string Read(const std::string& file) { return ReadFile(PathOf(file), 1 << 22).value(); }

// What each file should hold.
std::map<std::string, std::string> Documents() {
  std::map<std::string, std::string> documents;
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

TEST_CASE("FormatPages, AreWrittenAnew", "[.][renew]") {
  for (const auto& [file, text] : Documents()) REQUIRE(WriteFileAtomically(PathOf(file), text).ok());
}

}  // namespace
}  // namespace pt::testing
