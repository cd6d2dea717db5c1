// Operators whose results are as large as the data says: NonMaxSuppression and Unique against plain loops, and at their
// edges.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "test/backend/node_results.h"
#include "test/testing/host_lab.h"

namespace pt::testing::reference_selection_test {
namespace {

std::vector<int64_t> Ints(const Tensor& tensor) { return tensor.ToInts(); }

// ---- TopK ----

// The graph says how many; the values are left out.
TEST_CASE("TopK, PlacesAloneByACountThatARunGives", "[backend]") {
  GraphBuilder builder;
  builder.set_opset(21);
  const ValueId x = builder.AddInput("x", StaticType(DataType::kFloat32, {4}));
  const ValueId k = builder.AddInput("k", StaticType(DataType::kInt64, {1}));
  Node node;
  node.op = "TopK";
  node.inputs = {x, k};
  node.outputs = {ValueId(), builder.AddValue("places", StaticType(DataType::kInt64, {2}))};
  builder.AddOutput(node.outputs[1]);
  builder.AddNode(std::move(node));
  HostLab lab;
  const auto session = lab.Open(std::make_shared<const Graph>(builder.Build().value()), 1);
  const Tensor numbers = Tensor::Float32({4}, {3, 7, 1, 5});
  const auto two = RunOnce(*session, {numbers, Tensor::Int64({1}, {2})});
  if (!two.ok()) FAIL(ToString(two.error()));
  CHECK(Ints((*two)[0]) == std::vector<int64_t>{1, 3});
  CHECK(RunOnce(*session, {numbers, Tensor::Int64({1}, {3})}).error().code == ErrorCode::kInvalidInput);
}

// ---- NonMaxSuppression ----

std::string SuppressionText(int64_t batches, int64_t boxes, int64_t classes, const std::string& attributes = "") {
  const std::string b = std::to_string(batches), n = std::to_string(boxes), c = std::to_string(classes);
  return "input boxes float32[" + b + "," + n + ",4]\ninput scores float32[" + b + "," + c + "," + n +
         "]\ninput most int64[]\ninput overlap float32[]\ninput score float32[]\n"
         "y = NonMaxSuppression(boxes, scores, most, overlap, score)" +
         attributes + "\noutput y\n";
}

Tensor Scalar(float value) { return Tensor::Float32({}, {value}); }
Tensor Scalar(int64_t value) { return Tensor::Int64({}, {value}); }

std::vector<int64_t> Suppress(const std::string& text, const std::vector<Tensor>& inputs) {
  const auto results = Evaluate(text, inputs);
  INFO((results.ok() ? std::string() : ToString(results.error())));
  REQUIRE(results.ok());
  CHECK((*results)[0].dims().size() == 2);
  CHECK((*results)[0].dims()[1] == 3);
  return Ints((*results)[0]);
}

TEST_CASE("NonMaxSuppression, KeepsOfEqualScoresTheFirstBox", "[backend]") {
  const Tensor boxes = Tensor::Float32({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 5, 5, 6, 6}),
               scores = Tensor::Float32({1, 1, 3}, {0.5F, 0.5F, 0.5F});
  CHECK(Suppress(SuppressionText(1, 3, 1), {boxes, scores, Scalar(int64_t{9}), Scalar(0.5F), Scalar(0.0F)}) ==
        std::vector<int64_t>{0, 0, 0, 0, 0, 2});
}

TEST_CASE("NonMaxSuppression, OverlapOfExactlyTheThresholdStays", "[backend]") {
  // Half of the smaller box's twin: intersection 1, union 2.
  const Tensor boxes = Tensor::Float32({1, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 2}),
               scores = Tensor::Float32({1, 1, 2}, {0.9F, 0.8F});
  const auto kept = [&](float threshold) {
    return Suppress(SuppressionText(1, 2, 1), {boxes, scores, Scalar(int64_t{9}), Scalar(threshold), Scalar(0.0F)})
               .size() /
           3;
  };
  CHECK(kept(0.5F) == 2);
  CHECK(kept(0.49F) == 1);
}

TEST_CASE("NonMaxSuppression, BoxesWithoutAreaOrOfNoNumberSuppressNothing", "[backend]") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor boxes = Tensor::Float32({1, 4, 4}, {1, 1, 1, 1, 1, 1, 1, 1, kNan, 0, 1, 1, 0, 0, 2, 2}),
               scores = Tensor::Float32({1, 1, 4}, {4, 3, 2, 1});
  CHECK(Suppress(SuppressionText(1, 4, 1), {boxes, scores, Scalar(int64_t{9}), Scalar(0.0F), Scalar(0.0F)}) ==
        std::vector<int64_t>{0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3});
}

TEST_CASE("NonMaxSuppression, ScoresOfNoNumberAreNeverSelected", "[backend]") {
  const Tensor boxes = Tensor::Float32({1, 2, 4}, {0, 0, 1, 1, 3, 3, 4, 4}),
               scores = Tensor::Float32({1, 1, 2}, {std::numeric_limits<float>::quiet_NaN(), -1});
  const std::string unbounded =
      "input boxes float32[1,2,4]\ninput scores float32[1,1,2]\ninput most int64[]\n"
      "y = NonMaxSuppression(boxes, scores, most)\noutput y\n";
  CHECK(Suppress(unbounded, {boxes, scores, Scalar(int64_t{9})}) == std::vector<int64_t>{0, 0, 1});
}

TEST_CASE("NonMaxSuppression, NothingIsSelectedOfNothingOrWithoutACount", "[backend]") {
  const auto rest = [](int64_t most) { return std::vector{Scalar(most), Scalar(0.5F), Scalar(0.0F)}; };
  const auto with = [&](Tensor boxes, Tensor scores, int64_t most) {
    std::vector<Tensor> inputs = {std::move(boxes), std::move(scores)};
    for (Tensor& tensor : rest(most)) inputs.push_back(tensor);
    return inputs;
  };
  const Tensor box = Tensor::Float32({1, 1, 4}, {0, 0, 1, 1}), score = Tensor::Float32({1, 1, 1}, {1});
  CHECK(Suppress(SuppressionText(1, 1, 1), with(box, score, 0)).empty());
  CHECK(Suppress(SuppressionText(1, 1, 1), with(box, score, -5)).empty());
  CHECK(Suppress(SuppressionText(0, 1, 1), with(Tensor::Float32({0, 1, 4}, {}), Tensor::Float32({0, 1, 1}, {}), 3))
            .empty());
  CHECK(Suppress(SuppressionText(1, 0, 2), with(Tensor::Float32({1, 0, 4}, {}), Tensor::Float32({1, 2, 0}, {}), 3))
            .empty());
  CHECK(Suppress(SuppressionText(1, 1, 0), with(box, Tensor::Float32({1, 0, 1}, {}), 3)).empty());
}

TEST_CASE("NonMaxSuppression, ShapesAndThresholdsThatDoNotFitAreTypedErrors", "[backend]") {
  const Tensor box = Tensor::Float32({1, 1, 4}, {0, 0, 1, 1}), score = Tensor::Float32({1, 1, 1}, {1});
  const auto refused = [](const std::string& text, const std::vector<Tensor>& inputs) {
    const auto results = Evaluate(text, inputs);
    return !results.ok() && results.error().code == ErrorCode::kInvalidInput;
  };
  const Tensor most = Scalar(int64_t{1}), zero = Scalar(0.0F);
  CHECK(refused(SuppressionText(1, 1, 1), {box, score, most, Scalar(1.5F), zero}));
  CHECK(refused(SuppressionText(1, 1, 1), {box, score, most, Scalar(std::nanf("")), zero}));
  CHECK(refused(SuppressionText(1, 2, 1), {box, Tensor::Float32({1, 1, 2}, {1, 1}), most, zero, zero}));
  CHECK(refused(SuppressionText(1, 1, 1), {box, score, Tensor::Int64({2}, {1, 1}), zero, zero}));
}

// ---- Unique ----

const char* const kUniqueFlat =
    "input x float32[7]\ny, first, inverse, counts = Unique(x)\noutput y\noutput first\noutput inverse\noutput "
    "counts\n";

TEST_CASE("Unique, NanIsOneValueBehindAllOthersAndZerosAreEqual", "[backend]") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto results = Evaluate(kUniqueFlat, {Tensor::Float32({7}, {kNan, 0.0F, 3, -0.0F, kNan, HUGE_VALF, -1})});
  REQUIRE(results.ok());
  const std::span<const float> y = (*results)[0].values<float>();
  REQUIRE(y.size() == 5);
  CHECK(y[0] == -1);
  CHECK((y[1] == 0 && !std::signbit(y[1])));  // the first of the two
  CHECK(y[2] == 3);
  CHECK(y[3] == HUGE_VALF);
  CHECK(std::isnan(y[4]));
  CHECK(Ints((*results)[1]) == std::vector<int64_t>{6, 1, 2, 5, 0});
  CHECK(Ints((*results)[2]) == std::vector<int64_t>{4, 1, 2, 1, 4, 3, 0});
  CHECK(Ints((*results)[3]) == std::vector<int64_t>{1, 2, 1, 1, 2});
}

TEST_CASE("Unique, EmptyTensorsAndEmptySlices", "[backend]") {
  const auto flat = Evaluate("input x int32[0]\ny, f, i, c = Unique(x)\noutput y\noutput f\noutput i\noutput c\n",
                             {Tensor::Of<int32_t>(DataType::kInt32, {0}, {})});
  REQUIRE(flat.ok());
  for (const Tensor& tensor : *flat) CHECK(tensor.dims() == std::vector<int64_t>{0});
  // Three slices that have no elements are equal.
  const auto slices =
      Evaluate("input x float32[3,0]\ny, f, i, c = Unique(x) axis=0\noutput y\noutput f\noutput i\noutput c\n",
               {Tensor::Float32({3, 0}, {})});
  REQUIRE(slices.ok());
  CHECK((*slices)[0].dims() == std::vector<int64_t>{1, 0});
  CHECK(Ints((*slices)[2]) == std::vector<int64_t>{0, 0, 0});
  CHECK(Ints((*slices)[3]) == std::vector<int64_t>{3});
  const auto scalar = Evaluate("input x float32[]\ny = Unique(x)\noutput y\n", {Tensor::Float32({}, {7})});
  REQUIRE(scalar.ok());
  CHECK((*scalar)[0].dims() == std::vector<int64_t>{1});
  const auto wrong =
      Evaluate("input x float32[3]\ny = Unique(x) axis=-2\noutput y\n", {Tensor::Float32({3}, {1, 2, 3})});
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().code == ErrorCode::kInvalidInput);
}

TEST_CASE("Unique, SlicesAlongEachAxisEqualThoseOfAMap", "[backend]") {
  const uint32_t seed = 11;
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::vector<int64_t> values(2 * 3 * 4);
  for (int64_t& value : values) value = static_cast<int64_t>(random() % 2);
  const Tensor x = Tensor::Int64({2, 3, 4}, values);
  const std::array<int64_t, 3> dims = {2, 3, 4};
  for (int64_t axis = 0; axis < 3; ++axis) {
    CAPTURE(axis);
    std::map<std::vector<int64_t>, int64_t> counts;
    for (int64_t at = 0; at < dims[static_cast<size_t>(axis)]; ++at) {
      std::vector<int64_t> slice;
      for (int64_t i = 0; i < 24; ++i) {
        const std::array<int64_t, 3> index = {i / 12, i / 4 % 3, i % 4};
        if (index[static_cast<size_t>(axis)] == at) slice.push_back(values[static_cast<size_t>(i)]);
      }
      ++counts[slice];
    }
    const auto results = Evaluate("input x int64[2,3,4]\ny, f, i, c = Unique(x) axis=" + std::to_string(axis) +
                                      "\noutput y\noutput f\noutput i\noutput c\n",
                                  {x});
    REQUIRE(results.ok());
    std::vector<int64_t> expected;
    for (const auto& [slice, count] : counts) expected.push_back(count);
    CHECK(Ints((*results)[3]) == expected);
    CHECK((*results)[0].dims()[static_cast<size_t>(axis)] == static_cast<int64_t>(counts.size()));
  }
}

// ---- In the run ----

TEST_CASE("Selections, SizesFollowTheDataInASession", "[backend]") {
  HostLab lab;
  const auto session = lab.Open(TypedGraph("input x float32[4]\ny, f, i, c = Unique(x) sorted=0\nz = Add(y, y)\n"
                                           "output z\noutput i\n"),
                                1);
  for (const auto& [given, doubled] :
       std::vector<std::pair<std::vector<float>, std::vector<float>>>{{{4, 4, 4, 4}, {8}}, {{3, 1, 3, 2}, {6, 2, 4}}}) {
    const auto results = RunOnce(*session, {Tensor::Float32({4}, given)});
    REQUIRE(results.ok());
    const std::span<const float> z = (*results)[0].values<float>();
    CHECK(std::vector<float>(z.begin(), z.end()) == doubled);
    CHECK((*results)[1].dims() == std::vector<int64_t>{4});
  }
}

}  // namespace
}  // namespace pt::testing::reference_selection_test
