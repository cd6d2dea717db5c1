#include "lib/planner/search/segment_problem.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "partitiontuner/cost/costs_over.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt {

GraphSegment MakeSegment(const Space& space, std::span<const NodeId> nodes, std::vector<Crossing> in,
                         std::vector<Crossing> out) {
  GraphSegment segment{{nodes.begin(), nodes.end()}, std::move(in), std::move(out), {}};
  std::sort(segment.nodes.begin(), segment.nodes.end());
  for (NodeId node : segment.nodes) {
    for (uint32_t g : space.groups_of(node)) {
      if (space.group(g).nodes.front() == node && !space.group(g).options.empty()) segment.groups.push_back(g);
    }
  }
  std::sort(segment.groups.begin(), segment.groups.end(),
            [&](uint32_t a, uint32_t b) { return space.group(a).nodes < space.group(b).nodes; });
  return segment;
}

std::vector<uint64_t> KeyOf(const Space& space, const GraphSegment& segment) {
  std::vector<uint64_t> key;
  std::map<ValueId, uint64_t> names;  // values by first appearance
  const auto add_value = [&](ValueId v) {
    if (!v.valid()) {
      key.push_back(~uint64_t{0});
      return;
    }
    const auto [name, fresh] = names.try_emplace(v, names.size());
    key.push_back(name->second);
    if (!fresh) return;
    const ValueSlots& value = space.value(v);
    const uint64_t kind = space.graph().value(v).is_constant() ? 1 : value.is_input ? 2 : value.is_output ? 3 : 0;
    key.insert(key.end(), {kind, value.routes, value.external});
  };
  const auto place = [&](NodeId node) {
    return static_cast<uint64_t>(std::ranges::lower_bound(segment.nodes, node) - segment.nodes.begin());
  };
  const auto add_list = [&](const auto& list, auto number) {
    key.push_back(list.size());
    for (const auto& entry : list) key.push_back(static_cast<uint64_t>(number(entry)));
  };
  const auto same = [](auto x) { return x; };
  for (NodeId node : segment.nodes) {
    const Node& described = space.graph().node(node);
    key.insert(key.end(), {described.inputs.size(), described.outputs.size()});
    for (ValueId in : described.inputs) add_value(in);
    for (ValueId out : described.outputs) add_value(out);
  }
  for (const std::vector<Crossing>* crossings : {&segment.in, &segment.out}) {
    key.push_back(crossings->size());
    for (const Crossing& crossing : *crossings) add_value(crossing.value), key.push_back(crossing.slot);
  }
  for (uint32_t g : segment.groups) {
    const Group& group = space.group(g);
    add_list(group.nodes, place);
    key.push_back(group.options.size());
    for (uint32_t o : group.options) {
      const Option& option = space.option(o);
      key.insert(key.end(), {option.unit_class.index(), static_cast<uint64_t>(option.run_ns),
                             static_cast<uint64_t>(option.overhead_ns), std::bit_cast<uint64_t>(option.fetch_share),
                             std::bit_cast<uint64_t>(option.demand), uint64_t{option.view} << 1 | option.slices});
      add_list(option.in, same);
      add_list(option.out, same);
      add_list(option.overwrites, same);
    }
  }
  return key;
}

// Steps have no costs but those that the problem states, and do not slow each other down.
class SegmentProblem::Costs : public CostsOver {
 public:
  using CostsOver::CostsOver;
  StepCost OfStep(const Candidate&) const override { return {}; }
  double Slowdown(const Candidate&, std::span<const Candidate* const>) const override { return 1; }
  bool has_slowdown() const override { return false; }
};

namespace {

Estimate Exactly(int64_t ns) {
  Estimate estimate;
  estimate.ns = ns;
  return estimate;
}

}  // namespace

class SegmentProblem::Builder {
 public:
  Builder(const Space& space, const GraphSegment& segment) : space_(space), segment_(segment) {}

  // Values, outputs and candidates stand in the order in which they stand outside, which decides between equals.
  Graph MakeGraph() {
    std::set<ValueId> values;
    for (NodeId node : segment_.nodes) {
      const Node& described = space_.graph().node(node);
      values.insert(described.inputs.begin(), described.inputs.end());
      values.insert(described.outputs.begin(), described.outputs.end());
    }
    values.erase(ValueId());
    for (ValueId value : values) AddValue(value);
    for (const Crossing& crossing : segment_.in) MakeUp("Before", {}, {Inner(crossing.value)});
    for (NodeId node : segment_.nodes) {
      Node copy = space_.graph().node(node);
      for (ValueId& in : copy.inputs) in = Inner(in);
      for (ValueId& out : copy.outputs) out = Inner(out);
      builder_.AddNode(std::move(copy));
    }
    for (const Crossing& crossing : segment_.out) MakeUp("Behind", {Inner(crossing.value)}, {});
    for (ValueId output : space_.graph().outputs()) {
      if (space_.value(output).is_output && MadeHere(output)) builder_.AddOutput(Inner(output));
    }
    // Nodes stay in their order: it is that of the outer graph.
    return builder_.Build().value();
  }

  LentOn Lent() const {
    LentOn lent;
    for (const auto& [value, device] : space_.problem().constraints.lent_on) {
      const auto inner = inner_.find(value);
      if (inner != inner_.end() && (space_.value(value).is_input || MadeHere(value)))
        lent.emplace(inner->second, device);
    }
    return lent;
  }

  NodeId Inner(NodeId outer) const {
    const auto place = std::ranges::lower_bound(segment_.nodes, outer) - segment_.nodes.begin();
    return NodeId(segment_.in.size() + static_cast<size_t>(place));
  }

 private:
  bool MadeHere(ValueId value) const {
    return std::ranges::binary_search(segment_.nodes, space_.value(value).producer);
  }

  ValueId Inner(ValueId outer) const { return outer.valid() ? inner_.at(outer) : outer; }

  void AddValue(ValueId outer) {
    const Value& value = space_.graph().value(outer);
    const ValueId inner = value.is_constant()            ? builder_.AddConstant(value.name, *value.constant)
                          : space_.value(outer).is_input ? builder_.AddInput(value.name, value.type)
                                                         : builder_.AddValue(value.name, value.type);
    inner_.emplace(outer, inner);
  }

  void MakeUp(std::string op, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
    Node node;
    node.op = std::move(op);
    node.domain = "partitiontuner";
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    builder_.AddNode(std::move(node));
  }

  const Space& space_;
  const GraphSegment& segment_;
  GraphBuilder builder_;
  std::map<ValueId, ValueId> inner_;
};

SegmentProblem::SegmentProblem(const Space& space, const GraphSegment& segment)
    : costs_(std::make_unique<Costs>(space.problem().costs)) {
  Builder builder(space, segment);
  graph_ = builder.MakeGraph();
  for (uint32_t g = 0; g < segment.groups.size(); ++g) {
    const size_t options = space.group(segment.groups[g]).options.size();
    for (uint32_t o = 0; o < options; ++o) choice_of_.push_back({g, o, UnitId()});
  }
  const auto option_of = [&](const SegmentChoice& choice) -> const Option& {
    return space.option(space.group(segment.groups[choice.group]).options[choice.option]);
  };
  std::ranges::sort(choice_of_, {}, [&](const SegmentChoice& choice) { return option_of(choice).candidate; });
  for (const SegmentChoice& choice : choice_of_) {
    const Option& option = option_of(choice);
    Candidate candidate = space.problem().candidates[option.candidate];
    for (NodeId& node : candidate.nodes) node = builder.Inner(node);
    candidates_.push_back(std::move(candidate));
    step_costs_.push_back({Exactly(option.run_ns), Exactly(option.overhead_ns), option.demand, option.fetch_share});
  }
  const auto make_up = [&](size_t node, const Crossing& crossing, bool before) {
    const Instance instance = space.instance(crossing.value, crossing.slot);
    Candidate candidate;
    candidate.nodes = {NodeId(node)};
    candidate.unit_class = space.widest_class(instance.device);
    (before ? candidate.out : candidate.in).push_back(instance.form);
    step_costs_.push_back({Exactly(0), costs_->OfClass(candidate.unit_class).overhead});
    candidates_.push_back(std::move(candidate));
  };
  for (size_t i = 0; i < segment.in.size(); ++i) make_up(i, segment.in[i], true);
  for (size_t i = 0; i < segment.out.size(); ++i)
    make_up(segment.in.size() + segment.nodes.size() + i, segment.out[i], false);
  problem_ = std::make_unique<PlanningProblem>(
      PlanningProblem{graph_, space.platform(), candidates_, *costs_, {}, 0, space.problem().seed, {}, 0});
  problem_->constraints.lent_on = builder.Lent();
  problem_->step_costs = step_costs_;
}

SegmentProblem::~SegmentProblem() = default;

std::vector<SegmentChoice> SegmentProblem::ChoicesOf(const Space& inner, const Solution& solution) const {
  std::vector<SegmentChoice> choices;
  for (const Choice& choice : solution) {
    const uint32_t candidate = inner.option(choice.option).candidate;
    if (candidate >= choice_of_.size()) continue;
    choices.push_back(choice_of_[candidate]);
    choices.back().unit = choice.unit;
  }
  return choices;
}

}  // namespace pt
