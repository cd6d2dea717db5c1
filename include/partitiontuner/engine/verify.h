// Verifying outputs against expected ones: which difference is allowed, and how big it is. Types,
// dims, and the positions of NaN and infinity must always agree; integers, booleans and strings
// exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/engine/tolerance.h"
#include "partitiontuner/graph/datum.h"

namespace pt {

// What an output should be: a whole tensor, every stride-th value of one in row-major order, or a value of another
// kind.
struct ExpectedTensor {
  std::string name;              // may be empty
  std::optional<Tensor> tensor;  // else the sample:
  std::vector<int64_t> dims;     // of the whole tensor
  int64_t stride = 1;
  std::vector<double> sample;
  std::optional<Datum> datum;  // of a value that is not a tensor; none of the above then
};

struct Comparison {
  bool equal = true;   // within the tolerance
  double max_abs = 0;  // largest |a-b| over finite elements
  double max_rel = 0;  // max_abs / max|expected| for kOfMaximum, else the largest |a-b| / |expected|
  double largest = 0;  // max|expected| over finite elements; of real numbers
  // The largest |a-b| by what is allowed of it; infinite where nothing is allowed, or more than numbers differs.
  double of_tolerance = 0;
  int64_t compared = 0;   // elements
  int64_t nan_count = 0;  // expected NaN
  // Elements of real numbers that are NaN on one side alone, and such that differ otherwise, beyond the tolerance.
  int64_t nan_differences = 0, other_differences = 0;
  std::string reason;  // why not equal: type, dims or the worst element with both values
};
// Nothing differs except where NaN is.
inline bool DiffersInNanAlone(const Comparison& comparison) {
  return !comparison.equal && comparison.nan_differences > 0 && comparison.other_differences == 0;
}
Comparison CompareTensors(const ExpectedTensor& expected, const Tensor& actual, const Tolerance& tolerance);
// Type and dims alone: all that holds for values left to chance (graph/chance.h). Samples say no type.
Comparison CompareKinds(const ExpectedTensor& expected, const Tensor& actual);
// For sequences, tensor by tensor.
Comparison CompareData(const ExpectedTensor& expected, const Datum& actual, const Tolerance& tolerance);

// How far outputs lie from those that they stand for, in the same order: over all outputs, the largest max|a-b| /
// max|expected| of one of them, over its finite elements. Infinite where more differs than real numbers: a count, type,
// dims, the places of NaN and infinity, an integer, boolean or string; and where something stands for nothing but
// zeros.
double RelativeError(std::span<const Tensor> expected, std::span<const Tensor> actual);

// Same type, dims and bytes.
bool SameBits(const Tensor& a, const Tensor& b);
// Same kind, and all that they hold.
bool SameData(const Datum& a, const Datum& b);

}  // namespace pt
