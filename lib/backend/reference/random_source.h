// Random numbers as numpy's RandomState draws them: the Mersenne Twister MT19937, 53 bits a number. Equal seeds give
// equal numbers in every run, on every machine (Normal as far as the logarithms agree).
#pragma once

#include <random>

#include "lib/backend/reference/operator.h"

namespace pt::reference {

class RandomSource {
 public:
  explicit RandomSource(uint32_t seed) : twister_(seed) {}

  // In [0, 1).
  double Uniform();
  // Mean 0, variance 1; Marsaglia's polar method (SIAM Review 6(3), 1964).
  double Normal();

 private:
  std::mt19937 twister_;
  double spare_ = 0;  // pairs are drawn
  bool has_spare_ = false;
};

// The low 32 bits of the attribute "seed", truncated to an integer. Without it: one that depends on where the node
// stands in the file (out of a function: in the graph), so that runs repeat and nodes differ. kInvalidInput when it is
// no number of 64 bits.
Result<uint32_t> SeedOf(const ReferenceSite& site);

}  // namespace pt::reference
