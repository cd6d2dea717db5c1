#include "lib/profiler/measurers.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

namespace pt::measurers_test {
namespace {

TEST_CASE("Measurers, EveryKindOfCostHasOne", "[profiler]") {
  const auto kinds = CostKinds();
  CHECK(std::set<const CostKind*>(kinds.begin(), kinds.end()).size() == kinds.size());
  CHECK(Measurers().size() == kinds.size());
  for (const CostKind* kind : kinds) {
    INFO("family " << kind->family);
    CHECK(std::ranges::count(Measurers(), kind, &Measurer::kind) == 1);
    CHECK(kind->list != nullptr);
    CHECK(kind->label != nullptr);
    CHECK((!kind->family.empty() || kind == &kRunKind));
  }
}

}  // namespace
}  // namespace pt::measurers_test
