// Elementwise operators as expressions: a group of them becomes one kernel that reads each input once.
#pragma once

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
Result<std::string> ElementwiseBody(const Site& site, std::span<const NodeId> nodes, const Computed& computed);

// All results have the same dims, to which inputs broadcast. kUnsupported where operators, types or dims do not fit.
Result<KernelText> MakeElementwise(const Site& site);

// Inputs (indices into Site::in) that the first output may lie on: each of their elements is read by the thread that
// writes the result's element in its place.
std::vector<uint32_t> InPlaceInputs(const Site& site);

}  // namespace pt::cuda
