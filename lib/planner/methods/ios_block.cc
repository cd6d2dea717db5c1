#include "lib/planner/methods/ios_block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>

#include "lib/planner/schedule/space.h"

namespace pt {
namespace {

constexpr int kMostInPart = 3;              // as the authors; fewer where that takes too many endings
constexpr size_t kMostParts = 8;            // likewise
constexpr uint64_t kMostEndings = 200'000;  // of a block

class BlockSolver {
 public:
  explicit BlockSolver(const IosBlock& block)
      : block_(block),
        linked_(block.readers),
        contended_(
            std::any_of(block.demand.begin(), block.demand.end(), [](const IosDemand& d) { return d.share > 0; })) {
    for (size_t g = 0; g < block.ns.size(); ++g) {
      for (GroupSet left = block.readers[g]; left != 0; left &= left - 1) linked_[Lowest(left)] |= Bit(g);
    }
  }

  IosStages Run() {
    const GroupSet all = static_cast<GroupSet>((uint64_t{1} << block_.ns.size()) - 1);
    for (most_ = kMostInPart; most_ > 0; --most_) {
      endings_ = 0;
      best_.clear();
      best_[0] = {};
      Solve(all);
      if (endings_ <= kMostEndings) return Trace(all);
    }
    return OneByOne();
  }

 private:
  struct Best {
    int64_t ns = 0;
    GroupSet ending = 0;  // the last stage
    uint32_t merge = kNothing;
  };

  static GroupSet Bit(size_t g) { return GroupSet{1} << g; }
  static size_t Lowest(GroupSet set) { return static_cast<size_t>(std::countr_zero(set)); }

  int64_t Solve(GroupSet left) {
    if (const auto found = best_.find(left); found != best_.end()) return found->second.ns;
    Best best{INT64_MAX};
    ForEachEnding(left, left, 0, [&](GroupSet ending) {
      if (++endings_ > kMostEndings) return;
      std::optional<int64_t> ns = ConcurrentNs(ending, nullptr);
      const uint32_t merge = MergeOf(ending, ns.value_or(INT64_MAX));
      if (merge != kNothing) ns = block_.merges[merge].ns;
      if (!ns) return;
      const int64_t total = *ns + Solve(left & ~ending);
      if (total < best.ns) best = {total, ending, merge};
    });
    // Where too many endings were looked at, the result is not used.
    if (best.ending == 0) best = {0, left};
    return (best_[left] = best).ns;
  }

  // The fastest way to run the stage as one, where it is faster than that.
  uint32_t MergeOf(GroupSet stage, int64_t than_ns) const {
    uint32_t best = kNothing;
    for (uint32_t m = 0; m < block_.merges.size(); ++m) {
      if (block_.merges[m].groups != stage || block_.merges[m].ns >= than_ns) continue;
      than_ns = block_.merges[m].ns;
      best = m;
    }
    return best;
  }

  // Sets that hold with each group all of `left` that reads from it, decided from the last group to the first.
  template <typename Visit>
  void ForEachEnding(GroupSet left, GroupSet undecided, GroupSet ending, const Visit& visit) {
    if (endings_ > kMostEndings) return;
    if (undecided == 0) {
      if (ending != 0) visit(ending);
      return;
    }
    const size_t g = static_cast<size_t>(std::bit_width(undecided)) - 1;
    const GroupSet rest = undecided & ~Bit(g);
    if ((block_.readers[g] & left & ~ending) == 0 && std::popcount(PartOf(g, ending | Bit(g))) <= most_) {
      ForEachEnding(left, rest, ending | Bit(g), visit);
    }
    ForEachEnding(left, rest, ending, visit);
  }

  // What hangs together with g in the set.
  GroupSet PartOf(size_t g, GroupSet set) const {
    GroupSet part = Bit(g), fresh = part;
    while (fresh != 0) {
      const GroupSet next = linked_[Lowest(fresh)] & set & ~part;
      fresh = (fresh & (fresh - 1)) | next;
      part |= next;
    }
    return part;
  }

  // Until the last of its parts has ended; nothing when there are more parts than streams.
  std::optional<int64_t> ConcurrentNs(GroupSet stage, std::vector<uint32_t>* stream_of) const {
    std::vector<std::pair<int64_t, GroupSet>> parts;  // minus its time
    for (GroupSet left = stage; left != 0;) {
      const GroupSet part = PartOf(Lowest(left), stage);
      int64_t ns = 0;
      for (GroupSet in = part; in != 0; in &= in - 1) ns += block_.ns[Lowest(in)];
      parts.emplace_back(-ns, part);
      left &= ~part;
    }
    if (parts.size() > std::min(kMostParts, block_.streams)) return std::nullopt;
    std::sort(parts.begin(), parts.end());
    for (uint32_t p = 0; stream_of != nullptr && p < parts.size(); ++p) {
      for (GroupSet in = parts[p].second; in != 0; in &= in - 1) (*stream_of)[Lowest(in)] = p;
    }
    return SideBySideNs(parts);
  }

  // As the timeline has it: whenever a group begins or ends, what runs then shares the devices anew. `parts` by minus
  // their times.
  int64_t SideBySideNs(const std::vector<std::pair<int64_t, GroupSet>>& parts) const {
    const int64_t first_ns = -parts[0].first;
    if (parts.size() == 1) return first_ns;
    if (!contended_) return std::max(first_ns, 2 * block_.wait_ns - parts[1].first);
    const auto wait_ns = static_cast<double>(block_.wait_ns);
    std::vector<Running> running;
    for (const auto& [minus_ns, part] : parts) {
      running.push_back({part, static_cast<double>(block_.ns[Lowest(part)]), running.empty() ? 0 : wait_ns, wait_ns});
    }
    running.front().back_ns = 0;
    double now = 0, end = 0;
    while (!running.empty()) {
      double step = INFINITY;
      for (const Running& run : running) {
        step = std::min(step, run.waits_ns > 0 ? run.waits_ns : run.left_ns * Factor(run, running));
      }
      std::vector<Running> next;
      for (Running run : running) {
        if (run.waits_ns > 0) {
          run.waits_ns -= step;
        } else {
          run.left_ns -= step / Factor(run, running);
        }
        if (run.left_ns < 0.5 && (run.groups &= run.groups - 1) != 0) {
          run.left_ns = static_cast<double>(block_.ns[Lowest(run.groups)]);
        }
        if (run.groups != 0) next.push_back(run);
        if (run.groups == 0) end = std::max(end, now + step + run.back_ns);
      }
      now += step;
      running = std::move(next);
    }
    return std::llround(end);
  }

  // A part in a stage: what of it is not over, what its first group still takes when it has the device to itself, and
  // what its stream waits before it and is waited for behind it.
  struct Running {
    GroupSet groups = 0;
    double left_ns = 0, waits_ns = 0, back_ns = 0;
  };

  // By how much it is slowed down beside the others.
  double Factor(const Running& run, const std::vector<Running>& running) const {
    const IosDemand& own = block_.demand[Lowest(run.groups)];
    if (own.share == 0) return 1;
    double asked = 0;
    for (const Running& other : running) {
      const IosDemand& demand = block_.demand[Lowest(other.groups)];
      asked += other.waits_ns == 0 && demand.device == own.device ? demand.share : 0;
    }
    return std::max(1.0, asked);
  }

  IosStages Nowhere() const {
    const size_t count = block_.ns.size();
    return {std::vector<uint32_t>(count, 0), std::vector<uint32_t>(count, 0), std::vector<uint32_t>(count, kNothing)};
  }

  IosStages Trace(GroupSet left) {
    IosStages stages = Nowhere();
    for (auto stage = static_cast<uint32_t>(block_.ns.size()); left != 0; --stage) {
      const Best& best = best_[left];
      if (best.merge == kNothing) ConcurrentNs(best.ending, &stages.stream);
      for (GroupSet in = best.ending; in != 0; in &= in - 1) {
        stages.stage[Lowest(in)] = stage;
        stages.merge[Lowest(in)] = best.merge;
      }
      left &= ~best.ending;
    }
    return stages;
  }

  IosStages OneByOne() const {
    IosStages stages = Nowhere();
    for (uint32_t g = 0; g < block_.ns.size(); ++g) stages.stage[g] = g;
    return stages;
  }

  const IosBlock& block_;
  std::vector<GroupSet> linked_;  // readers and makers
  const bool contended_;
  int most_ = kMostInPart;
  uint64_t endings_ = 0;
  std::map<GroupSet, Best> best_;
};

}  // namespace

IosStages SolveIosBlock(const IosBlock& block) { return BlockSolver(block).Run(); }

}  // namespace pt
