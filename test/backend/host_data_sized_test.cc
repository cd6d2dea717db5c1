// The host library's operators whose results are as large as the data says, against the reference library: over random
// data with many ties and at their edges. Each is bound once and run on whatever sizes come.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstring>
#include <limits>

#include "partitiontuner/backend/libraries.h"
#include "test/testing/built_in.h"
#include "test/testing/host_lab.h"
#include "test/testing/real_machine.h"
#include "test/testing/run_candidate.h"
#include "test/testing/run_on_reference.h"
#include "test/testing/test_machine.h"

namespace pt::testing::host_data_sized_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

// One step on the widest unit, by the host library.
class Lab {
 public:
  explicit Lab(std::string_view text) : machine_(MakeRealMachine(2, false)), graph_(TypedGraph(text)) {
    const UnitId unit = WidestHostUnit(machine_->platform());
    const Plan plan = MakeTestPlan(*graph_, *machine_, std::vector<UnitId>(graph_->nodes().size(), unit));
    for (const Candidate& candidate : plan.candidates) CHECK(candidate.library == "host");
    auto opened = Session::Create(graph_, plan, *machine_, {});
    if (!opened.ok()) FAIL(ToString(opened.error()));
    session_ = std::move(opened).value();
  }

  void Check(const std::vector<Tensor>& inputs) {
    const std::vector<Tensor> expected = RunOnReference(*graph_, inputs);
    const auto results = Run(inputs);
    if (!results.ok()) FAIL(ToString(results.error()));
    for (size_t i = 0; i < expected.size(); ++i) CHECK(Difference((*results)[i], expected[i], 0) == "");
  }
  void CheckRefused(const std::vector<Tensor>& inputs) {
    CHECK_FALSE(EvaluateGraph(*graph_, inputs).ok());
    const auto results = Run(inputs);
    REQUIRE_FALSE(results.ok());
    CHECK(results.error().code == ErrorCode::kInvalidInput);
  }

 private:
  Result<std::vector<Tensor>> Run(const std::vector<Tensor>& inputs) { return RunOnce(*session_, inputs); }

  std::unique_ptr<Machine> machine_;
  std::shared_ptr<const Graph> graph_;
  std::unique_ptr<Session> session_;
};

// Few different numbers, among them 0, -0, infinities and NaN.
Tensor Few(std::mt19937& random, std::vector<int64_t> dims, double zeros = 0.3) {
  constexpr std::array kNumbers = {-0.0F, 1.0F, -1.0F, 2.5F, kNan, kInf, -kInf, 1e-40F, -3.0F};
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = std::uniform_real_distribution<>(0, 1)(random) < zeros ? 0.0F : kNumbers[random() % kNumbers.size()];
  }
  return Tensor::Float32(std::move(dims), std::move(values));
}

Tensor Truths(std::mt19937& random, int64_t count, double density) {
  std::string bytes(static_cast<size_t>(count), '\0');
  for (char& byte : bytes) byte = std::uniform_real_distribution<>(0, 1)(random) < density ? 1 : 0;
  return Tensor::FromBytes(DataType::kBool, {count}, std::move(bytes)).value();
}

// The same numbers in another type: as bits for those that no number converts to.
Tensor As(DataType type, const Tensor& floats) {
  std::string bytes(static_cast<size_t>(TensorByteCount(type, floats.dims()).value()), '\0');
  const size_t size = bytes.size() / std::max<size_t>(1, static_cast<size_t>(floats.element_count()));
  for (size_t i = 0; i < static_cast<size_t>(floats.element_count()); ++i) {
    const float x = floats.values<float>()[i];
    const auto code = static_cast<uint8_t>(x == 0     ? 0
                                           : x != x   ? 7
                                           : x > 100  ? 200
                                           : x < -100 ? 129
                                                      : 3 + static_cast<int>(x * 2));
    if (type == DataType::kBool) {
      bytes[i] = x == 0 ? 0 : 1;
    } else {
      bytes[i * size + size - 1] = static_cast<char>(type == DataType::kFloat64 && code == 7 ? 0x7F : code);
    }
  }
  return Tensor::FromBytes(type, floats.dims(), std::move(bytes)).value();
}

Tensor Scalar(float value) { return Tensor::Float32({}, {value}); }

}  // namespace

TEST_CASE("HostDataSized, NonZeroOfAllRanksAndDensities", "[backend]") {
  if (!HasLibrary("host")) SKIP("built without the host library");
  const auto seed = GENERATE(range(1U, 4U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::vector<int64_t>> all = {{},     {0},        {1},       {63},        {64},        {65},
                                                 {9000}, {3, 0, 2},  {0, 5},    {7, 1},      {1, 300, 1}, {70, 130},
                                                 {2, 3}, {33, 5, 7}, {4, 4, 4}, {2, 1, 2, 3}};
  for (const std::vector<int64_t>& dims : all) {
    std::string text = "input x float32[";
    for (size_t d = 0; d < dims.size(); ++d) text += d == 0 ? "?" : ",?";
    Lab lab(text + "]\ny = NonZero(x)\noutput y\n");
    for (const double zeros : {0.0, 0.3, 0.99, 1.0}) lab.Check({Few(random, dims, zeros)});
  }
}

TEST_CASE("HostDataSized, NonZeroAndUniqueOfAllTypes", "[backend]") {
  if (!HasLibrary("host")) SKIP("built without the host library");
  std::mt19937 random(5);
  for (const char* type : {"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
                           "bfloat16", "float64"}) {
    CAPTURE(type);
    Lab non_zero("input x " + std::string(type) + "[?,?]\ny = NonZero(x)\noutput y\n");
    Lab unique("input x " + std::string(type) +
               "[?,?]\ny, f, i, c = Unique(x)\noutput y\noutput f\noutput i\noutput c\n");
    for (const double zeros : {0.2, 0.9}) {
      const Tensor x = As(*DataTypeFromName(type), Few(random, {23, 17}, zeros));
      non_zero.Check({x});
      unique.Check({x});
    }
  }
}

TEST_CASE("HostDataSized, CompressAlongEachAxisAndFlat", "[backend]") {
  if (!HasLibrary("host")) SKIP("built without the host library");
  std::mt19937 random(6);
  for (const char* axis : {"", " axis=0", " axis=1", " axis=-1"}) {
    CAPTURE(axis);
    Lab lab("input x float32[?,?,?]\ninput c bool[?]\ny = Compress(x, c)" + std::string(axis) + "\noutput y\n");
    for (const double density : {0.0, 0.5, 1.0}) {
      for (const int64_t shorter : {0, 1, 3}) {
        const Tensor x = Few(random, {5, 5, 5});
        lab.Check({x, Truths(random, (*axis == '\0' ? 125 : 5) - shorter, density)});
      }
    }
    lab.Check({Few(random, {0, 0, 0}), Truths(random, 0, 1)});
    lab.Check({Few(random, {80, 80, 80}), Truths(random, 80, 0.7)});
    lab.CheckRefused({Few(random, {2, 2, 2}), Truths(random, 9, 0.5)});
  }
}

TEST_CASE("HostDataSized, UniqueElementsAndSlicesSortedAndNot", "[backend]") {
  if (!HasLibrary("host")) SKIP("built without the host library");
  std::mt19937 random(7);
  for (const char* how : {"", " sorted=0", " axis=0", " axis=1 sorted=0", " axis=-1", " axis=2 sorted=0"}) {
    CAPTURE(how);
    Lab lab("input x float32[?,?,?]\ny, f, i, c = Unique(x)" + std::string(how) +
            "\noutput y\noutput f\noutput i\noutput c\n");
    for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{
             {1, 1, 1}, {6, 2, 1}, {1, 9, 2}, {2, 1, 12}, {30, 3, 2}, {2, 2, 300}, {3, 4, 5}, {2, 0, 3}, {0, 2, 2}}) {
      CAPTURE(dims);
      lab.Check({Few(random, dims, 0.5)});
      lab.Check({Few(random, dims, 1)});
    }
  }
}

TEST_CASE("HostDataSized, ResultsThatNobodyReadsAreNotMade", "[backend]") {
  if (!HasLibrary("host")) SKIP("built without the host library");
  std::mt19937 random(8);
  Lab counts("input x float32[?]\ny, f, i, c = Unique(x)\noutput c\n");
  Lab places("input x float32[?]\ny, f, i, c = Unique(x)\noutput i\n");
  for (const int64_t count : {1, 40, 0}) {
    const Tensor x = Few(random, {count});
    counts.Check({x});
    places.Check({x});
  }
}

namespace {

const char* const kSuppress =
    "input b float32[?,?,4]\ninput s float32[?,?,?]\ninput m int64[]\ninput o float32[]\ninput t float32[]\n"
    "y = NonMaxSuppression(b, s, m, o, t)";

// On a coarse grid, so that quotients meet thresholds exactly; some boxes are empty, some have corners in other order.
Tensor Boxes(std::mt19937& random, int64_t batches, int64_t boxes) {
  std::vector<float> values(static_cast<size_t>(batches * boxes * 4));
  for (float& value : values) value = static_cast<float>(random() % 9) / 2;
  return Tensor::Float32({batches, boxes, 4}, std::move(values));
}

Tensor Scores(std::mt19937& random, int64_t batches, int64_t classes, int64_t boxes) {
  constexpr std::array kScores = {0.5F, 0.25F, 0.75F, 0.0F, -0.0F, -1.0F, kNan, kInf, -kInf, 0.875F};
  std::vector<float> values(static_cast<size_t>(batches * classes * boxes));
  for (float& value : values) value = kScores[random() % kScores.size()];
  return Tensor::Float32({batches, classes, boxes}, std::move(values));
}

}  // namespace

TEST_CASE("HostDataSized, SuppressionOverTiesThresholdsAndNan", "[backend]") {
  if (!HasLibrary("host")) SKIP("built without the host library");
  const auto seed = GENERATE(range(1U, 9U));
  const bool centred = GENERATE(false, true);
  CAPTURE(seed, centred);
  std::mt19937 random(seed);
  Lab lab(std::string(kSuppress) + (centred ? " center_point_box=1" : "") + "\noutput y\n");
  for (const auto& [batches, classes, boxes] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 1}, {1, 1, 0}, {0, 2, 5}, {2, 0, 5}, {2, 3, 40}, {1, 5, 200}, {3, 2, 130}}) {
    for (const int64_t most : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{7}, std::numeric_limits<int64_t>::max()}) {
      for (const float overlap : {0.0F, 0.5F, 1.0F, 1.0F / 3}) {
        CAPTURE(batches, classes, boxes, most, overlap);
        const float score = std::array{-kInf, 0.0F, 0.5F, kNan, -5.0F}[random() % 5];
        lab.Check({Boxes(random, batches, boxes), Scores(random, batches, classes, boxes), Tensor::Int64({}, {most}),
                   Scalar(overlap), Scalar(score)});
      }
    }
  }
}

TEST_CASE("HostDataSized, SuppressionOfManyBoxesThatOverlapAFew", "[backend]") {
  if (!HasLibrary("host")) SKIP("built without the host library");
  std::mt19937 random(11);
  Lab lab(std::string(kSuppress) + " center_point_box=1\noutput y\n");
  const Tensor boxes = RandomTensor(DataType::kFloat32, {2, 1500, 4}, 3);
  const Tensor scores = RandomTensor(DataType::kFloat32, {2, 4, 1500}, 4);
  for (const int64_t most : {20, 300, 2000}) {
    lab.Check({boxes, scores, Tensor::Int64({}, {most}), Scalar(0.45F), Scalar(0.25F)});
  }
}

// As exporters write batched suppression: the boxes of each group are moved by as much as the image is wide. Sides
// differ by a thousand times, some boxes have no area, or one that float32 cannot hold, and some have corners nowhere.
// No threshold is so low that quotients which a session flushes to zero (below 1e-38) would be above it.
TEST_CASE("HostDataSized, SuppressionOfBoxesFarApartAndOfAllWidths", "[backend]") {
  if (!HasLibrary("host")) SKIP("built without the host library");
  const auto seed = GENERATE(range(1U, 5U));
  const float reach = GENERATE(1.0F, 3e4F, 1e19F, 1e38F, 1e-12F);
  CAPTURE(seed, reach);
  std::mt19937 random(seed);
  const auto part = [&] { return static_cast<float>(random() % 4096) / 4096; };
  constexpr std::array kOdd = {kNan, kInf, -kInf, 0.0F, -0.0F, std::numeric_limits<float>::max()};
  Lab lab(std::string(kSuppress) + "\noutput y\n");
  for (const int64_t count : {65, 300, 2500}) {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) {
      const float corner = static_cast<float>(random() % 3) + part() / 2;
      const float side = part() * (random() % 16 == 0 ? 1.0F : random() % 2 == 0 ? 0.1F : 0.001F);
      for (const float at : {corner, corner, corner + side, corner + side}) {
        values.push_back(random() % 200 == 0 ? kOdd[random() % kOdd.size()] : at * reach);
      }
    }
    const Tensor scores = RandomTensor(DataType::kFloat32, {1, 2, count}, seed);
    for (const float overlap : {1e-3F, 0.3F}) {
      lab.Check({Tensor::Float32({1, count, 4}, std::vector<float>(values)), scores, Tensor::Int64({}, {count}),
                 Scalar(overlap), Scalar(-kInf)});
    }
  }
}

TEST_CASE("HostDataSized, SuppressionWithoutItsLastInputs", "[backend]") {
  if (!HasLibrary("host")) SKIP("built without the host library");
  std::mt19937 random(12);
  Lab none("input b float32[?,?,4]\ninput s float32[?,?,?]\ny = NonMaxSuppression(b, s)\noutput y\n");
  Lab most(
      "input b float32[?,?,4]\ninput s float32[?,?,?]\ninput m int64[1]\ny = NonMaxSuppression(b, s, m)\noutput y\n");
  for (int i = 0; i < 3; ++i) {
    const Tensor boxes = Boxes(random, 2, 30), scores = Scores(random, 2, 2, 30);
    none.Check({boxes, scores});
    most.Check({boxes, scores, Tensor::Int64({1}, {4})});
  }
}

TEST_CASE("HostDataSized, SuppressionRefusesWhatContradicts", "[backend]") {
  if (!HasLibrary("host")) SKIP("built without the host library");
  std::mt19937 random(13);
  Lab lab(std::string(kSuppress) + "\noutput y\n");
  const Tensor three = Tensor::Int64({}, {3});
  lab.CheckRefused({Boxes(random, 1, 5), Scores(random, 1, 1, 6), three, Scalar(0.5F), Scalar(0)});
  lab.CheckRefused({Boxes(random, 2, 5), Scores(random, 1, 1, 5), three, Scalar(0.5F), Scalar(0)});
  for (const float overlap : {-0.1F, 1.1F, kNan}) {
    lab.CheckRefused({Boxes(random, 1, 5), Scores(random, 1, 1, 5), three, Scalar(overlap), Scalar(0)});
  }
}

}  // namespace pt::testing::host_data_sized_test
