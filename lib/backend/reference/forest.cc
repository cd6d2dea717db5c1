#include "lib/backend/reference/forest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/classical_models.h"
#include "partitiontuner/graph/visit_type.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {

Result<Forest> Forest::Make(const ReferenceSite& site, const ListedTrees& listed, int64_t features) {
  Forest forest;
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

Status Forest::Place(const ReferenceSite& site, const ListedTrees& listed, size_t root, std::vector<bool>& met) {
  struct Open {
    size_t listed, at;
  };
  const auto grow = [&](size_t count) {
    const size_t first = nodes_.size();
    nodes_.resize(first + count);
    ranges_.resize(first + count);
    branches_.resize(first + count, {TreeBranch::kLeaf, false});
    return first;
  };
  std::vector<Open> open = {{root, grow(1)}};
  roots_.push_back(static_cast<uint32_t>(open.front().at));
  while (!open.empty()) {
    const auto [from, at] = open.back();
    open.pop_back();
    const ListedTrees::Node& node = listed.nodes[from];
    ranges_[at] = {static_cast<uint32_t>(node.begin), static_cast<uint32_t>(node.end)};
    branches_[at] = {node.branch, node.missing_is_true};
    if (node.branch == TreeBranch::kLeaf) {
      nodes_[at] = {std::numeric_limits<double>::infinity(), static_cast<uint32_t>(at),
                    static_cast<uint32_t>(features_)};
      continue;
    }
    if (met[from]) return site.Invalid(listed.name(from) + " is in more than one place of the trees");
    met[from] = true;
    plain_ = plain_ && node.branch == TreeBranch::kLessOrEqual && !node.missing_is_true;
    const size_t children = grow(2);
    if (children + 2 > std::numeric_limits<uint32_t>::max()) return site.Unsupported("has too many nodes");
    nodes_[at] = {node.split, static_cast<uint32_t>(children), static_cast<uint32_t>(node.feature)};
    open.push_back({node.on_false, children + 1});
    open.push_back({node.on_true, children});
  }
  return {};
}

bool Forest::Holds(uint32_t at, double x) const {
  const double split = nodes_[at].split;
  if (branches_[at].second && std::isnan(x)) return true;
  switch (branches_[at].first) {
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

// N rows at once: each waits for its own loads only, and no branch has to be foretold.
template <int64_t N>
void Forest::WalkPlain(uint32_t root, const double* rows, uint32_t* leaves) const {
  const Node* const nodes = nodes_.data();
  const int64_t columns = features_ + 1;
  for (int64_t i = 0; i < N; ++i) leaves[i] = root;
  uint32_t moved = 1;
  while (moved != 0) {
    moved = 0;
    for (int64_t i = 0; i < N; ++i) {
      const Node node = nodes[leaves[i]];
      const uint32_t next = node.next + (rows[i * columns + node.feature] <= node.split ? 0U : 1U);
      moved |= next ^ leaves[i];
      leaves[i] = next;
    }
  }
}

void Forest::Sum(const double* rows, int64_t count, TreeAggregate aggregate, double start, double* totals) const {
  constexpr int64_t kTogether = 8;
  const int64_t columns = features_ + 1;
  std::fill_n(totals, count * targets_, start);
  uint32_t leaves[kBlock];
  for (const uint32_t root : roots_) {
    int64_t r = 0;
    for (; plain_ && r + kTogether <= count; r += kTogether) {
      WalkPlain<kTogether>(root, rows + r * columns, leaves + r);
    }
    for (; r < count; ++r) leaves[r] = Walk(root, rows + r * columns);
    for (r = 0; r < count; ++r) {
      double* const total = totals + r * targets_;
      const Range range = ranges_[leaves[r]];
      for (uint32_t v = range.begin; v < range.end; ++v) {
        const Vote& vote = votes_[v];
        double& to = total[vote.target];
        if (aggregate == TreeAggregate::kMin) {
          to = std::min(to, vote.weight);
        } else if (aggregate == TreeAggregate::kMax) {
          to = std::max(to, vote.weight);
        } else {
          to += vote.weight;
        }
      }
    }
  }
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
