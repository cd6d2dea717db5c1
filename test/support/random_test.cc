#include "partitiontuner/support/random.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/support/dims_text.h"

namespace pt::random_test {
namespace {

// The published sequence for this seed: plans, test data and random inputs are the same everywhere.
TEST_CASE("Random, GivesThePublishedSequence", "[support]") {
  Random random(1234567);
  CHECK(random.Next() == 6457827717110365317U);
  CHECK(random.Next() == 3203168211198807973U);
  CHECK(random.Next() == 9817491932198370423U);
  CHECK(random.Next() == 4593380528125082431U);
  CHECK(random.Next() == 16408922859458223821U);
}

TEST_CASE("Random, StaysWithinItsBounds", "[support]") {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    CHECK(random.Below(7) < 7);
    const double x = random.Uniform(-2, 3);
    CHECK(x >= -2);
    CHECK(x < 3);
  }
}

TEST_CASE("DimsText, ListsDimsInBrackets", "[support]") {
  CHECK(DimsText({}) == "[]");
  const int64_t dims[] = {1, -1, 224};
  CHECK(DimsText(dims) == "[1,-1,224]");
}

}  // namespace
}  // namespace pt::random_test
