// ios: Ding and others, "IOS: inter-operator scheduler for CNN acceleration" (MLSys 2021), for one device with streams.
// A schedule is a sequence of stages; the last stage is an ending, a set from which nothing outside it reads. Either
// its connected parts run side by side, each in a stream of its own; or it is merged: where its groups are of one kind
// and read one value, and some candidate runs just them, that is the stage. A dynamic programme over what is left
// before finds the stages whose times add up to the least; parts have few groups and stages few parts.
//
// Blocks lie between series cuts, and longer ones are cut into pieces. Blocks that are equal in structure and times are
// solved once. The stages give streams and order only: at their ends, nothing waits for more than its own inputs.
#include <algorithm>
#include <map>
#include <set>

#include "lib/planner/methods/ios_block.h"
#include "lib/planner/methods/streams.h"
#include "lib/planner/proofs/series_cuts.h"

namespace pt {
namespace {

// Each node of the group is linked to each other within it.
bool HangsTogether(const Space& space, const Group& group) {
  std::vector<NodeId> seen = {group.nodes.front()};
  for (size_t next = 0; next < seen.size(); ++next) {
    const auto visit = [&](NodeId node) {
      const bool inside = node.valid() && std::binary_search(group.nodes.begin(), group.nodes.end(), node);
      if (inside && std::find(seen.begin(), seen.end(), node) == seen.end()) seen.push_back(node);
    };
    const Node& node = space.graph().node(seen[next]);
    for (ValueId in : node.inputs) visit(in.valid() ? space.value(in).producer : NodeId());
    for (ValueId out : node.outputs) {
      if (!out.valid()) continue;
      for (NodeId reader : space.value(out).consumers) visit(reader);
    }
  }
  return seen.size() == group.nodes.size();
}

// Merging is for the stages to decide: the groups are such as hang together, if those can run everything.
Result<Streams> StreamsOf(const Space& space, std::string_view device) {
  const auto hangs_together = [&](const Group& group) { return HangsTogether(space, group); };
  Result<Streams> streams = Streams::Make(space, device, hangs_together);
  if (streams.ok() || streams.error().code != ErrorCode::kInfeasible) return streams;
  return Streams::Make(space, device);
}

class Ios {
 public:
  Ios(const Space& space, const Streams& streams)
      : space_(space), streams_(streams), graph_(space, streams.cover()), position_(space.graph().nodes().size()) {
    for (uint32_t c = 0; c < graph_.size(); ++c) {
      for (NodeId node : space_.group(graph_.groups[c]).nodes) position_[node.index()] = c;
    }
  }

  Solution Run() {
    for (const auto& [first, end] : FindBlocks()) {
      if (space_.deadline().GivesUp()) return {};
      AddBlock(first, end);
    }
    SortLegally(space_, solution_, keys_);
    return std::move(solution_);
  }

 private:
  // First and end of each block, as positions in the cover.
  std::vector<std::pair<uint32_t, uint32_t>> FindBlocks() const {
    const Segments segments = FindSegments(space_, std::vector<bool>(space_.graph().nodes().size(), false));
    const auto segment = [&](uint32_t c) {
      return segments.of_node[space_.group(graph_.groups[c]).nodes.front().index()];
    };
    std::vector<std::pair<uint32_t, uint32_t>> blocks;
    for (uint32_t c = 0; c < graph_.size(); ++c) {
      const bool is_new =
          blocks.empty() || segment(c) != segment(blocks.back().first) || c - blocks.back().first >= kLongestIosBlock;
      if (is_new) blocks.emplace_back(c, c);
      blocks.back().second = c + 1;
    }
    return blocks;
  }

  // On the device that the best single stream gave the group.
  uint32_t OptionOf(uint32_t c) const {
    return streams_.OptionOn(graph_.groups[c], space_.option(streams_.cover()[c].option).device);
  }

  void AddBlock(uint32_t first, uint32_t end) {
    IosBlock block;
    std::vector<uint32_t> merged;  // options
    for (uint32_t c = first; c < end; ++c) {
      const Option& option = space_.option(OptionOf(c));
      block.streams = std::max(block.streams, space_.units(option.unit_class).size());
      block.wait_ns = std::max(block.wait_ns, streams_.WaitNs(option));
      block.ns.push_back(option.likely_ns());
      block.demand.push_back(DemandOf(option));
      block.readers.push_back(0);
      for (const auto& [reader, value] : graph_.readers[c]) {
        if (reader < end) block.readers.back() |= GroupSet{1} << (reader - first);
      }
      AddMerges(c, first, end, block, merged);
    }
    auto known = solved_.find(block);
    if (known == solved_.end()) known = solved_.emplace(block, SolveIosBlock(block)).first;
    const IosStages& stages = known->second;
    std::set<uint32_t> done;
    for (uint32_t c = first; c < end; ++c) {
      const uint32_t merge = stages.merge[c - first];
      if (merge != kNothing && !done.insert(merge).second) continue;
      const uint32_t option = merge == kNothing ? OptionOf(c) : merged[merge];
      const std::span<const UnitId> units = space_.units(space_.option(option).unit_class);
      solution_.push_back({option, units[stages.stream[c - first] % units.size()]});
      keys_.push_back(int64_t{first} * (kLongestIosBlock + 2) + stages.stage[c - first]);
    }
  }

  // Cores are streams of their own; those of a device share it.
  IosDemand DemandOf(const Option& option) const {
    if (space_.platform().unit_class(option.unit_class).on_host()) return {};
    return {option.device.value, streams_.Demand(option, space_.units(option.unit_class).front())};
  }

  // Those of which the group at `c` is the first.
  void AddMerges(uint32_t c, uint32_t first, uint32_t end, IosBlock& block, std::vector<uint32_t>& merged) const {
    const DeviceId device = space_.option(streams_.cover()[c].option).device;
    for (uint32_t g : space_.groups_of(space_.group(graph_.groups[c]).nodes.front())) {
      const std::set<uint32_t> parts = PartsOf(g);
      const uint32_t option = streams_.OptionOn(g, device);
      if (parts.size() < 2 || option == kNothing || *parts.begin() != c || *parts.rbegin() >= end) continue;
      if (!AreOfOneKind(parts) || !ReadOneValue(parts)) continue;
      IosMerge merge{0, space_.option(option).likely_ns()};
      for (uint32_t part : parts) merge.groups |= GroupSet{1} << (part - first);
      block.merges.push_back(merge);
      merged.push_back(option);
    }
  }

  // The positions whose groups make up the group; empty when one of them reaches beyond it.
  std::set<uint32_t> PartsOf(uint32_t group) const {
    std::set<uint32_t> parts;
    size_t nodes = 0;
    for (NodeId node : space_.group(group).nodes) {
      const uint32_t part = position_[node.index()];
      if (parts.insert(part).second) nodes += space_.group(graph_.groups[part]).nodes.size();
    }
    return nodes == space_.group(group).nodes.size() ? parts : std::set<uint32_t>();
  }

  bool AreOfOneKind(const std::set<uint32_t>& parts) const {
    const auto kind = [&](uint32_t part) {
      std::vector<std::string> ops;
      for (NodeId node : space_.group(graph_.groups[part]).nodes) ops.push_back(space_.graph().node(node).op);
      return ops;
    };
    return std::all_of(parts.begin(), parts.end(), [&](uint32_t part) { return kind(part) == kind(*parts.begin()); });
  }

  // And nothing of each other.
  bool ReadOneValue(const std::set<uint32_t>& parts) const {
    for (uint32_t part : parts) {
      for (const auto& [maker, value] : graph_.makers[part]) {
        if (parts.contains(maker)) return false;
      }
    }
    const auto in = [&](uint32_t part) -> const std::vector<ValueId>& { return space_.group(graph_.groups[part]).in; };
    const std::vector<ValueId>& of_first = in(*parts.begin());
    return std::any_of(of_first.begin(), of_first.end(), [&](ValueId value) {
      return std::all_of(parts.begin(), parts.end(), [&](uint32_t part) {
        return std::find(in(part).begin(), in(part).end(), value) != in(part).end();
      });
    });
  }

  const Space& space_;
  const Streams& streams_;
  const CoverGraph graph_;
  std::vector<uint32_t> position_;  // by node
  std::map<IosBlock, IosStages> solved_;
  Solution solution_;
  std::vector<int64_t> keys_;
};

}  // namespace

Result<Solved> SolveIos(const Space& space, std::string_view argument) {
  PT_ASSIGN(const Streams streams, StreamsOf(space, argument));
  return Solved{Ios(space, streams).Run()};
}

}  // namespace pt
