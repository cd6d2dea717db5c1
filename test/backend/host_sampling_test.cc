// GridSample, RoiAlign and RotaryEmbedding of the host library against the reference library.
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_sampling_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

// Around the image, far outside it, on its edges and in the middle between elements.
std::vector<float> Positions(size_t count, std::mt19937& random) {
  constexpr std::array kSome = {-1.0F, 1.0F, 0.0F,   -0.5F,     0.25F,      1.25F,
                                -3.0F, 1e9F, -1e30F, kInfinity, -kInfinity, kNan};
  std::uniform_real_distribution<float> near(-1.6F, 1.6F);
  std::vector<float> list;
  for (size_t i = 0; i < count; ++i) list.push_back(random() % 5 == 0 ? kSome[random() % kSome.size()] : near(random));
  return list;
}

TEST_CASE("HostGridSample, EveryModeEqualsTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (int align = 0; align < 2; ++align) {
        for (const char* image : {"[2,3,5,7]", "[2,4,1,1]", "[2,1,1,6]"}) {
          for (const auto& [rows, columns] : {std::pair(1, 1), std::pair(3, 5), std::pair(13, 17)}) {
            const std::string text = "input x float32" + std::string(image) + "\ninput g float32[2," +
                                     std::to_string(rows) + "," + std::to_string(columns) +
                                     ",2]\ny = GridSample(x, g) mode=\"" + mode + "\" padding_mode=\"" + padding +
                                     "\" align_corners=" + std::to_string(align) + "\noutput y\n";
            INFO(text);
            const Graph graph = TypedText(text);
            const std::vector<int64_t> dims = {2, rows, columns, 2};
            // The first lies in the middle of the image: differences count against the largest result, and those at its
            // border may all be tiny sums of large numbers.
            std::vector<float> positions = Positions(static_cast<size_t>(4 * rows * columns), random);
            positions[0] = positions[1] = 0.0F;
            CheckAgainstReference(
                graph,
                {RandomTensor(DataType::kFloat32, *graph.value(graph.inputs()[0]).type.static_dims(), 3),
                 Tensor::Float32(dims, std::move(positions))},
                1e-6);
          }
        }
      }
    }
  }
}

// What lies outside counts as zero even where the image holds infinities, and NaN reaches what it touches.
TEST_CASE("HostGridSample, NanAndInfinitiesInTheImageEqualTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const char* padding : {"zeros", "border", "reflection"}) {
    const Graph graph =
        TypedText("input x float32[1,2,2,3]\ninput g float32[1,9,9,2]\ny = GridSample(x, g) padding_mode=\"" +
                  std::string(padding) + "\"\noutput y\n");
    CheckAgainstReference(graph,
                          {Tensor::Float32({1, 2, 2, 3}, {kNan, 1, 2, 3, 4, 5, kInfinity, 1, 2, -kInfinity, 4, 5}),
                           Tensor::Float32({1, 9, 9, 2}, Positions(162, random))},
                          1e-6);
  }
}

TEST_CASE("HostRoiAlign, EveryModeEqualsTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> at(-4.0F, 30.0F);
  std::vector<float> regions;
  for (int i = 0; i < 4 * 9; ++i) regions.push_back(at(random));
  regions[5] = kNan;
  regions[9] = kInfinity;
  for (const char* mode : {"avg", "max"}) {
    for (const char* transformation : {"half_pixel", "output_half_pixel"}) {
      for (const int ratio : {0, 1, 2, 11}) {
        for (const char* image : {"[2,3,11,9]", "[2,1,1,1]", "[2,5,1,40]"}) {
          const std::string text = "input x float32" + std::string(image) +
                                   "\ninput r float32[9,4]\ninput b int64[9]\ny = RoiAlign(x, r, b) mode=\"" + mode +
                                   "\" coordinate_transformation_mode=\"" + transformation +
                                   "\" sampling_ratio=" + std::to_string(ratio) +
                                   " output_height=3 output_width=2 spatial_scale=0.5\noutput y\n";
          INFO(text);
          const Graph graph = TypedText(text);
          CheckAgainstReference(
              graph,
              {RandomTensor(DataType::kFloat32, *graph.value(graph.inputs()[0]).type.static_dims(), 3),
               Tensor::Float32({9, 4}, regions), Tensor::Int64({9}, {0, 1, 1, 0, 0, 1, 0, 1, 1})},
              1e-6);
        }
      }
    }
  }
}

// Bins of several vectors, channels of several parts, regions wider than a vector, outside and without an extent.
TEST_CASE("HostRoiAlign, ManyBinsAndChannelsEqualTheReference", "[host]") {
  const std::vector<float> regions = {0,  0,  59, 40, 3.3F, 2.2F, 12, 9, -20, -9, -6, -2,
                                      50, 30, 90, 80, 8,    8,    8,  8, 30,  5,  10, 1};
  for (const char* size : {"output_height=14 output_width=14", "output_height=2 output_width=37"}) {
    for (const int ratio : {0, 2, 8}) {
      const Graph graph =
          TypedText("input x float32[2,70,41,60]\ninput r float32[6,4]\ninput b int64[6]\ny = RoiAlign(x, r, b) " +
                    std::string(size) + " sampling_ratio=" + std::to_string(ratio) + "\noutput y\n");
      INFO(size << ", " << ratio);
      CheckAgainstReference(graph,
                            {RandomTensor(DataType::kFloat32, {2, 70, 41, 60}, 3), Tensor::Float32({6, 4}, regions),
                             Tensor::Int64({6}, {0, 1, 1, 0, 0, 1})},
                            1e-6);
    }
  }
}

TEST_CASE("HostRoiAlign, NanAndInfinitiesInTheImageEqualTheReference", "[host]") {
  std::vector<float> image(2 * 9 * 20, 0.5F);
  image[45] = kNan;
  image[100] = kInfinity;
  image[250] = -kInfinity;
  const Graph graph = TypedText(
      "input x float32[1,2,9,20]\ninput r float32[3,4]\ninput b int64[3]\n"
      "y = RoiAlign(x, r, b) output_height=4 output_width=5 sampling_ratio=2\noutput y\n");
  CheckAgainstReference(
      graph,
      {Tensor::Float32({1, 2, 9, 20}, image), Tensor::Float32({3, 4}, {0, 0, 19, 8, 2.5F, 1.5F, 9, 6, -3, -3, 30, 4}),
       Tensor::Int64({3}, {0, 0, 0})},
      1e-6);
}

TEST_CASE("HostRoiAlign, ABatchEntryThatDoesNotExistIsAnErrorOfTheRun", "[host]") {
  const std::unique_ptr<Library> host = HostLibrary();
  const Platform platform = MakeTestPlatform(1, false);
  const NodeId node(0U);
  const Graph graph = TypedText(
      "input x float32[2,3,5,5]\nconst r float32[1,4] floats 0 0 3 3\ninput b int64[1]\n"
      "y = RoiAlign(x, r, b)\noutput y\n");
  const std::vector<Candidate> candidates = host->CandidatesFor(graph, platform, {&node, 1}, Precision());
  REQUIRE(!candidates.empty());
  for (const int64_t entry : {int64_t{2}, int64_t{-1}}) {
    const auto result =
        RunCandidate(graph, platform, *host, candidates[0],
                     {{RandomTensor(DataType::kFloat32, {2, 3, 5, 5}, 1), Tensor::Int64({1}, {entry})}});
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("HostRotaryEmbedding, EveryArrangementEqualsTheReference", "[host]") {
  for (const char* interleaved : {"0", "1"}) {
    for (const auto& [turned, half] : {std::pair(0, 6), std::pair(8, 4), std::pair(2, 1)}) {
      const std::string attributes = " interleaved=" + std::string(interleaved) +
                                     " rotary_embedding_dim=" + std::to_string(turned) + "\noutput y\n";
      const std::string caches = std::to_string(half) + "]\n";
      for (const auto& [dims, heads] : {std::pair("[2,3,5,12]", ""), std::pair("[2,5,36]", " num_heads=3")}) {
        const std::string x = "input x float32" + std::string(dims) + "\n", tail = heads + attributes;
        CheckText(x + "input c float32[2,5," + caches + "input s float32[2,5," + caches +
                      "y = RotaryEmbedding(x, c, s)" + tail,
                  1e-6);
        const std::string text = x + "input c float32[9," + caches + "input s float32[9," + caches +
                                 "input p int64[2,5]\ny = RotaryEmbedding(x, c, s, p)" + tail;
        INFO(text);
        const Graph graph = TypedText(text);
        std::vector<Tensor> inputs;
        for (size_t i = 0; i < 3; ++i) {
          inputs.push_back(RandomTensor(DataType::kFloat32, *graph.value(graph.inputs()[i]).type.static_dims(), i));
        }
        inputs.push_back(Tensor::Int64({2, 5}, {0, 8, 3, 3, 1, 2, 7, 5, 4, 6}));
        CheckAgainstReference(graph, inputs, 1e-6);
      }
    }
  }
}

TEST_CASE("HostRotaryEmbedding, APositionThatDoesNotExistIsAnErrorOfTheRun", "[host]") {
  const std::unique_ptr<Library> host = HostLibrary();
  const Platform platform = MakeTestPlatform(1, false);
  const NodeId node(0U);
  const Graph graph = TypedText(
      "input x float32[1,2,2,4]\nconst c float32[7,2] random 1\nconst s float32[7,2] random 2\n"
      "input p int64[1,2]\ny = RotaryEmbedding(x, c, s, p)\noutput y\n");
  const std::vector<Candidate> candidates = host->CandidatesFor(graph, platform, {&node, 1}, Precision());
  REQUIRE(!candidates.empty());
  for (const int64_t position : {int64_t{7}, int64_t{-1}}) {
    const auto result =
        RunCandidate(graph, platform, *host, candidates[0],
                     {{RandomTensor(DataType::kFloat32, {1, 2, 2, 4}, 1), Tensor::Int64({1, 2}, {6, position})}});
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::kInvalidInput);
  }
}

}  // namespace
}  // namespace pt::testing::host_sampling_test
