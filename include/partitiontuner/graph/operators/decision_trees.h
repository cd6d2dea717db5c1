// What ensembles of decision trees say (ai.onnx.ml): TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier.
#pragma once

#include <cstdint>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

enum class TreeBranch : uint8_t { kLessOrEqual, kLess, kGreaterOrEqual, kGreater, kEqual, kNotEqual, kMember, kLeaf };
enum class TreeAggregate : uint8_t { kAverage, kSum, kMin, kMax };

// TreeEnsemble. Inner nodes and leaves are numbered apart. Lists of inner nodes are of one length, at least 1; those of
// leaves are too.
struct TreeEnsembleNode {
  TreeAggregate aggregate = TreeAggregate::kSum;
  bool has_post_transform = false;
  int64_t targets = 1;  // at least 1
  std::vector<int64_t> roots;
  std::vector<int64_t> features, on_true, on_false;  // by inner node
  std::vector<int64_t> true_is_leaf, false_is_leaf;  // by inner node: what on_true and on_false number
  std::vector<int64_t> missing_is_true;              // by inner node: where NaN goes; empty: to false
  std::vector<TreeBranch> branches;                  // by inner node; never kLeaf
  std::vector<double> splits;                        // by inner node
  std::vector<double> members;                       // of kMember: sets behind each other, each closed by NaN
  std::vector<int64_t> leaf_targets;                 // by leaf
  std::vector<double> leaf_weights;                  // by leaf
};
// Errors: kInvalidInput for lists that are missing, of different lengths or of other types, for unknown modes and
// aggregates, and for less than one target.
Result<TreeEnsembleNode> ReadTreeEnsemble(const Node& node);

// TreeEnsembleRegressor and TreeEnsembleClassifier: nodes and weights are named by the number of their tree and a
// number within it. Lists of nodes are of one length, at least 1; those of weights are too.
struct ListedTreesNode {
  std::vector<int64_t> trees, nodes, features, on_true, on_false;   // by node
  std::vector<TreeBranch> branches;                                 // by node
  std::vector<int64_t> missing_is_true;                             // by node: where NaN goes; empty: to false
  std::vector<double> splits;                                       // by node
  std::vector<int64_t> weight_trees, weight_nodes, weight_targets;  // by weight
  std::vector<double> weights;                                      // by weight
  std::vector<double> base;                                         // by target; may be empty
};
// Errors: kInvalidInput for lists that are missing, of different lengths, or given both as a list and as a tensor, and
// for unknown modes.
Result<ListedTreesNode> ReadListedTrees(const Node& node);

// What a TreeEnsembleRegressor says beside its trees.
struct TreeRegressorNode {
  int64_t targets = 1;
  TreeAggregate aggregate = TreeAggregate::kSum;
};
// Errors: kInvalidInput for less than one target, and unknown aggregates.
Result<TreeRegressorNode> ReadTreeRegressor(const Node& node);

}  // namespace pt
