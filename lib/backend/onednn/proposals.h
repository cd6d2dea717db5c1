// Which forms (layout and storage) a group is offered in.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/backend/onednn/family.h"
#include "partitiontuner/candidate/precision.h"

namespace pt::onednn {

// Layouts of a product's two sides.
struct Sides {
  Layout a, b;
};

struct Proposal {
  Form in, out;  // of the main input and of the result; other real inputs are stored like a main one that is real
  Way way = Way::kUsual;
  std::optional<Sides> sides = {};  // of products that do not read row-major tensors

  // bf16 as soon as something is stored so: products are then of bf16 numbers, sums in fp32.
  MathMode math() const;
  std::string variant() const;  // "aBcd16b>aBcd16b+sum", "aBcd16b:bf16>aBcd16b:bf16", "acbd,acdb>acbd"
};
// Of a variant's text; kUsual for any other text.
Way WayOf(std::string_view variant);

// Forms that some candidate makes or takes, by value.
using KnownForms = std::map<ValueId, std::set<Form>>;

// What to try for the group before anything is known of its neighbours.
std::vector<Proposal> FirstProposals(const Graph& graph, const FusionGroup& group, const Precision& precision);
// What to try where none of these can be done: oneDNN's convolutions between row-major tensors
// reorder behind the plan's back, or are slow.
std::vector<Proposal> LastResorts(const Graph& graph, const FusionGroup& group);
// What else to try, given the forms of its inputs and of its result; none for groups that
// propose themselves.
std::vector<Proposal> AgnosticProposals(const Graph& graph, const FusionGroup& group, const KnownForms& known);

// Form of each input of the group; empty when the proposal does not fit them.
std::vector<Form> InputForms(const Graph& graph, const FusionGroup& group, std::span<const ValueId> inputs,
                             const Proposal& proposal);
// Form of an output: the proposal's for the group's result, row-major for any other.
Form OutputForm(const Graph& graph, const FusionGroup& group, ValueId output, const Proposal& proposal);

}  // namespace pt::onednn
