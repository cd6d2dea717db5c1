// Where the caller's buffers may lie.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>

#include "test/testing/host_lab.h"

namespace pt::testing::alignment_test {

TEST_CASE("Session, BuffersLieAtMultiplesOfTheirElementSizeOrAreRefused", "[exec]") {
  struct Element {
    const char* name;
    DataType type;
    size_t bytes;
  };
  for (const Element& element : {Element{"int8", DataType::kInt8, 1},
                                 {"float16", DataType::kFloat16, 2},
                                 {"int16", DataType::kInt16, 2},
                                 {"float32", DataType::kFloat32, 4},
                                 {"int64", DataType::kInt64, 8}}) {
    HostLab lab;
    const std::string type = std::string(element.name) + "[4]";
    const auto session = lab.Open(TypedGraph("input x " + type + "\ny = Identity(x) : " + type + "\noutput y\n"), 1);
    alignas(64) std::array<std::byte, 128> in{}, out{};
    for (size_t shift = 0; shift < 16; ++shift) {
      for (const bool of_input : {true, false}) {
        CAPTURE(element.name, shift, of_input);
        const auto lent = [&](std::array<std::byte, 128>& buffer, bool shifted) {
          return LentTensor{element.type, {4}, buffer.data() + (shifted ? shift : 0), 4 * element.bytes};
        };
        const LentTensor input = lent(in, of_input), output = lent(out, !of_input);
        const auto report = session->Run({&input, 1}, {&output, 1});
        CHECK(report.ok() == (shift % element.bytes == 0));
        if (!report.ok()) CHECK(report.error().id == "run.tensor");
      }
    }
  }
}

}  // namespace pt::testing::alignment_test
