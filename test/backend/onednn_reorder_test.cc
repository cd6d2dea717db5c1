// Reorders between slices of bigger tensors.
#include <numeric>

#include "test/backend/onednn_lab.h"

namespace pt::onednn_lab::onednn_reorder_test {
namespace {

TEST_CASE("OneDnn, ReordersBetweenSlicesOfEqualStridesMoveTheirOwnElements", "[backend]") {
  constexpr int64_t kRow = 40;
  Lab lab(GraphOf("input x float32[3,16,1,1]\ny = Relu(x)\noutput y\n"));
  TensorLayout from = DenseLayout(DataType::kFloat32, {3, 16, 1, 1}, RowMajor(4)).value();
  TensorLayout to = DenseLayout(DataType::kFloat32, {3, 16, 1, 1}, ChannelsLast(4)).value();
  from.strides[0] = to.strides[0] = kRow;
  ThreadTeam team(1);
  CompileContext context = lab.context(team);
  const auto kernel = lab.library().CompileReorder(from, to, context);
  REQUIRE(kernel.ok());
  Floats numbers(48);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  Buffer source(lab.device(), from), result(lab.device(), to, -1);
  source.Set(numbers);
  std::vector<std::byte> scratch((*kernel)->scratch_bytes());
  const auto bound = (*kernel)->Bind(SlotsOf({&source.view(), 1}), SlotsOf({&result.view(), 1}), scratch);
  REQUIRE(bound.ok());
  const auto stream = MakeHostStream(team);
  REQUIRE((*bound)->Enqueue(StaticRun(*stream)).ok());
  CHECK(result.Get() == numbers);
  for (int64_t i = 16; i < kRow; ++i) CHECK(result.floats()[i] == -1.0F);
}

}  // namespace
}  // namespace pt::onednn_lab::onednn_reorder_test
