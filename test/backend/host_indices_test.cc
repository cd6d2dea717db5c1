// What the host library reads and writes at indices, against the reference library: random shapes, all sizes of
// elements, negative and repeated indices, those that do not exist, and slices of bigger tensors.
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_indices_test {
namespace {

using Dims = std::vector<int64_t>;

// One of each size that the reference library scatters.
constexpr std::array kTypes = {"bool", "int8", "float16", "float32", "int64"};
constexpr std::array kReductions = {"none", "add", "mul", "max", "min"};

std::string ListText(const Dims& list) {
  std::string text;
  for (int64_t i : list) text += (text.empty() ? "" : ",") + std::to_string(i);
  return "[" + text + "]";
}

int64_t CountOf(const Dims& dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  return count;
}

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int64_t Of(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random_); }
  // Of these dims, each within -dim..dim-1 of the dim that `dim_of(i)` gives.
  template <typename F>
  Tensor Indices(const Dims& dims, bool wide, F dim_of) {
    std::vector<int64_t> list;
    for (int64_t i = 0; i < CountOf(dims); ++i) list.push_back(Of(-dim_of(i), dim_of(i) - 1));
    if (wide) return Tensor::Int64(dims, list);
    return Tensor::Of<int32_t>(DataType::kInt32, dims, std::vector<int32_t>(list.begin(), list.end()));
  }

 private:
  std::mt19937 random_;
};

Tensor Content(const Graph& graph, size_t input) {
  const ValueType& type = graph.value(graph.inputs()[input]).type;
  return RandomTensor(type.type, *type.static_dims(), 7 + input);
}

std::string IndexType(bool wide) { return wide ? "int64" : "int32"; }

TEST_CASE("HostGatherElements, RandomShapesEqualTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  Dice dice(seed);
  for (int round = 0; round < 80; ++round) {
    Dims x, where;
    const int64_t rank = dice.Of(1, 4), axis = dice.Of(0, rank - 1);
    for (int64_t d = 0; d < rank; ++d) {
      x.push_back(dice.Of(1, 9));
      where.push_back(d == axis ? dice.Of(0, 20) : dice.Of(1, x.back()));
    }
    const bool wide = dice.Of(0, 1) == 0;
    const std::string type = round % 6 == 5 ? "complex128" : kTypes[static_cast<size_t>(round) % kTypes.size()];
    const std::string text =
        "input x " + type + ListText(x) + "\ninput i " + IndexType(wide) + ListText(where) +
        "\ny = GatherElements(x, i) axis=" + std::to_string(dice.Of(0, 1) == 0 ? axis : axis - rank) + "\noutput y\n";
    INFO(text);
    const Graph graph = TypedText(text);
    const int64_t dim = x[static_cast<size_t>(axis)];
    CheckAgainstReference(graph, {Content(graph, 0), dice.Indices(where, wide, [=](int64_t) { return dim; })}, 0);
  }
  // Enough lines for all cores, along the axis and across it.
  for (const char* axis : {"0", "1"}) {
    const Graph graph =
        TypedText("input x float32[70,900]\ninput i int64[70,900]\ny = GatherElements(x, i) axis=" + std::string(axis) +
                  "\noutput y\n");
    CheckAgainstReference(graph, {Content(graph, 0), dice.Indices({70, 900}, true, [](int64_t) { return 70; })}, 0);
  }
}

TEST_CASE("HostScatterElements, RandomShapesAndRepeatsEqualTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  Dice dice(seed);
  for (int round = 0; round < 120; ++round) {
    Dims x, where;
    const int64_t rank = dice.Of(1, 4), axis = dice.Of(0, rank - 1);
    for (int64_t d = 0; d < rank; ++d) {
      x.push_back(dice.Of(1, 7));
      where.push_back(d == axis ? dice.Of(0, 20) : dice.Of(1, x.back()));
    }
    const bool wide = dice.Of(0, 1) == 0;
    const std::string reduction = kReductions[static_cast<size_t>(dice.Of(0, 4))];
    const std::string type = reduction == "none"
                                 ? kTypes[static_cast<size_t>(dice.Of(0, 4))]
                                 : std::array{"float32", "int32", "int64"}[static_cast<size_t>(round) % 3];
    const std::string text = "input x " + type + ListText(x) + "\ninput i " + IndexType(wide) + ListText(where) +
                             "\ninput u " + type + ListText(where) +
                             "\ny = ScatterElements(x, i, u) axis=" + std::to_string(axis) + " reduction=\"" +
                             reduction + "\"\noutput y\n";
    INFO(text);
    const Graph graph = TypedText(text);
    const int64_t dim = x[static_cast<size_t>(axis)];
    // Elements that meet are combined in the same order, so the same bits come out.
    CheckAgainstReference(
        graph, {Content(graph, 0), dice.Indices(where, wide, [=](int64_t) { return dim; }), Content(graph, 2)}, 0);
  }
  for (const char* axis : {"0", "1"}) {
    const Graph graph = TypedText(
        "input x float32[70,900]\ninput i int64[70,900]\ninput u float32[70,900]\n"
        "y = ScatterElements(x, i, u) reduction=\"add\" axis=" +
        std::string(axis) + "\noutput y\n");
    CheckAgainstReference(
        graph, {Content(graph, 0), dice.Indices({70, 900}, true, [](int64_t) { return 70; }), Content(graph, 2)}, 0);
  }
}

TEST_CASE("HostScatter, NanAndInfinitiesMeetAsTheReferenceHasThem", "[host]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> some = {kNan, kInfinity, -kInfinity, 0.0F, -0.0F, 1.0F};
  std::vector<float> x, u;
  std::vector<int64_t> i;
  for (float a : some) {
    for (float b : some) {
      i.push_back(static_cast<int64_t>(x.size()));
      x.push_back(a);
      u.push_back(b);
    }
  }
  for (const char* reduction : kReductions) {
    const Graph graph = TypedText(
        "input x float32[36]\ninput i int64[36]\ninput u float32[36]\n"
        "y = ScatterElements(x, i, u) reduction=\"" +
        std::string(reduction) + "\"\noutput y\n");
    CheckAgainstReference(graph, {Tensor::Float32({36}, x), Tensor::Int64({36}, i), Tensor::Float32({36}, u)}, 0);
  }
}

TEST_CASE("HostGatherNd, RandomShapesEqualTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  Dice dice(seed);
  for (int round = 0; round < 100; ++round) {
    Dims x, where;
    const int64_t rank = dice.Of(1, 4);
    for (int64_t d = 0; d < rank; ++d) x.push_back(dice.Of(1, 6));
    const int64_t batch = dice.Of(0, rank - 1), depth = dice.Of(1, rank - batch);
    where.assign(x.begin(), x.begin() + batch);
    for (int64_t d = dice.Of(batch == 0 ? 1 : 0, 2); d > 0; --d) where.push_back(dice.Of(0, 5));
    where.push_back(depth);
    const std::string type = round % 6 == 5 ? "complex128" : kTypes[static_cast<size_t>(round) % kTypes.size()];
    const std::string text = "input x " + type + ListText(x) + "\ninput i int64" + ListText(where) +
                             "\ny = GatherND(x, i) batch_dims=" + std::to_string(batch) + "\noutput y\n";
    INFO(text);
    const Graph graph = TypedText(text);
    const Tensor indices =
        dice.Indices(where, true, [&](int64_t i) { return x[static_cast<size_t>(batch + i % depth)]; });
    CheckAgainstReference(graph, {Content(graph, 0), indices}, 0);
  }
}

TEST_CASE("HostScatterNd, RandomShapesAndRepeatsEqualTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  Dice dice(seed);
  for (int round = 0; round < 120; ++round) {
    Dims x, where, updates;
    const int64_t rank = dice.Of(1, 4), depth = dice.Of(1, rank);
    for (int64_t d = 0; d < rank; ++d) x.push_back(dice.Of(1, 6));
    for (int64_t d = dice.Of(0, 2); d > 0; --d) where.push_back(dice.Of(0, 6));
    updates = where;
    updates.insert(updates.end(), x.begin() + depth, x.end());
    where.push_back(depth);
    const std::string reduction = kReductions[static_cast<size_t>(dice.Of(0, 4))];
    const std::string type = reduction == "none"
                                 ? kTypes[static_cast<size_t>(dice.Of(0, 4))]
                                 : std::array{"float32", "int32", "int64"}[static_cast<size_t>(round) % 3];
    const Tensor indices = dice.Indices(where, true, [&](int64_t i) { return x[static_cast<size_t>(i % depth)]; });
    std::string list;
    for (int64_t i : indices.ToInts()) list += " " + std::to_string(i);
    // Known before the run, too: then some of them are boxes.
    for (const bool constant : {false, true}) {
      const std::string text = "input x " + type + ListText(x) + "\ninput u " + type + ListText(updates) + "\n" +
                               (constant ? "const i int64" : "input i int64") + ListText(where) +
                               (constant ? " ints" + list : "") + "\ny = ScatterND(x, i, u) reduction=\"" + reduction +
                               "\"\noutput y\n";
      INFO(text);
      const Graph graph = TypedText(text);
      std::vector<Tensor> inputs = {Content(graph, 0), Content(graph, 1)};
      if (!constant) inputs.push_back(indices);
      CheckAgainstReference(graph, inputs, 0);
    }
  }
  const Graph graph = TypedText(
      "input x float32[30,5000]\ninput i int64[200,1]\ninput u float32[200,5000]\n"
      "y = ScatterND(x, i, u) reduction=\"add\"\noutput y\n");
  CheckAgainstReference(
      graph, {Content(graph, 0), dice.Indices({200, 1}, true, [](int64_t) { return 30; }), Content(graph, 2)}, 0);
}

TEST_CASE("HostOneHot, EveryAxisTypeAndIndexEqualsTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  Dice dice(seed);
  for (const char* type : {"bool", "int8", "float16", "float32", "int64"}) {
    for (int axis = -4; axis < 4; ++axis) {
      for (const bool wide : {false, true}) {
        const std::string text = "input i " + IndexType(wide) + "[2,7,3]\nconst d int64[] ints 5\ninput v " +
                                 std::string(type) + "[2]\ny = OneHot(i, d, v) axis=" + std::to_string(axis) +
                                 "\noutput y\n";
        INFO(text);
        const Graph graph = TypedText(text);
        // Some of them do not exist.
        CheckAgainstReference(graph, {dice.Indices({2, 7, 3}, wide, [](int64_t) { return 8; }), Content(graph, 1)}, 0);
      }
    }
  }
  const Graph one = TypedText(
      "input i int64[1]\nconst d int64[] ints 4\nconst v float32[2] floats 0 1\n"
      "y = OneHot(i, d, v)\noutput y\n");
  CheckAgainstReference(one, {Tensor::Int64({1}, {-1})}, 0);
  const Graph none = TypedText(
      "input i int64[0]\nconst d int64[] ints 4\nconst v float32[2] floats 0 1\n"
      "y = OneHot(i, d, v) axis=0\noutput y\n");
  CheckAgainstReference(none, {Tensor::Int64({0}, {})}, 0);
}

// The same words as the reference library's, and the first index in their order.
TEST_CASE("HostIndices, ThoseThatDoNotExistAreTheReferencesErrorOfTheRun", "[host]") {
  const std::unique_ptr<Library> host = HostLibrary(), reference = MakeReferenceLibrary();
  const Platform platform = MakeTestPlatform(2, false);
  const NodeId node(0U);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const char* text :
       {"input x float32[5]\ninput i int64[2,2]\ny = Gather(x, i)\noutput y\n",
        "input x float32[5,0]\ninput i int64[2,2]\ny = Gather(x, i)\noutput y\n",
        "input x float32[2,5]\ninput i int64[2,2]\ny = GatherElements(x, i) axis=1\noutput y\n",
        "input x float32[5,2]\ninput i int64[2,2]\ny = GatherElements(x, i) axis=0\noutput y\n",
        "input x float32[5,5]\ninput i int64[2,2]\ny = GatherND(x, i)\noutput y\n",
        "input x float32[5,5,0]\ninput i int64[2,2]\ny = GatherND(x, i)\noutput y\n",
        "input x float32[2,5]\ninput i int64[2,2]\nconst u float32[2,2] random 1\ny = ScatterElements(x, i, u) axis=1\n"
        "output y\n",
        "input x float32[5,2]\ninput i int64[2,2]\nconst u float32[2,2] random 1\ny = ScatterElements(x, i, u) axis=0\n"
        "output y\n",
        "input x float32[5,5,4]\ninput i int64[2,2]\nconst u float32[2,4] random 1\ny = ScatterND(x, i, u)\noutput y\n",
        "input x float32[5,5]\ninput i int64[2,2]\nconst u float32[2] random 1\n"
        "y = ScatterND(x, i, u) reduction=\"add\"\noutput y\n"}) {
    INFO(text);
    const Graph graph = TypedText(text);
    const std::vector<Candidate> candidates = host->CandidatesFor(graph, platform, {&node, 1}, Precision());
    REQUIRE(candidates.size() == 2);
    for (const std::vector<int64_t>& list :
         {Dims{0, 5, 1, -7}, Dims{-6, 5, 1, 0}, Dims{0, 1, -5, kLeast}, Dims{4, -5, 5, 9}}) {
      const std::vector<Tensor> inputs = {Content(graph, 0), Tensor::Int64({2, 2}, list)};
      const auto expected = RunGraph(graph, platform, *reference, inputs);
      REQUIRE_FALSE(expected.ok());
      for (const Candidate& candidate : candidates) {
        const uint32_t width = platform.unit_class(candidate.unit_class).cores;
        const auto result = RunCandidate(graph, platform, *host, candidate, inputs, width);
        REQUIRE_FALSE(result.ok());
        CHECK(result.error().code == expected.error().code);
        CHECK(result.error().message == expected.error().message);
      }
    }
  }
}

TEST_CASE("HostGatherJoined, RowsOfJoinedTensorsEqualTheReference", "[host]") {
  const auto text = [](const std::string& past, const std::string& fresh, const std::string& rest, int axis,
                       const std::string& indices) {
    return "input a float32" + past + "\ninput b float32" + fresh + "\nconst z float32" + rest + " random 3\nconst i " +
           indices + "\nc = Concat(a, b, z) axis=" + std::to_string(axis) +
           "\ny = Gather(c, i) axis=" + std::to_string(axis) + "\noutput y\n";
  };
  CheckText(text("[1,2,5,4]", "[1,2,1,4]", "[1,2,1,4]", 2, "int64[6] ints 0 1 2 3 4 5"));
  CheckText(text("[2,3,5,4]", "[2,3,2,4]", "[2,3,1,4]", 2, "int32[8] ints 0 1 4 6 5 -1 -8 7"));
  CheckText(text("[2,0,5]", "[2,3,5]", "[2,1,5]", 1, "int64[5] ints 3 0 1 2 2"));
  CheckText(text("[4]", "[3]", "[1]", 0, "int64[5] ints 7 6 4 3 0"));
  CheckText(text("[3,2]", "[3,1]", "[3,2]", 1, "int64[0] ints"));
}

TEST_CASE("HostGatherJoined, RowsThatDoNotExistAreAnError", "[host]") {
  const Graph graph = TypedText(
      "input a float32[2,3]\ninput b float32[2,2]\ninput i int64[2]\n"
      "c = Concat(a, b) axis=1\ny = Gather(c, i) axis=1\noutput y\n");
  const std::vector<NodeId> nodes{NodeId(0U), NodeId(1U)};
  const Platform platform = MakeTestPlatform(1, false);
  const auto host = HostLibrary();
  const std::vector<Candidate> candidates = host->CandidatesFor(graph, platform, nodes, Precision());
  REQUIRE(candidates.size() == 1);
  for (const int64_t wrong : {int64_t{5}, int64_t{-6}}) {
    const std::vector<Tensor> inputs = {RandomTensor(DataType::kFloat32, {2, 3}, 1),
                                        RandomTensor(DataType::kFloat32, {2, 2}, 2), Tensor::Int64({2}, {0, wrong})};
    const auto results = RunCandidate(graph, platform, *host, candidates[0], inputs, 1);
    REQUIRE(!results.ok());
    CHECK(results.error().code == ErrorCode::kInvalidInput);
  }
}

}  // namespace
}  // namespace pt::testing::host_indices_test
