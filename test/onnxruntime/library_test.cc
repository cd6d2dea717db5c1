// The library of the ONNX Runtime plugin. That it computes what the reference library does is held by the conformance
// suite.
#include "plugins/onnxruntime/library.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/platform/discover.h"
#include "plugins/shared/cores.h"
#include "plugins/shared/operators.h"
#include "test/testing/check_case.h"
#include "test/testing/kernel_bench.h"
#include "test/testing/run_candidate.h"
#include "test/testing/runtime_library_checks.h"
#include "test/testing/test_machine.h"

namespace pt::onnxruntime::library_test {
namespace {

using testing::KernelBench;
using testing::LoadCase;
using testing::MakeTestPlatform;

OnnxRuntimeLibrary MakeLibrary() {
  auto runtime = OrtRuntime::Get();
  INFO((runtime.ok() ? "" : ToString(runtime.error())));
  REQUIRE(runtime.ok());
  return OnnxRuntimeLibrary(std::move(runtime));
}

constexpr const char* kProduct =
    "input x float32[4,64]\nconst w float32[64,8] random 3\nm = MatMul(x, w)\ny = Relu(m)\noutput y\n";

TEST_CASE("OnnxRuntime, UnitsOfOneCoreAndOfAllAreServed", "[onnxruntime]") {
  testing::CheckUnitsOfOneCoreAndOfAll(MakeLibrary());
}

TEST_CASE("OnnxRuntime, WithoutARuntimeItServesNothingAndSaysWhy", "[onnxruntime]") {
  const OnnxRuntimeLibrary library(MakeError(ErrorCode::kDeviceUnusable, "onnxruntime", "no such luck"));
  testing::CheckServesNothing(library, "no such luck");
}

TEST_CASE("OnnxRuntime, WhatItDoesNotTakeItNames", "[onnxruntime]") {
  const OnnxRuntimeLibrary library = MakeLibrary();
  const auto why = [&](const char* text) {
    return library.WhyUnsupported(LoadCase({"", text}), NodeId(0u)).value_or("");
  };
  CHECK(why("input x float64[4]\ny = Add(x, x)\noutput y\n").find("float64[4]") != std::string::npos);
  CHECK(why("input x float32[0,4]\ny = Relu(x)\noutput y\n").find("with elements") != std::string::npos);
  CHECK(why("input x float32[4]\ny = NonZero(x)\noutput y\n") == "NonZero is not here");
  CHECK(why("input x float32[4]\ny = Relu(x)\noutput y\n") == "");
}

// Products of integers overflow on processors without instructions for them: there ONNX Runtime would be wrong.
TEST_CASE("OnnxRuntime, QuantisedStretchesAreGroupsWhereProductsAreExact", "[onnxruntime]") {
  const OnnxRuntimeLibrary library = MakeLibrary();
  const Graph graph = LoadCase({"",
                                "input x uint8[1,4,5,5]\nconst w int8[8,4,3,3] whole 1\nconst s float32[] value 0.05\n"
                                "const z uint8[] value 128\nconst o int8[] value 0\nd = DequantizeLinear(x, s, z)\n"
                                "v = DequantizeLinear(w, s, o)\ny = Conv(d, v)\nq = QuantizeLinear(y, s, z)\n"
                                "output q\n"});
  Platform platform = MakeTestPlatform(1, false);
  const auto wholes = [&] {
    const auto candidates = library.Candidates(graph, platform, Precision());
    return std::ranges::count_if(candidates,
                                 [&](const Candidate& c) { return c.nodes.size() == graph.nodes().size(); });
  };
  platform.devices[0].isa = "avx2 avx512_vnni";
  CHECK(wholes() == 1);
  platform.devices[0].isa = "avx2";
  CHECK(wholes() == 0);
  CHECK(library.Candidates(graph, platform, Precision()).size() == 1);  // the convolution of real numbers
}

TEST_CASE("OnnxRuntime, ScalesThatItRefusesInTheRunAreNotTaken", "[onnxruntime]") {
  const OnnxRuntimeLibrary library = MakeLibrary();
  const auto why = [&](const char* scale, const char* zero_point) {
    const std::string text = std::string("input x int8[2,3]\nconst s float32") + scale + " ones\nconst z int8" +
                             zero_point + " zeros\ny = DequantizeLinear(x, s, z) axis=1\noutput y\n";
    return library.WhyUnsupported(LoadCase({"", text.c_str()}), NodeId(0u)).value_or("");
  };
  if (!plugins::HasExactProducts({})) SKIP("this processor has no exact products of integers");
  CHECK(why("[]", "[]") == "");
  CHECK(why("[3]", "[3]") == "");
  CHECK(why("[1]", "[1]").find("must be a scalar") != std::string::npos);
  CHECK(why("[3]", "[]").find("other dims") != std::string::npos);
}

TEST_CASE("OnnxRuntime, ComputesInFloat32", "[onnxruntime]") { testing::CheckComputesInFloat32(MakeLibrary()); }

// What its optimisers drop is copied all the same.
TEST_CASE("OnnxRuntime, WhatChangesNothingIsWritten", "[onnxruntime]") {
  testing::CheckWhatChangesNothingIsWritten(MakeLibrary(), 30);
}

TEST_CASE("OnnxRuntime, NodesOfOneNameAreOneGroup", "[onnxruntime]") {
  const OnnxRuntimeLibrary library = MakeLibrary();
  GraphBuilder builder(LoadCase({"", kProduct}));
  for (const uint32_t i : {0u, 1u}) builder.node(NodeId(i)).name = "twin";
  const Graph graph = builder.Build().value();
  const Platform platform = MakeTestPlatform(1, false);
  const Tensor x = testing::RandomTensor(DataType::kFloat32, {4, 64}, 7);
  size_t checked = 0;
  for (const Candidate& candidate : library.Candidates(graph, platform, Precision())) {
    if (candidate.nodes.size() != 2) continue;
    const auto y = testing::RunCandidate(graph, platform, library, candidate, std::span(&x, 1));
    INFO((y.ok() ? "" : ToString(y.error())));
    CHECK(y.ok());
    ++checked;
  }
  CHECK(checked == 1);
}

// It would refuse in the run what it takes before.
TEST_CASE("OnnxRuntime, HeadsTurnedInPartAreNotOffered", "[onnxruntime]") {
  const OnnxRuntimeLibrary library = MakeLibrary();
  const Graph graph = LoadCase({"",
                                "input x float32[2,3,5,8]\ninput c float32[2,5,2]\ninput s float32[2,5,2]\n"
                                "y = RotaryEmbedding(x, c, s) rotary_embedding_dim=4\noutput y\n"});
  CHECK(library.WhyUnsupported(graph, NodeId(0u)) == "RotaryEmbedding: rotary_embedding_dim is not here");
}

// It leaves the cell as it is before the function of the output.
TEST_CASE("OnnxRuntime, LstmsThatClipAreNotOffered", "[onnxruntime]") {
  const OnnxRuntimeLibrary library = MakeLibrary();
  const auto why = [&](const std::string& attribute) {
    const std::string text =
        "input x float32[5,2,3]\nconst w float32[1,16,3] random 1\nconst r float32[1,16,4] random 2\n"
        "y = LSTM(x, w, r) hidden_size=4" +
        attribute + "\noutput y\n";
    return library.WhyUnsupported(LoadCase({"", text.c_str()}), NodeId(0u));
  };
  CHECK(why(" clip=0.5") == "LSTM: clip is not here");
  CHECK_FALSE(why(" input_forget=1").has_value());
}

TEST_CASE("OnnxRuntime, SlicesAreReadAndWrittenWhereTheyLie", "[onnxruntime]") {
  testing::CheckSlicesAreReadAndWrittenWhereTheyLie(MakeLibrary(), DataType::kFloat32);
  testing::CheckSlicesAreReadAndWrittenWhereTheyLie(MakeLibrary(), DataType::kInt64);
}

// An index out of range is the data's fault, as the reference library says it, too.
TEST_CASE("OnnxRuntime, BadIndicesAreBadInput", "[onnxruntime]") {
  const OnnxRuntimeLibrary library = MakeLibrary();
  const Graph graph = LoadCase({"", "input x float32[3]\ninput i int64[1]\ny = Gather(x, i)\noutput y\n"});
  const Platform platform = MakeTestPlatform(1, false);
  const std::vector<Candidate> candidates = library.Candidates(graph, platform, Precision());
  REQUIRE(candidates.size() == 1);
  const Tensor x = Tensor::Float32({3}, {1, 2, 3});
  for (const int64_t index : {2, -3, 3, -4}) {
    INFO(index);
    const std::vector<Tensor> inputs = {x, Tensor::Int64({1}, {index})};
    const auto y = testing::RunCandidate(graph, platform, library, candidates[0], inputs);
    const bool is_there = index >= -3 && index < 3;
    REQUIRE(y.ok() == is_there);
    if (is_there) {
      CHECK((*y)[0].values<float>()[0] == x.values<float>()[static_cast<size_t>((index + 3) % 3)]);
    } else {
      CHECK(y.error().code == ErrorCode::kInvalidInput);
    }
  }
}

TEST_CASE("OnnxRuntime, RunsMakeNoThreads", "[onnxruntime]") { testing::CheckRunsMakeNoThreads(MakeLibrary()); }

// Processor time of the process's threads but the calling one, in nanoseconds.
uint64_t NsOfOtherThreads() {
  uint64_t sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (std::stoul(task.path().filename().string()) == static_cast<unsigned long>(gettid())) continue;
    std::ifstream file(task.path() / "schedstat");  // first: time spent running
    uint64_t ns = 0;
    file >> ns;
    sum += ns;
  }
  return sum;
}

// Threads that wait for work without sleeping would take time from the steps that come next on their cores.
TEST_CASE("OnnxRuntime, ThreadsOfWideSessionsSleepBetweenRuns", "[onnxruntime]") {
  const auto cores = plugins::HostCores(DiscoverHost().value());
  if (cores.size() < 2) SKIP("one core: sessions have no threads");
  const OnnxRuntimeLibrary library = MakeLibrary();
  const Platform platform = DiscoverHost().value();
  const Graph graph =
      LoadCase({"", "input x float32[256,256]\nconst w float32[256,256] random 3\ny = MatMul(x, w)\noutput y\n"});
  const auto candidates = library.Candidates(graph, platform, Precision());
  const auto wide = std::ranges::find_if(
      candidates, [&](const Candidate& c) { return platform.unit_class(c.unit_class).cores == cores.size(); });
  REQUIRE(wide != candidates.end());
  KernelBench bench(platform, static_cast<uint32_t>(cores.size()));
  const TensorLayout layout = DenseLayout(DataType::kFloat32, {256, 256}, RowMajor(2)).value();
  auto kernel = library.Compile(graph, *wide, {}, {}, bench.context);
  REQUIRE(kernel.ok());
  std::vector<float> x(size_t{256} * 256, 1), y(x.size());
  const TensorView slot_in{x.data(), layout}, slot_out{y.data(), layout};
  std::vector<uint64_t> after_ns;
  for (int run = 0; run < 20; ++run) {
    REQUIRE(bench.Run(**kernel, std::span(&slot_in, 1), std::span(&slot_out, 1)).ok());
    const uint64_t before = NsOfOtherThreads();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    after_ns.push_back(NsOfOtherThreads() - before);
  }
  std::ranges::sort(after_ns);
  CHECK(after_ns[after_ns.size() / 2] < 500'000);  // they were told to sleep, which they see when they are scheduled
}

}  // namespace
}  // namespace pt::onnxruntime::library_test
