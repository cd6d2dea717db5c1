#include "partitiontuner/graph/operators/texts.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "partitiontuner/graph/operators/labels.h"
#include "test/graph/operators/made_node.h"

namespace pt::texts_test {
namespace {

using testing::Attributes;
using testing::Made;

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

TEST_CASE("ReadStringNormalizer, DefaultsAndEachAttribute", "[graph]") {
  const StringNormalizerNode plain = *ReadStringNormalizer(Made("StringNormalizer"));
  CHECK(plain.change == CaseChange::kNone);
  CHECK_FALSE(plain.is_case_sensitive);
  CHECK(plain.stop_words.empty());
  const StringNormalizerNode all =
      *ReadStringNormalizer(Made("StringNormalizer", {{"case_change_action", std::string("UPPER")},
                                                      {"is_case_sensitive", int64_t{1}},
                                                      {"stopwords", Texts{"a", "the"}},
                                                      {"locale", std::string("en_US")}}));
  CHECK(all.change == CaseChange::kUpper);
  CHECK(all.is_case_sensitive);
  CHECK(all.stop_words == Texts{"a", "the"});
  CHECK(all.locale == "en_US");
  CHECK_FALSE(ReadStringNormalizer(Made("StringNormalizer", {{"case_change_action", std::string("TITLE")}})).ok());
  CHECK_FALSE(ReadStringNormalizer(Made("StringNormalizer", {{"stopwords", Ints{1}}})).ok());
}

TEST_CASE("ReadStringSplit, WithoutAttributesAtWhiteSpaceAndWithoutLimit", "[graph]") {
  CHECK(ReadStringSplit(Made("StringSplit")).delimiter.empty());
  CHECK(ReadStringSplit(Made("StringSplit")).most_splits == -1);
  const StringSplitNode all =
      ReadStringSplit(Made("StringSplit", {{"delimiter", std::string(",")}, {"maxsplit", int64_t{2}}}));
  CHECK(all.delimiter == ",");
  CHECK(all.most_splits == 2);
}

Attributes TwoGrams() {
  return {{"min_gram_length", int64_t{1}}, {"max_gram_length", int64_t{2}}, {"max_skip_count", int64_t{1}},
          {"mode", std::string("TFIDF")},  {"ngram_counts", Ints{0, 1}},    {"ngram_indexes", Ints{4, 0}},
          {"pool_int64s", Ints{7, 8, 9}},  {"weights", Floats{0.5F, 2}}};
}

TEST_CASE("ReadTfIdf, EachAttribute", "[graph]") {
  const TfIdfNode read = *ReadTfIdf(Made("TfIdfVectorizer", TwoGrams()));
  CHECK(read.most == 2);
  CHECK(read.skips == 1);
  CHECK(read.weighting == NgramWeighting::kTfIdf);
  CHECK(read.starts == Ints{0, 1});
  CHECK(read.width == 5);
  CHECK(read.weights == Floats{0.5F, 2});
  CHECK(read.ints == Ints{7, 8, 9});
  CHECK(read.strings.empty());
}

TEST_CASE("ReadTfIdf, RefusesWhatIsOutOfRange", "[graph]") {
  const auto takes = [](const char* name, const Attribute& value) {
    Attributes attributes = TwoGrams();
    attributes[name] = value;
    return ReadTfIdf(Made("TfIdfVectorizer", attributes)).ok();
  };
  CHECK_FALSE(takes("min_gram_length", int64_t{0}));
  CHECK_FALSE(takes("min_gram_length", int64_t{3}));
  CHECK_FALSE(takes("max_skip_count", int64_t{-1}));
  CHECK_FALSE(takes("mode", std::string("BM25")));
  CHECK_FALSE(takes("ngram_indexes", Ints{}));
  CHECK_FALSE(takes("ngram_indexes", Ints{0, -1}));
  CHECK_FALSE(takes("ngram_indexes", Ints{0, INT64_MAX}));
  CHECK_FALSE(takes("weights", Floats{1}));
  CHECK_FALSE(takes("weights", Ints{1, 2}));
}

TEST_CASE("ReadLabels, TakesOneListForEachSide", "[graph]") {
  const LabelLists read =
      *ReadLabels(Made("LabelEncoder", {{"keys_strings", Texts{"a"}}, {"values_floats", Floats{2}}}));
  CHECK(read.keys.type() == DataType::kString);
  CHECK(read.values.type() == DataType::kFloat32);
  CHECK_FALSE(ReadLabels(Made("LabelEncoder", {{"keys_strings", Texts{"a"}}})).ok());
  CHECK_FALSE(ReadLabels(Made("LabelEncoder",
                              {{"keys_strings", Texts{"a"}}, {"keys_int64s", Ints{1}}, {"values_floats", Floats{2}}}))
                  .ok());
  CHECK_FALSE(ReadLabels(Made("LabelEncoder", {{"keys_strings", int64_t{1}}, {"values_floats", Floats{2}}})).ok());
}

TEST_CASE("ReadDefaultLabel, IsThatOfTheTypeOrATensorOfIt", "[graph]") {
  const Node plain = Made("LabelEncoder");
  CHECK((*ReadDefaultLabel(plain, DataType::kString))->strings()[0] == "_Unused");
  CHECK((*ReadDefaultLabel(plain, DataType::kInt64))->ToInts() == Ints{-1});
  CHECK(std::signbit((*ReadDefaultLabel(plain, DataType::kFloat32))->values<float>()[0]));
  CHECK_FALSE(ReadDefaultLabel(plain, DataType::kFloat64)->has_value());
  const Node given = Made("LabelEncoder", {{"default_tensor", Tensor::Int64({1}, {9})}});
  CHECK((*ReadDefaultLabel(given, DataType::kInt64))->ToInts() == Ints{9});
  CHECK_FALSE(ReadDefaultLabel(given, DataType::kFloat32).ok());
}

TEST_CASE("ReadOneHotEncoder, NeedsOneOfTheTwoLists", "[graph]") {
  CHECK(ReadOneHotEncoder(Made("OneHotEncoder", {{"cats_int64s", Ints{1, 2}}}))->takes_unknown);
  CHECK_FALSE(
      ReadOneHotEncoder(Made("OneHotEncoder", {{"cats_strings", Texts{"a"}}, {"zeros", int64_t{0}}}))->takes_unknown);
  CHECK_FALSE(ReadOneHotEncoder(Made("OneHotEncoder")).ok());
  CHECK_FALSE(ReadOneHotEncoder(Made("OneHotEncoder", {{"cats_int64s", Ints{1}}, {"cats_strings", Texts{"a"}}})).ok());
}

}  // namespace
}  // namespace pt::texts_test
