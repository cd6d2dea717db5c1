#include "partitiontuner/candidate/layout.h"

#include <catch2/catch_test_macros.hpp>
#include <set>

namespace pt::layout_test {
namespace {

TEST_CASE("Layout, TextAndValueAreInverses", "[candidate]") {
  for (const char* text : {"", "a", "abcd", "acdb", "aBcd16b", "ABcd16b16a", "ABcd4b16a4b", "abc(3)"}) {
    const Result<Layout> layout = LayoutFromString(text);
    REQUIRE(layout.ok());
    if (std::string_view(text) != "abc(3)") CHECK(ToString(*layout) == text);
  }
  CHECK(ToString(RowMajor(4)) == "abcd");
  CHECK(ToString(ChannelsLast(4)) == "acdb");
  CHECK(ToString(ChannelsLast(2)) == "ab");
  CHECK(ToString(ChannelBlocked(4, 16)) == "aBcd16b");
  CHECK(*LayoutFromString(ToString(RowMajor(40))) == RowMajor(40));
  CHECK(RowMajor(3).is_row_major());
  CHECK_FALSE(ChannelsLast(4).is_row_major());
}

TEST_CASE("Layout, BadTextIsRefused", "[candidate]") {
  for (const char* text : {"aa", "b", "aBcd", "abcd16b", "aBcd16", "aBcd0b", "aBcd1b", "aBcd16e", "a?",
                           "aBcd99999999999b", "ab(2", "(300)", "aBcd16B"}) {
    INFO(text);
    const Result<Layout> layout = LayoutFromString(text);
    REQUIRE_FALSE(layout.ok());
    CHECK(layout.error().code == ErrorCode::kInvalidInput);
  }
}

// Every element has a place of its own within the bytes of the tensor.
void CheckPlacesAreDistinct(const TensorLayout& tensor) {
  std::set<int64_t> places;
  std::vector<int64_t> index(tensor.dims.size(), 0);
  int64_t count = 1;
  for (int64_t d : tensor.dims) count *= d;
  const auto limit = static_cast<int64_t>(*BytesOf(tensor)) / BytesOf(tensor.type);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t d = index.size(); d-- > 0;) {
      index[d] = rest % tensor.dims[d];
      rest /= tensor.dims[d];
    }
    const int64_t place = OffsetOf(tensor, index);
    CHECK(place >= 0);
    CHECK(place < limit);
    places.insert(place);
  }
  CHECK(static_cast<int64_t>(places.size()) == count);
}

TEST_CASE("Layout, ElementsNeverOverlap", "[candidate]") {
  for (const char* text : {"abcd", "acdb", "aBcd8b", "ABcd4b2a2b", "dcba"}) {
    INFO(text);
    const Result<TensorLayout> tensor = DenseLayout(DataType::kFloat32, {3, 9, 2, 5}, *LayoutFromString(text));
    REQUIRE(tensor.ok());
    CHECK(IsDense(*tensor));
    CheckPlacesAreDistinct(*tensor);
  }
}

TEST_CASE("Layout, PaddedBlocksCount", "[candidate]") {
  const Result<TensorLayout> tensor = DenseLayout(DataType::kFloat32, {1, 17, 2, 3}, ChannelBlocked(4, 16));
  REQUIRE(tensor.ok());
  CHECK(*BytesOf(*tensor) == 4 * 32 * 6);
  CHECK(tensor->strides == std::vector<int64_t>{192, 96, 48, 16});
}

TEST_CASE("Layout, SliceOfABiggerTensorIsNotDense", "[candidate]") {
  TensorLayout slice = *DenseLayout(DataType::kFloat32, {2, 3, 4}, RowMajor(3));
  slice.strides[0] = 40;
  CHECK_FALSE(IsDense(slice));
  CHECK(*BytesOf(slice) == 4 * 52);
  CHECK(OffsetOf(slice, std::vector<int64_t>{1, 2, 3}) == 51);
  slice.dims[0] = 1;  // one row only: the stride is never used
  CHECK(IsDense(slice));
}

TEST_CASE("Layout, EmptyTensorHasNoBytes", "[candidate]") {
  const Result<TensorLayout> tensor = DenseLayout(DataType::kInt64, {4, 0, 7}, RowMajor(3));
  REQUIRE(tensor.ok());
  CHECK(*BytesOf(*tensor) == 0);
  CHECK(IsDense(*tensor));
}

TEST_CASE("Layout, SizesThatDoNotFitAreErrors", "[candidate]") {
  const int64_t huge = int64_t{1} << 40;
  CHECK_FALSE(DenseLayout(DataType::kFloat32, {huge, huge}, RowMajor(2)).ok());
  CHECK_FALSE(DenseLayout(DataType::kFloat64, {int64_t{1} << 62}, RowMajor(1)).ok());
  CHECK_FALSE(DenseLayout(DataType::kFloat32, {-1}, RowMajor(1)).ok());
  CHECK_FALSE(DenseLayout(DataType::kFloat32, {1, 2}, RowMajor(3)).ok());
}

}  // namespace
}  // namespace pt::layout_test
