// Products of 8-bit integers, exact in 32 bits: QLinearConv and the like, and Conv, ConvTranspose, MatMul and Gemm of
// what is dequantised for them alone.
#pragma once

#include <array>

#include "plugins/cuda/tiles.h"

namespace pt::cuda {

// The product among the nodes; invalid where there is none.
NodeId FindIntegerProduct(const Graph& graph, std::span<const NodeId> nodes);
// The product with the DequantizeLinear nodes of its operands, ascending; empty where it is none of integers.
std::vector<NodeId> IntegerProductNodes(const Graph& graph, NodeId product);

// The DequantizeLinear that makes input i of the node from 8-bit integers; invalid where none does.
NodeId DequantisationOf(const Graph& graph, const Node& node, size_t i);

// An operand.
struct Factor {
  const CudaOperand* integers = nullptr;
  const CudaOperand *scale = nullptr, *zero = nullptr;  // null: none
  int64_t axis = 0;                                     // of `integers`, that several scales or zero points run along
};

// What a DequantizeLinear of the site reads.
Result<Factor> DequantisedFactor(const CudaSite& site, const Node& dequantisation);

struct QuantizedProduct {
  const Node* node = nullptr;
  Factor a, b;
  const CudaOperand* bias = nullptr;  // null: none. int32 where the result is requantised, else real
  // Of QLinearConv and QLinearMatMul, whose result is integers again; null elsewhere.
  const CudaOperand *y_scale = nullptr, *y_zero = nullptr;
  std::vector<NodeId> behind;  // the other nodes, elementwise
  std::vector<int64_t> y_dims;

  bool is_real() const { return a.scale != nullptr && y_scale == nullptr; }
};

// The product of the site, which makes one result. kUnsupported where types do not fit.
Result<QuantizedProduct> ReadIntegerProduct(const CudaSite& site);

// A scale or zero point as an expression: a number, or the one at `index` along that axis of the integers. kUnsupported
// where there are several along another one.
Result<std::string> ParameterText(const CudaSite& site, const Factor& factor, const CudaOperand& parameter,
                                  int64_t axis, const std::string& index);
// The zero point of the integers as tiles see them (TiledBytes), likewise; empty where it is known to be 0.
Result<std::string> ZeroText(const CudaSite& site, const Factor& factor, int64_t axis, const std::string& index);
// An element of the integers without that zero point.
std::string MovedText(const std::string& element, DataType type, const std::string& zero);

// Statements that take `total`, the sum of products at c0, c1, …, and write the site's result. scales: of both factors,
// empty where they have none; bias: an expression, empty for none; alpha: what the product is also multiplied with,
// empty for 1.
Result<std::string> WrittenText(const CudaSite& site, const QuantizedProduct& product,
                                const std::array<std::string, 2>& scales, const std::string& bias,
                                const std::string& alpha = "");

// This many products of 8-bit integers are summed in 32 bits, whatever their zero points.
inline constexpr int64_t kMostProducts = 32768;

// MatMul, Gemm and their kin of integers with what is around them: as ConvolutionVariants and MakeConvolution.
Result<std::vector<std::string>> MatrixVariants(const CudaSite& site);
Result<CudaRoutine> MakeMatrixProduct(const CudaSite& site, std::string_view variant);

}  // namespace pt::cuda
