// The groups of a cover and what they read from each other, by position in the cover.
#pragma once

#include <vector>

#include "lib/planner/schedule/schedule.h"

namespace pt {

struct CoverGraph {
  struct Edge {
    uint32_t other = 0;  // the position of the maker or reader
    ValueId value;
  };
  std::vector<uint32_t> groups;
  std::vector<std::vector<Edge>> makers, readers;  // once a value

  // `cover` must be in legal order: makers come before readers.
  CoverGraph(const Space& space, const Solution& cover) : makers(cover.size()), readers(cover.size()) {
    std::vector<uint32_t> of_node(space.graph().nodes().size(), kNothing);
    for (uint32_t c = 0; c < cover.size(); ++c) {
      groups.push_back(space.option(cover[c].option).group);
      for (NodeId node : space.group(groups[c]).nodes) of_node[node.index()] = c;
      for (ValueId in : space.group(groups[c]).in) {
        const NodeId maker = space.value(in).producer;
        if (!maker.valid()) continue;
        makers[c].push_back({of_node[maker.index()], in});
        readers[of_node[maker.index()]].push_back({c, in});
      }
    }
  }
  size_t size() const { return groups.size(); }
};

}  // namespace pt
