// Where the elements of tensors lie that are walked together: the arithmetic that kernels do, as text for them and as
// code for the host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/candidate/layout.h"

namespace pt::cuda {

class IndexSpace {
 public:
  // strides: of each tensor, in elements, one for each of dims; 0 where its one element is used again and again. Dims
  // that lie behind each other in all tensors become one. Dims are not negative and their product fits (they are a
  // tensor's).
  IndexSpace(std::span<const int64_t> dims, std::vector<std::vector<int64_t>> strides);
  // The same with every dim as it is: coordinate c2 is an index of dim 2.
  static IndexSpace Whole(std::span<const int64_t> dims, std::vector<std::vector<int64_t>> strides);

  int64_t count() const { return count_; }                    // elements
  const std::vector<int64_t>& dims() const { return dims_; }  // outermost first; empty: one element
  size_t tensors() const { return strides_.size(); }
  int64_t stride(size_t tensor, size_t dim) const { return strides_[tensor][dim]; }
  // Of a tensor's element, from its first, by the element's number in row-major order.
  int64_t OffsetAt(size_t tensor, int64_t element) const;

  // "int" where all that is computed fits, else "long long".
  std::string_view index_type() const;
  // Makes it "long long", for kernels in which something else is as large.
  void Widen() { wide_ = true; }
  // The same elements, four at a time: a space whose elements are every fourth of this one's. nullopt where four that
  // follow each other in the innermost dim do not lie side by side, or in one place, in every tensor. first: where each
  // tensor begins, in elements.
  std::optional<IndexSpace> Quads(std::span<const int64_t> first = {}) const;
  // Whether four elements that follow each other lie side by side in the tensor; else in one place. Of what Quads gave.
  bool lies_side_by_side(size_t tensor) const { return !dims_.empty() && strides_[tensor].back() != 0; }

  // Statements that define c0, c1, … (or another letter) of the element whose number is in `element`, a variable of
  // that type.
  std::string CoordinatesText(const std::string& element, char letter = 'c') const;
  // The offset by these coordinates: "c0 * 49 + c1".
  std::string OffsetText(size_t tensor, char letter = 'c') const;

 private:
  IndexSpace() = default;
  void DropOnes(std::span<const int64_t> dims, const std::vector<std::vector<int64_t>>& strides);
  void Merge();

  std::vector<int64_t> dims_;
  std::vector<std::vector<int64_t>> strides_;  // by tensor
  int64_t count_ = 1;
  bool wide_ = false;
};

// Whether an element of a tensor may lie further off than an "int" can say.
bool IsWide(const TensorLayout& layout);

// The strides with which a tensor is read in the order of these dims, to which it broadcasts; nullopt where it does
// not.
std::optional<std::vector<int64_t>> BroadcastStrides(const TensorLayout& from, std::span<const int64_t> dims);

}  // namespace pt::cuda
