// Decision trees in the form that they are walked in, whatever operator describes them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/backend/reference/operator.h"
#include "partitiontuner/graph/operators/decision_trees.h"

namespace pt::reference {

// What a leaf says about one target.
struct Vote {
  int64_t target = 0;
  double weight = 0;
};

// Trees as their operator lists them.
struct ListedTrees {
  struct Node {
    TreeBranch branch = TreeBranch::kLeaf;
    bool missing_is_true = false;  // where NaN goes
    int64_t feature = 0;
    double split = 0;
    size_t on_true = 0, on_false = 0;  // indices of nodes
    size_t begin = 0, end = 0;         // kMember: which of the members; kLeaf: which of the votes
  };
  std::vector<Node> nodes;
  std::vector<size_t> roots;
  std::vector<Vote> votes;
  std::vector<double> members;
  int64_t targets = 0;
  std::function<std::string(size_t node)> name;  // in messages
};

class Forest {
 public:
  // Of rows of that many features. kInvalidInput when a node asks for another feature, a vote is for a target that does
  // not exist, or an inner node is in no place or in more than one, as those of a cycle are.
  static Result<Forest> Make(const ReferenceSite& site, const ListedTrees& listed, int64_t features);

  int64_t features() const { return features_; }
  int64_t targets() const { return targets_; }
  size_t trees() const { return roots_.size(); }

  static constexpr int64_t kBlock = 64;  // rows that are walked together
  // Adds up what the trees say of up to kBlock rows, in the order of the trees: rows have features + 1 columns, the
  // last of which is 0, and totals [rows, targets] are filled. Targets that no leaf names keep the aggregate's start.
  // Sums of kAverage are not yet divided.
  void Sum(const double* rows, int64_t count, TreeAggregate aggregate, double start, double* totals) const;

 private:
  static constexpr uint32_t kMostFeature = (uint32_t{1} << 30) - 1;

  // Where a row goes on: to the first of two children if its feature is at most `split` (strict: less), else to the
  // second; NaN goes where `nan` says, 0 or 1. A leaf leads to itself: it asks whether the last column, 0, is at most
  // infinity.
  struct Node {
    double split = 0;
    uint32_t next = 0;
    uint32_t feature : 30 = 0;
    uint32_t strict : 1 = 0;
    uint32_t nan : 1 = 1;
  };
  struct Range {
    uint32_t begin = 0, end = 0;
  };

  // met: by listed node, those that are placed.
  Status Place(const ReferenceSite& site, const ListedTrees& listed, size_t root, std::vector<bool>& met);
  bool Holds(uint32_t at, double x) const;
  uint32_t Walk(uint32_t root, const double* row) const;
  // N walks at once, each with a row that lies row_step behind the one before.
  template <int64_t N>
  void WalkPlain(const double* rows, int64_t row_step, uint32_t* at) const;
  void SumRow(const double* row, TreeAggregate aggregate, double* totals) const;
  void AddVotes(uint32_t leaf, TreeAggregate aggregate, double* totals) const;

  std::vector<Node> nodes_;
  std::vector<Range> ranges_;         // by node: votes of leaves, members of kMember
  std::vector<TreeBranch> branches_;  // by node, where it asks otherwise than by order
  bool plain_ = true;                 // all nodes ask by order
  std::vector<uint32_t> roots_;
  std::vector<Vote> votes_;
  std::vector<double> members_;
  int64_t features_ = 0, targets_ = 0;
};

// Walks a row-major input [rows, features] of numbers through the forest: finish(run, row, totals) with what Sum gives
// for each row, in any order and on all cores. Integers are compared as float32, as ONNX Runtime does.
Result<ReferenceRoutine> ForestRoutine(
    const ReferenceSite& site, Forest forest, TreeAggregate aggregate, double start, int64_t rows,
    std::function<void(const TensorCall& run, int64_t row, const double* totals)> finish);

}  // namespace pt::reference
