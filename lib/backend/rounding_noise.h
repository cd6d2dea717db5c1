// How much rounding alone may change what an operator makes: sums in another order, products fused with additions,
// convolutions by way of transforms. A model of what right libraries do, for measuring what becomes of it.
#pragma once

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/random.h"

namespace pt {

// Shares of a number itself, and of the largest number of its tensor.
struct RoundingNoise {
  double of_itself = 0, of_largest = 0;
  bool keeps_zeros = false;  // a result of 0 is 0 however it is rounded
  bool is_none() const { return of_itself == 0 && of_largest == 0; }
};

// Its results are numbers of an input, unchanged: nothing is rounded.
bool IsExact(const Node& node);
// One number from one number of each operand: nothing is summed, and nothing is lost where large numbers cancel.
bool IsOfSingleNumbers(const Node& node);

// Of results of that type. Only for float32, float16 and bfloat16; none for exact results in float32, and none for
// nodes with nested graphs, whose inner nodes have their own.
RoundingNoise RoundingNoiseOf(const Node& node, DataType type);

// Smaller numbers count as zero in sessions, or might on the way.
inline constexpr double kFlushed = 1e-36;

// The number with noise; `largest` is the largest magnitude of its tensor. What is not finite stays.
double Shaken(double number, const RoundingNoise& noise, double largest, Random& random);

}  // namespace pt
