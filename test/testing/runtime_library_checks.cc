#include "test/testing/runtime_library_checks.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <set>
#include <vector>

#include "test/testing/check_case.h"
#include "test/testing/kernel_bench.h"
#include "test/testing/run_candidate.h"
#include "test/testing/test_machine.h"

namespace pt::testing {
namespace {

constexpr const char* kProduct =
    "input x float32[4,64]\nconst w float32[64,8] random 3\nm = MatMul(x, w)\ny = Relu(m)\noutput y\n";

// Whose rows are a slice of wider ones.
TensorLayout Slice(DataType type, std::vector<int64_t> dims, int64_t row) {
  TensorLayout layout = DenseLayout(type, std::move(dims), RowMajor(2)).value();
  layout.strides[0] = row;
  return layout;
}

template <typename T>
void CheckSlicesOf(const Library& library, DataType type) {
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

size_t ThreadsOfThisProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task"), end;
  return static_cast<size_t>(std::distance(tasks, end));
}

}  // namespace

void CheckUnitsOfOneCoreAndOfAll(const Library& library) {
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

void CheckServesNothing(const Library& library, const std::string& why) {
  const Graph graph = LoadCase({"", kProduct});
  const Platform platform = MakeTestPlatform(1, false);
  CHECK_FALSE(library.Serves(platform, kHostDevice));
  CHECK(library.Candidates(graph, platform, Precision()).empty());
  CHECK(library.WhyUnsupported(graph, NodeId(0u)) == why);
}

void CheckComputesInFloat32(const Library& library) {
  const Graph graph = LoadCase({"", "input x float32[1,64]\nconst w float32[64,8] ones\ny = MatMul(x, w)\noutput y\n"});
  const Platform platform = MakeTestPlatform(2, false);
  const Tensor x = Tensor::Float32({1, 64}, std::vector<float>(64, 1 + 0x1p-12F));
  size_t checked = 0;
  for (const Candidate& candidate : library.Candidates(graph, platform, Precision())) {
    const auto y = RunCandidate(graph, platform, library, candidate, std::span(&x, 1));
    REQUIRE(y.ok());
    for (const float value : (*y)[0].values<float>()) CHECK(std::abs(value - 64 * (1 + 0x1p-12F)) < 1e-4F);
    ++checked;
  }
  CHECK(checked == 2);
}

void CheckWhatChangesNothingIsWritten(const Library& library, size_t least) {
  const Platform platform = MakeTestPlatform(2, false);
  const Tensor x = RandomTensor(DataType::kFloat32, {1, 4, 6, 6}, 7);
  size_t checked = 0;
  for (const char* nodes : {
           "y = Max(x)\n",
           "y = Min(x)\n",
           "y = Clip(x)\n",
           "y = Concat(x) axis=1\n",
           "y = Transpose(x) perm=[0,1,2,3]\n",
           "y = DepthToSpace(x) blocksize=1\n",
           "y = SpaceToDepth(x) blocksize=1\n",
           "const s int64[4] ints 1 4 6 6\ny = Reshape(x, s)\n",
           "const s int64[4] ints 1 4 6 6\ny = Expand(x, s)\n",
           "const s int64[4] ints 1 1 1 1\ny = Tile(x, s)\n",
           "const p int64[8] zeros\ny = Pad(x, p)\n",
           "const b int64[1] ints 0\nconst e int64[1] ints 4\nconst a int64[1] ints 1\ny = Slice(x, b, e, a)\n",
           "const i int64[4] ints 0 1 2 3\ny = Gather(x, i) axis=1\n",
           "const s int64[1] ints 4\ny = Split(x, s) axis=1\n",
           "const z float32[] zeros\ny = Add(x, z)\n",
           "const z float32[] zeros\ny = Sub(x, z)\n",
           "const o float32[] ones\ny = Mul(x, o)\n",
           "const o float32[] ones\ny = Div(x, o)\n",
           "const o float32[] ones\ny = Pow(x, o)\n",
           "y = ReduceSum(x) noop_with_empty_axes=1\n",
           "y = AveragePool(x) kernel_shape=[1,1]\n",
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
      const auto y = RunCandidate(graph, platform, library, candidate, std::span(&x, 1));
      INFO((y.ok() ? "" : ToString(y.error())));
      REQUIRE(y.ok());
      CHECK(Difference((*y)[0], x, 1e-6) == "");
    }
  }
  CHECK(checked > least);
}

void CheckSlicesAreReadAndWrittenWhereTheyLie(const Library& library, DataType type) {
  if (type == DataType::kInt64) return CheckSlicesOf<int64_t>(library, type);
  REQUIRE(type == DataType::kFloat32);
  CheckSlicesOf<float>(library, type);
}

void CheckRunsMakeNoThreads(const Library& library) {
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

}  // namespace pt::testing
