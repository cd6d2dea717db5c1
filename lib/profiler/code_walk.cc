#include "lib/profiler/code_walk.h"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace pt {
namespace {

constexpr size_t kCodeBytes = size_t{128} << 10;  // four times what first-level instruction caches hold
constexpr size_t kStride = 32;                    // between two jumps

#if defined(__x86_64__)
constexpr std::array<uint8_t, 2> kJump = {0xEB, kStride - 2};  // jmp to the next stride
constexpr std::array<uint8_t, 1> kReturn = {0xC3};             // ret
#elif defined(__aarch64__)
constexpr std::array<uint8_t, 4> kJump = {kStride / 4, 0x00, 0x00, 0x14};  // b to the next stride
constexpr std::array<uint8_t, 4> kReturn = {0xC0, 0x03, 0x5F, 0xD6};       // ret
#else
constexpr std::array<uint8_t, 0> kJump = {}, kReturn = {};
#endif

}  // namespace

CodeWalk::CodeWalk() {
  if (kJump.empty()) return;
  void* const memory = mmap(nullptr, kCodeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  auto* const bytes = static_cast<uint8_t*>(memory);
  for (size_t at = 0; at + kStride < kCodeBytes; at += kStride) std::memcpy(bytes + at, kJump.data(), kJump.size());
  std::memcpy(bytes + kCodeBytes - kStride, kReturn.data(), kReturn.size());
  __builtin___clear_cache(static_cast<char*>(memory), static_cast<char*>(memory) + kCodeBytes);
  if (mprotect(memory, kCodeBytes, PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, kCodeBytes);
    return;
  }
  code_ = memory;
}

CodeWalk::~CodeWalk() {
  if (code_ != nullptr) munmap(code_, kCodeBytes);
}

void CodeWalk::Walk() const {
  if (code_ != nullptr) std::bit_cast<void (*)()>(code_)();
}

}  // namespace pt
