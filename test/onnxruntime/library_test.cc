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
#include "test/testing/test_machine.h"

namespace pt::onnxruntime {
namespace {

using testing::KernelBench;
using testing::LoadCase;
using testing::MakeTestPlatform;

OnnxRuntimeLibrary MakeLibrary() {
  auto runtime = Runtime::Get();
  INFO((runtime.ok() ? "" : ToString(runtime.error())));
  REQUIRE(runtime.ok());
  return OnnxRuntimeLibrary(std::move(runtime));
}

constexpr const char* kProduct =
    "input x float32[4,64]\nconst w float32[64,8] random 3\nm = MatMul(x, w)\ny = Relu(m)\noutput y\n";

TEST_CASE("OnnxRuntime, UnitsOfOneCoreAndOfAllAreServed", "[onnxruntime]") {
  const OnnxRuntimeLibrary library = MakeLibrary();
  const Graph graph = LoadCase({"", kProduct});
  const Platform platform = MakeTestPlatform(4, true);
  CHECK(library.Serves(platform, kHostDevice));
  CHECK_FALSE(library.Serves(platform, DeviceId(1u)));
  std::multiset<uint32_t> widths;
  for (const Candidate& candidate : library.Candidates(graph, platform, Precision())) {
    widths.insert(platform.unit_class(candidate.unit_class).cores);
  }
  CHECK(widths == std::multiset<uint32_t>{1, 1, 1, 4, 4, 4});  // two nodes and both together
}

TEST_CASE("OnnxRuntime, WithoutARuntimeItServesNothingAndSaysWhy", "[onnxruntime]") {
  const OnnxRuntimeLibrary library(MakeError(ErrorCode::kDeviceUnusable, "onnxruntime", "no such luck"));
  const Graph graph = LoadCase({"", kProduct});
  CHECK_FALSE(library.Serves(MakeTestPlatform(1, false), kHostDevice));
  CHECK(library.Candidates(graph, MakeTestPlatform(1, false), Precision()).empty());
  CHECK(library.WhyUnsupported(graph, NodeId(0u)) == "no such luck");
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

// Every digit of float32.
TEST_CASE("OnnxRuntime, ComputesInFloat32", "[onnxruntime]") {
  const OnnxRuntimeLibrary library = MakeLibrary();
  const Graph graph = LoadCase({"", "input x float32[1,64]\nconst w float32[64,8] ones\ny = MatMul(x, w)\noutput y\n"});
  const Platform platform = MakeTestPlatform(2, false);
  const Tensor x = Tensor::Float32({1, 64}, std::vector<float>(64, 1 + 0x1p-12F));
  size_t checked = 0;
  for (const Candidate& candidate : library.Candidates(graph, platform, Precision())) {
    const auto y = testing::RunCandidate(graph, platform, library, candidate, std::span(&x, 1));
    REQUIRE(y.ok());
    for (const float value : (*y)[0].values<float>()) CHECK(std::abs(value - 64 * (1 + 0x1p-12F)) < 1e-4F);
    ++checked;
  }
  CHECK(checked == 2);
}

// What its optimisers drop is copied all the same.
TEST_CASE("OnnxRuntime, WhatChangesNothingIsWritten", "[onnxruntime]") {
  const OnnxRuntimeLibrary library = MakeLibrary();
  const Platform platform = MakeTestPlatform(2, false);
  const Tensor x = testing::RandomTensor(DataType::kFloat32, {1, 4, 6, 6}, 7);
  size_t checked = 0;
  for (const char* nodes : {
           "y = Max(x)\n",
           "y = Clip(x)\n",
           "y = Concat(x) axis=1\n",
           "y = Transpose(x) perm=[0,1,2,3]\n",
           "y = DepthToSpace(x) blocksize=1\n",
           "const s int64[4] ints 1 4 6 6\ny = Reshape(x, s)\n",
           "const s int64[4] ints 1 4 6 6\ny = Expand(x, s)\n",
           "const s int64[4] ints 1 1 1 1\ny = Tile(x, s)\n",
           "const p int64[8] zeros\ny = Pad(x, p)\n",
           "const b int64[1] ints 0\nconst e int64[1] ints 4\nconst a int64[1] ints 1\ny = Slice(x, b, e, a)\n",
           "const s int64[1] ints 4\ny = Split(x, s) axis=1\n",
           "const z float32[] zeros\ny = Add(x, z)\n",
           "const o float32[] ones\ny = Mul(x, o)\n",
           "const o float32[] ones\ny = Pow(x, o)\n",
           "y = ReduceSum(x) noop_with_empty_axes=1\n",
           "y = MaxPool(x) kernel_shape=[1,1]\n",
           "const s float32[4] ones\ny = Resize(x, _, s)\n",
           "const t int64[3] ints 4 6 6\nconst s int64[4] ints 1 4 6 6\nm = Reshape(x, t)\ny = Reshape(m, s)\n",
           "m = Transpose(x) perm=[0,2,3,1]\ny = Transpose(m) perm=[0,3,1,2]\n",
       }) {
    INFO(nodes);
    const std::string text = std::string("input x float32[1,4,6,6]\n") + nodes + "output y\n";
    const Graph graph = LoadCase({"", text.c_str()});
    for (const Candidate& candidate : library.Candidates(graph, platform, Precision())) {
      if (candidate.nodes.size() != graph.nodes().size()) continue;
      ++checked;
      const auto y = testing::RunCandidate(graph, platform, library, candidate, std::span(&x, 1));
      INFO((y.ok() ? "" : ToString(y.error())));
      REQUIRE(y.ok());
      CHECK(testing::Difference((*y)[0], x, 1e-6) == "");
    }
  }
  CHECK(checked > 30);
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

TensorLayout Slice(DataType type, std::vector<int64_t> dims, int64_t row) {
  TensorLayout layout = DenseLayout(type, std::move(dims), RowMajor(2)).value();
  layout.strides[0] = row;
  return layout;
}

template <typename T>
void CheckSlices(DataType type) {
  const OnnxRuntimeLibrary library = MakeLibrary();
  const std::string name(DataTypeName(type));
  const std::string text = "input x " + name + "[3,4]\ny = Add(x, x)\noutput y\n";
  const Graph graph = LoadCase({"", text.c_str()});
  const Platform platform = MakeTestPlatform(1, false);
  KernelBench bench(platform);
  const std::vector<Candidate> candidates = library.Candidates(graph, platform, Precision());
  REQUIRE(candidates.size() == 1);
  const std::vector<TensorLayout> in = {Slice(type, {3, 4}, 6)}, out = {Slice(type, {3, 4}, 10)};
  auto kernel = library.Compile(graph, candidates[0], in, out, bench.context);
  REQUIRE(kernel.ok());
  std::vector<T> from(18), to(30, 99);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i);
  const TensorView x{from.data(), in[0]}, y{to.data(), out[0]};
  for (int run = 0; run < 2; ++run) {
    REQUIRE(bench.Run(**kernel, std::span(&x, 1), std::span(&y, 1)).ok());
    for (size_t i = 0; i < to.size(); ++i) {
      const size_t row = i / 10, column = i % 10;
      CHECK(to[i] == (column < 4 ? 2 * from[row * 6 + column] : 99));
    }
    for (T& value : from) value += 1;  // the next run reads them anew
  }
}

TEST_CASE("OnnxRuntime, SlicesAreReadAndWrittenWhereTheyLie", "[onnxruntime]") {
  CheckSlices<float>(DataType::kFloat32);
  CheckSlices<int64_t>(DataType::kInt64);
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

size_t ThreadsOfThisProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task"), end;
  return static_cast<size_t>(std::distance(tasks, end));
}

// What a thread made in a run would do to the executor's pinned cores: see Kernel::brings_threads.
TEST_CASE("OnnxRuntime, RunsMakeNoThreads", "[onnxruntime]") {
  const OnnxRuntimeLibrary library = MakeLibrary();
  const Graph graph = LoadCase({"", kProduct});
  const Platform platform = MakeTestPlatform(2, false);
  size_t checked = 0;
  for (const Candidate& candidate : library.Candidates(graph, platform, Precision())) {
    const uint32_t width = platform.unit_class(candidate.unit_class).cores;
    INFO(width << " cores");
    KernelBench bench(platform, width);
    const std::vector<TensorLayout> in = {DenseLayout(DataType::kFloat32, {4, 64}, RowMajor(2)).value()};
    const std::vector<TensorLayout> out = {DenseLayout(DataType::kFloat32, {4, 8}, RowMajor(2)).value()};
    if (candidate.nodes.size() != 2) continue;
    ++checked;
    auto kernel = library.Compile(graph, candidate, in, out, bench.context);
    REQUIRE(kernel.ok());
    CHECK((*kernel)->brings_threads() == (width > 1));
    const size_t before = ThreadsOfThisProcess();
    std::vector<float> x(256, 1), y(32);
    const TensorView slot_in{x.data(), in[0]}, slot_out{y.data(), out[0]};
    for (int run = 0; run < 10; ++run) {
      REQUIRE(bench.Run(**kernel, std::span(&slot_in, 1), std::span(&slot_out, 1)).ok());
    }
    CHECK(ThreadsOfThisProcess() == before);
  }
  CHECK(checked == 2);
}

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
}  // namespace pt::onnxruntime
