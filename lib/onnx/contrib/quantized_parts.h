// What rewrites of operators on quantised tensors have in common.
#pragma once

#include <string>

#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {

// A quantised input: where in the node's inputs the tensor, its scale and its zero point are. The zero point may be
// absent, which means 0.
struct Quantized {
  int tensor, scale, zero_point;
};

// Errors when the element type is known to be neither int8 nor uint8.
Status NeedBytes(const Rewrite& r, int input, const std::string& what);

// That input, which holds one number, without dims. ONNX Runtime also takes [1]. Errors: it is known to hold more.
Result<std::string> OneNumber(Rewrite& r, int input, const std::string& what);

// That input, which may hold several: without dims where it is known to be [1], which is one number to ONNX Runtime,
// and a column's or a channel's to ONNX.
std::string ScalarIfOne(Rewrite& r, int input);

// The input in float32, one scale and zero point for all of it.
Result<std::string> Dequantize(Rewrite& r, Quantized input);

// A product of integers as a real number: a of int8 or uint8 with one scale and zero point ("" for 0), and inputs of
// the node. Those of b are one number, or one for each of its columns.
struct DequantizedProduct {
  std::string a, a_scale, a_zero_point;
  int b, b_scale, b_zero_point, bias;
};

// In float32; as output 0 of the node where it `finishes`.
Result<std::string> MultiplyIntegers(Rewrite& r, const DequantizedProduct& product, bool finishes);

// Makes output 0 of a float32 value; a zero point that is absent is 0 of the type of input `like`.
Status FinishQuantized(Rewrite& r, const std::string& value, int scale, int zero_point, int like);

}  // namespace pt::contrib
