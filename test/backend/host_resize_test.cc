// Resize of the host library against the reference library: every mode, of one to three dims, of real numbers and of
// integers, which must be the same to the last bit.
#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_resize_test {
namespace {

const std::vector<std::string> kCoordinates = {"half_pixel",          "half_pixel_symmetric", "pytorch_half_pixel",
                                               "align_corners",       "asymmetric",           "tf_crop_and_resize",
                                               "tf_half_pixel_for_nn"};

std::vector<std::string> Modes() {
  std::vector<std::string> modes;
  for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
    modes.push_back(std::string("mode=\"nearest\" nearest_mode=\"") + rounding + "\"");
  }
  for (const char* more : {"", " exclude_outside=1", " antialias=1", " exclude_outside=1 antialias=1"}) {
    modes.push_back(std::string("mode=\"linear\"") + more);
    modes.push_back(std::string("mode=\"cubic\"") + more);
    modes.push_back(std::string("mode=\"cubic\" cubic_coeff_a=-0.5") + more);
  }
  return modes;
}

// Dims of x, sizes of the axes named.
struct Image {
  const char *dims, *axes, *sizes;
};

std::string TextOf(const char* type, const Image& image, const std::string& mode, const std::string& coordinates) {
  const auto axes = std::count(image.axes, image.axes + std::strlen(image.axes), ',') + 1;
  std::string text = std::string("input x ") + type + image.dims + "\nconst t int64[" + std::to_string(axes) +
                     "] ints " + image.sizes + "\n";
  const bool crops = coordinates == "tf_crop_and_resize";
  if (crops) {
    text += "const r float32[" + std::to_string(2 * axes) + "] floats";
    for (int64_t i = 0; i < 2 * axes; ++i) text += i < axes ? " 0.1" : " 1.2";
    text += "\n";
  }
  return text + "y = Resize(x, " + (crops ? "r" : "_") + ", _, t) " + mode + " coordinate_transformation_mode=\"" +
         coordinates + "\" extrapolation_value=7.0 axes=[" + image.axes + "]\noutput y\n";
}

// Every `stride`-th of all attributes and images.
void CheckImages(const char* type, double tolerance, size_t stride) {
  const std::vector<Image> images = {{"[2,3,5,6]", "2,3", "7 9"},
                                     {"[2,3,9,40]", "2,3", "4 17"},
                                     {"[1,2,5,6]", "2,3", "1 1"},
                                     {"[1,2,1,1]", "2,3", "3 4"},
                                     {"[1,5,6,3]", "1,2", "9 4"},
                                     {"[1,5,6,20]", "1,2", "3 11"},
                                     {"[2,3,37]", "2", "15"},
                                     {"[2,3,5]", "2", "70"},
                                     {"[2,7,33]", "1", "5"},
                                     {"[1,2,3,4,5]", "2,3,4", "5 3 8"},
                                     {"[2,3,4,5]", "0,1,2,3", "3 2 5 7"},
                                     {"[9]", "0", "33"},
                                     {"[1,2,6,40]", "3,2", "90 6"},
                                     {"[2,3,6,21]", "2,3", "23 84"},
                                     {"[1,2,9,37]", "2,3", "10 52"},
                                     {"[1,6,21,3]", "1,2", "25 70"},
                                     {"[1,5,9,20]", "1,2", "12 31"}};
  size_t at = 0;
  for (const Image& image : images) {
    for (const std::string& mode : Modes()) {
      for (const std::string& coordinates : kCoordinates) {
        if (at++ % stride == 0) CheckText(TextOf(type, image, mode, coordinates), tolerance);
      }
    }
  }
}

}  // namespace

TEST_CASE("HostResize, RealNumbersOfEveryModeEqualTheReference", "[host]") { CheckImages("float32", 2e-6, 3); }

TEST_CASE("HostResize, IntegersOfEveryModeAreThoseOfTheReference", "[host]") {
  CheckImages("uint8", 0, 4);
  CheckImages("int8", 0, 5);
}

TEST_CASE("HostResize, EveryImageAndModeEqualsTheReference", "[host][slow]") {
  CheckImages("float32", 2e-6, 1);
  CheckImages("uint8", 0, 1);
  CheckImages("int8", 0, 1);
}

TEST_CASE("HostResize, TheNearestElementOfOtherTypesIsMoved", "[host]") {
  for (const char* type : {"int64", "float64", "int16", "uint32"}) {
    CheckText(TextOf(type, {"[2,3,5,6]", "2,3", "10 9"}, "mode=\"nearest\"", "half_pixel"), 0);
  }
}

// What is not finite reaches the elements that are made of it, and no others.
TEST_CASE("HostResize, NanAndInfinitiesSpreadAsInTheReference", "[host]") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(static_cast<size_t>(9 * 40));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  x[50] = kNan;
  x[130] = kInfinity;
  x[359] = -kInfinity;
  for (const char* mode : {"mode=\"linear\"", "mode=\"cubic\"", "mode=\"linear\" antialias=1"}) {
    for (const char* sizes : {"18 80", "4 13", "9 17"}) {
      const Graph graph = TypedText(TextOf("float32", {"[1,1,9,40]", "2,3", sizes}, mode, "half_pixel"));
      CheckAgainstReference(graph, {Tensor::Float32({1, 1, 9, 40}, x)}, 2e-6);
    }
  }
}

TEST_CASE("HostResize, ImagesWhoseChannelsLieLastStayAsTheyLie", "[host]") {
  for (const char* type : {"float32", "uint8"}) {
    for (const char* dims : {"[2,3,5,6]", "[1,20,5,6]"}) {
      for (const char* mode : {"mode=\"nearest\"", "mode=\"linear\"", "mode=\"cubic\" antialias=1"}) {
        const Graph graph = TypedText(TextOf(type, {dims, "2,3", "7 3"}, mode, "half_pixel"));
        const std::set<std::string> layouts = CheckGroup(graph, {NodeId(0U)}, SeededInputs(graph), 2e-6);
        CHECK(layouts.size() == 2);
      }
    }
  }
}

}  // namespace pt::testing::host_resize_test
