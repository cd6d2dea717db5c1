#include "lib/backend/run_time/size_cache.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>

namespace pt::run_time::size_cache_test {
namespace {

using Numbers = SizeCache<int>;

bool Has(Numbers& entries, int number) {
  return entries.Find(static_cast<size_t>(number), [&](int entry) { return entry == number; }) != nullptr;
}

void Add(Numbers& entries, int number, size_t room = 1) { entries.Add(static_cast<size_t>(number), number, room); }

TEST_CASE("SizeCache, WhatWasUsedLongestAgoGoesFirst", "[backend]") {
  Numbers entries(3, std::make_shared<SharedRoom>(0));
  for (const int number : {1, 2, 3}) Add(entries, number);
  CHECK(Has(entries, 1));
  Add(entries, 4);
  CHECK(Has(entries, 1));
  CHECK_FALSE(Has(entries, 2));
  CHECK(Has(entries, 3));
  CHECK(Has(entries, 4));
}

TEST_CASE("SizeCache, EntriesOfOneHashAreToldApart", "[backend]") {
  Numbers entries(2, std::make_shared<SharedRoom>(0));
  const auto has = [&](int number) { return entries.Find(7, [&](int entry) { return entry == number; }) != nullptr; };
  entries.Add(7, 1, 1);
  entries.Add(7, 2, 1);
  CHECK(has(1));
  CHECK(has(2));
  entries.Add(7, 3, 1);
  CHECK_FALSE(has(1));
  CHECK(has(2));
  CHECK(has(3));
}

TEST_CASE("SizeCache, SharedRoomIsForThoseWhoComeFirstAndIsGivenBack", "[backend]") {
  const auto shared = std::make_shared<SharedRoom>(2);
  {
    Numbers first(1, shared);
    for (int number = 0; number < 5; ++number) Add(first, number);
    CHECK(first.size() == 3);
    Numbers second(1, shared);
    Add(second, 1);
    Add(second, 2);
    CHECK(second.size() == 1);
    CHECK(Has(second, 2));
  }
  Numbers third(1, shared);
  for (int number = 0; number < 5; ++number) Add(third, number);
  CHECK(third.size() == 3);
}

TEST_CASE("SizeCache, LargeEntriesCountForSeveralAndTakeNoSharedRoom", "[backend]") {
  const auto shared = std::make_shared<SharedRoom>(8);
  Numbers entries(4, shared);
  Add(entries, 1, 3);
  Add(entries, 2, 3);
  CHECK_FALSE(Has(entries, 1));
  CHECK(Has(entries, 2));
  Add(entries, 3, 9);  // alone it may be larger than the room
  CHECK(entries.size() == 1);
  CHECK(Has(entries, 3));
}

}  // namespace
}  // namespace pt::run_time::size_cache_test
