#include "partitiontuner/engine/npy.h"

#include <catch2/catch_test_macros.hpp>
#include <cstring>

namespace pt::npy_test {
namespace {

std::string File(std::string header, const std::string& data) {
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}
template <typename T>
std::string Raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

TEST_CASE("Npy, EveryPlainTypeComesBackAsItWas", "[engine]") {
  for (const DataType type : {DataType::kBool, DataType::kInt8, DataType::kUint16, DataType::kInt32, DataType::kUint64,
                              DataType::kFloat16, DataType::kFloat32, DataType::kFloat64, DataType::kComplex64}) {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {3}, {2, 3}, {0, 4}, {2, 1, 3}}) {
      int64_t count = 1;
      for (const int64_t dim : dims) count *= dim;
      std::string bytes;
      for (int64_t i = 0; i < count * BytesOf(type); ++i)
        bytes += static_cast<char>(type == DataType::kBool ? i % 2 : i);
      const Tensor tensor = Tensor::FromBytes(type, dims, bytes).value();
      const auto text = NpyBytes(tensor);
      REQUIRE(text.ok());
      CHECK((text->find('\n') + 1) % 64 == 0);
      const auto back = ParseNpy(*text, "x.npy");
      REQUIRE(back.ok());
      CHECK(back->type() == type);
      CHECK(back->dims() == dims);
      CHECK(back->content_hash() == tensor.content_hash());
    }
  }
}

TEST_CASE("Npy, ColumnMajorAndForeignByteOrderBecomeRowMajor", "[engine]") {
  const auto column =
      ParseNpy(File("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", Raw<float>({0, 3, 1, 4, 2, 5})), "x");
  INFO((column.ok() ? "" : column.error().message));
  REQUIRE(column.ok());
  for (int i = 0; i < 6; ++i) CHECK(column->values<float>()[static_cast<size_t>(i)] == static_cast<float>(i));
  const auto big = ParseNpy(
      File("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }", std::string("\0\0\1\2\xff\xff\xff\xfe", 8)),
      "x");
  REQUIRE(big.ok());
  CHECK(big->ToInts() == std::vector<int64_t>{258, -2});
}

TEST_CASE("Npy, BrokenFilesAreRefusedWithTheReason", "[engine]") {
  const std::string good = File("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", Raw<float>({1, 2, 3}));
  REQUIRE(ParseNpy(good, "x").ok());
  for (size_t length = 0; length < good.size(); ++length) {
    const auto cut = ParseNpy(std::string_view(good).substr(0, length), "cut.npy");
    REQUIRE(!cut.ok());
    CHECK(cut.error().code == ErrorCode::kInvalidInput);
    CHECK(cut.error().file == "cut.npy");
  }
  const auto refused = [](const char* header, const char* why) {
    const auto result = ParseNpy(File(header, Raw<float>({1, 2, 3})), "x");
    REQUIRE(!result.ok());
    INFO(result.error().message);
    CHECK(result.error().message.find(why) != std::string::npos);
  };
  refused("{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }", "<U3");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", "(-3,)");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", "12 bytes");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "12 bytes");
  refused("{'descr': '<f4', 'shape': (3,), }", "fortran_order");
}

TEST_CASE("Npy, TypesThatCannotBeWrittenAreRefused", "[engine]") {
  const auto strings = NpyBytes(Tensor::FromStrings({1}, {"a"}).value());
  REQUIRE(!strings.ok());
  CHECK(strings.error().code == ErrorCode::kUnsupported);
  const auto half = NpyBytes(Tensor::FromBytes(DataType::kBfloat16, {1}, std::string(2, '\1')).value());
  REQUIRE(half.ok());
  CHECK(half->find("'|V2'") != std::string::npos);
}

}  // namespace
}  // namespace pt::npy_test
