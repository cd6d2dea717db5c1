// Types of elements that nodes name: Cast, BitCast, and all that say of which type their result is.
#pragma once

#include <string_view>

#include "partitiontuner/graph/data_type.h"
#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// The type that an attribute names by its number in TensorProto.DataType; `otherwise` where it is missing or names
// kUndefined. Error: kInvalidInput for other numbers, and for a missing one where `otherwise` is kUndefined.
Result<DataType> ReadNamedType(const Node& node, std::string_view attribute, DataType otherwise = DataType::kUndefined);

// Cast, CastLike and QuantizeLinear to floats of 8 bits: what is too large becomes the largest number, else infinite or
// NaN.
bool Saturates(const Node& node);

// Cast to float8e8m0: what lies between two numbers becomes the greater one, which is the default.
bool RoundsUp(const Node& node);

}  // namespace pt
