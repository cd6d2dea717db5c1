// How far right outputs may lie from each other: by the types and quantisations that they are made through.
#pragma once

#include <cstdint>
#include <string>

#include "partitiontuner/candidate/precision.h"
#include "partitiontuner/graph/graph.h"

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

struct ReasonedTolerance {
  Tolerance tolerance;
  std::string reason;  // "float16 inside"
  // Numbers are rounded to integers, or to floats of 8 bits or less, on the way to the output: roundings in another
  // order may then change it by more than this tolerance, and by how much only runs can tell (rounding_trials.h).
  bool quantised = false;
};

// Of the maximum, RelativeTolerance (candidate/precision.h) of the least exact type that a value on the way to the
// output is computed in, the output's own among them, and of the least exact math of the plan; exact for integers,
// booleans and strings. In addition, an output may differ
// - by one step where it is a quantisation's integers, or these dequantised, moved, picked or made less;
// - by 2^-22, two units in the last place of 1, where an operator made it whose results lie within 1 whatever it is
// given
//   (Sigmoid, Softmax, Tanh, ...): what is small in the data at hand is small beside that.
// The graph is the model's as loaded: passes fold quantisations away, and compute float16 in float32.
ReasonedTolerance ToleranceOf(const Graph& graph, ValueId output, MathMode math = MathMode::kFp32);
inline Tolerance DefaultTolerance(const Graph& graph, ValueId output, MathMode math = MathMode::kFp32) {
  return ToleranceOf(graph, output, math).tolerance;
}

// The largest step of a node that quantises by a constant scale (QuantizeLinear, QLinearConv, QLinearMatMul); 0 for
// every other node.
double QuantisationStep(const Graph& graph, const Node& node);

// For the operator tests of the ONNX project: elementwise, relative 1e-3, absolute 1e-7.
Tolerance OperatorTestTolerance();

}  // namespace pt
