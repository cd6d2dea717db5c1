// The library of the OpenVINO plugin. That it computes what the reference library does is held by the conformance
// suite.
#include "plugins/openvino/library.h"

#include <catch2/catch_test_macros.hpp>

#include "test/openvino/runtime_for_tests.h"
#include "test/testing/check_case.h"
#include "test/testing/runtime_library_checks.h"
#include "test/testing/test_machine.h"

namespace pt::openvino::library_test {
namespace {

using testing::LoadCase;
using testing::MakeTestPlatform;

OpenVinoLibrary MakeLibrary() {
  auto runtime = Result<std::shared_ptr<Runtime>>(RuntimeForTests());
  INFO((runtime.ok() ? "" : ToString(runtime.error())));
  REQUIRE(runtime.ok());
  return OpenVinoLibrary(std::move(runtime));
}

constexpr const char* kProduct =
    "input x float32[4,64]\nconst w float32[64,8] random 3\nm = MatMul(x, w)\ny = Relu(m)\noutput y\n";

TEST_CASE("OpenVino, UnitsOfOneCoreAndOfAllAreServed", "[openvino]") {
  testing::CheckUnitsOfOneCoreAndOfAll(MakeLibrary());
}

TEST_CASE("OpenVino, OtherProcessorsAreNotSpokenFor", "[openvino]") {
  const OpenVinoLibrary library = MakeLibrary();
  Platform platform = MakeTestPlatform(2, true);
  CHECK(library.Serves(platform, kHostDevice));
  CHECK_FALSE(library.Serves(platform, DeviceId(1u)));
  platform.devices[0].isa = "something_else";
  CHECK_FALSE(library.Serves(platform, kHostDevice));
  CHECK(library.Candidates(LoadCase({"", kProduct}), platform, Precision()).empty());
}

TEST_CASE("OpenVino, WithoutARuntimeItServesNothingAndSaysWhy", "[openvino]") {
  const OpenVinoLibrary library(MakeError(ErrorCode::kDeviceUnusable, "openvino", "no such luck"));
  testing::CheckServesNothing(library, "no such luck");
}

TEST_CASE("OpenVino, WhatItDoesNotTakeItNames", "[openvino]") {
  const OpenVinoLibrary library = MakeLibrary();
  const auto why = [&](const char* text) {
    return library.WhyUnsupported(LoadCase({"", text}), NodeId(0u)).value_or("");
  };
  CHECK(why("input x int64[4]\ny = Add(x, x)\noutput y\n").find("int64[4]") != std::string::npos);
  CHECK(why("input x float32[0,4]\ny = Relu(x)\noutput y\n").find("with elements") != std::string::npos);
  CHECK(why("input x float32[4]\ny = NonZero(x)\noutput y\n") == "NonZero is not here");
  CHECK(why("input x float32[1,1,4,4]\ny, i = MaxPool(x) kernel_shape=[2,2]\noutput y\noutput i\n") != "");
  CHECK(why("input x float32[5,1,3]\nconst w float32[1,16,3] random 1\nconst r float32[1,16,4] random 2\n"
            "const b float32[1,32] random 3\nconst p float32[1,12] random 5\n"
            "y = LSTM(x, w, r, b, _, _, _, p) hidden_size=4\noutput y\n") == "LSTM: peepholes are not here");
  CHECK(why("input x float32[4]\ny = Relu(x)\noutput y\n") == "");
}

// Every digit of float32, where OpenVINO by itself takes bfloat16 on processors that have it.
TEST_CASE("OpenVino, ComputesInFloat32", "[openvino]") { testing::CheckComputesInFloat32(MakeLibrary()); }

// OpenVINO drops operators that change nothing, and its CPU device does not write an output that is an input.
TEST_CASE("OpenVino, WhatChangesNothingIsWrittenOrNotOffered", "[openvino]") {
  testing::CheckWhatChangesNothingIsWritten(MakeLibrary(), 20);
}

TEST_CASE("OpenVino, SlicesAreReadAndWrittenWhereTheyLie", "[openvino]") {
  testing::CheckSlicesAreReadAndWrittenWhereTheyLie(MakeLibrary(), DataType::kFloat32);
}

TEST_CASE("OpenVino, RunsMakeNoThreads", "[openvino]") { testing::CheckRunsMakeNoThreads(MakeLibrary()); }

}  // namespace
}  // namespace pt::openvino::library_test
