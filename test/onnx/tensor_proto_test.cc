#include "partitiontuner/onnx/tensor_proto.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "test/testing/test_data.h"

namespace pt::tensor_proto_test {
namespace {

// The wire format: field number << 3 | 0 varint, 2 bytes.
std::string Number(int field, uint64_t value) {
  std::string bytes(1, static_cast<char>(field << 3));
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value % 128 + 128);
  return bytes + static_cast<char>(value);
}
std::string Bytes(int field, const std::string& value) {
  return std::string(1, static_cast<char>(field << 3 | 2)) + static_cast<char>(value.size()) + value;
}
std::string Dims(std::vector<uint64_t> dims) {
  std::string bytes;
  for (const uint64_t dim : dims) bytes += Number(1, dim);
  return bytes;
}
const std::string kOne("\0\0\x80\x3f", 4), kTwo("\0\0\0\x40", 4);

class Files {
 public:
  Result<Tensor> Load(const std::string& bytes) {
    const std::string path = folder_.path() + "/tensor.pb";
    std::ofstream(path, std::ios::binary) << bytes;
    return LoadTensorProto(path);
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_CASE("TensorProto, RawAndTypedDataGiveTheSameTensor", "[onnx]") {
  Files files;
  const auto raw = files.Load(Dims({2, 1}) + Number(2, 1) + Bytes(9, kOne + kTwo));
  const auto typed = files.Load(Dims({2, 1}) + Number(2, 1) + Bytes(4, kOne + kTwo));
  REQUIRE(raw.ok());
  REQUIRE(typed.ok());
  CHECK(raw->values<float>()[1] == 2.0f);
  CHECK(raw->dims() == std::vector<int64_t>{2, 1});
  CHECK(raw->content_hash() == typed->content_hash());
}

TEST_CASE("TensorProto, NarrowTypesComeFromTheirWideFields", "[onnx]") {
  Files files;
  const uint64_t minus_one = ~uint64_t{0};
  const auto bytes = files.Load(Dims({2}) + Number(2, 3) + Number(5, minus_one) + Number(5, 7));
  REQUIRE(bytes.ok());
  CHECK(bytes->ToInts() == std::vector<int64_t>{-1, 7});
  const auto longs = files.Load(Dims({1}) + Number(2, 7) + Number(7, minus_one));
  REQUIRE(longs.ok());
  CHECK(longs->ToInts() == std::vector<int64_t>{-1});
  const auto unsigned_longs = files.Load(Dims({2}) + Number(2, 13) + Number(11, minus_one) + Number(11, 5));
  REQUIRE(unsigned_longs.ok());
  CHECK(std::ranges::equal(unsigned_longs->values<uint64_t>(), std::vector<uint64_t>{minus_one, 5}));
  const auto unsigned_ints = files.Load(Dims({2}) + Number(2, 12) + Number(11, 0xFFFFFFFF) + Number(11, 5));
  REQUIRE(unsigned_ints.ok());
  CHECK(unsigned_ints->ToInts() == std::vector<int64_t>{0xFFFFFFFF, 5});
  const auto strings = files.Load(Dims({2}) + Number(2, 8) + Bytes(6, "a") + Bytes(6, ""));
  REQUIRE(strings.ok());
  CHECK(strings->strings()[0] == "a");
  const auto empty = files.Load(Dims({0, 3}) + Number(2, 1));
  REQUIRE(empty.ok());
  CHECK(empty->element_count() == 0);
}

TEST_CASE("TensorProto, WrittenTensorsAreReadAsTheyWere", "[onnx]") {
  Files files;
  const std::string nibbles("\x21\x0F", 2);
  for (const Tensor& tensor :
       {Tensor::Float32({2, 1}, {1, -2}), Tensor::Int64({}, {-7}), Tensor::Float32({0, 3}, {}),
        Tensor::FromBytes(DataType::kInt4, {3}, nibbles).value(), Tensor::FromStrings({2}, {"a", ""}).value()}) {
    CAPTURE(DataTypeName(tensor.type()));
    const auto bytes = TensorProtoBytes(tensor);
    REQUIRE(bytes.ok());
    const auto back = files.Load(*bytes);
    REQUIRE(back.ok());
    CHECK(back->type() == tensor.type());
    CHECK(back->dims() == tensor.dims());
    CHECK(back->content_hash() == tensor.content_hash());
  }
}

TEST_CASE("TensorProto, BrokenTensorsAreRefused", "[onnx]") {
  Files files;
  const auto refused = [&](const std::string& bytes, const char* why) {
    const auto result = files.Load(bytes);
    REQUIRE(!result.ok());
    INFO(result.error().message);
    CHECK(result.error().code == ErrorCode::kInvalidInput);
    CHECK(result.error().message.find(why) != std::string::npos);
    CHECK(!result.error().file.empty());
  };
  refused(Dims({2}) + Number(2, 1) + Bytes(9, kOne), "4 bytes of data, its dims need 8");
  refused(Dims({1}) + Number(2, 1) + Bytes(9, kOne + kTwo), "8 bytes of data");
  refused(Dims({~uint64_t{0}}) + Number(2, 1) + Bytes(9, kOne), "negative dimension -1");
  refused(Dims({uint64_t{1} << 62, 4}) + Number(2, 1), "overflow");
  refused(Dims({1}) + Number(2, 99) + Bytes(9, kOne), "unknown element type 99");
  refused(Dims({1}) + Number(2, 1) + Bytes(9, kOne) + Bytes(4, kOne), "two forms");
  refused(Dims({1}) + Number(2, 1) + Number(14, 1), "another file");
  refused(Dims({1}) + Number(2, 8), "0 strings");
  refused("\xff\xff\xff", "not a TensorProto");
  const auto missing = LoadTensorProto("/nonexistent/x.pb");
  REQUIRE(!missing.ok());
  CHECK(missing.error().code == ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace pt::tensor_proto_test
