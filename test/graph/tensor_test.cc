#include "partitiontuner/graph/tensor.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>

namespace pt::tensor_test {
namespace {

TEST_CASE("Tensor, BytesMustMatchTypeAndDims", "[graph]") {
  CHECK(Tensor::FromBytes(DataType::kFloat32, {2, 3}, std::string(24, 'x')).ok());
  CHECK_FALSE(Tensor::FromBytes(DataType::kFloat32, {2, 3}, std::string(23, 'x')).ok());
  CHECK_FALSE(Tensor::FromBytes(DataType::kFloat32, {2, 3}, std::string(25, 'x')).ok());
  CHECK_FALSE(Tensor::FromBytes(DataType::kString, {1}, "a").ok());
  CHECK_FALSE(Tensor::FromBytes(DataType::kUndefined, {}, "").ok());
  CHECK(Tensor::FromBytes(DataType::kInt4, {3}, std::string(2, 'x')).ok());
  CHECK(Tensor::FromBytes(DataType::kUint2, {5}, std::string(2, 'x')).ok());
  CHECK(Tensor::FromBytes(DataType::kFloat32, {0, 3}, "").ok());
}

TEST_CASE("Tensor, HostileDimsNeverWrap", "[graph]") {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{-1},
                                           {INT64_MIN},
                                           {int64_t{1} << 62, 4},
                                           {int64_t{1} << 32, int64_t{1} << 32},
                                           {int64_t{1} << 62},
                                           {INT64_MAX, 2},
                                           {65536, 65536, 65536, 65536}}) {
    const auto tensor = Tensor::FromBytes(DataType::kFloat32, dims, "");
    REQUIRE_FALSE(tensor.ok());
    CHECK(tensor.error().code == ErrorCode::kInvalidInput);
  }
  CHECK(Tensor::FromBytes(DataType::kFloat32, {INT64_MAX, 0, INT64_MAX}, "").ok());
}

TEST_CASE("Tensor, IntsOfEveryIntegerTypeWiden", "[graph]") {
  CHECK(Tensor::FromBytes(DataType::kInt8, {2}, "\xff\x01").value().ToInts() == std::vector<int64_t>{-1, 1});
  CHECK(Tensor::FromBytes(DataType::kUint8, {2}, "\xff\x01").value().ToInts() == std::vector<int64_t>{255, 1});
  CHECK(Tensor::FromBytes(DataType::kInt4, {3}, "\x7f\x08").value().ToInts() == std::vector<int64_t>{-1, 7, -8});
  CHECK(Tensor::FromBytes(DataType::kUint2, {4}, "\xe4").value().ToInts() == std::vector<int64_t>{0, 1, 2, 3});
  CHECK(Tensor::FromBytes(DataType::kInt2, {4}, "\xe4").value().ToInts() == std::vector<int64_t>{0, 1, -2, -1});
  CHECK(Tensor::Int64({1}, {INT64_MIN}).ToInts() == std::vector<int64_t>{INT64_MIN});
  CHECK(Tensor::Float32({1}, {1}).ToInts().empty());
}

TEST_CASE("Tensor, ContentHashCoversTypeDimsAndContent", "[graph]") {
  const Hash128 base = Tensor::Float32({2, 2}, {1, 2, 3, 4}).content_hash();
  CHECK(base == Tensor::Float32({2, 2}, {1, 2, 3, 4}).content_hash());
  CHECK(base != Tensor::Float32({4}, {1, 2, 3, 4}).content_hash());
  CHECK(base != Tensor::Float32({2, 2}, {1, 2, 3, 5}).content_hash());
  CHECK(Tensor::FromStrings({2}, {"ab", "c"}).value().content_hash() !=
        Tensor::FromStrings({2}, {"a", "bc"}).value().content_hash());
}

TEST_CASE("Tensor, SharedStorageOutlivesItsMaker", "[graph]") {
  Tensor copy;
  {
    auto owner = std::make_shared<const std::string>(1000, 'z');
    const auto bytes = std::as_bytes(std::span(*owner));
    const Tensor tensor = Tensor::FromShared(DataType::kUint8, {1000}, owner, bytes).value();
    CHECK(tensor.bytes().data() == bytes.data());
    copy = tensor;
  }
  CHECK(copy.values<uint8_t>()[999] == 'z');
}

TEST_CASE("DataType, NamesAreInverses", "[graph]") {
  for (int i = 1; i <= 26; ++i) {
    const auto type = static_cast<DataType>(i);
    CHECK(DataTypeFromName(DataTypeName(type)) == type);
  }
  CHECK(DataTypeName(static_cast<DataType>(200)) == "undefined");
  CHECK_FALSE(DataTypeFromName("undefined").has_value());
  CHECK(BitsOf(DataType::kInt4) == 4);
  CHECK(BytesOf(DataType::kInt4) == 0);
  CHECK(BytesOf(DataType::kComplex128) == 16);
}

}  // namespace
}  // namespace pt::tensor_test
