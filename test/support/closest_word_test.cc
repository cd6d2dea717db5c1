#include "partitiontuner/support/closest_word.h"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

namespace pt::closest_word_test {
namespace {

TEST_CASE("ClosestWord, IsTheOneOfLeastTypingErrorsWithinAThird", "[support]") {
  const std::vector<std::string_view> words = {"search", "single", "heft", "a"};
  CHECK(ClosestWord("serach", words) == "search");  // swapped
  CHECK(ClosestWord("sarch", words) == "search");
  CHECK(ClosestWord("seearch", words) == "search");
  CHECK(ClosestWord("singel", words) == "single");
  CHECK(ClosestWord("hefd", words) == "heft");
  CHECK(ClosestWord("hxxt", words).empty());
  CHECK(ClosestWord("x", words).empty());
  CHECK(ClosestWord("", words).empty());
  CHECK(ClosestWord("anything", {}).empty());
  CHECK(ClosestWord(std::string(100'000, 'a'), words).empty());
}

}  // namespace
}  // namespace pt::closest_word_test
