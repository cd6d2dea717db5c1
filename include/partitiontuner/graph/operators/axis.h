// The attribute "axis", whatever operator has it: its default, and negative values counted from the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// From 0 on. Error: kInvalidInput where a tensor of this rank has no such axis.
Result<size_t> ResolveAxis(int64_t axis, size_t rank);

// The axis that the node names, or the default of its operator in this operator set, from 0 on. rank: of the tensor
// that the axis is of; for OneHot, of the result. Not for Softmax and Flatten, whose axes mean more (softmax.h,
// ReadFlatten). Errors: kInvalidInput where there is no such axis; kUnsupported for operators that are not in the
// table.
Result<size_t> ReadAxis(const Node& node, int64_t opset, size_t rank);

// Whether the node names one: Compress and Unique take a flat tensor where it does not.
bool HasAxis(const Node& node);

// QuantizeLinear and DequantizeLinear: how many indices along the axis share a scale; 0 or less: not given.
int64_t ReadBlockSize(const Node& node);

// CenterCropPad and MeanVarianceNormalization: the axes, from 0 on, in the node's order; by default all of them, or 0,
// 2 and 3. Error: kInvalidInput where there is no such axis.
Result<std::vector<size_t>> ReadAxes(const Node& node, size_t rank);

}  // namespace pt
