// What fuzzers feed bytes to, and what is replayed and damaged in the tests of every build: a row for each kind of file
// or text that the project reads. An entry takes whatever bytes it is given and returns; it ends the process where
// something was believed that must not be (Expect). A refusal with an error is not a finding.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "partitiontuner/support/random.h"

namespace pt::testing {

struct FuzzEntry {
  std::string_view name;   // of its fuzzer
  std::string_view seeds;  // of its folder in test/fuzz/seeds
  void (*run)(std::string_view bytes);
  // Damages bytes so that they still pass the first reader, protobuf's or JSON's; null: bytes are damaged as such.
  std::string (*damage)(const std::string& bytes, Random& random) = nullptr;
};

std::span<const FuzzEntry> FuzzEntries();
const FuzzEntry* FindFuzzEntry(std::string_view name);  // null when absent

// Prints what and ends the process by abort() unless it holds: how a fuzzer learns of a wrong result.
void Expect(bool holds, const std::string& what);

}  // namespace pt::testing
