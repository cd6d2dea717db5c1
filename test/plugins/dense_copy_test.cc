// Slices to dense memory and back.
#include "plugins/shared/dense_copy.h"

#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "test/testing/check_case.h"

namespace pt::plugins::dense_copy_test {
namespace {

// Every element of the layout, as bytes, in both directions; what lies between the elements stays as it is.
void CheckCopies(DataType type, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  const auto bytes = static_cast<size_t>(BytesOf(type));
  TensorLayout layout = DenseLayout(type, dims, RowMajor(dims.size())).value();
  layout.strides = strides;
  size_t count = 1, reach = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    count *= static_cast<size_t>(dims[d]);
    reach += static_cast<size_t>((dims[d] - 1) * strides[d]);
  }
  std::vector<unsigned char> strided(reach * bytes), dense(count * bytes), back(reach * bytes, 0xAA);
  for (size_t i = 0; i < strided.size(); ++i) strided[i] = static_cast<unsigned char>(i * 7 + 3);
  const DenseCopy copy(layout);
  copy.ToDense(strided.data(), dense.data());
  copy.FromDense(dense.data(), back.data());
  std::vector<unsigned char> expected(reach * bytes, 0xAA);
  std::vector<int64_t> at(dims.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    size_t offset = 0;
    for (size_t d = 0; d < dims.size(); ++d) offset += static_cast<size_t>(at[d] * strides[d]);
    CHECK(std::memcmp(&dense[i * bytes], &strided[offset * bytes], bytes) == 0);
    std::memcpy(&expected[offset * bytes], &strided[offset * bytes], bytes);
    for (size_t d = dims.size(); d-- > 0 && ++at[d] == dims[d];) at[d] = 0;
  }
  CHECK(back == expected);
}

TEST_CASE("DenseCopy, FollowsTheLayoutOfEveryElementSize", "[plugins_shared]") {
  for (const DataType type : {DataType::kFloat32, DataType::kInt64, DataType::kBool, DataType::kFloat16}) {
    CheckCopies(type, {2, 3, 1, 4}, {40, 8, 5, 1});  // rows of a wider tensor, a dim of one with any stride
    CheckCopies(type, {3, 4}, {4, 1});               // dense
    CheckCopies(type, {3, 4}, {6, 1});
    CheckCopies(type, {2, 2, 3}, {100, 7, 2});  // no two elements side by side
    CheckCopies(type, {}, {});
  }
}

}  // namespace
}  // namespace pt::plugins::dense_copy_test
