// Which layouts a group is offered in.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/backend/onednn/family.h"

namespace pt::onednn {

struct Proposal {
  Layout in, out;  // of the main input and of the result
  Way way = Way::kUsual;

  std::string variant() const;  // "aBcd16b>aBcd16b+sum"
};
// Of a variant's text; kUsual for any other text.
Way WayOf(std::string_view variant);

// Layouts that some candidate makes or takes, by value.
using KnownLayouts = std::map<ValueId, std::set<Layout>>;

// What to try for the group before anything is known of its neighbours.
std::vector<Proposal> FirstProposals(const Graph& graph, const Group& group);
// What to try where none of these can be done: oneDNN's convolutions between row-major tensors
// reorder behind the plan's back, or are slow.
std::vector<Proposal> LastResorts(const Graph& graph, const Group& group);
// What to try besides, given the layouts of its inputs and of its result; none for groups that
// propose themselves.
std::vector<Proposal> AgnosticProposals(const Graph& graph, const Group& group, const KnownLayouts& known);

// Layout of each input of the group; empty when the proposal does not fit them.
std::vector<Layout> InputLayouts(const Graph& graph, const Group& group, std::span<const ValueId> inputs,
                                 const Proposal& proposal);

}  // namespace pt::onednn
