// What operators that draw random numbers say.
#pragma once

#include <cstdint>
#include <optional>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// The low 32 bits of the seed, cut to an integer. nullopt: the node does not have one. Error: kInvalidInput where it is
// not a number of 64 bits.
Result<std::optional<uint32_t>> ReadSeed(const Node& node);

// RandomUniform and RandomUniformLike: from low to below high.
struct UniformRange {
  float low = 0, high = 1;
};
UniformRange ReadUniformRange(const Node& node);

// RandomNormal and RandomNormalLike.
struct NormalMoments {
  float mean = 0, deviation = 1;
};
NormalMoments ReadNormalMoments(const Node& node);

// Multinomial: how often is drawn. Error: kInvalidInput below 1.
Result<int64_t> ReadSampleCount(const Node& node);

}  // namespace pt
