// TreeEnsemble of ai.onnx.ml from version 5 on: decision trees, whose leaves add to the targets of each row.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lib/backend/reference/forest.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/decision_trees.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

// Makes a forest of what one node says.
class ForestMaker {
 public:
  ForestMaker(const ReferenceSite& site, const TreeEnsembleNode& node) : site_(site), node_(node) {
    listed_.name = [](size_t i) { return "node " + std::to_string(i); };
  }

  Result<Forest> Make(int64_t features) {
    listed_.targets = node_.targets;
    listed_.members = node_.members;
    AddNodes();
    PT_CHECK_OK(FindMembers());
    AddLeaves();
    PT_CHECK_OK(Link());
    return Forest::Make(site_, listed_, features);
  }

 private:
  void AddNodes() {
    for (size_t i = 0; i < node_.features.size(); ++i) {
      ListedTrees::Node& node = listed_.nodes.emplace_back();
      node.feature = node_.features[i];
      node.branch = node_.branches[i];
      node.missing_is_true = !node_.missing_is_true.empty() && node_.missing_is_true[i] != 0;
      node.split = node_.splits[i];
    }
  }

  // Sets of members in the order of the nodes that ask for them.
  Status FindMembers() {
    const std::vector<double>& members = listed_.members;
    size_t at = 0;
    for (ListedTrees::Node& node : listed_.nodes) {
      if (node.branch != TreeBranch::kMember) continue;
      node.begin = at;
      while (at < members.size() && !std::isnan(members[at])) ++at;
      if (at == members.size()) return site_.Invalid("membership_values has too few sets");
      node.end = at++;
    }
    if (at != members.size()) return site_.Invalid("membership_values has more sets than nodes ask for");
    return {};
  }

  void AddLeaves() {
    for (size_t i = 0; i < node_.leaf_targets.size(); ++i) {
      listed_.votes.push_back({node_.leaf_targets[i], node_.leaf_weights[i]});
      ListedTrees::Node& leaf = listed_.nodes.emplace_back();
      leaf.begin = i;
      leaf.end = i + 1;
    }
  }

  // Leaves stand behind the inner nodes.
  Status Link() {
    const size_t inner = node_.features.size(), leaves = listed_.nodes.size() - inner;
    const auto link = [&](int64_t id, int64_t leaf, size_t& to) {
      to = static_cast<size_t>(id) + (leaf != 0 ? inner : 0);
      return id >= 0 && static_cast<size_t>(id) < (leaf != 0 ? leaves : inner);
    };
    for (size_t i = 0; i < inner; ++i) {
      ListedTrees::Node& node = listed_.nodes[i];
      if (!link(node_.on_true[i], node_.true_is_leaf[i], node.on_true) ||
          !link(node_.on_false[i], node_.false_is_leaf[i], node.on_false)) {
        return site_.Invalid(listed_.name(i) + " leads to a node or leaf that does not exist");
      }
    }
    for (const int64_t root : node_.roots) {
      if (root < 0 || static_cast<size_t>(root) >= inner)
        return site_.Invalid("there is no root " + std::to_string(root));
      listed_.roots.push_back(static_cast<size_t>(root));
    }
    return {};
  }

  const ReferenceSite& site_;
  const TreeEnsembleNode& node_;
  ListedTrees listed_;
};

// What a target starts at that is the least or greatest of its votes.
template <typename T>
double StartOf(TreeAggregate aggregate) {
  if (aggregate == TreeAggregate::kMin) return std::numeric_limits<T>::max();
  return aggregate == TreeAggregate::kMax ? std::numeric_limits<T>::lowest() : 0;
}

Result<ReferenceRoutine> TreeEnsemble(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  if (site.in[0].rank() != 2) return site.Invalid("its input does not have dims [rows, features]");
  PT_ASSIGN(const TreeEnsembleNode node, OrInvalid(ReadTreeEnsemble(site.node), site));
  if (node.has_post_transform) return site.Unsupported("is not supported with a post_transform");
  const TreeAggregate aggregate = node.aggregate;
  const int64_t rows = site.in[0].dims[0];
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    PT_ASSIGN(Forest forest, ForestMaker(site, node).Make(site.in[0].dims[1]));
    const int64_t targets = forest.targets();
    PT_CHECK_OK(site.Out(0, site.in[0].type, {rows, targets}));
    const double trees = aggregate == TreeAggregate::kAverage ? static_cast<double>(forest.trees()) : 1;
    return ForestRoutine(site, std::move(forest), aggregate, StartOf<T>(aggregate), rows,
                         [=](const TensorCall& run, int64_t row, const double* totals) {
                           T* const out = run.out<T>() + row * targets;
                           for (int64_t t = 0; t < targets; ++t) out[t] = static_cast<T>(totals[t] / trees);
                         });
  });
}

constexpr std::array kTreeEnsembleOperators = {
    ReferenceRow{
        .op = "TreeEnsemble", .make = TreeEnsemble, .feeding = Feeding::kWidened, .since = 5, .domain = "ai.onnx.ml"},
};

}  // namespace

std::span<const ReferenceRow> TreeEnsembleOperators() { return kTreeEnsembleOperators; }

}  // namespace pt::reference
