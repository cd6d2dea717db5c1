#include "lib/backend/onednn/product_rule.h"

#include <algorithm>

#include "lib/backend/onednn/operand_rule.h"

namespace pt::onednn {
namespace {

constexpr size_t kMatrix = 2;  // dims of one

// oneDNN 3.7.2 goes from batch to batch by the last stride alone where the largest of the strides is as many times the
// smallest as there are batches. That says nothing of dims that lie in another order or with gaps between them, and
// strides of dims of one have a say in it.
bool BatchesLieAsRead(const Desc& desc, int64_t batches) {
  const Dims dims = desc.get_dims(), strides = desc.get_strides();
  if (dims.size() <= kMatrix + 1 || LiesRowMajor(desc)) return true;
  const auto is_one = [](int64_t dim) { return dim == 1; };
  const auto last = dims.end() - kMatrix - 1;
  if (std::all_of(dims.begin(), last, is_one)) return true;
  if (std::any_of(dims.begin(), last + 1, is_one)) return false;
  const auto [least, most] = std::minmax_element(strides.begin(), strides.end() - kMatrix);
  return *least > 0 && *most / *least != batches;
}

}  // namespace

Desc WithBatchesOfOneOutermost(const Desc& matrices) {
  const Dims dims = matrices.get_dims();
  if (matrices.get_inner_nblks() != 0 || dims.size() <= kMatrix || dims[0] != 1) return matrices;
  Dims strides = matrices.get_strides();
  int64_t whole = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != 1) whole = std::max(whole, dims[d] * strides[d]);
  }
  for (size_t d = 0; d + kMatrix < dims.size() && dims[d] == 1; ++d) strides[d] = whole;
  return Desc(dims, matrices.get_data_type(), strides);
}

std::optional<std::string> WhyNoProduct(const Desc& left, const Desc& right, const Desc& result) {
  const Dims dims = left.get_dims(), strides = left.get_strides(), result_dims = result.get_dims();
  const size_t rank = dims.size();
  int64_t batches = 1;
  for (size_t d = 0; d + kMatrix < rank; ++d) batches *= result_dims[d];
  for (const Desc* desc : {&left, &right, &result}) {
    if (!BatchesLieAsRead(*desc, batches)) return "its batches lie in another order, or with gaps";
  }
  // oneDNN 3.7.2 reads a left side of one row as if its columns lay side by side.
  if (dims[rank - 2] == 1 && dims[rank - 1] != 1 && strides[rank - 1] != 1) return "its one row has gaps";
  // It writes a matrix of one column as if its rows lay side by side.
  if (rank == kMatrix && result_dims[1] == 1 && result_dims[0] != 1 && result.get_strides()[0] != 1) {
    return "the one column of its result has gaps";
  }
  // It leaves results unwritten where matrices of one row lie in another order than their batches.
  if (rank > kMatrix && result_dims[rank - 2] == 1 && !LiesRowMajor(result)) {
    return "its rows lie in another order than its batches";
  }
  return std::nullopt;
}

}  // namespace pt::onednn
