#include "partitiontuner/graph/operators/texts.h"

#include <algorithm>

#include "lib/graph/operators/lists.h"
#include "partitiontuner/support/text.h"

namespace pt {
namespace {

Error InvalidText(std::string why) { return MakeError(ErrorCode::kInvalidInput, "graph.text", std::move(why)); }

Result<NgramWeighting> ReadWeighting(const Node& node) {
  const std::string mode = node.string_or("mode", "");
  if (mode == "TF") return NgramWeighting::kTf;
  if (mode == "IDF") return NgramWeighting::kIdf;
  if (mode == "TFIDF") return NgramWeighting::kTfIdf;
  return InvalidText(UnknownWord("mode", mode, {"TF", "IDF", "TFIDF"}));
}

}  // namespace

StringSplitNode ReadStringSplit(const Node& node) {
  return {node.string_or("delimiter", ""), node.int_or("maxsplit", -1)};
}

Result<StringNormalizerNode> ReadStringNormalizer(const Node& node) {
  StringNormalizerNode normalizer;
  const std::string change = node.string_or("case_change_action", "NONE");
  if (change == "LOWER") {
    normalizer.change = CaseChange::kLower;
  } else if (change == "UPPER") {
    normalizer.change = CaseChange::kUpper;
  } else if (change != "NONE") {
    return InvalidText(UnknownWord("case_change_action", change, {"NONE", "LOWER", "UPPER"}));
  }
  normalizer.is_case_sensitive = node.int_or("is_case_sensitive", 0) != 0;
  if (IsOtherKind<std::vector<std::string>>(node, "stopwords"))
    return InvalidText("attribute \"stopwords\" is not a list of strings");
  normalizer.stop_words = AttributeOr(node, "stopwords", std::vector<std::string>());
  normalizer.locale = node.string_or("locale", "");
  return normalizer;
}

std::string ReadPattern(const Node& node) { return node.string_or("pattern", ""); }

Result<TfIdfNode> ReadTfIdf(const Node& node) {
  TfIdfNode tfidf;
  tfidf.least = node.int_or("min_gram_length", 0);
  tfidf.most = node.int_or("max_gram_length", 0);
  tfidf.skips = node.int_or("max_skip_count", 0);
  if (tfidf.least < 1 || tfidf.most < tfidf.least || tfidf.skips < 0)
    return InvalidText("min_gram_length, max_gram_length or max_skip_count is out of range");
  PT_ASSIGN(tfidf.weighting, ReadWeighting(node));
  tfidf.starts = node.ints_or("ngram_counts", {});
  tfidf.columns = node.ints_or("ngram_indexes", {});
  if (tfidf.columns.empty() || *std::min_element(tfidf.columns.begin(), tfidf.columns.end()) < 0)
    return InvalidText("ngram_indexes is empty or negative");
  const int64_t last = *std::max_element(tfidf.columns.begin(), tfidf.columns.end());
  if (last == INT64_MAX) return InvalidText("ngram_indexes does not fit 63 bits");
  tfidf.width = last + 1;
  tfidf.weights = FloatsOf(node, "weights");
  if (node.find("weights") != nullptr && tfidf.weights.size() != tfidf.columns.size())
    return InvalidText("weights is not one number an n-gram");
  tfidf.ints = node.ints_or("pool_int64s", {});
  tfidf.strings = AttributeOr(node, "pool_strings", std::vector<std::string>());
  return tfidf;
}

}  // namespace pt
