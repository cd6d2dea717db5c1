#include "partitiontuner/support/text.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

namespace pt::text_test {
namespace {

TEST_CASE("Joined, SeparatorsLieBetweenTheWords", "[support]") {
  CHECK(Joined({}) == "");
  CHECK(Joined(std::vector<std::string>{"a"}) == "a");
  CHECK(Joined(std::vector<std::string>{"a", "b", "c"}) == "a, b, c");
  CHECK(Joined(std::vector<std::string>{"", "b"}, " ") == " b");
}

TEST_CASE("UnknownWord, NamesWhatWasGivenAndAllThatIsExpected", "[support]") {
  CHECK(UnknownWord("mode", "x", {"a"}) == "unknown mode \"x\"; expected a");
  CHECK(UnknownWord("mode", "", {"a", "b"}) == "unknown mode \"\"; expected a or b");
  CHECK(UnknownWord("mode", "x", {"a", "b", "c"}) == "unknown mode \"x\"; expected a, b or c");
}

TEST_CASE("UnknownWord, OffersTheOneThatWasMeant", "[support]") {
  CHECK(UnknownWord("mode", "linaer", {"nearest", "linear"}) ==
        "unknown mode \"linaer\"; expected nearest or linear; did you mean \"linear\"?");
}

}  // namespace
}  // namespace pt::text_test
