// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): seeded numbers that are the
// same everywhere and for ever, which the standard library's distributions are not. Not for secrets.
#pragma once

#include <cstdint>

namespace pt {

// Spreads a number over 64 bits; a bijection.
constexpr uint64_t SplitMix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit constexpr Random(uint64_t seed) : state_(seed) {}
  constexpr uint64_t Next() { return SplitMix(state_ += 0x9e3779b97f4a7c15u); }
  constexpr uint64_t Below(uint64_t n) { return Next() % n; }  // n > 0
  constexpr double Uniform(double low, double high) {          // [low, high)
    return low + static_cast<double>(Next() >> 11) * 0x1p-53 * (high - low);
  }

 private:
  uint64_t state_;
};

}  // namespace pt
