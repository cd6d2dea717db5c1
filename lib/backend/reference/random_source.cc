#include "lib/backend/reference/random_source.h"

#include <cmath>

#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/random.h"
#include "partitiontuner/support/hash.h"

namespace pt::reference {

double RandomSource::Uniform() {
  const auto high = static_cast<double>(twister_() >> 5), low = static_cast<double>(twister_() >> 6);
  return (high * 0x1p26 + low) / 0x1p53;
}

double RandomSource::Normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double x = 0, y = 0, square = 0;
  do {
    x = 2 * Uniform() - 1;
    y = 2 * Uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * std::log(square) / square);
  spare_ = factor * x;
  has_spare_ = true;
  return factor * y;
}

Result<uint32_t> SeedOf(const ReferenceSite& site) {
  PT_ASSIGN(const std::optional<uint32_t> given, OrInvalid(ReadSeed(site.node), site));
  if (given) return *given;
  std::string place = site.node.op;
  bool known = false;
  for (const Source& source : site.node.source) {
    known = known || !source.first_output.empty();
    place += "/" + source.subgraph + "#" + std::to_string(source.index);
  }
  // Nodes out of functions have no place of their own in the file.
  if (!known && !site.node.outputs.empty()) place += "/" + std::to_string(site.node.outputs[0].value);
  return static_cast<uint32_t>(HashText(place).low);
}

}  // namespace pt::reference
