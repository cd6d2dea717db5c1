// ImageDecoder on small files, byte by byte.
#include <catch2/catch_test_macros.hpp>

#include "test/backend/node_results.h"

namespace pt::testing::reference_image_test {
namespace {

using Ints = std::vector<int64_t>;

Result<std::vector<Tensor>> Decoded(const std::string& file, const std::string& format) {
  const Tensor bytes = Tensor::FromBytes(DataType::kUint8, {static_cast<int64_t>(file.size())}, file).value();
  return Evaluate("input x uint8[" + std::to_string(file.size()) + "]\ny = ImageDecoder(x) pixel_format=\"" + format +
                      "\"\noutput y\n",
                  {bytes});
}

void CheckPixels(const std::string& file, const std::string& format, const Ints& dims, const Ints& pixels) {
  CAPTURE(format);
  const auto results = Decoded(file, format);
  if (!results.ok()) FAIL(ToString(results.error()));
  CHECK((*results)[0].dims() == dims);
  CHECK((*results)[0].ToInts() == pixels);
}

std::string Number(uint32_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

// Two pixels wide and high, 24 bits: rows of six bytes with two that fill them up, the lowest first.
std::string Bitmap(int32_t height) {
  const std::string rows("\x01\x02\x03\x04\x05\x06\0\0\x07\x08\x09\x0a\x0b\x0c\0\0", 16);
  return "BM" + Number(70, 4) + Number(0, 4) + Number(54, 4) + Number(40, 4) + Number(2, 4) +
         Number(static_cast<uint32_t>(height), 4) + Number(1, 2) + Number(24, 2) + Number(0, 4) + Number(16, 4) +
         Number(0, 4) + Number(0, 4) + Number(0, 4) + Number(0, 4) + rows;
}

}  // namespace

TEST_CASE("ImageDecoder, ReadsBitmapsFromTheirLowestRowOrTheHighest", "[backend]") {
  CheckPixels(Bitmap(2), "RGB", {2, 2, 3}, {9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4});
  CheckPixels(Bitmap(2), "BGR", {2, 2, 3}, {7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6});
  CheckPixels(Bitmap(-2), "BGR", {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

TEST_CASE("ImageDecoder, ReadsPixmapsAndGreymaps", "[backend]") {
  using namespace std::string_literals;
  const std::string color = "P6 # a comment\n2 1\n255\n\xff\0\0\x0a\x14\x1e"s;
  CheckPixels(color, "RGB", {1, 2, 3}, {255, 0, 0, 10, 20, 30});
  CheckPixels(color, "Grayscale", {1, 2, 1}, {76, 18});  // 0.299 · 255, and 0.299 · 10 + 0.587 · 20 + 0.114 · 30
  const std::string grey = std::string("P5\n2 1\n255\n") + "\x07\xc8";
  CheckPixels(grey, "Grayscale", {1, 2, 1}, {7, 200});
  CheckPixels(grey, "RGB", {1, 2, 3}, {7, 7, 7, 200, 200, 200});
}

TEST_CASE("ImageDecoder, RefusesOtherFormatsAndFilesThatLackBytes", "[backend]") {
  const auto code = [](const std::string& file, const std::string& format = "RGB") {
    const auto results = Decoded(file, format);
    REQUIRE_FALSE(results.ok());
    return results.error().code;
  };
  CHECK(code("\x89PNG\r\n\x1a\n") == ErrorCode::kUnsupported);
  CHECK(code("") == ErrorCode::kUnsupported);
  std::string compressed = Bitmap(2);
  compressed[30] = 1;
  CHECK(code(compressed) == ErrorCode::kUnsupported);
  CHECK(code("P6\n1 1\n65535\n123456") == ErrorCode::kUnsupported);
  for (size_t length = 3; length < Bitmap(2).size(); ++length) {
    CAPTURE(length);
    CHECK(code(Bitmap(2).substr(0, length)) == ErrorCode::kInvalidInput);
  }
  CHECK(code(Bitmap(0)) == ErrorCode::kInvalidInput);
  CHECK(code(Bitmap(INT32_MIN)) == ErrorCode::kInvalidInput);
  CHECK(code("P6\n2 2\n255\n12345678901") == ErrorCode::kInvalidInput);
  CHECK(code("P6\n99999999999999999999 2\n255\n1") == ErrorCode::kInvalidInput);
  CHECK(code("P5\n1 1\n255\n1", "YUV") == ErrorCode::kInvalidInput);
}

}  // namespace pt::testing::reference_image_test
