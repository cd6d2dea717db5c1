#include "lib/planner/proofs/bound_cases.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "lib/planner/proofs/least_times.h"

namespace pt {
namespace {

constexpr size_t kMostDecided = 5;  // nodes of a segment
// Nodes of the graph times cases: each case takes as long as the bound itself. Some two seconds.
constexpr size_t kMostWork = 5000;
constexpr size_t kMostNodes = 50;  // of a segment: in larger ones a few nodes decide little

bool IsOnHost(const Option& option) { return IsHost(option.device); }

class Cases {
 public:
  Cases(const Space& space, const Segments& segments)
      : space_(space), segments_(segments), moves_(space, segments, MoveSegments::Borders::kCross) {}

  CasesBound Run() {
    const PathsBound paths = BoundByPaths(space_, segments_, moves_);
    CasesBound bound;
    bound.paths_ns = std::max(paths.whole_ns, paths.chain.Shortest());
    Decide(HowMany());
    size_t most = 0;
    for (const std::vector<NodeId>& nodes : decided_) most = std::max(most, nodes.size());
    if (most == 0) return bound;
    std::optional<ChainBound> chain;
    for (uint32_t which = 0; which < uint32_t{1} << most; ++which) {
      const std::vector<bool> barred = BarredIn(which);
      const PathsBound found = BoundByPaths(space_, segments_, moves_, &barred);
      chain ? chain->OrElse(found.chain) : void(chain.emplace(found.chain));
    }
    bound.cases_ns = chain->Shortest();
    return bound;
  }

 private:
  size_t HowMany() const {
    size_t many = 0;
    while (many < kMostDecided && space_.graph().nodes().size() << (many + 1) <= kMostWork) ++many;
    return many;
  }

  // The nodes of each segment that take longest where they can run both on the host and elsewhere.
  void Decide(size_t most) {
    decided_.resize(segments_.count);
    std::vector<int64_t> ns(space_.graph().nodes().size(), 0);
    std::vector<size_t> sizes(segments_.count, 0);
    for (NodeId node : space_.order()) {
      const uint32_t segment = segments_.of_node[node.index()];
      if (segment == kNothing) continue;
      ++sizes[segment];
      int64_t on_host = kImpossible, elsewhere = kImpossible;
      for (uint32_t g : space_.groups_of(node)) {
        for (uint32_t o : space_.group(g).options) {
          const Option& option = space_.option(o);
          int64_t& least = IsOnHost(option) ? on_host : elsewhere;
          least = std::min(least, LeastOnPath(space_, option));
        }
      }
      if (on_host >= kImpossible || elsewhere >= kImpossible) continue;
      ns[node.index()] = std::min(on_host, elsewhere);
      decided_[segment].push_back(node);
    }
    for (size_t s = 0; s < decided_.size(); ++s) {
      std::vector<NodeId>& nodes = decided_[s];
      std::ranges::stable_sort(nodes, std::greater<>(), [&](NodeId node) { return ns[node.index()]; });
      nodes.resize(sizes[s] > kMostNodes ? 0 : std::min(nodes.size(), most));
    }
  }

  // By option. One bit for each node that is decided: set where it runs on the host.
  std::vector<bool> BarredIn(uint32_t which) const {
    std::vector<bool> barred(space_.options().size(), false);
    for (const std::vector<NodeId>& nodes : decided_) {
      for (size_t n = 0; n < nodes.size(); ++n) {
        const bool on_host = (which >> n & 1) != 0;
        for (uint32_t g : space_.groups_of(nodes[n])) {
          for (uint32_t o : space_.group(g).options) {
            if (IsOnHost(space_.option(o)) != on_host) barred[o] = true;
          }
        }
      }
    }
    return barred;
  }

  const Space& space_;
  const Segments& segments_;
  const MoveSegments moves_;
  std::vector<std::vector<NodeId>> decided_;  // by segment
};

}  // namespace

CasesBound BoundByCases(const Space& space, const Segments& segments) { return Cases(space, segments).Run(); }

}  // namespace pt
