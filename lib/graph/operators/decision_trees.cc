#include "partitiontuner/graph/operators/decision_trees.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "lib/graph/operators/lists.h"
#include "partitiontuner/graph/visit_type.h"
#include "partitiontuner/support/text.h"

namespace pt {
namespace {

Error InvalidTrees(std::string why) { return MakeError(ErrorCode::kInvalidInput, "graph.trees", std::move(why)); }

// The elements of a tensor of floating point; nullopt for other types, and for those of 8 bits and less.
std::optional<std::vector<double>> RealsOf(const Tensor& tensor) {
  return VisitType(tensor.type(), [&]<typename T>() -> std::optional<std::vector<double>> {
    if constexpr (kIsFloat<T>) {
      std::vector<double> reals;
      reals.reserve(static_cast<size_t>(tensor.element_count()));
      for (const T& element : tensor.values<T>()) reals.push_back(NumberOf<double>(element));
      return reals;
    }
    return std::nullopt;
  });
}

// kInvalidInput where a list is not as long as another.
Status NeedLength(std::string_view name, size_t is, std::string_view like, size_t length) {
  if (is == length) return {};
  return InvalidTrees(std::string(name) + " has " + std::to_string(is) + " values and " + std::string(like) + " " +
                      std::to_string(length));
}

// ---- TreeEnsemble ----

// Of a tensor; one that is absent is empty.
Result<std::vector<double>> RealTensor(const Node& node, std::string_view name) {
  if (node.find(name) == nullptr) return std::vector<double>();
  const auto* const tensor = AttributeOf<Tensor>(node, name);
  const auto reals = tensor == nullptr ? std::nullopt : RealsOf(*tensor);
  if (!reals) return InvalidTrees(std::string(name) + " is not a tensor of the right type");
  return *reals;
}

Result<std::vector<TreeBranch>> ReadModes(const Node& node) {
  constexpr std::string_view kName = "nodes_modes";
  const auto* const tensor = AttributeOf<Tensor>(node, kName);
  if (node.find(kName) != nullptr && (tensor == nullptr || !IsInteger(tensor->type())))
    return InvalidTrees(std::string(kName) + " is not a tensor of the right type");
  std::vector<TreeBranch> branches;
  for (const int64_t mode : tensor == nullptr ? std::vector<int64_t>() : tensor->ToInts()) {
    if (mode < 0 || mode >= static_cast<int64_t>(TreeBranch::kLeaf)) {
      return InvalidTrees("node " + std::to_string(branches.size()) + " has the unknown mode " + std::to_string(mode));
    }
    branches.push_back(static_cast<TreeBranch>(mode));  // numbered alike
  }
  return branches;
}

Status ReadInnerNodes(const Node& node, TreeEnsembleNode& trees) {
  const auto list = [&](std::string_view name) { return node.ints_or(name, {}); };
  trees.features = list("nodes_featureids");
  trees.on_true = list("nodes_truenodeids");
  trees.on_false = list("nodes_falsenodeids");
  trees.true_is_leaf = list("nodes_trueleafs");
  trees.false_is_leaf = list("nodes_falseleafs");
  trees.missing_is_true = list("nodes_missing_value_tracks_true");
  PT_ASSIGN(trees.splits, RealTensor(node, "nodes_splits"));
  PT_ASSIGN(trees.branches, ReadModes(node));
  const size_t count = trees.features.size();
  const std::array lengths = {trees.on_true.size(),       trees.on_false.size(), trees.true_is_leaf.size(),
                              trees.false_is_leaf.size(), trees.splits.size(),   trees.branches.size()};
  bool fits = count > 0 && (trees.missing_is_true.empty() || trees.missing_is_true.size() == count);
  for (const size_t length : lengths) fits = fits && length == count;
  return fits ? Status() : InvalidTrees("its lists of nodes are empty or of different lengths");
}

Status ReadLeaves(const Node& node, TreeEnsembleNode& trees) {
  trees.leaf_targets = node.ints_or("leaf_targetids", {});
  PT_ASSIGN(trees.leaf_weights, RealTensor(node, "leaf_weights"));
  trees.targets = node.int_or("n_targets", 1);
  if (trees.targets < 1) return InvalidTrees("n_targets is " + std::to_string(trees.targets));
  if (trees.leaf_weights.size() != trees.leaf_targets.size())
    return InvalidTrees("leaf_weights and leaf_targetids differ in length");
  return {};
}

// ---- TreeEnsembleRegressor, TreeEnsembleClassifier ----

// A list of float32, or a tensor in its place.
Result<std::vector<double>> Numbers(const Node& node, const std::string& name) {
  const std::string tensor_name = name + "_as_tensor";
  if (IsOtherKind<std::vector<float>>(node, name)) return InvalidTrees(name + " is not a list of numbers");
  const std::vector<float> list = FloatsOf(node, name);
  const std::vector<double> listed(list.begin(), list.end());
  if (node.find(tensor_name) == nullptr) return listed;
  const auto* const tensor = AttributeOf<Tensor>(node, tensor_name);
  const auto reals = tensor == nullptr ? std::nullopt : RealsOf(*tensor);
  if (!reals) return InvalidTrees(tensor_name + " is not a tensor of real numbers");
  if (!listed.empty() && !reals->empty())
    return InvalidTrees("both " + name + " and " + tensor_name + " are given; one is expected");
  return reals->empty() ? listed : *reals;
}

std::optional<TreeBranch> BranchOf(std::string_view mode) {
  constexpr std::array<std::pair<std::string_view, TreeBranch>, 7> kBranches = {
      {{"BRANCH_LEQ", TreeBranch::kLessOrEqual},
       {"BRANCH_LT", TreeBranch::kLess},
       {"BRANCH_GTE", TreeBranch::kGreaterOrEqual},
       {"BRANCH_GT", TreeBranch::kGreater},
       {"BRANCH_EQ", TreeBranch::kEqual},
       {"BRANCH_NEQ", TreeBranch::kNotEqual},
       {"LEAF", TreeBranch::kLeaf}}};
  for (const auto& [name, branch] : kBranches) {
    if (name == mode) return branch;
  }
  return std::nullopt;
}

Status ReadListedNodes(const Node& node, ListedTreesNode& listed) {
  const auto list = [&](std::string_view name) { return node.ints_or(name, {}); };
  listed.trees = list("nodes_treeids");
  listed.nodes = list("nodes_nodeids");
  listed.features = list("nodes_featureids");
  listed.on_true = list("nodes_truenodeids");
  listed.on_false = list("nodes_falsenodeids");
  listed.missing_is_true = list("nodes_missing_value_tracks_true");
  PT_ASSIGN(listed.splits, Numbers(node, "nodes_values"));
  const std::vector<std::string> modes = AttributeOr(node, "nodes_modes", std::vector<std::string>());
  if (listed.trees.empty()) return InvalidTrees("has no nodes_treeids");
  const auto need = [&](std::string_view name, size_t is) {
    return NeedLength(name, is, "nodes_treeids", listed.trees.size());
  };
  PT_CHECK_OK(need("nodes_nodeids", listed.nodes.size()));
  PT_CHECK_OK(need("nodes_featureids", listed.features.size()));
  PT_CHECK_OK(need("nodes_values", listed.splits.size()));
  PT_CHECK_OK(need("nodes_modes", modes.size()));
  PT_CHECK_OK(need("nodes_truenodeids", listed.on_true.size()));
  PT_CHECK_OK(need("nodes_falsenodeids", listed.on_false.size()));
  const std::vector<int64_t>& missing = listed.missing_is_true;
  if (!missing.empty()) PT_CHECK_OK(need("nodes_missing_value_tracks_true", missing.size()));
  for (size_t i = 0; i < modes.size(); ++i) {
    const std::optional<TreeBranch> branch = BranchOf(modes[i]);
    if (!branch) {
      return InvalidTrees("node " + std::to_string(listed.nodes[i]) + " of tree " + std::to_string(listed.trees[i]) +
                          " has the unknown mode \"" + modes[i] +
                          "\"; expected BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ or LEAF");
    }
    listed.branches.push_back(*branch);
  }
  return {};
}

// role: "target" or "class", with which the names of weights begin.
Status ReadWeights(const Node& node, const std::string& role, ListedTreesNode& listed) {
  listed.weight_trees = node.ints_or(role + "_treeids", {});
  listed.weight_nodes = node.ints_or(role + "_nodeids", {});
  listed.weight_targets = node.ints_or(role + "_ids", {});
  PT_ASSIGN(listed.weights, Numbers(node, role + "_weights"));
  const auto need = [&](const std::string& name, size_t is) {
    return NeedLength(role + name, is, role + "_treeids", listed.weight_trees.size());
  };
  PT_CHECK_OK(need("_nodeids", listed.weight_nodes.size()));
  PT_CHECK_OK(need("_ids", listed.weight_targets.size()));
  return need("_weights", listed.weights.size());
}

}  // namespace

Result<TreeEnsembleNode> ReadTreeEnsemble(const Node& node) {
  TreeEnsembleNode trees;
  const int64_t aggregate = node.int_or("aggregate_function", 1);
  if (aggregate < 0 || aggregate > static_cast<int64_t>(TreeAggregate::kMax)) {
    return InvalidTrees("unknown aggregate_function " + std::to_string(aggregate) +
                        "; expected 0 to 3 (average, sum, min, max)");
  }
  trees.aggregate = static_cast<TreeAggregate>(aggregate);
  trees.has_post_transform = node.int_or("post_transform", 0) != 0;
  PT_CHECK_OK(ReadInnerNodes(node, trees));
  PT_ASSIGN(trees.members, RealTensor(node, "membership_values"));
  PT_CHECK_OK(ReadLeaves(node, trees));
  trees.roots = node.ints_or("tree_roots", {});
  return trees;
}

Result<ListedTreesNode> ReadListedTrees(const Node& node) {
  ListedTreesNode listed;
  PT_CHECK_OK(ReadListedNodes(node, listed));
  PT_CHECK_OK(ReadWeights(node, node.op == "TreeEnsembleClassifier" ? "class" : "target", listed));
  PT_ASSIGN(listed.base, Numbers(node, "base_values"));
  return listed;
}

Result<TreeRegressorNode> ReadTreeRegressor(const Node& node) {
  const int64_t targets = node.int_or("n_targets", 0);
  if (targets < 1) return InvalidTrees("n_targets is " + std::to_string(targets));
  const std::string name = node.string_or("aggregate_function", "SUM");
  if (name == "SUM") return TreeRegressorNode{targets, TreeAggregate::kSum};
  if (name == "AVERAGE") return TreeRegressorNode{targets, TreeAggregate::kAverage};
  if (name == "MIN") return TreeRegressorNode{targets, TreeAggregate::kMin};
  if (name == "MAX") return TreeRegressorNode{targets, TreeAggregate::kMax};
  return InvalidTrees(UnknownWord("aggregate_function", name, {"SUM", "AVERAGE", "MIN", "MAX"}));
}

}  // namespace pt
