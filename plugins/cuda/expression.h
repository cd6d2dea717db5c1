// Elementwise operators as expressions: a group of them becomes one kernel that reads each input once.
#pragma once

#include "plugins/cuda/index_space.h"
#include "plugins/cuda/site.h"

namespace pt::cuda {

// There is a row for the operator; its types and parameters may still rule it out.
bool IsElementwiseOperator(const Node& node);

// A value that the kernel has computed before, as an expression.
struct Computed {
  ValueId value = {};
  std::string text;
};

// Statements for one element of the site's results, in the form that TogetherKernel takes: $L2$ is what input 2 has in
// its place, $S0$ where result 0 goes. nodes: elementwise, ascending. kUnsupported where operators or types do not fit.
Result<std::string> ElementwiseBody(const CudaSite& site, std::span<const NodeId> nodes, const Computed& computed);

// The strides with which the nodes, whose results have these dims, read the operand: scales and zero points run along
// the axis that the node names, anything else broadcasts; zeros where none of them reads it. kUnsupported where it does
// not fit, or is read in two ways.
Result<std::vector<int64_t>> StridesFor(const CudaSite& site, std::span<const NodeId> nodes, const CudaOperand& operand,
                                        std::span<const int64_t> dims);

// The same with its marks replaced by elements at c0, c1, … of the result's dims: what nodes behind a computed value
// make of it. The site has one result.
Result<std::string> BehindText(const CudaSite& site, std::span<const NodeId> nodes, std::span<const int64_t> dims,
                               const Computed& computed);

// All results have the same dims, to which inputs broadcast. kUnsupported where operators, types or dims do not fit.
Result<KernelText> MakeElementwise(const CudaSite& site);

// Inputs (indices into CudaSite::in) that the first output may lie on: each of their elements is read by the thread
// that writes the result's element in its place.
std::vector<uint32_t> InPlaceInputs(const CudaSite& site);

}  // namespace pt::cuda
