// What operators of ai.onnx.ml on labels and single features say: LabelEncoder, CategoryMapper, OneHotEncoder,
// Binarizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// Two lists of which one becomes the other.
struct LabelLists {
  Tensor keys, values;
};
// LabelEncoder from version 2 on: its keys and values, of whichever types. Errors: kInvalidInput where one of them is
// missing, given twice, or not a list.
Result<LabelLists> ReadLabels(const Node& node);
// LabelEncoder of version 1: the strings whose places are their numbers. Error: kInvalidInput where they are missing.
Result<Tensor> ReadFirstLabels(const Node& node);
// CategoryMapper: its integers as keys and its strings as values. Error: kInvalidInput where one of them is missing.
Result<LabelLists> ReadCategoryMap(const Node& node);
// LabelEncoder and CategoryMapper: what stands for values without a key, one element of that type. nullopt: the node
// does not say, and the standard has no default for this type. Error: kInvalidInput where it is not one element of
// that type.
Result<std::optional<Tensor>> ReadDefaultLabel(const Node& node, DataType type);

struct OneHotEncoderNode {
  std::vector<int64_t> ints;  // the categories are in one of the two lists
  std::vector<std::string> strings;
  bool takes_unknown = true;  // what is in no category becomes zeros, else it is refused
};
// Error: kInvalidInput unless one of the two lists is given.
Result<OneHotEncoderNode> ReadOneHotEncoder(const Node& node);

// Binarizer: above it, 1.
float ReadThreshold(const Node& node);

}  // namespace pt
