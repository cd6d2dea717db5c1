// Verifying outputs against expected ones: which difference is allowed, and how big it is. Types,
// dims, and the positions of NaN and infinity must always agree; integers, booleans and strings
// exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/candidate/precision.h"
#include "partitiontuner/graph/datum.h"

namespace pt {

// What floating-point outputs are held to.
struct Tolerance {
  enum class Kind : uint8_t {
    kOfMaximum,    // |a-b| <= absolute or |a-b| <= relative * max|expected| over the whole output
    kElementwise,  // |a-b| <= absolute + relative * |expected| for each element
  };
  Kind kind = Kind::kOfMaximum;
  double relative = 0, absolute = 0;
  // Integer outputs that a quantisation made may differ by this many steps.
  int64_t integer_steps = 0;
};

// Of the maximum, RelativeTolerance (candidate/precision.h) of the least exact math that made it; exact for integers,
// booleans and strings. An output behind a quantisation may differ by one step of it besides.
Tolerance DefaultTolerance(const Graph& graph, ValueId output, MathMode math = MathMode::kFp32);
// For the operator tests of the ONNX project: elementwise, relative 1e-3, absolute 1e-7.
Tolerance OperatorTestTolerance();

// What an output should be: a whole tensor, every stride-th value of one in row-major order, or a value of another
// kind.
struct ExpectedTensor {
  std::string name;              // may be empty
  std::optional<Tensor> tensor;  // else the sample:
  std::vector<int64_t> dims;     // of the whole tensor
  int64_t stride = 1;
  std::vector<double> sample;
  std::optional<Datum> datum;  // of a value that is no tensor; none of the above then
};

struct Comparison {
  bool equal = true;      // within the tolerance
  double max_abs = 0;     // largest |a-b| over finite elements
  double max_rel = 0;     // max_abs / max|expected| for kOfMaximum, else the largest |a-b| / |expected|
  int64_t compared = 0;   // elements
  int64_t nan_count = 0;  // expected NaN
  std::string reason;     // why not equal: type, dims or the worst element with both values
};
Comparison CompareTensors(const ExpectedTensor& expected, const Tensor& actual, const Tolerance& tolerance);
// Type and dims alone: all that holds for values left to chance (graph/chance.h). Samples say no type.
Comparison CompareKinds(const ExpectedTensor& expected, const Tensor& actual);
// Of sequences, tensor by tensor.
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
