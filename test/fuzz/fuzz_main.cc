// libFuzzer's side of one entry, PT_FUZZ_ENTRY.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "test/fuzz/entry.h"

namespace {

const pt::testing::FuzzEntry& Entry() {
  static const pt::testing::FuzzEntry* const entry = pt::testing::FindFuzzEntry(PT_FUZZ_ENTRY);
  pt::testing::Expect(entry != nullptr, "no entry " PT_FUZZ_ENTRY);
  return *entry;
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Entry().run(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

// Three times of four, where there is such damage, a change that the first reader accepts.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (Entry().damage == nullptr || seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  pt::Random random(seed);
  const std::string damaged = Entry().damage(std::string(reinterpret_cast<const char*>(data), size), random);
  if (damaged.empty() || damaged.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, damaged.data(), damaged.size());
  return damaged.size();
}
