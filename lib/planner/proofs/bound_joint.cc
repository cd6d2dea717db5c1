#include "lib/planner/proofs/bound_joint.h"

#include <algorithm>

#include "lib/planner/proofs/relaxation.h"

namespace pt {
namespace {

class Joint {
 public:
  Joint(const Space& space, const Segments& segments)
      : space_(space),
        segments_(segments),
        all_(OneSegment(space)),
        in_all_(space, all_, MoveSegments::Borders::kLeaveOut),
        in_segments_(space, segments, MoveSegments::Borders::kLeaveOut),
        groups_(WeightGroups(space)) {
    result_.segments_ns.assign(segments.count, 0);
  }

  JointBounds Run() {
    std::vector<double> shares(groups_.size(), 0);
    double hosts = 0;
    for (size_t g = 0; g < groups_.size(); ++g) hosts += groups_[g].resource.valid() ? 0 : 1;
    for (size_t g = 0; g < groups_.size(); ++g) shares[g] = groups_[g].resource.valid() ? 0 : 1 / hosts;
    Try(shares);
    if (groups_.size() == 1) return result_;
    // One group against the rest, its share narrowed towards the better side: the bound is concave in the weights. On
    // large graphs fewer weightings.
    const int rounds = space_.graph().nodes().size() > 2000 ? 1 : 7;
    for (size_t g = 0; g < groups_.size(); ++g) {
      double low = 0, high = 1;
      for (int round = 0; round < rounds; ++round) {
        const double third = (high - low) / 3;
        const double left = Try(With(shares, g, low + third));
        const double right = Try(With(shares, g, high - third));
        (left < right ? low : high) = left < right ? low + third : high - third;
      }
      shares = With(shares, g, (low + high) / 2);
    }
    Try(shares);
    return result_;
  }

 private:
  static std::vector<double> With(std::vector<double> shares, size_t group, double share) {
    const double rest = 1 - shares[group];
    for (size_t g = 0; g < shares.size(); ++g) {
      if (g == group) continue;
      shares[g] = rest > 1e-9 ? shares[g] / rest * (1 - share) : (1 - share) / static_cast<double>(shares.size() - 1);
    }
    shares[group] = share;
    return shares;
  }

  double Try(const std::vector<double>& shares) {
    const Pricing pricing{{LaneWeights(space_, groups_, shares)}};
    double whole = 0;
    const Relaxation relaxed(space_, in_all_, pricing);
    for (double price : relaxed.prices()) whole += price;
    result_.whole_ns = std::max(result_.whole_ns, whole);
    std::vector<double> sums(result_.segments_ns.size(), 0);
    const Pricing of_segment{{LaneWeights(space_, groups_, shares, LaneWeights::Launches::kLeaveOut)}};
    const Relaxation in_segments(space_, in_segments_, of_segment);
    const std::vector<double>& prices = in_segments.prices();
    for (size_t n = 0; n < prices.size(); ++n) {
      if (segments_.of_node[n] != kNothing) sums[segments_.of_node[n]] += prices[n];
    }
    for (size_t s = 0; s < sums.size(); ++s) result_.segments_ns[s] = std::max(result_.segments_ns[s], sums[s]);
    return whole;
  }

  const Space& space_;
  const Segments& segments_;
  const Segments all_;  // one
  const MoveSegments in_all_, in_segments_;
  const std::vector<WeightGroup> groups_;
  JointBounds result_;
};

}  // namespace

JointBounds BoundJointly(const Space& space, const Segments& segments) { return Joint(space, segments).Run(); }

}  // namespace pt
