// TreeEnsemble of ai.onnx.ml: decision trees, whose leaves add to the targets of each row.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

enum class Branch : uint8_t { kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kEqual, kNotEqual, kMember };

// A node of a tree, or, where feature is -1, a leaf.
template <typename T>
struct TreeNode {
  int64_t feature = -1;
  Branch branch = Branch::kLess;
  bool missing_is_true = false;         // where NaN goes
  T split = 0;                          // of a leaf: its weight
  size_t members = 0, members_end = 0;  // kMember: which of the ensemble's members
  int64_t on_true = 0, on_false = 0;    // indices of nodes
  int64_t target = 0;                   // of a leaf
};

enum class Aggregate : uint8_t { kAverage, kSum, kMin, kMax };

template <typename T>
struct Ensemble {
  std::vector<TreeNode<T>> nodes;  // inner nodes as the attributes number them, then leaves
  std::vector<T> members;
  std::vector<int64_t> roots;
  int64_t targets = 0;
  Aggregate aggregate = Aggregate::kSum;

  bool Holds(const TreeNode<T>& node, T x) const {
    if (std::isnan(x) && node.missing_is_true) return true;
    switch (node.branch) {
      case Branch::kLess:
        return x < node.split;
      case Branch::kLessOrEqual:
        return x <= node.split;
      case Branch::kGreater:
        return x > node.split;
      case Branch::kGreaterOrEqual:
        return x >= node.split;
      case Branch::kEqual:
        return x == node.split;
      case Branch::kNotEqual:
        return x != node.split;
      case Branch::kMember:
        break;
    }
    const auto begin = members.begin() + static_cast<std::ptrdiff_t>(node.members),
               end = members.begin() + static_cast<std::ptrdiff_t>(node.members_end);
    return std::find(begin, end, x) != end;
  }

  void Add(const T* row, T* out) const {
    for (const int64_t root : roots) {
      const TreeNode<T>* at = &nodes[static_cast<size_t>(root)];
      while (at->feature >= 0) {
        at = &nodes[static_cast<size_t>(Holds(*at, row[at->feature]) ? at->on_true : at->on_false)];
      }
      T& target = out[at->target];
      switch (aggregate) {
        case Aggregate::kAverage:
          target += at->split / static_cast<T>(roots.size());
          break;
        case Aggregate::kSum:
          target += at->split;
          break;
        case Aggregate::kMin:
          target = std::min(target, at->split);
          break;
        case Aggregate::kMax:
          target = std::max(target, at->split);
          break;
      }
    }
  }

  T start() const {
    if (aggregate == Aggregate::kMin) return std::numeric_limits<T>::max();
    return aggregate == Aggregate::kMax ? std::numeric_limits<T>::lowest() : T{0};
  }
};

// Reads and checks the attributes of one node.
template <typename T>
class Reader {
 public:
  Reader(const Site& site, int64_t features) : site_(site), features_(features) {}

  Result<Ensemble<T>> Read() {
    PT_CHECK_OK(ReadLists());
    PT_CHECK_OK(ReadNodes());
    PT_CHECK_OK(ReadMembers());
    PT_CHECK_OK(ReadLeaves());
    PT_CHECK_OK(CheckTrees());
    const int64_t aggregate = site_.node.int_or("aggregate_function", 1);
    if (aggregate < 0 || aggregate > 3) return site_.Invalid("unknown aggregate_function " + std::to_string(aggregate));
    ensemble_.aggregate = static_cast<Aggregate>(aggregate);
    return std::move(ensemble_);
  }

 private:
  // Tensors as numbers of type N; one that is absent is empty.
  template <typename N>
  Result<std::vector<N>> Numbers(std::string_view name) const {
    const Attribute* found = site_.node.find(name);
    if (found == nullptr) return std::vector<N>();
    const auto* tensor = std::get_if<Tensor>(found);
    if (tensor == nullptr || (std::is_integral_v<N> ? !IsInteger(tensor->type()) : !IsFloating(tensor->type())) ||
        !IsLoadable(tensor->type())) {
      return site_.Invalid(std::string(name) + " is not a tensor of the right type");
    }
    std::vector<N> numbers;
    for (int64_t i = 0; i < tensor->element_count(); ++i) {
      numbers.push_back(static_cast<N>(LoadAs<double>(tensor->type(), tensor->bytes().data(), i)));
    }
    return numbers;
  }

  Status ReadLists() {
    const auto list = [&](std::string_view name) { return site_.node.ints_or(name, {}); };
    features_of_ = list("nodes_featureids");
    true_ids_ = list("nodes_truenodeids");
    false_ids_ = list("nodes_falsenodeids");
    true_leafs_ = list("nodes_trueleafs");
    false_leafs_ = list("nodes_falseleafs");
    missing_ = list("nodes_missing_value_tracks_true");
    PT_ASSIGN(splits_, Numbers<T>("nodes_splits"));
    PT_ASSIGN(modes_, Numbers<int64_t>("nodes_modes"));
    const size_t count = features_of_.size();
    if (count == 0 || true_ids_.size() != count || false_ids_.size() != count || true_leafs_.size() != count ||
        false_leafs_.size() != count || splits_.size() != count || modes_.size() != count ||
        (!missing_.empty() && missing_.size() != count)) {
      return site_.Invalid("its lists of nodes are empty or of different lengths");
    }
    return {};
  }

  Status ReadNodes() {
    constexpr std::array kBranches = {Branch::kLessOrEqual, Branch::kLess,  Branch::kGreaterOrEqual,
                                      Branch::kGreater,     Branch::kEqual, Branch::kNotEqual,
                                      Branch::kMember};
    for (size_t i = 0; i < features_of_.size(); ++i) {
      const auto refuse = [&](const std::string& why) { return site_.Invalid("node " + std::to_string(i) + why); };
      TreeNode<T>& node = ensemble_.nodes.emplace_back();
      if (features_of_[i] < 0 || features_of_[i] >= features_)
        return refuse(" reads feature " + std::to_string(features_of_[i]) + " of " + std::to_string(features_));
      if (modes_[i] < 0 || modes_[i] >= static_cast<int64_t>(kBranches.size()))
        return refuse(" has the unknown mode " + std::to_string(modes_[i]));
      node.feature = features_of_[i];
      node.branch = kBranches[static_cast<size_t>(modes_[i])];
      node.missing_is_true = !missing_.empty() && missing_[i] != 0;
      node.split = splits_[i];
    }
    return {};
  }

  // Sets of members in the order of the nodes that ask for them, each closed by NaN.
  Status ReadMembers() {
    PT_ASSIGN(ensemble_.members, Numbers<T>("membership_values"));
    const std::vector<T>& members = ensemble_.members;
    size_t at = 0;
    for (TreeNode<T>& node : ensemble_.nodes) {
      if (node.branch != Branch::kMember) continue;
      node.members = at;
      while (at < members.size() && !std::isnan(members[at])) ++at;
      if (at == members.size()) return site_.Invalid("membership_values has too few sets");
      node.members_end = at++;
    }
    if (at != members.size()) return site_.Invalid("membership_values has more sets than nodes ask for");
    return {};
  }

  Status ReadLeaves() {
    const std::vector<int64_t> targets = site_.node.ints_or("leaf_targetids", {});
    PT_ASSIGN(const std::vector<T> weights, Numbers<T>("leaf_weights"));
    ensemble_.targets = site_.node.int_or("n_targets", 1);
    if (ensemble_.targets < 1) return site_.Invalid("n_targets is " + std::to_string(ensemble_.targets));
    if (weights.size() != targets.size()) return site_.Invalid("leaf_weights and leaf_targetids differ in length");
    for (size_t i = 0; i < targets.size(); ++i) {
      if (targets[i] < 0 || targets[i] >= ensemble_.targets)
        return site_.Invalid("leaf " + std::to_string(i) + " has target " + std::to_string(targets[i]) + " of " +
                             std::to_string(ensemble_.targets));
      TreeNode<T>& leaf = ensemble_.nodes.emplace_back();
      leaf.split = weights[i];
      leaf.target = targets[i];
    }
    return {};
  }

  // Links nodes and walks all trees: every node is in one place of one tree, so that no walk goes round.
  Status CheckTrees() {
    const auto inner = static_cast<int64_t>(features_of_.size()), all = static_cast<int64_t>(ensemble_.nodes.size());
    const auto link = [&](int64_t id, int64_t leaf, int64_t& to) {
      to = leaf != 0 ? id + inner : id;
      return id >= 0 && id < (leaf != 0 ? all - inner : inner);
    };
    for (size_t i = 0; i < features_of_.size(); ++i) {
      TreeNode<T>& node = ensemble_.nodes[i];
      if (!link(true_ids_[i], true_leafs_[i], node.on_true) || !link(false_ids_[i], false_leafs_[i], node.on_false))
        return site_.Invalid("node " + std::to_string(i) + " leads to a node or leaf that does not exist");
    }
    ensemble_.roots = site_.node.ints_or("tree_roots", {});
    std::vector<bool> met(static_cast<size_t>(inner), false);
    std::vector<int64_t> next;
    for (const int64_t root : ensemble_.roots) {
      if (root < 0 || root >= inner) return site_.Invalid("there is no root " + std::to_string(root));
      next.push_back(root);
    }
    while (!next.empty()) {
      const auto at = static_cast<size_t>(next.back());
      next.pop_back();
      if (met[at]) return site_.Invalid("node " + std::to_string(at) + " is in more than one place of the trees");
      met[at] = true;
      for (const int64_t to : {ensemble_.nodes[at].on_true, ensemble_.nodes[at].on_false}) {
        if (to < inner) next.push_back(to);
      }
    }
    return {};
  }

  const Site& site_;
  const int64_t features_;
  std::vector<int64_t> features_of_, true_ids_, false_ids_, true_leafs_, false_leafs_, missing_, modes_;
  std::vector<T> splits_;
  Ensemble<T> ensemble_;
};

Result<Routine> TreeEnsemble(Site& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  if (site.in[0].rank() != 2) return site.Invalid("its input does not have dims [rows, features]");
  if (site.node.int_or("post_transform", 0) != 0) return site.Unsupported("is not supported with a post_transform");
  const int64_t rows = site.in[0].dims[0], features = site.in[0].dims[1];
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<Routine> {
    PT_ASSIGN(Ensemble<T> ensemble, Reader<T>(site, features).Read());
    PT_CHECK_OK(site.Out(0, site.in[0].type, {rows, ensemble.targets}));
    return Routine{[=, ensemble = std::move(ensemble)](const Run& run) -> Status {
      const double work = static_cast<double>(ensemble.roots.size()) * 50;
      ParallelRanges(run.team, rows, work, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          T* out = run.out<T>() + r * ensemble.targets;
          std::fill_n(out, ensemble.targets, ensemble.start());
          ensemble.Add(run.in<T>(0) + r * features, out);
        }
      });
      return {};
    }};
  });
}

constexpr std::array kRows = {
    OperatorRow{
        .op = "TreeEnsemble", .make = TreeEnsemble, .feeding = Feeding::kWidened, .since = 5, .domain = "ai.onnx.ml"},
};

}  // namespace

std::span<const OperatorRow> TreeEnsembleOperators() { return kRows; }

}  // namespace pt::reference
