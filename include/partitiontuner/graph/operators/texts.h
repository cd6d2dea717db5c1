// What operators on strings say: StringSplit, StringNormalizer, RegexFullMatch, TfIdfVectorizer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

struct StringSplitNode {
  std::string delimiter;     // empty: at white space
  int64_t most_splits = -1;  // negative: no limit
};
StringSplitNode ReadStringSplit(const Node& node);

enum class CaseChange : uint8_t { kNone, kLower, kUpper };
struct StringNormalizerNode {
  CaseChange change = CaseChange::kNone;
  bool is_case_sensitive = false;  // of stop words
  std::vector<std::string> stop_words;
  std::string locale;
};
// Error: kInvalidInput for an unknown change, and stop words that are not strings.
Result<StringNormalizerNode> ReadStringNormalizer(const Node& node);

// RegexFullMatch.
std::string ReadPattern(const Node& node);

enum class NgramWeighting : uint8_t { kTf, kIdf, kTfIdf };
struct TfIdfNode {
  int64_t least = 1, most = 1;  // items of an n-gram
  int64_t skips = 0;            // items that may be left out between two of them
  NgramWeighting weighting = NgramWeighting::kTf;
  std::vector<int64_t> starts;   // where the n-grams of 1, 2, … items begin in the pool
  std::vector<int64_t> columns;  // of the result, by n-gram
  std::vector<float> weights;    // by n-gram; empty: all 1
  int64_t width = 0;             // columns of the result
  std::vector<int64_t> ints;     // the pool
  std::vector<std::string> strings;
};
// Errors: kInvalidInput for lengths, modes, columns and weights that are out of range.
Result<TfIdfNode> ReadTfIdf(const Node& node);

}  // namespace pt
