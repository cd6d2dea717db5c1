// TreeEnsemble of ai.onnx.ml from version 5 on: decision trees, whose leaves add to the targets of each row.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lib/backend/reference/forest.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

// Reads and checks the attributes of one node.
class Reader {
 public:
  explicit Reader(const ReferenceSite& site) : site_(site) {
    listed_.name = [](size_t i) { return "node " + std::to_string(i); };
  }

  Result<Forest> Read(int64_t features) {
    PT_CHECK_OK(ReadLists());
    PT_CHECK_OK(ReadNodes());
    PT_CHECK_OK(ReadMembers());
    PT_CHECK_OK(ReadLeaves());
    PT_CHECK_OK(Link());
    return Forest::Make(site_, listed_, features);
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
    PT_ASSIGN(splits_, Numbers<double>("nodes_splits"));
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
    for (size_t i = 0; i < features_of_.size(); ++i) {
      ListedTrees::Node& node = listed_.nodes.emplace_back();
      if (modes_[i] < 0 || modes_[i] >= static_cast<int64_t>(Branch::kLeaf))
        return site_.Invalid(listed_.name(i) + " has the unknown mode " + std::to_string(modes_[i]));
      node.feature = features_of_[i];
      node.branch = static_cast<Branch>(modes_[i]);  // numbered alike
      node.missing_is_true = !missing_.empty() && missing_[i] != 0;
      node.split = splits_[i];
    }
    return {};
  }

  // Sets of members in the order of the nodes that ask for them, each closed by NaN.
  Status ReadMembers() {
    PT_ASSIGN(listed_.members, Numbers<double>("membership_values"));
    const std::vector<double>& members = listed_.members;
    size_t at = 0;
    for (ListedTrees::Node& node : listed_.nodes) {
      if (node.branch != Branch::kMember) continue;
      node.begin = at;
      while (at < members.size() && !std::isnan(members[at])) ++at;
      if (at == members.size()) return site_.Invalid("membership_values has too few sets");
      node.end = at++;
    }
    if (at != members.size()) return site_.Invalid("membership_values has more sets than nodes ask for");
    return {};
  }

  Status ReadLeaves() {
    const std::vector<int64_t> targets = site_.node.ints_or("leaf_targetids", {});
    PT_ASSIGN(const std::vector<double> weights, Numbers<double>("leaf_weights"));
    listed_.targets = site_.node.int_or("n_targets", 1);
    if (listed_.targets < 1) return site_.Invalid("n_targets is " + std::to_string(listed_.targets));
    if (weights.size() != targets.size()) return site_.Invalid("leaf_weights and leaf_targetids differ in length");
    for (size_t i = 0; i < targets.size(); ++i) {
      listed_.votes.push_back({targets[i], weights[i]});
      ListedTrees::Node& leaf = listed_.nodes.emplace_back();
      leaf.begin = i;
      leaf.end = i + 1;
    }
    return {};
  }

  // Leaves stand behind the inner nodes.
  Status Link() {
    const size_t inner = features_of_.size(), leaves = listed_.nodes.size() - inner;
    const auto link = [&](int64_t id, int64_t leaf, size_t& to) {
      to = static_cast<size_t>(id) + (leaf != 0 ? inner : 0);
      return id >= 0 && static_cast<size_t>(id) < (leaf != 0 ? leaves : inner);
    };
    for (size_t i = 0; i < inner; ++i) {
      ListedTrees::Node& node = listed_.nodes[i];
      if (!link(true_ids_[i], true_leafs_[i], node.on_true) || !link(false_ids_[i], false_leafs_[i], node.on_false))
        return site_.Invalid(listed_.name(i) + " leads to a node or leaf that does not exist");
    }
    for (const int64_t root : site_.node.ints_or("tree_roots", {})) {
      if (root < 0 || static_cast<size_t>(root) >= inner)
        return site_.Invalid("there is no root " + std::to_string(root));
      listed_.roots.push_back(static_cast<size_t>(root));
    }
    return {};
  }

  const ReferenceSite& site_;
  std::vector<int64_t> features_of_, true_ids_, false_ids_, true_leafs_, false_leafs_, missing_, modes_;
  std::vector<double> splits_;
  ListedTrees listed_;
};

// What a target starts at that is the least or greatest of its votes.
template <typename T>
double StartOf(Aggregate aggregate) {
  if (aggregate == Aggregate::kMin) return std::numeric_limits<T>::max();
  return aggregate == Aggregate::kMax ? std::numeric_limits<T>::lowest() : 0;
}

Result<ReferenceRoutine> TreeEnsemble(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  if (site.in[0].rank() != 2) return site.Invalid("its input does not have dims [rows, features]");
  if (site.node.int_or("post_transform", 0) != 0) return site.Unsupported("is not supported with a post_transform");
  const int64_t aggregate_function = site.node.int_or("aggregate_function", 1);
  if (aggregate_function < 0 || aggregate_function > 3)
    return site.Invalid("unknown aggregate_function " + std::to_string(aggregate_function) +
                        "; expected 0 to 3 (average, sum, min, max)");
  const auto aggregate = static_cast<Aggregate>(aggregate_function);
  const int64_t rows = site.in[0].dims[0];
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    PT_ASSIGN(Forest forest, Reader(site).Read(site.in[0].dims[1]));
    const int64_t targets = forest.targets();
    PT_CHECK_OK(site.Out(0, site.in[0].type, {rows, targets}));
    const double trees = aggregate == Aggregate::kAverage ? static_cast<double>(forest.trees()) : 1;
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
