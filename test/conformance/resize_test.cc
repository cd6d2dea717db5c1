// Every attribute of Resize, over every library: what is offered is what the reference library computes.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "test/testing/check_case.h"
#include "test/testing/evaluate_graph.h"
#include "test/testing/run_candidate.h"
#include "test/testing/test_machine.h"

namespace pt::testing::resize_test {
namespace {

// Attributes of one mode, and how results are made from what lies around their place.
std::vector<std::string> Modes() {
  std::vector<std::string> modes;
  for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
    modes.push_back(std::string("mode=\"nearest\" nearest_mode=\"") + rounding + "\"");
  }
  for (const char* mode : {"linear", "cubic"}) {
    for (const char* more : {"", " exclude_outside=1", " antialias=1", " exclude_outside=1 antialias=1"}) {
      modes.push_back(std::string("mode=\"") + mode + "\"" + more);
    }
  }
  return modes;
}

// Sizes or scales, of all dims or of some; the region for where it counts.
std::vector<std::string> Targets() {
  std::vector<std::string> targets;
  for (const char* policy : {"stretch", "not_larger", "not_smaller"}) {
    for (const char* size : {"7 8", "10 12", "3 4", "4 13", "5 6", "15 9"}) {
      const std::string keep = std::string(" keep_aspect_ratio_policy=\"") + policy + "\"";
      targets.push_back(std::string("sizes 2 ") + size + "|axes=[2,3]" + keep);
      targets.push_back(std::string("sizes 2 ") + size + "|axes=[-1,-2]" + keep);
    }
    targets.push_back(std::string("sizes 4 1 4 10 12|keep_aspect_ratio_policy=\"") + policy + "\"");
  }
  for (const char* scale : {"2 2", "1.5 0.75", "0.6 3", "1 1", "1.3 1.1", "0.5 0.5"}) {
    targets.push_back(std::string("scales 2 ") + scale + "|axes=[2,3]");
    targets.push_back(std::string("scales 4 1 1 ") + scale + "|");
  }
  targets.push_back("scales 4 1 1.2 2 2|");  // channels that keep their number, at other places
  targets.push_back("scales 4 1 2 1 1|");
  return targets;
}

std::vector<std::string> Texts() {
  std::vector<std::string> texts;
  for (const std::string& mode : Modes()) {
    for (const char* coordinates : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                    "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"}) {
      for (const std::string& target : Targets()) {
        const bool scales = target.starts_with("scales"), crops = coordinates == std::string("tf_crop_and_resize");
        if (crops && scales) continue;  // the size that ONNX's shape inference gives is another than its text's
        const size_t bar = target.find('|');
        std::string numbers = target.substr(target.find(' ') + 1, bar - target.find(' ') - 1);
        const std::string count = numbers.substr(0, 1);
        numbers = numbers.substr(2);
        std::string text = "input x float32[1,4,5,6]\n";
        text += scales ? "const t float32[" + count + "] floats " + numbers
                       : "const t int64[" + count + "] ints " + numbers;
        if (crops)
          text += count == "2" ? "\nconst r float32[4] floats 0.1 0.2 0.8 1.1"
                               : "\nconst r float32[8] floats 0 0 0.1 0.2 1 1 0.8 1.1";
        text += std::string("\ny = Resize(x, ") + (crops ? "r" : "_") + (scales ? ", t) " : ", _, t) ") + mode +
                " coordinate_transformation_mode=\"" + coordinates + "\" " + target.substr(bar + 1) + "\noutput y\n";
        texts.push_back(std::move(text));
      }
    }
  }
  return texts;
}

void CheckEvery(size_t stride, size_t first) {
  CheckedCandidates checked;
  const std::vector<std::string> texts = Texts();
  for (size_t i = first; i < texts.size(); i += stride) {
    CheckCase({texts[i].c_str(), texts[i].c_str()}, MakeTestPlatform(2, false), Precision(), checked);
  }
  const size_t of_onednn = checked[{"onednn", MathMode::kFp32}];
  INFO(texts.size() << " cases, of oneDNN " << of_onednn);
  CHECK(of_onednn > 0);
}

}  // namespace

TEST_CASE("Conformance, ResizeByEveryAttributeEqualsTheReferenceLibrary", "[conformance][plugins]") {
  CheckEvery(19, 0);
}

TEST_CASE("Conformance, ResizeByEveryAttributeAtOnceEqualsTheReferenceLibrary", "[conformance][slow]") {
  CheckEvery(1, 0);
}

namespace {

// first + step·i along the last dim.
Tensor Ramp(float first, float step) {
  std::vector<float> numbers;
  for (int i = 0; i < 4 * 7; ++i) numbers.push_back(first + step * static_cast<float>(i % 7));
  return Tensor::Float32({1, 1, 4, 7}, numbers);
}

// expected: of places along the last dim.
void CheckWhole(DataType type, const Tensor& input, const std::string& sizes, const std::string& attributes,
                const std::function<float(int64_t)>& expected) {
  const std::string to = std::to_string(static_cast<int>(type));
  const std::string text = "input x float32[1,1,4,7]\nconst t int64[2] ints " + sizes + "\nw = Cast(x) to=" + to +
                           "\nr = Resize(w, _, _, t) axes=[2,3] " + attributes + "\ny = Cast(r) to=1\noutput y\n";
  INFO(text);
  const Graph graph = LoadCase({"", text.c_str()});
  const auto values = EvaluateGraph(graph, {&input, 1});
  REQUIRE(values.ok());
  const Tensor y = OutputsOf(graph, *values)[0];
  std::vector<float> numbers;
  for (int64_t i = 0; i < y.element_count(); ++i) numbers.push_back(expected(i % y.dims()[3]));
  CHECK(Difference(y, Tensor::Float32(y.dims(), numbers), 0) == "");
}

}  // namespace

// Weights are fractions that add up to one only nearly: what is a whole number came out as the one before it.
TEST_CASE("Resize, OfIntegersGivesWhatIsAnInteger", "[conformance]") {
  for (const DataType of :
       {DataType::kUint8, DataType::kInt8, DataType::kInt16, DataType::kUint16, DataType::kInt32, DataType::kInt64}) {
    for (const char* sizes : {"8 8", "12 12", "5 9", "3 4", "10 13", "17 21", "29 50"}) {
      for (const std::string& mode : Modes()) {
        for (const char* coordinates :
             {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
          for (const float value : {1.0F, 3.0F, 100.0F, 127.0F}) {
            CheckWhole(of, Ramp(value, 0), sizes, mode + " coordinate_transformation_mode=\"" + coordinates + "\"",
                       [&](int64_t) { return value; });
          }
        }
      }
    }
    for (const int64_t times : {2, 3, 5, 6, 7, 11, 13}) {
      const auto step = static_cast<float>(times), last = 6 * step;
      const std::string corners = "4 " + std::to_string(6 * times + 1), all = "4 " + std::to_string(7 * times);
      const std::string mode = "mode=\"linear\" coordinate_transformation_mode=";
      CheckWhole(of, Ramp(5, step), corners, mode + "\"align_corners\"",
                 [&](int64_t o) { return 5 + static_cast<float>(o); });
      CheckWhole(of, Ramp(5, step), all, mode + "\"asymmetric\"",
                 [&](int64_t o) { return 5 + std::min(static_cast<float>(o), last); });
      if (times % 2 == 0) continue;
      CheckWhole(of, Ramp(5, step), all, mode + "\"half_pixel\"",
                 [&](int64_t o) { return 5 + std::clamp(static_cast<float>(o - (times - 1) / 2), 0.0F, last); });
    }
  }
}

}  // namespace pt::testing::resize_test
