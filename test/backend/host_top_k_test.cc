// TopK of the host library against the reference library: every type, axis and order, all k around the reservoir's
// size, ties and NaN.
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_top_k_test {
namespace {

std::string Text(const std::string& type, const std::string& dims, int64_t k, const std::string& attributes,
                 const std::string& outputs = "output y\noutput i\n") {
  return "input x " + type + dims + "\nconst k int64[1] ints " + std::to_string(k) + "\ny, i = TopK(x, k) " +
         attributes + "\n" + outputs;
}

TEST_CASE("HostTopK, EveryAxisTypeAndOrderEqualsTheReference", "[host]") {
  for (const char* type : {"float32", "int32", "int64"}) {
    for (int axis = -3; axis < 3; ++axis) {
      for (const char* order : {"largest=1", "largest=0", "largest=1 sorted=0", "largest=0 sorted=0"}) {
        for (const int k : {0, 1, 2, 4}) {
          CheckText(Text(type, "[4,5,6]", k, "axis=" + std::to_string(axis) + " " + order), 0);
        }
      }
    }
  }
  CheckText(Text("float32", "[3,9]", 2, "", "output y\n"), 0);
  CheckText(Text("float32", "[3,9]", 2, "", "output i\n"), 0);
  CheckText(Text("float32", "[3,0]", 0, ""), 0);
  CheckText(Text("float32", "[0,3]", 2, ""), 0);
}

TEST_CASE("HostTopK, EveryKAroundTheReservoirEqualsTheReference", "[host]") {
  for (const int n : {1, 15, 16, 17, 127, 128, 129, 255, 257, 1000, 9001}) {
    for (const int k : {1, 2, 16, 63, 64, 65, 127, 128, 500, 999, 1000, 8999, 9001}) {
      if (k > n) continue;
      const std::string dims = "[2," + std::to_string(n) + "]";
      for (const char* order : {"largest=1", "largest=0"}) {
        CheckText(Text("float32", dims, k, order), 0);
        CheckText(Text("int64", dims, k, order), 0);
      }
    }
  }
}

// Few different numbers, NaN of both signs, zeros of both signs and infinities among them.
TEST_CASE("HostTopK, TiesAndNanEqualTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr std::array kSome = {0.0F, -0.0F, 1.0F, -1.0F, kInfinity, -kInfinity, kNan, -kNan, 1e-45F, 2.0F};
  for (int round = 0; round < 60; ++round) {
    const size_t kinds = 1 + random() % kSome.size(), first = random() % kSome.size();
    const auto n = static_cast<int64_t>(1 + random() % 700);
    std::vector<float> x;
    for (int64_t i = 0; i < 3 * n; ++i) x.push_back(kSome[(first + random() % kinds) % kSome.size()]);
    const auto k = static_cast<int64_t>(random() % static_cast<unsigned>(n + 1));
    const std::string text =
        Text("float32", "[3," + std::to_string(n) + "]", k, random() % 2 == 0 ? "largest=1" : "largest=0");
    INFO(text);
    CheckAgainstReference(TypedText(text), {Tensor::Float32({3, n}, x)}, 0);
  }
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  for (const char* order : {"largest=1", "largest=0"}) {
    CheckAgainstReference(TypedText(Text("int64", "[7]", 5, order)),
                          {Tensor::Int64({7}, {kLeast, 0, kMost, kMost, -1, kLeast, 1})}, 0);
  }
}

// Rising and falling lines: every element enters the reservoir, or none behind the first.
TEST_CASE("HostTopK, SortedLinesEqualTheReference", "[host]") {
  std::vector<float> x(3000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (int turn = 0; turn < 2; ++turn) {
    for (const char* order : {"largest=1", "largest=0"}) {
      CheckAgainstReference(TypedText(Text("float32", "[3000]", 100, order)), {Tensor::Float32({3000}, x)}, 0);
    }
    std::reverse(x.begin(), x.end());
  }
}

TEST_CASE("HostTopK, AnotherKThanPlannedIsAnErrorOfTheRun", "[host]") {
  const std::unique_ptr<Library> host = HostLibrary();
  const Platform platform = MakeTestPlatform(1, false);
  const NodeId node(0U);
  Result<Graph> parsed = ParseGraph("input x float32[9]\ninput k int64[1]\ny = TopK(x, k) : float32[4]\noutput y\n");
  if (!parsed.ok()) FAIL(ToString(parsed.error()));
  const std::vector<Candidate> candidates = host->CandidatesFor(*parsed, platform, {&node, 1}, Precision());
  REQUIRE(!candidates.empty());
  for (const int64_t k : {int64_t{4}, int64_t{3}, int64_t{5}}) {
    const std::vector<Tensor> inputs = {RandomTensor(DataType::kFloat32, {9}, 1), Tensor::Int64({1}, {k})};
    const auto result = RunCandidate(*parsed, platform, *host, candidates[0], inputs);
    CHECK(result.ok() == (k == 4));
    if (!result.ok()) CHECK(result.error().code == ErrorCode::kInvalidInput);
  }
}

}  // namespace
}  // namespace pt::testing::host_top_k_test
