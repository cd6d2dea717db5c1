// Kernels in which a block of threads works on a row together: reductions, softmax, normalisations. A row is what is
// folded into few numbers; its elements may lie anywhere.
#pragma once

#include <initializer_list>
#include <utility>

#include "plugins/cuda/index_space.h"
#include "plugins/cuda/operators.h"

namespace pt::cuda {

// From elements to one number, as C++: `first` to begin with, `take` a number $x into what there is so far ($s),
// `merge` what two threads have ($a, $b).
struct RowFold {
  std::string_view first, take, merge;
};
inline constexpr RowFold kSum{"0.0f", "$s + $x", "$a + $b"};

// The pattern with $x and the like replaced.
std::string Replaced(std::string_view pattern, std::initializer_list<std::pair<char, std::string>> names);

// The rows of a site. Tensor 0 is input 0 and tensor 1 output 0; others are for who names them.
class Rows {
 public:
  // rows: where each tensor's part of a row begins. elements: where a row's elements lie from there on, of as many
  // tensors as walk along it.
  Rows(const CudaSite& site, IndexSpace rows, IndexSpace elements);

  int64_t length() const { return elements_.count(); }
  std::string length_text() const { return std::to_string(length()) + ".0f"; }

  // Where the tensor's element of the row lies, within ForEach; where its row begins, anywhere.
  std::string At(size_t tensor) const;
  static std::string RowAt(size_t tensor) { return "row" + std::to_string(tensor); }

  // Statements for each element of the row, in which x is input 0's and k its number.
  void ForEach(const std::string& statements);
  // Defines `name`, the same in all threads: the fold of `number` (an expression of x) over the row.
  void AddFold(const std::string& name, const RowFold& fold, const std::string& number);
  void Add(const std::string& statements) { body_ += statements; }
  // Arrays of one number a thread in shared memory.
  void Share(const std::string& type, const std::string& name);
  // Halves of the block's threads, again and again: `merge` sees `mine` and `other`, indices of shared arrays.
  void Merge(const std::string& merge);

  KernelText Finish() const;

 private:
  const CudaSite& site_;
  const IndexSpace rows_, elements_;
  const uint32_t threads_;
  std::string shared_, body_;
};

// Input 0 is not a constant, and real; there are no more results than that.
Status NeedFloats(const CudaSite& site, size_t outputs = 1);

}  // namespace pt::cuda
