#include "lib/planner/bound_cases.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "lib/planner/least_times.h"

namespace pt {
namespace {

constexpr size_t kDecided = 3;      // nodes of a segment
constexpr size_t kMostNodes = 400;  // of a graph: each case takes as long as the bound itself

bool IsOnHost(const Option& option) { return IsHost(option.device); }

class Cases {
 public:
  Cases(const Space& space, const Segments& segments)
      : space_(space), segments_(segments), moves_(space, segments, MoveSegments::Borders::kCross) {}

  CasesBound Run() {
    const PathsBound paths = BoundByPaths(space_, segments_, moves_);
    CasesBound bound;
    bound.paths_ns = std::max(paths.whole_ns, paths.chain.Shortest());
    if (space_.graph().nodes().size() > kMostNodes) return bound;
    Decide();
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
  // The nodes of each segment that take longest where they can run both on the host and elsewhere.
  void Decide() {
    decided_.resize(segments_.count);
    std::vector<int64_t> ns(space_.graph().nodes().size(), 0);
    for (NodeId node : space_.order()) {
      const uint32_t segment = segments_.of_node[node.index()];
      if (segment == kNothing) continue;
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
    for (std::vector<NodeId>& nodes : decided_) {
      std::ranges::stable_sort(nodes, std::greater<>(), [&](NodeId node) { return ns[node.index()]; });
      if (nodes.size() > kDecided) nodes.resize(kDecided);
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
