// TreeEnsembleRegressor and TreeEnsembleClassifier of ai.onnx.ml, whose nodes and leaf weights are named by the number
// of their tree and a number within it. Transforms of scores but LOGISTIC are spelled out when a model loads.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lib/backend/reference/classical_models.h"
#include "lib/backend/reference/forest.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/classifiers.h"
#include "partitiontuner/graph/operators/decision_trees.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

struct Id {
  int64_t tree, node;
  auto operator<=>(const Id&) const = default;
};

// Makes trees of what one node says.
class TreeMaker {
 public:
  TreeMaker(const ReferenceSite& site, const ListedTreesNode& node) : site_(site), node_(node) {}

  Result<ListedTrees> Make(int64_t targets) {
    trees_.targets = targets;
    PT_CHECK_OK(AddNodes());
    PT_CHECK_OK(Link());
    PT_CHECK_OK(FindRoots());
    PT_CHECK_OK(AddVotes());
    trees_.name = [ids = ids_](size_t i) { return NameOf(ids[i]); };
    return std::move(trees_);
  }

 private:
  static std::string NameOf(Id id) { return "node " + std::to_string(id.node) + " of tree " + std::to_string(id.tree); }

  Status AddNodes() {
    for (size_t i = 0; i < node_.trees.size(); ++i) {
      ids_.push_back({node_.trees[i], node_.nodes[i]});
      if (!places_.emplace(ids_.back(), i).second) return site_.Invalid(NameOf(ids_.back()) + " is listed twice");
      const bool missing_is_true = !node_.missing_is_true.empty() && node_.missing_is_true[i] != 0;
      trees_.nodes.push_back({node_.branches[i], missing_is_true, node_.features[i], node_.splits[i]});
    }
    return {};
  }

  Status Link() {
    has_parent_.assign(ids_.size(), false);
    for (size_t i = 0; i < ids_.size(); ++i) {
      ListedTrees::Node& node = trees_.nodes[i];
      if (node.branch == TreeBranch::kLeaf) continue;
      for (const auto& [child, to] :
           {std::pair(node_.on_true[i], &node.on_true), std::pair(node_.on_false[i], &node.on_false)}) {
        const auto place = places_.find({ids_[i].tree, child});
        if (place == places_.end()) {
          return site_.Invalid(NameOf(ids_[i]) + " leads to node " + std::to_string(child) +
                               ", which its tree does not have");
        }
        *to = place->second;
        has_parent_[place->second] = true;
      }
    }
    return {};
  }

  // In the order in which trees are first listed: the one node of each that no other leads to.
  Status FindRoots() {
    std::map<int64_t, size_t> root_of;
    std::vector<int64_t> order;
    for (size_t i = 0; i < ids_.size(); ++i) {
      const int64_t tree = ids_[i].tree;
      if (root_of.emplace(tree, ids_.size()).second) order.push_back(tree);
      if (has_parent_[i]) continue;
      if (root_of[tree] != ids_.size()) {
        return site_.Invalid("no other node leads to " + NameOf(ids_[root_of[tree]]) + " nor to its node " +
                             std::to_string(ids_[i].node) + "; a tree has one root");
      }
      root_of[tree] = i;
    }
    for (const int64_t tree : order) {
      if (root_of[tree] == ids_.size())
        return site_.Invalid("the nodes of tree " + std::to_string(tree) + " form a cycle: it has no root");
      trees_.roots.push_back(root_of[tree]);
    }
    return {};
  }

  // Those of one leaf next to each other, in the order of the file. Weights of inner nodes say nothing.
  Status AddVotes() {
    std::vector<std::vector<Vote>> votes(ids_.size());
    for (size_t i = 0; i < node_.weights.size(); ++i) {
      const Id id{node_.weight_trees[i], node_.weight_nodes[i]};
      const auto place = places_.find(id);
      if (place == places_.end()) return site_.Invalid("a weight is for " + NameOf(id) + ", which does not exist");
      votes[place->second].push_back({node_.weight_targets[i], node_.weights[i]});
    }
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (trees_.nodes[i].branch != TreeBranch::kLeaf) continue;
      trees_.nodes[i].begin = trees_.votes.size();
      trees_.votes.insert(trees_.votes.end(), votes[i].begin(), votes[i].end());
      trees_.nodes[i].end = trees_.votes.size();
    }
    return {};
  }

  const ReferenceSite& site_;
  const ListedTreesNode& node_;
  std::vector<Id> ids_;
  std::map<Id, size_t> places_;
  std::vector<bool> has_parent_;
  ListedTrees trees_;
};

Result<ReferenceRoutine> Regressor(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const FeatureRows rows, FeatureRowsOf(site));
  PT_ASSIGN(const TreeRegressorNode regressor, OrInvalid(ReadTreeRegressor(site.node), site));
  const int64_t targets = regressor.targets;
  const TreeAggregate aggregate = regressor.aggregate;
  PT_CHECK_OK(NeedNoTransform(site));
  PT_ASSIGN(const ListedTreesNode node, OrInvalid(ReadListedTrees(site.node), site));
  std::vector<double> base = node.base;
  if (!base.empty() && std::ssize(base) != targets) {
    return site.Invalid("base_values has " + std::to_string(base.size()) + " values for " + std::to_string(targets) +
                        " targets");
  }
  PT_CHECK_OK(site.Out(0, DataType::kFloat32, {rows.count, targets}));
  base.resize(static_cast<size_t>(targets), 0);
  PT_ASSIGN(const ListedTrees listed, TreeMaker(site, node).Make(targets));
  PT_ASSIGN(Forest forest, Forest::Make(site, listed, rows.features));
  const double trees = aggregate == TreeAggregate::kAverage ? static_cast<double>(forest.trees()) : 1;
  const bool extreme = aggregate == TreeAggregate::kMin || aggregate == TreeAggregate::kMax;
  const double none = aggregate == TreeAggregate::kMin ? HUGE_VAL : -HUGE_VAL;  // of a target without votes, which is 0
  return ForestRoutine(site, std::move(forest), aggregate, extreme ? none : 0, rows.count,
                       [=](const TensorCall& run, int64_t row, const double* totals) {
                         float* const out = run.out<float>() + row * targets;
                         for (int64_t t = 0; t < targets; ++t) {
                           const double total = extreme && totals[t] == none ? 0 : totals[t] / trees;
                           out[t] = static_cast<float>(total + base[static_cast<size_t>(t)]);
                         }
                       });
}

// ---- classifiers ----

struct Classes {
  std::vector<int64_t> labels;
  std::vector<double> base;
  bool logistic = false;
  bool one_score = false;    // of two classes: all weights are the second one's, though they are listed as the first's
  bool probability = false;  // that score is the second class' probability: no weight is negative
};

Result<Classes> MakeClasses(const ReferenceSite& site, const ListedTreesNode& node) {
  Classes classes;
  classes.labels = ReadTreeLabels(site.node);
  if (classes.labels.size() < 2)
    return site.Unsupported("is not supported with " + std::to_string(classes.labels.size()) + " integer labels");
  classes.logistic = ReadPostTransform(site.node) == "LOGISTIC";
  if (!classes.logistic) PT_CHECK_OK(NeedNoTransform(site));
  const std::vector<int64_t>& ids = node.weight_targets;
  const auto all = [&](int64_t id) { return std::all_of(ids.begin(), ids.end(), [&](int64_t i) { return i == id; }); };
  classes.one_score = classes.labels.size() == 2 && all(0);
  if (classes.labels.size() == 2 && !classes.one_score && all(1))
    return site.Unsupported("is not supported where all weights of two classes are the second one's");
  classes.probability = std::all_of(node.weights.begin(), node.weights.end(), [](double w) { return w >= 0; });
  classes.base = node.base;
  const size_t wanted = classes.one_score ? 1 : classes.labels.size();
  if (!classes.base.empty() && classes.base.size() != wanted) {
    return site.Unsupported("is not supported with " + std::to_string(classes.base.size()) + " base_values where " +
                            std::to_string(wanted) + (wanted == 1 ? " score is" : " scores are") + " made");
  }
  classes.base.resize(classes.labels.size(), 0);
  return classes;
}

// The place of the top class, the first of equal ones. Scores are not asked for where `out` is null.
size_t Score(const Classes& classes, const double* totals, float* out) {
  const size_t count = classes.labels.size();
  if (classes.one_score) {
    const double score = totals[0] + classes.base[0];
    if (out != nullptr) {
      const double other = classes.probability ? 1 - score : -score;
      out[0] = static_cast<float>(classes.logistic ? Logistic(-score) : other);
      out[1] = static_cast<float>(classes.logistic ? Logistic(score) : score);
    }
    return score > (classes.probability && !classes.logistic ? 0.5 : 0) ? 1 : 0;
  }
  size_t top = 0;
  for (size_t c = 0; c < count; ++c) {
    const double score = totals[c] + classes.base[c];
    if (score > totals[top] + classes.base[top]) top = c;
    if (out != nullptr) out[c] = static_cast<float>(classes.logistic ? Logistic(score) : score);
  }
  return top;
}

Result<ReferenceRoutine> Classifier(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const FeatureRows rows, FeatureRowsOf(site));
  PT_ASSIGN(const ListedTreesNode node, OrInvalid(ReadListedTrees(site.node), site));
  PT_ASSIGN(Classes classes, MakeClasses(site, node));
  const int64_t count = std::ssize(classes.labels);
  PT_CHECK_OK(site.Out(0, DataType::kInt64, {rows.count}));
  if (site.wants(1)) PT_CHECK_OK(site.Out(1, DataType::kFloat32, {rows.count, count}));
  PT_ASSIGN(const ListedTrees listed, TreeMaker(site, node).Make(count));
  PT_ASSIGN(Forest forest, Forest::Make(site, listed, rows.features));
  return ForestRoutine(site, std::move(forest), TreeAggregate::kSum, 0, rows.count,
                       [classes = std::move(classes)](const TensorCall& run, int64_t row, const double* totals) {
                         float* const scores = run.out<float>(1);
                         float* const out = scores == nullptr ? nullptr : scores + row * std::ssize(classes.labels);
                         run.out<int64_t>()[row] = classes.labels[Score(classes, totals, out)];
                       });
}

constexpr std::array kListedTreeOperators = {
    ReferenceRow{.op = "TreeEnsembleClassifier", .make = Classifier, .domain = "ai.onnx.ml"},
    ReferenceRow{.op = "TreeEnsembleRegressor", .make = Regressor, .domain = "ai.onnx.ml"},
};

}  // namespace

std::span<const ReferenceRow> ListedTreeOperators() { return kListedTreeOperators; }

}  // namespace pt::reference
