// Real values that a group reads or writes as the integers that stand for them: its DequantizeLinear and QuantizeLinear
// nodes become scales and zero points of a primitive.
#pragma once

#include <optional>

#include "lib/backend/onednn/kernel_descriptor.h"
#include "lib/backend/onednn/pointwise.h"
#include "partitiontuner/graph/linear_quantisation.h"

namespace pt::onednn {

struct Quantised {
  NodeId node;  // DequantizeLinear or QuantizeLinear
  ValueId real, integers;
  LinearQuantisation quantisation;
};

// What makes the value from 8-bit integers and is read here alone; nullopt where nothing does.
std::optional<Quantised> Dequantisation(const Graph& graph, ValueId real);
// What makes 8-bit integers of the value and is its only reader; nullopt where nothing does.
std::optional<Quantised> Quantisation(const Graph& graph, ValueId real);
// The same of the node itself, whoever else reads what it reads.
std::optional<Quantised> QuantisedBy(const Graph& graph, NodeId node);

// Whether a primitive can apply the operation to integers as they are read, one scale and zero point for all of them.
bool TakesIntegers(const Pointwise& op, const Quantised& operand);
// The operation on the running real number with its operand as the integers: a few operations in a row.
std::vector<Pointwise> OnIntegers(const Pointwise& op, const Quantised& operand);
// integer -> real number and back, for primitives that know neither scales nor zero points.
Pointwise ToReal(const Quantised& read);
Pointwise FromReal(const Quantised& written);
// The same with the definition's own rounding: divided, rounded half to even, shifted.
std::vector<Pointwise> FromRealExactly(const Quantised& written);

// Scales and zero points for an argument (DNNL_ARG_SRC, …) of a primitive that knows them. mask: oneDNN's, over the
// dims of the argument along which they vary; zero points must be the same for all then.
Status AddQuantisation(dnnl::primitive_attr& attributes, KernelDescriptor& descriptor, int key,
                       const LinearQuantisation& quantisation, int mask);

// A zero point alone, for sums that are given out as integers.
Status AddZeroPoint(dnnl::primitive_attr& attributes, KernelDescriptor& descriptor, int key,
                    const LinearQuantisation& quantisation);

// Numbers of uint8, each 128 less.
Tensor MovedToInt8(const Tensor& numbers);
// Weights as int8, with zero points of none: those of uint8 move down by 128. nullopt when they are not constants or
// their zero points are elsewhere.
std::optional<Tensor> SymmetricWeights(const Graph& graph, const Quantised& weights);

// Constant integers as the real numbers that they stand for, rounded as the definition says.
Tensor DequantisedConstant(const Graph& graph, const Quantised& integers);

// Products of 8-bit integers are exact: four of them are summed in 32 bits at once. Without these instructions oneDNN
// sums pairs in 16 bits, where they saturate.
bool HasExactIntegerProducts();

}  // namespace pt::onednn
