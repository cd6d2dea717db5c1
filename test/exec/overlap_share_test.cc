#include "lib/exec/overlap_share.h"

#include <catch2/catch_test_macros.hpp>

namespace pt::testing::overlap_share_test {
namespace {

// Every n-th run overlaps, or none.
void NoteRuns(OverlapShare& share, int runs, int every) {
  for (int run = 1; run <= runs; ++run) share.Note(every > 0 && run % every == 0);
}

}  // namespace

TEST_CASE("OverlapShare, OneRunInTwentyIsSeldomAndOneInFiveIsOften", "[exec]") {
  OverlapShare share;
  CHECK_FALSE(share.often());
  NoteRuns(share, 1000, 20);
  CHECK_FALSE(share.often());
  NoteRuns(share, 300, 5);
  CHECK(share.often());
  NoteRuns(share, 300, 8);  // what began so goes on below the bound that it began at
  CHECK(share.often());
  NoteRuns(share, 300, 0);
  CHECK_FALSE(share.often());
  NoteRuns(share, 300, 8);
  CHECK_FALSE(share.often());
}

TEST_CASE("OverlapShare, ABurstOfAFewRunsChangesNothing", "[exec]") {
  OverlapShare share;
  NoteRuns(share, 9, 1);
  CHECK_FALSE(share.often());
  NoteRuns(share, 9, 1);
  CHECK(share.often());
}

}  // namespace pt::testing::overlap_share_test
