// Every build replays what fuzzers have found and kept, and damages it anew, the same way each time: libFuzzer is not
// needed to see that a finding stays mended.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "test/fuzz/damage.h"
#include "test/fuzz/entry.h"
#include "test/fuzz/wire_tree.h"
#include "test/testing/forked_trials.h"
#include "test/testing/rounds.h"

namespace pt::testing::replay_test {
namespace {

namespace fs = std::filesystem;

struct Seed {
  std::string name, bytes;
};

std::vector<Seed> SeedsOf(std::string_view folder_name) {
  std::vector<Seed> seeds;
  const fs::path folder = fs::path(PT_SOURCE_DIR) / "test/fuzz/seeds" / folder_name;
  for (const auto& file : fs::directory_iterator(folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    seeds.push_back({file.path().filename(), std::string(std::istreambuf_iterator<char>(in), {})});
  }
  std::ranges::sort(seeds, {}, &Seed::name);
  return seeds;
}

std::string Damaged(const FuzzEntry& entry, const std::string& bytes, uint64_t number) {
  Random random(SplitMix(number));
  std::string damaged = entry.damage != nullptr && number % 4 != 0 ? entry.damage(bytes, random) : "";
  return damaged.empty() ? DamageBytes(bytes, random) : damaged;
}

// By processes of their own, so that a crash names its input and the others go on.
void Check(const FuzzEntry& entry, const std::vector<Seed>& seeds, uint64_t damages) {
  const size_t each = static_cast<size_t>(damages) + 1;
  const auto trial = [&](size_t number) -> std::string {
    const Seed& seed = seeds[number / each];
    entry.run(number % each == 0 ? seed.bytes : Damaged(entry, seed.bytes, number));
    return "";
  };
  const std::vector<std::string> ends = RunForked(seeds.size() * each, trial);
  for (size_t i = 0; i < ends.size(); ++i) {
    if (!ends[i].empty())
      FAIL_CHECK(entry.name << ", seed " << seeds[i / each].name << ", damage " << i % each << ": " << ends[i]);
  }
}

}  // namespace

TEST_CASE("Fuzzing, WhatWasFoundStaysMended", "[fuzz]") {
  for (const FuzzEntry& entry : FuzzEntries()) {
    const std::vector<Seed> seeds = SeedsOf(entry.seeds);
    CAPTURE(entry.name);
    CHECK_FALSE(seeds.empty());
    Check(entry, seeds, Rounds(20));
  }
}

// Ten minutes.
TEST_CASE("Fuzzing, DamagedByThousandsNothingCrashes", "[.nightly]") {
  for (const FuzzEntry& entry : FuzzEntries()) Check(entry, SeedsOf(entry.seeds), 2000);
}

TEST_CASE("Fuzzing, AModelReadAsFieldsIsWrittenAsItWas", "[fuzz]") {
  for (const Seed& seed : SeedsOf("model")) {
    const auto fields = ReadWire(seed.bytes);
    if (fields) CHECK(WriteWire(*fields) == seed.bytes);
  }
}

}  // namespace pt::testing::replay_test
