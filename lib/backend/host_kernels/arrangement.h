// How the tensors of a candidate lie in memory. Most kernels here take any strides, so that a node between convolutions
// can run on images as these make them, and nothing is reordered around it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "partitiontuner/candidate/candidate.h"

namespace pt::host {

// Images are tensors of four dims, of three (images of one row) or of five (volumes).
constexpr bool IsImageRank(size_t rank) { return rank >= 3 && rank <= 5; }

// Of images; all other tensors are row-major.
enum class Arrangement : uint8_t { kRowMajor, kChannelsLast, kChannelsBlocked };

// Those in which the nodes can run, the usual one first.
std::vector<Arrangement> ArrangementsOf(const Graph& graph, std::span<const NodeId> nodes);

// Of a tensor of these dims. Blocks are always full: images whose channels do not fill them are row-major.
Layout LayoutIn(Arrangement arrangement, std::span<const int64_t> dims);

// In which layouts candidates make or take the values of a graph, which must outlive it.
class KnownLayouts {
 public:
  explicit KnownLayouts(const Graph& graph) : graph_(graph) {}
  void Note(const Candidate& candidate);
  bool empty() const { return known_.empty(); }  // all are row-major
  // Whether an image that the nodes read or make is known to lie as this arrangement has it.
  bool Meet(Arrangement arrangement, const std::vector<NodeId>& nodes);

 private:
  struct Sides {
    std::vector<ValueId> in, out;
  };
  const Sides& SidesOf(const std::vector<NodeId>& nodes);

  const Graph& graph_;
  std::map<std::vector<NodeId>, Sides> sides_;
  std::map<ValueId, std::set<Layout>> known_;
};

// Neighbours along one dim, as far as they follow each other in memory at one distance.
struct MemoryDim {
  size_t dim = 0;
  int64_t size = 0;
  int64_t step = 1;  // of the dim's index from one to the next
};

// The dims of a tensor with full blocks, if any, the innermost in memory first.
std::vector<MemoryDim> MemoryDims(const TensorLayout& tensor);
// From one element to the next along the dim of another tensor, in elements.
int64_t StrideAlong(const TensorLayout& tensor, const MemoryDim& dim);

}  // namespace pt::host
