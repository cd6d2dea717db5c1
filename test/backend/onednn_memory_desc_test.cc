// Memory descriptors: one for all layouts that differ only in where dims of 1 stand.
#include <cmath>

#include "lib/backend/onednn/memory_desc.h"
#include "partitiontuner/support/dims_text.h"
#include "test/backend/onednn_lab.h"

namespace pt::onednn_lab::onednn_memory_desc_test {
namespace {

using onednn::DescOf;
using onednn::DescText;

TensorLayout Dense(const std::vector<int64_t>& dims, const Layout& layout) {
  return DenseLayout(DataType::kFloat32, dims, layout).value();
}

std::string TextOf(const Result<onednn::Desc>& desc) {
  REQUIRE(desc.ok());
  return DescText(*desc);
}

bool HasStrides(const Result<onednn::Desc>& desc, const std::vector<int64_t>& strides) {
  std::string text = "/[";
  for (const int64_t stride : strides) text += std::to_string(stride) + ",";
  return TextOf(desc).find(text + "]/") != std::string::npos;
}

}  // namespace

TEST_CASE("OneDnn, DimsOfOneMayStandAnywhereInALayout", "[backend]") {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1, 512, 1},
                                           {4, 512, 1},
                                           {2, 1, 9},
                                           {1, 512, 1, 1},
                                           {4, 8, 1, 1},
                                           {2, 1, 5, 7},
                                           {1, 1, 1, 1},
                                           {1, 1, 1, 7},
                                           {3, 8, 1, 1, 1},
                                           {3, 1, 2, 3, 4}}) {
    const TensorLayout planar = Dense(dims, RowMajor(dims.size())), last = Dense(dims, ChannelsLast(dims.size()));
    INFO("dims " << DimsText(dims));
    CHECK(TextOf(DescOf(planar)) == TextOf(DescOf(last)));
    CHECK(TextOf(DescOf(planar, last)) == TextOf(DescOf(last, planar)));
  }
}

TEST_CASE("OneDnn, LayoutsThatDifferInMemoryKeepTheirDescriptors", "[backend]") {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1, 512, 2}, {2, 3, 1, 7}, {1, 8, 5, 1}, {2, 8, 5, 7}}) {
    const TensorLayout planar = Dense(dims, RowMajor(dims.size())), last = Dense(dims, ChannelsLast(dims.size()));
    INFO("dims " << DimsText(dims));
    CHECK(HasStrides(DescOf(planar), planar.strides));
    CHECK(TextOf(DescOf(planar)) != TextOf(DescOf(last)));
  }
}

TEST_CASE("OneDnn, ASinglePixelStandsInTheOrderOfTheImageItComesFrom", "[backend]") {
  const TensorLayout pixel = Dense({1, 8, 1, 1}, RowMajor(4));
  const TensorLayout planar = Dense({1, 8, 7, 7}, RowMajor(4)), last = Dense({1, 8, 7, 7}, ChannelsLast(4));
  CHECK(HasStrides(DescOf(pixel, planar), {8, 1, 1, 1}));
  CHECK(HasStrides(DescOf(pixel, last), {8, 1, 8, 8}));
  CHECK(HasStrides(DescOf(pixel), {8, 1, 8, 8}));
}

TEST_CASE("OneDnn, ConvolutionsOfAPixelAreRightInEveryLayout", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[2,32,1,1]
const w float32[48,32,1,1] random 2
y = Conv(x, w)
output y
)"));
  const std::vector<Candidate> candidates = lab.CandidatesOf("Conv");
  REQUIRE(!candidates.empty());
  for (const Candidate& candidate : candidates) {
    INFO(candidate.variant << " on unit class " << candidate.unit_class.value);
    CHECK(lab.Error(candidate, lab.Run(candidate, NAN)) <= 2e-6);
  }
}

}  // namespace pt::onednn_lab::onednn_memory_desc_test
