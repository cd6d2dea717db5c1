// Elementwise operators as expressions: a group of them becomes one kernel that reads each input once.
#pragma once

#include "plugins/cuda/site.h"

namespace pt::cuda {

// There is a row for the operator; its types and parameters may still rule it out.
bool IsElementwiseOperator(const Node& node);

// All results have the same dims, to which inputs broadcast. kUnsupported where operators, types or dims do not fit.
Result<KernelText> MakeElementwise(const Site& site);

// Inputs (indices into Site::in) that the first output may lie on: each of their elements is read by the thread that
// writes the result's element in its place.
std::vector<uint32_t> InPlaceInputs(const Site& site);

}  // namespace pt::cuda
