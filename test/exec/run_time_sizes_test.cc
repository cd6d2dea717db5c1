// Values whose size is known only in the run: whatever the data, whatever the run before, the result is that of a loop.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <thread>

#include "test/testing/host_lab.h"
#include "test/testing/run_candidate.h"

namespace pt::testing::run_time_sizes_test {
namespace {

// About `density` of the elements are not 0.
Tensor Sparse(std::mt19937& random, const std::vector<int64_t>& dims, double density) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<size_t>(count));
  std::uniform_real_distribution<double> chance(0, 1);
  for (float& value : values) value = chance(random) < density ? static_cast<float>(chance(random) + 0.5) : 0.0F;
  return Tensor::Float32(dims, values);
}

// Where the 4 x 8 input is not 0, and those elements twice behind each other, doubled.
const char* const kSelect =
    "input x float32[4,8]\n"
    "n = NonZero(x)\n"
    "t = Transpose(n) perm=[1,0]\n"
    "g = GatherND(x, t)\n"
    "d = Add(g, g)\n"
    "c = Concat(d, d) axis=0\n"
    "s = Shape(c)\n"
    "output n\n"
    "output c\n"
    "output s\n";

void CheckSelection(const Tensor& x, const std::vector<Tensor>& results) {
  std::vector<int64_t> rows, columns;
  std::vector<float> doubled;
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const float value = x.values<float>()[static_cast<size_t>(i)];
    if (value == 0) continue;
    rows.push_back(i / 8);
    columns.push_back(i % 8);
    doubled.push_back(2 * value);
  }
  const auto count = static_cast<int64_t>(rows.size());
  rows.insert(rows.end(), columns.begin(), columns.end());
  doubled.insert(doubled.end(), doubled.begin(), doubled.begin() + count);
  CHECK(Difference(results[0], Tensor::Int64({2, count}, rows), 0) == "");
  CHECK(Difference(results[1], Tensor::Float32({2 * count}, doubled), 0) == "");
  CHECK(Difference(results[2], Tensor::Int64({1}, {2 * count}), 0) == "");
}

}  // namespace

TEST_CASE("RunTimeSizes, SelectionsFollowTheDataFromRunToRun", "[exec]") {
  const auto seed = GENERATE(range(1U, 7U));
  const bool sequential = GENERATE(false, true);
  CAPTURE(seed, sequential);
  std::mt19937 random(seed);
  HostLab lab;
  SessionOptions options;
  options.sequential = sequential;
  const auto session = lab.Open(TypedGraph(kSelect), seed, options);
  for (const double density : {0.5, 0.0, 1.0, 0.1, 0.9, 0.0, 0.3}) {
    const Tensor x = Sparse(random, {4, 8}, density);
    const auto results = RunOnce(*session, {x});
    if (!results.ok()) FAIL(ToString(results.error()));
    CheckSelection(x, *results);
  }
}

TEST_CASE("RunTimeSizes, ConcurrentRunsKeepTheirOwnTensors", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph(kSelect), 3);
  std::vector<std::vector<std::pair<Tensor, std::vector<Tensor>>>> done(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < done.size(); ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t + 1));
      for (int run = 0; run < 20; ++run) {
        const Tensor x = Sparse(random, {4, 8}, 0.1 * static_cast<double>(run % 11));
        auto results = RunOnce(*session, {x});
        if (results.ok()) done[t].emplace_back(x, std::move(results).value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& runs : done) {
    REQUIRE(runs.size() == 20);
    for (const auto& [x, results] : runs) CheckSelection(x, results);
  }
}

TEST_CASE("RunTimeSizes, InputsMayChangeTheirOpenDims", "[exec]") {
  HostLab lab;
  const auto graph = TypedGraph(
      "input x float32[?,3]\n"
      "const w float32[3,2] ints 1 2 3 4 5 6\n"
      "y = MatMul(x, w)\n"
      "z = ReduceSum(y) keepdims=0\n"
      "output y\n"
      "output z\n");
  const auto session = lab.Open(graph, 1);
  for (const int64_t rows : {2, 0, 5, 2, 1}) {
    CAPTURE(rows);
    std::vector<float> x(static_cast<size_t>(3 * rows)), y;
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 2;
    float sum = 0;
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
      const float* row = x.data() + 3 * r;
      y.push_back(row[0] + 3 * row[1] + 5 * row[2]);
      y.push_back(2 * row[0] + 4 * row[1] + 6 * row[2]);
      sum += y[y.size() - 1] + y[y.size() - 2];
    }
    const auto results = RunOnce(*session, {Tensor::Float32({rows, 3}, x)});
    if (!results.ok()) FAIL(ToString(results.error()));
    CHECK(Difference((*results)[0], Tensor::Float32({rows, 2}, y), 0) == "");
    CHECK(Difference((*results)[1], Tensor::Float32({}, {sum}), 1e-6) == "");
  }
  const auto wrong = RunOnce(*session, {Tensor::Float32({3, 2}, std::vector<float>(6))});
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().code == ErrorCode::kInvalidInput);
}

TEST_CASE("RunTimeSizes, OperatorsTakeTheirParametersFromTheRun", "[exec]") {
  HostLab lab;
  const auto graph = TypedGraph(
      "input limit int64[]\n"
      "const zero int64[] zeros\n"
      "const one int64[] ones\n"
      "const pair int64[2] ints -1 2\n"
      "r = Range(zero, limit, one)\n"
      "m = Reshape(r, pair)\n"
      "output r\n"
      "output m\n");
  const auto session = lab.Open(graph, 1);
  for (const int64_t limit : {6, 0, 2, 6}) {
    const auto results = RunOnce(*session, {Tensor::Int64({}, {limit})});
    if (!results.ok()) FAIL(ToString(results.error()));
    std::vector<int64_t> expected;
    for (int64_t i = 0; i < limit; ++i) expected.push_back(i);
    CHECK(Difference((*results)[0], Tensor::Int64({limit}, expected), 0) == "");
    CHECK(Difference((*results)[1], Tensor::Int64({limit / 2, 2}, expected), 0) == "");
  }
  const auto odd = RunOnce(*session, {Tensor::Int64({}, {3})});
  REQUIRE_FALSE(odd.ok());
  CHECK(odd.error().code == ErrorCode::kInvalidInput);
  CHECK(RunOnce(*session, {Tensor::Int64({}, {4})}).ok());
}

TEST_CASE("RunTimeSizes, TheLimitOnARunCountsThem", "[exec]") {
  HostLab lab;
  SessionOptions options;
  options.run_bytes = 1 << 16;
  const auto graph = TypedGraph(
      "input limit int64[]\n"
      "const zero int64[] zeros\n"
      "const one int64[] ones\n"
      "r = Range(zero, limit, one)\n"
      "s = Add(r, r)\n"
      "output s\n");
  const auto session = lab.Open(graph, 1, options);
  CHECK(RunOnce(*session, {Tensor::Int64({}, {1000})}).ok());
  const auto refused = RunOnce(*session, {Tensor::Int64({}, {1000000})});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOutOfMemory);
  // What the failed run held is free again, and what left with a report no longer counts.
  std::vector<Tensor> kept;
  for (int run = 0; run < 20; ++run) {
    const auto results = RunOnce(*session, {Tensor::Int64({}, {1000})});
    if (!results.ok()) FAIL(ToString(results.error()));
    kept.push_back((*results)[0]);
  }
  for (const Tensor& tensor : kept) CHECK(tensor.values<int64_t>()[999] == 1998);
}

TEST_CASE("RunTimeSizes, NoBufferCanBeLentForAnOutputOfUnknownSize", "[exec]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph("input x float32[4]\nn = NonZero(x)\noutput n\n"), 1);
  std::vector<float> x(4, 1.0F);
  std::vector<int64_t> n(4);
  const std::vector<LentTensor> in = {{DataType::kFloat32, {4}, x.data(), 16}};
  const std::vector<LentTensor> out = {{DataType::kInt64, {1, 4}, n.data(), 32}};
  const auto report = session->Run(in, out);
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().code == ErrorCode::kInvalidInput);
}

TEST_CASE("RunTimeSizes, AResultThatTheGraphRulesOutIsRefused", "[exec]") {
  HostLab lab;
  GraphBuilder builder;
  builder.set_opset(21);
  const ValueId x = builder.AddInput("x", StaticType(DataType::kFloat32, {4}));
  builder.AddOutput(builder.AddOp("NonZero", {x}, StaticType(DataType::kInt64, {1, 2}), {}, "n"));
  const auto session = lab.Open(std::make_shared<const Graph>(builder.Build().value()), 1);
  CHECK(RunOnce(*session, {Tensor::Float32({4}, {0, 1, 0, 1})}).ok());
  const auto refused = RunOnce(*session, {Tensor::Float32({4}, {0, 1, 1, 1})});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
}

}  // namespace pt::testing::run_time_sizes_test
