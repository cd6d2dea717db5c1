// TreeEnsembleRegressor and TreeEnsembleClassifier of ai.onnx.ml, whose nodes and leaf weights are named by the number
// of their tree and a number within it. Transforms of scores but LOGISTIC are spelled out when a model loads.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lib/backend/reference/classical_models.h"
#include "lib/backend/reference/forest.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

struct Id {
  int64_t tree, node;
  auto operator<=>(const Id&) const = default;
};

// Reads and checks the attributes of one node.
class Reader {
 public:
  // role: "target" or "class", with which the attributes of leaf weights begin.
  Reader(const ReferenceSite& site, std::string role) : site_(site), role_(std::move(role)) {}

  Result<ListedTrees> Read(int64_t targets) {
    trees_.targets = targets;
    PT_CHECK_OK(ReadNodes());
    PT_CHECK_OK(Link());
    PT_CHECK_OK(FindRoots());
    PT_CHECK_OK(ReadVotes());
    trees_.name = [ids = ids_](size_t i) { return NameOf(ids[i]); };
    return std::move(trees_);
  }

  // A list of float32, or a tensor of the input's type in its place.
  Result<std::vector<double>> Numbers(const std::string& name) const {
    const Attribute* const tensor = site_.node.find(name + "_as_tensor");
    const Attribute* const list = site_.node.find(name);
    const auto* const floats = list == nullptr ? nullptr : std::get_if<std::vector<float>>(list);
    if (list != nullptr && floats == nullptr) return site_.Invalid(name + " is not a list of numbers");
    if (tensor == nullptr)
      return floats == nullptr ? std::vector<double>() : std::vector<double>(floats->begin(), floats->end());
    const auto* const numbers = std::get_if<Tensor>(tensor);
    if (numbers == nullptr || !IsFloating(numbers->type()) || !IsLoadable(numbers->type()))
      return site_.Invalid(name + "_as_tensor is not a tensor of real numbers");
    if (floats != nullptr && !floats->empty() && numbers->element_count() > 0)
      return site_.Invalid("both " + name + " and " + name + "_as_tensor are given; one is expected");
    std::vector<double> read;
    for (int64_t i = 0; i < numbers->element_count(); ++i)
      read.push_back(LoadAs<double>(numbers->type(), numbers->bytes().data(), i));
    return read.empty() && floats != nullptr ? std::vector<double>(floats->begin(), floats->end()) : read;
  }

 private:
  static std::string NameOf(Id id) { return "node " + std::to_string(id.node) + " of tree " + std::to_string(id.tree); }

  // kInvalidInput when a list is not as long as another.
  Status NeedLength(const std::string& name, size_t is, const std::string& like, size_t length) const {
    if (is == length) return {};
    return site_.Invalid(name + " has " + std::to_string(is) + " values and " + like + " " + std::to_string(length));
  }

  static std::optional<Branch> BranchOf(const std::string& mode) {
    static const std::map<std::string, Branch> branches = {{"BRANCH_LEQ", Branch::kLessOrEqual},
                                                           {"BRANCH_LT", Branch::kLess},
                                                           {"BRANCH_GTE", Branch::kGreaterOrEqual},
                                                           {"BRANCH_GT", Branch::kGreater},
                                                           {"BRANCH_EQ", Branch::kEqual},
                                                           {"BRANCH_NEQ", Branch::kNotEqual},
                                                           {"LEAF", Branch::kLeaf}};
    const auto at = branches.find(mode);
    return at == branches.end() ? std::nullopt : std::optional(at->second);
  }

  Status ReadNodes() {
    const auto list = [&](std::string_view name) { return site_.node.ints_or(name, {}); };
    const std::vector<int64_t> trees = list("nodes_treeids"), nodes = list("nodes_nodeids"),
                               features = list("nodes_featureids"), missing = list("nodes_missing_value_tracks_true");
    on_true_ = list("nodes_truenodeids");
    on_false_ = list("nodes_falsenodeids");
    const Attribute* const found = site_.node.find("nodes_modes");
    const auto* const modes = found == nullptr ? nullptr : std::get_if<std::vector<std::string>>(found);
    PT_ASSIGN(const std::vector<double> splits, Numbers("nodes_values"));
    const std::string ids = "nodes_treeids";
    if (trees.empty()) return site_.Invalid("has no nodes_treeids");
    PT_CHECK_OK(NeedLength("nodes_nodeids", nodes.size(), ids, trees.size()));
    PT_CHECK_OK(NeedLength("nodes_featureids", features.size(), ids, trees.size()));
    PT_CHECK_OK(NeedLength("nodes_values", splits.size(), ids, trees.size()));
    PT_CHECK_OK(NeedLength("nodes_modes", modes == nullptr ? 0 : modes->size(), ids, trees.size()));
    PT_CHECK_OK(NeedLength("nodes_truenodeids", on_true_.size(), ids, trees.size()));
    PT_CHECK_OK(NeedLength("nodes_falsenodeids", on_false_.size(), ids, trees.size()));
    if (!missing.empty()) PT_CHECK_OK(NeedLength("nodes_missing_value_tracks_true", missing.size(), ids, trees.size()));
    for (size_t i = 0; i < trees.size(); ++i) {
      ids_.push_back({trees[i], nodes[i]});
      if (!places_.emplace(ids_.back(), i).second) return site_.Invalid(NameOf(ids_.back()) + " is listed twice");
      const std::optional<Branch> branch = BranchOf((*modes)[i]);
      if (!branch) {
        return site_.Invalid(
            NameOf(ids_.back()) + " has the unknown mode \"" + (*modes)[i] +
            "\"; expected BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ or LEAF");
      }
      trees_.nodes.push_back({*branch, !missing.empty() && missing[i] != 0, features[i], splits[i]});
    }
    return {};
  }

  Status Link() {
    has_parent_.assign(ids_.size(), false);
    for (size_t i = 0; i < ids_.size(); ++i) {
      ListedTrees::Node& node = trees_.nodes[i];
      if (node.branch == Branch::kLeaf) continue;
      for (const auto& [child, to] : {std::pair(on_true_[i], &node.on_true), std::pair(on_false_[i], &node.on_false)}) {
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
  Status ReadVotes() {
    const auto list = [&](const char* name) { return site_.node.ints_or(role_ + name, {}); };
    const std::vector<int64_t> trees = list("_treeids"), nodes = list("_nodeids"), targets = list("_ids");
    PT_ASSIGN(const std::vector<double> weights, Numbers(role_ + "_weights"));
    PT_CHECK_OK(NeedLength(role_ + "_nodeids", nodes.size(), role_ + "_treeids", trees.size()));
    PT_CHECK_OK(NeedLength(role_ + "_ids", targets.size(), role_ + "_treeids", trees.size()));
    PT_CHECK_OK(NeedLength(role_ + "_weights", weights.size(), role_ + "_treeids", trees.size()));
    std::vector<std::vector<Vote>> votes(ids_.size());
    for (size_t i = 0; i < trees.size(); ++i) {
      const auto place = places_.find({trees[i], nodes[i]});
      if (place == places_.end())
        return site_.Invalid("a weight is for " + NameOf({trees[i], nodes[i]}) + ", which does not exist");
      votes[place->second].push_back({targets[i], weights[i]});
    }
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (trees_.nodes[i].branch != Branch::kLeaf) continue;
      trees_.nodes[i].begin = trees_.votes.size();
      trees_.votes.insert(trees_.votes.end(), votes[i].begin(), votes[i].end());
      trees_.nodes[i].end = trees_.votes.size();
    }
    return {};
  }

  const ReferenceSite& site_;
  const std::string role_;
  std::vector<Id> ids_;
  std::map<Id, size_t> places_;
  std::vector<int64_t> on_true_, on_false_;
  std::vector<bool> has_parent_;
  ListedTrees trees_;
};

Result<Aggregate> AggregateOf(const ReferenceSite& site) {
  const std::string name = site.node.string_or("aggregate_function", "SUM");
  if (name == "SUM") return Aggregate::kSum;
  if (name == "AVERAGE") return Aggregate::kAverage;
  if (name == "MIN") return Aggregate::kMin;
  if (name == "MAX") return Aggregate::kMax;
  return site.Invalid("unknown aggregate_function \"" + name + "\"; expected SUM, AVERAGE, MIN or MAX");
}

Result<ReferenceRoutine> Regressor(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const FeatureRows rows, FeatureRowsOf(site));
  const int64_t targets = site.node.int_or("n_targets", 0);
  if (targets < 1) return site.Invalid("n_targets is " + std::to_string(targets));
  PT_CHECK_OK(NeedNoTransform(site));
  PT_ASSIGN(const Aggregate aggregate, AggregateOf(site));
  Reader reader(site, "target");
  PT_ASSIGN(std::vector<double> base, reader.Numbers("base_values"));
  if (!base.empty() && std::ssize(base) != targets) {
    return site.Invalid("base_values has " + std::to_string(base.size()) + " values for " + std::to_string(targets) +
                        " targets");
  }
  PT_CHECK_OK(site.Out(0, DataType::kFloat32, {rows.count, targets}));
  base.resize(static_cast<size_t>(targets), 0);
  PT_ASSIGN(const ListedTrees listed, reader.Read(targets));
  PT_ASSIGN(Forest forest, Forest::Make(site, listed, rows.features));
  const double trees = aggregate == Aggregate::kAverage ? static_cast<double>(forest.trees()) : 1;
  const bool extreme = aggregate == Aggregate::kMin || aggregate == Aggregate::kMax;
  const double none = aggregate == Aggregate::kMin ? HUGE_VAL : -HUGE_VAL;  // of a target without votes, which is 0
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

Result<Classes> ReadClasses(const ReferenceSite& site, const Reader& reader) {
  Classes classes;
  classes.labels = site.node.ints_or("classlabels_int64s", {});
  if (classes.labels.size() < 2)
    return site.Unsupported("is not supported with " + std::to_string(classes.labels.size()) + " integer labels");
  classes.logistic = site.node.string_or("post_transform", "NONE") == "LOGISTIC";
  if (!classes.logistic) PT_CHECK_OK(NeedNoTransform(site));
  const std::vector<int64_t> ids = site.node.ints_or("class_ids", {});
  const auto all = [&](int64_t id) { return std::all_of(ids.begin(), ids.end(), [&](int64_t i) { return i == id; }); };
  classes.one_score = classes.labels.size() == 2 && all(0);
  if (classes.labels.size() == 2 && !classes.one_score && all(1))
    return site.Unsupported("is not supported where all weights of two classes are the second one's");
  PT_ASSIGN(const std::vector<double> weights, reader.Numbers("class_weights"));
  classes.probability = std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; });
  PT_ASSIGN(classes.base, reader.Numbers("base_values"));
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
  Reader reader(site, "class");
  PT_ASSIGN(Classes classes, ReadClasses(site, reader));
  const int64_t count = std::ssize(classes.labels);
  PT_CHECK_OK(site.Out(0, DataType::kInt64, {rows.count}));
  if (site.wants(1)) PT_CHECK_OK(site.Out(1, DataType::kFloat32, {rows.count, count}));
  PT_ASSIGN(const ListedTrees listed, reader.Read(count));
  PT_ASSIGN(Forest forest, Forest::Make(site, listed, rows.features));
  return ForestRoutine(site, std::move(forest), Aggregate::kSum, 0, rows.count,
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
