#include "lib/backend/reference/forest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/classical_models.h"
#include "partitiontuner/graph/visit_type.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {

Result<Forest> Forest::Make(const ReferenceSite& site, const ListedTrees& listed, int64_t features) {
  Forest forest;
  if (features >= kMostFeature) return site.Unsupported("has too many features");
  forest.features_ = features;
  forest.targets_ = listed.targets;
  forest.votes_ = listed.votes;
  forest.members_ = listed.members;
  for (size_t i = 0; i < listed.nodes.size(); ++i) {
    const ListedTrees::Node& node = listed.nodes[i];
    if (node.branch == TreeBranch::kLeaf || (node.feature >= 0 && node.feature < features)) continue;
    return site.Invalid(listed.name(i) + " reads feature " + std::to_string(node.feature) + " of " +
                        std::to_string(features));
  }
  for (const Vote& vote : listed.votes) {
    if (vote.target >= 0 && vote.target < listed.targets) continue;
    return site.Invalid("a leaf has target " + std::to_string(vote.target) + " of " + std::to_string(listed.targets));
  }
  std::vector<bool> met(listed.nodes.size());
  for (const size_t root : listed.roots) PT_CHECK_OK(forest.Place(site, listed, root, met));
  for (size_t i = 0; i < listed.nodes.size(); ++i) {
    if (listed.nodes[i].branch == TreeBranch::kLeaf || met[i]) continue;
    return site.Invalid("no root leads to " + listed.name(i) + ": it is left over, or in a cycle");
  }
  return forest;
}

namespace {

// A question of order as "less", or "at most": x > s is the opposite of x <= s.
struct Order {
  bool strict = false;   // less, not at most
  bool swapped = false;  // rows for which it holds go to the false child
};

std::optional<Order> OrderOf(TreeBranch branch) {
  switch (branch) {
    case TreeBranch::kLessOrEqual:
      return Order{false, false};
    case TreeBranch::kGreater:
      return Order{false, true};
    case TreeBranch::kLess:
      return Order{true, false};
    case TreeBranch::kGreaterOrEqual:
      return Order{true, true};
    default:
      return std::nullopt;
  }
}

}  // namespace

Status Forest::Place(const ReferenceSite& site, const ListedTrees& listed, size_t root, std::vector<bool>& met) {
  struct Open {
    size_t listed, at;
  };
  const auto grow = [&](size_t count) {
    const size_t first = nodes_.size();
    nodes_.resize(first + count);
    ranges_.resize(first + count);
    branches_.resize(first + count, TreeBranch::kLessOrEqual);
    return first;
  };
  std::vector<Open> open = {{root, grow(1)}};
  roots_.push_back(static_cast<uint32_t>(open.front().at));
  while (!open.empty()) {
    const auto [from, at] = open.back();
    open.pop_back();
    const ListedTrees::Node& node = listed.nodes[from];
    ranges_[at] = {static_cast<uint32_t>(node.begin), static_cast<uint32_t>(node.end)};
    if (node.branch == TreeBranch::kLeaf) {
      nodes_[at] = {std::numeric_limits<double>::infinity(), static_cast<uint32_t>(at),
                    static_cast<uint32_t>(features_) & kMostFeature, 0, 0};
      continue;
    }
    if (met[from]) return site.Invalid(listed.name(from) + " is in more than one place of the trees");
    met[from] = true;
    const std::optional<Order> order = std::isnan(node.split) ? std::nullopt : OrderOf(node.branch);
    const bool strict = order && order->strict, swapped = order && order->swapped;
    plain_ = plain_ && order;
    branches_[at] = !order ? node.branch : strict ? TreeBranch::kLess : TreeBranch::kLessOrEqual;
    const size_t children = grow(2);
    if (children + 2 > std::numeric_limits<uint32_t>::max()) return site.Unsupported("has too many nodes");
    nodes_[at] = {node.split, static_cast<uint32_t>(children), static_cast<uint32_t>(node.feature) & kMostFeature,
                  strict ? 1U : 0U, node.missing_is_true == swapped ? 1U : 0U};
    open.push_back({swapped ? node.on_true : node.on_false, children + 1});
    open.push_back({swapped ? node.on_false : node.on_true, children});
  }
  return {};
}

bool Forest::Holds(uint32_t at, double x) const {
  const double split = nodes_[at].split;
  if (std::isnan(x)) {
    if (nodes_[at].nan == 0) return true;
    if (branches_[at] == TreeBranch::kLessOrEqual || branches_[at] == TreeBranch::kLess) return false;
  }
  switch (branches_[at]) {
    case TreeBranch::kLess:
      return x < split;
    case TreeBranch::kLessOrEqual:
      return x <= split;
    case TreeBranch::kGreater:
      return x > split;
    case TreeBranch::kGreaterOrEqual:
      return x >= split;
    case TreeBranch::kEqual:
      return x == split;
    case TreeBranch::kNotEqual:
      return x != split;
    default:
      break;
  }
  const auto begin = members_.begin() + ranges_[at].begin, end = members_.begin() + ranges_[at].end;
  return std::find(begin, end, x) != end;
}

uint32_t Forest::Walk(uint32_t root, const double* row) const {
  uint32_t at = root;
  while (nodes_[at].next != at) at = nodes_[at].next + (Holds(at, row[nodes_[at].feature]) ? 0 : 1);
  return at;
}

// Each walk waits for its own loads only, and no branch has to be foretold.
template <int64_t N>
void Forest::WalkPlain(const double* rows, int64_t row_step, uint32_t* at) const {
  const Node* const nodes = nodes_.data();
  uint32_t moved = 1;
  while (moved != 0) {
    moved = 0;
    for (int64_t i = 0; i < N; ++i) {
      const Node node = nodes[at[i]];
      const double x = rows[i * row_step + node.feature];
      const uint32_t less = x < node.split ? 1 : 0, at_most = x <= node.split ? 1 : 0, number = x == x ? 1 : 0;
      const uint32_t first = less | (at_most & ~node.strict);
      const uint32_t next = node.next + (~first & (number | node.nan) & 1U);
      moved |= next ^ at[i];
      at[i] = next;
    }
  }
}

void Forest::AddVotes(uint32_t leaf, TreeAggregate aggregate, double* totals) const {
  const Range range = ranges_[leaf];
  for (uint32_t v = range.begin; v < range.end; ++v) {
    double& to = totals[votes_[v].target];
    const double weight = votes_[v].weight;
    if (aggregate == TreeAggregate::kMin) {
      to = std::min(to, weight);
    } else if (aggregate == TreeAggregate::kMax) {
      to = std::max(to, weight);
    } else {
      to += weight;
    }
  }
}

constexpr int64_t kTogether = 8;  // walks

// Several trees at once.
void Forest::SumRow(const double* row, TreeAggregate aggregate, double* totals) const {
  uint32_t leaves[kTogether];
  size_t tree = 0;
  for (; plain_ && tree + kTogether <= roots_.size(); tree += kTogether) {
    std::copy_n(roots_.data() + tree, kTogether, leaves);
    WalkPlain<kTogether>(row, 0, leaves);
    for (const uint32_t leaf : leaves) AddVotes(leaf, aggregate, totals);
  }
  for (; tree < roots_.size(); ++tree) AddVotes(Walk(roots_[tree], row), aggregate, totals);
}

void Forest::Sum(const double* rows, int64_t count, TreeAggregate aggregate, double start, double* totals) const {
  const int64_t columns = features_ + 1, together = plain_ ? count / kTogether * kTogether : 0;
  std::fill_n(totals, count * targets_, start);
  for (size_t tree = 0; together > 0 && tree < roots_.size(); ++tree) {
    uint32_t leaves[kBlock];
    std::fill_n(leaves, together, roots_[tree]);
    for (int64_t r = 0; r < together; r += kTogether) WalkPlain<kTogether>(rows + r * columns, columns, leaves + r);
    for (int64_t r = 0; r < together; ++r) AddVotes(leaves[r], aggregate, totals + r * targets_);
  }
  for (int64_t r = together; r < count; ++r) SumRow(rows + r * columns, aggregate, totals + r * targets_);
}

namespace {

// Rows of the input in double, each with a 0 behind it.
void Widen(DataType type, const void* from, int64_t first, int64_t count, int64_t features, double* to) {
  VisitType(type, [&]<typename T>() {
    if constexpr (std::is_arithmetic_v<T>) {
      using Compared = std::conditional_t<std::is_integral_v<T>, float, T>;
      const T* x = static_cast<const T*>(from) + first * features;
      for (int64_t r = 0; r < count; ++r) {
        for (int64_t f = 0; f < features; ++f) *to++ = static_cast<double>(static_cast<Compared>(*x++));
        *to++ = 0;
      }
    }
  });
}

}  // namespace

Result<ReferenceRoutine> ForestRoutine(
    const ReferenceSite& site, Forest forest, TreeAggregate aggregate, double start, int64_t rows,
    std::function<void(const TensorCall& run, int64_t row, const double* totals)> finish) {
  PT_CHECK_OK(NeedFeatureType(site));
  const DataType type = site.in[0].type;
  const int64_t features = forest.features(), block_rows = std::min(Forest::kBlock, rows);
  const auto part = CheckedAdd(features + 1, forest.targets());
  const auto bytes =
      part ? CheckedProduct(std::array<int64_t, 4>{*part, block_rows, sizeof(double), site.width}) : std::nullopt;
  if (!bytes) return site.Unsupported("has too many features or targets");
  const auto shared = std::make_shared<const Forest>(std::move(forest));  // a routine is copied
  const int64_t width = site.width;
  ReferenceRoutine routine{[=](const TensorCall& run) -> Status {
    const double work = static_cast<double>(shared->trees()) * 30;
    ParallelParts(run.team, rows, work, width, [&](int64_t number, int64_t begin, int64_t end) {
      double* const block = reinterpret_cast<double*>(run.scratch) + number * *part * block_rows;
      double* const totals = block + (features + 1) * block_rows;
      for (int64_t r = begin; r < end; r += Forest::kBlock) {
        const int64_t count = std::min(Forest::kBlock, end - r);
        Widen(type, run.in<void>(0), r, count, features, block);
        shared->Sum(block, count, aggregate, start, totals);
        for (int64_t i = 0; i < count; ++i) finish(run, r + i, totals + i * shared->targets());
      }
    });
    return {};
  }};
  routine.scratch_bytes = static_cast<uint64_t>(*bytes);
  return routine;
}

}  // namespace pt::reference
