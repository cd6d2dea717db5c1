// ios: Ding and others, "IOS: inter-operator scheduler for CNN acceleration" (2021), its concurrent strategy, for one
// device with streams. A schedule is a sequence of stages; the last stage is an ending, a set from which nothing
// outside it reads, and its connected parts run side by side, each in a stream of its own. A dynamic programme over
// what is left before finds the stages whose times add up to the least; parts have few groups and stages few parts.
//
// Blocks lie between series cuts, and longer ones are cut into pieces. Blocks that are equal in structure and times are
// solved once. The stages give streams and order only: nothing waits at their ends but for its own inputs.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "lib/planner/series_cuts.h"
#include "lib/planner/streams.h"

namespace pt {
namespace {

constexpr size_t kLongestBlock = 20;        // groups
constexpr int kMostInPart = 3;              // as the authors; fewer where that takes too many endings
constexpr size_t kMostParts = 8;            // likewise
constexpr uint64_t kMostEndings = 200'000;  // of a block

using Set = uint32_t;  // of the groups of a block

// What the times of stages depend on. Groups in legal order.
struct Block {
  size_t streams = 1;
  std::vector<int64_t> ns;
  std::vector<Set> readers;  // within the block
  friend auto operator<=>(const Block&, const Block&) = default;
};

// Stage and stream of each group.
struct Stages {
  std::vector<uint32_t> stage, stream;
};

class BlockSolver {
 public:
  explicit BlockSolver(const Block& block) : block_(block), linked_(block.readers) {
    for (size_t g = 0; g < block.ns.size(); ++g) {
      for (Set left = block.readers[g]; left != 0; left &= left - 1) linked_[Lowest(left)] |= Bit(g);
    }
  }

  Stages Run() {
    const Set all = static_cast<Set>((uint64_t{1} << block_.ns.size()) - 1);
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
    Set ending = 0;  // the last stage
  };

  static Set Bit(size_t g) { return Set{1} << g; }
  static size_t Lowest(Set set) { return static_cast<size_t>(std::countr_zero(set)); }

  int64_t Solve(Set left) {
    if (const auto found = best_.find(left); found != best_.end()) return found->second.ns;
    Best best{INT64_MAX, 0};
    ForEachEnding(left, left, 0, [&](Set ending) {
      if (++endings_ > kMostEndings) return;
      const std::optional<int64_t> ns = StageNs(ending, nullptr);
      if (!ns) return;
      const int64_t total = *ns + Solve(left & ~ending);
      if (total < best.ns) best = {total, ending};
    });
    // Where too many endings were looked at, the result is not used.
    if (best.ending == 0) best = {0, left};
    return (best_[left] = best).ns;
  }

  // Sets that hold with each group all of `left` that reads from it, decided from the last group to the first.
  template <typename Visit>
  void ForEachEnding(Set left, Set undecided, Set ending, const Visit& visit) {
    if (endings_ > kMostEndings) return;
    if (undecided == 0) {
      if (ending != 0) visit(ending);
      return;
    }
    const size_t g = static_cast<size_t>(std::bit_width(undecided)) - 1;
    const Set rest = undecided & ~Bit(g);
    if ((block_.readers[g] & left & ~ending) == 0 && std::popcount(PartOf(g, ending | Bit(g))) <= most_) {
      ForEachEnding(left, rest, ending | Bit(g), visit);
    }
    ForEachEnding(left, rest, ending, visit);
  }

  // What hangs together with g in the set.
  Set PartOf(size_t g, Set set) const {
    Set part = Bit(g), fresh = part;
    while (fresh != 0) {
      const Set next = linked_[Lowest(fresh)] & set & ~part;
      fresh = (fresh & (fresh - 1)) | next;
      part |= next;
    }
    return part;
  }

  // The time of the longest part; nothing when there are more parts than streams.
  std::optional<int64_t> StageNs(Set stage, std::vector<uint32_t>* stream_of) const {
    std::vector<std::pair<int64_t, Set>> parts;  // minus its time
    for (Set left = stage; left != 0;) {
      const Set part = PartOf(Lowest(left), stage);
      int64_t ns = 0;
      for (Set in = part; in != 0; in &= in - 1) ns += block_.ns[Lowest(in)];
      parts.emplace_back(-ns, part);
      left &= ~part;
    }
    if (parts.size() > std::min(kMostParts, block_.streams)) return std::nullopt;
    std::sort(parts.begin(), parts.end());
    for (uint32_t p = 0; stream_of != nullptr && p < parts.size(); ++p) {
      for (Set in = parts[p].second; in != 0; in &= in - 1) (*stream_of)[Lowest(in)] = p;
    }
    return -parts.front().first;
  }

  Stages Trace(Set left) {
    const size_t count = block_.ns.size();
    Stages stages{std::vector<uint32_t>(count, 0), std::vector<uint32_t>(count, 0)};
    for (uint32_t from_end = 0; left != 0; ++from_end) {
      const Set ending = best_[left].ending;
      StageNs(ending, &stages.stream);
      for (Set in = ending; in != 0; in &= in - 1) {
        stages.stage[Lowest(in)] = static_cast<uint32_t>(count) - from_end;
      }
      left &= ~ending;
    }
    return stages;
  }

  Stages OneByOne() const {
    Stages stages{std::vector<uint32_t>(block_.ns.size(), 0), std::vector<uint32_t>(block_.ns.size(), 0)};
    for (uint32_t g = 0; g < block_.ns.size(); ++g) stages.stage[g] = g;
    return stages;
  }

  const Block& block_;
  std::vector<Set> linked_;  // readers and makers
  int most_ = kMostInPart;
  uint64_t endings_ = 0;
  std::map<Set, Best> best_;
};

// First and end of each block, as positions in the cover.
std::vector<std::pair<uint32_t, uint32_t>> FindBlocks(const Space& space, const CoverGraph& graph) {
  const Segments segments = FindSegments(space, std::vector<bool>(space.graph().nodes().size(), false));
  const auto segment = [&](uint32_t c) { return segments.of_node[space.group(graph.groups[c]).nodes.front().index()]; };
  std::vector<std::pair<uint32_t, uint32_t>> blocks;
  for (uint32_t c = 0; c < graph.size(); ++c) {
    const bool is_new =
        blocks.empty() || segment(c) != segment(blocks.back().first) || c - blocks.back().first >= kLongestBlock;
    if (is_new) blocks.emplace_back(c, c);
    blocks.back().second = c + 1;
  }
  return blocks;
}

}  // namespace

Result<Solved> SolveIos(const Space& space, std::string_view argument) {
  PT_ASSIGN(const Streams streams, Streams::Make(space, argument));
  const CoverGraph graph(space, streams.cover());
  std::map<Block, Stages> solved;
  Solution solution;
  std::vector<int64_t> keys;
  for (const auto& [first, end] : FindBlocks(space, graph)) {
    Block block;
    std::vector<uint32_t> options;
    for (uint32_t c = first; c < end; ++c) {
      // On the device that the best single stream gave the group.
      options.push_back(streams.OptionOn(graph.groups[c], space.option(streams.cover()[c].option).device));
      const Option& option = space.option(options.back());
      block.streams = std::max(block.streams, space.units(option.unit_class).size());
      block.ns.push_back(option.likely_ns());
      block.readers.push_back(0);
      for (const auto& [reader, value] : graph.readers[c]) {
        if (reader < end) block.readers.back() |= Set{1} << (reader - first);
      }
    }
    auto known = solved.find(block);
    if (known == solved.end()) known = solved.emplace(block, BlockSolver(block).Run()).first;
    for (uint32_t c = first; c < end; ++c) {
      const std::span<const UnitId> units = space.units(space.option(options[c - first]).unit_class);
      solution.push_back({options[c - first], units[known->second.stream[c - first] % units.size()]});
      keys.push_back(int64_t{first} * (kLongestBlock + 2) + known->second.stage[c - first]);
    }
  }
  SortLegally(space, solution, keys);
  return Solved{std::move(solution)};
}

}  // namespace pt
