#include "partitiontuner/backend/shaken_library.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/kernel_bench.h"
#include "test/testing/run_candidate.h"
#include "test/testing/telling_library.h"
#include "test/testing/test_machine.h"

namespace pt::testing::shaken_library_test {
namespace {

Tensor RunShaken(const std::string& node, uint64_t seed, const Tensor& input) {
  const std::string dims = "[" + std::to_string(input.element_count()) + "]";
  const Graph graph = InferShapes(*ParseGraph("input x float32" + dims + "\n" + node + "\noutput y\n")).value();
  const Platform platform = MakeTestPlatform(1, false);
  const auto library = MakeShakenLibrary(MakeReferenceLibrary(), seed);
  const std::vector<Candidate> candidates = library->Candidates(graph, platform, Precision());
  REQUIRE(!candidates.empty());
  Result<std::vector<Tensor>> results = RunCandidate(graph, platform, *library, candidates.front(), {&input, 1});
  REQUIRE(results.ok());
  return (*results)[0];
}

std::vector<float> Numbers(size_t count) {
  std::vector<float> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(std::sin(static_cast<float>(i)) * 10);
  numbers[0] = 0;
  return numbers;
}

TEST_CASE("ShakenLibrary, ChangesRoundedNumbersALittleAndTheSameWayEachTime", "[backend]") {
  const Tensor input = Tensor::Float32({50}, Numbers(50));
  const Tensor exact = RunShaken("y = Mul(x, x)", 0, input), shaken = RunShaken("y = Mul(x, x)", 1, input);
  size_t changed = 0;
  for (size_t i = 0; i < 50; ++i) {
    const float want = exact.values<float>()[i], got = shaken.values<float>()[i];
    CHECK(std::fabs(got - want) <= 1.1e-6F * want);
    changed += want != got;
  }
  CHECK(changed > 25);
  CHECK(shaken.values<float>()[0] == 0);  // no rounding makes anything else of 0 * 0
  CHECK(std::ranges::equal(shaken.bytes(), RunShaken("y = Mul(x, x)", 1, input).bytes()));
  CHECK_FALSE(std::ranges::equal(shaken.bytes(), RunShaken("y = Mul(x, x)", 2, input).bytes()));
}

// As attention masks do: what they add is no rounding of the scores beside them.
TEST_CASE("ShakenLibrary, MovesNoNumberByTheSizeOfOthersThatItHasNothingToDoWith", "[backend]") {
  const Tensor shaken = RunShaken("y = Add(x, x)", 1, Tensor::Float32({3}, {-1e38F, 1, 2}));
  CHECK(std::fabs(shaken.values<float>()[1] - 2) < 1e-5F);
  CHECK(std::fabs(shaken.values<float>()[2] - 4) < 1e-5F);
}

TEST_CASE("ShakenLibrary, LeavesAloneWhatIsNotRounded", "[backend]") {
  const Tensor input = Tensor::Float32({50}, Numbers(50));
  for (const char* node : {"y = Relu(x)", "y = Cast(x) to=7", "y = Neg(x)"}) {
    CHECK(std::ranges::equal(RunShaken(node, 0, input).bytes(), RunShaken(node, 1, input).bytes()));
  }
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor odd = RunShaken("y = Mul(x, x)", 1, Tensor::Float32({3}, {infinity, nan, 2}));
  CHECK(odd.values<float>()[0] == infinity);
  CHECK(std::isnan(odd.values<float>()[1]));
  CHECK(std::fabs(odd.values<float>()[2] - 4) < 1e-5F);
}

TEST_CASE("ShakenLibrary, PassesEveryQuestionOn", "[backend]") {
  const Graph graph = InferShapes(*ParseGraph("input x float32[4]\ny = Relu(x)\noutput y\n")).value();
  const Platform platform = MakeTestPlatform(1, false);
  KernelBench bench(platform);
  const auto shaken = MakeShakenLibrary(std::make_unique<TellingLibrary>(), 1);
  CHECK(shaken->name() == "telling");
  CHECK(shaken->version() == "told");
  CHECK(NotPassedOn(*shaken, graph, platform, bench.context) == std::vector<std::string>{});
}

}  // namespace
}  // namespace pt::testing::shaken_library_test
