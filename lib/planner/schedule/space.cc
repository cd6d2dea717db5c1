#include "lib/planner/schedule/space.h"

#include <algorithm>
#include <limits>
#include <set>

#include "lib/planner/search/serial_memo.h"
#include "partitiontuner/candidate/precision.h"

namespace pt {
namespace {

bool IsForbidden(const Constraints& constraints, NodeId node, const Candidate& candidate) {
  const UnitClassId unit_class = candidate.unit_class;
  for (const auto& [pinned, to] : constraints.pin) {
    if (pinned == node && to != unit_class) return true;
  }
  if (candidate.math != MathMode::kFp32 && constraints.in_fp32.contains(node)) return true;
  return std::find(constraints.forbid.begin(), constraints.forbid.end(), std::pair(node, unit_class)) !=
         constraints.forbid.end();
}

}  // namespace

bool LiesBetween(const Form& from, const Form& through, const Form& to) {
  return (Holds(through, from) || Holds(through, to)) && (Holds(from, through) || Holds(to, through));
}

Space::Space(const PlanningProblem& problem)
    : problem_(&problem),
      simulator_(problem.platform, problem.costs),
      serial_memo_(std::make_shared<SerialMemo>()),
      deadline_(std::make_shared<Deadline>(problem)) {
  const Platform& machine = problem.platform;
  units_.resize(machine.unit_classes.size());
  copy_units_.resize(machine.links.size());
  for (size_t u = 0; u < machine.units.size(); ++u) {
    const Unit& unit = machine.units[u];
    (unit.link ? copy_units_[unit.link->index()] : units_[unit.unit_class.index()]).push_back(UnitId(u));
  }
  const size_t devices = machine.devices.size();
  links_.resize(devices * devices);
  for (size_t l = 0; l < machine.links.size(); ++l) {
    LinkId& link = links_[machine.links[l].from.index() * devices + machine.links[l].to.index()];
    if (!link.valid() && !copy_units_[l].empty()) link = LinkId(l);
  }
  for (size_t c = 0; c < machine.unit_classes.size(); ++c) {
    launches_.push_back(problem.costs.OfClass(UnitClassId(c)).overhead.ns);
    overheads_.push_back(launches_by_segments(UnitClassId(c)) ? 0 : launches_.back());
    least_overheads_.push_back(overheads_.back());
    const bool launched = std::any_of(machine.units.begin(), machine.units.end(), [&](const Unit& unit) {
      return unit.unit_class == UnitClassId(c) && unit.driver.has_value();
    });
    launched_.push_back(launched);
  }
}

Result<Space> Space::Make(const PlanningProblem& problem) {
  for (const auto& [value, device] : problem.constraints.lent_on) {
    const std::string fault = LendingFault(problem.graph, problem.platform, value, device);
    if (!fault.empty()) return MakeError(ErrorCode::kUsage, "planner.lent_on", fault);
  }
  Space space(problem);
  const Graph& graph = problem.graph;
  space.groups_of_.resize(graph.nodes().size());
  space.single_group_.assign(graph.nodes().size(), kNothing);
  space.values_.resize(graph.values().size());
  for (size_t v = 0; v < space.values_.size(); ++v) {
    const Value& value = graph.values()[v];
    ValueSlots& slots = space.values_[v];
    slots.producer = value.producer;
    slots.is_input = !value.producer.valid() && !value.is_constant();
    slots.is_output = value.producer.valid() && value.is_graph_output;
    for (const Use& use : value.uses) {
      if (slots.consumers.empty() || slots.consumers.back() != use.node) slots.consumers.push_back(use.node);
    }
    std::sort(slots.consumers.begin(), slots.consumers.end());
    slots.consumers.erase(std::unique(slots.consumers.begin(), slots.consumers.end()), slots.consumers.end());
    if (slots.is_input || slots.is_output) slots.forms.push_back(RowMajorForm(value.type));
  }
  space.SortNodes();
  PT_CHECK_OK(space.AddOptions());
  PT_CHECK_OK(space.AddRoutes());
  space.DropDominated();
  space.MarkElisions();
  return space;
}

// A depth-first walk from the outputs; without recursion, for chains may be long.
void Space::SortNodes() {
  const Graph& graph = problem_->graph;
  std::vector<uint8_t> state(graph.nodes().size(), 0);
  position_.resize(graph.nodes().size());
  std::vector<std::pair<NodeId, size_t>> stack;
  const auto visit = [&](NodeId root) {
    if (state[root.index()] != 0) return;
    stack.emplace_back(root, 0);
    state[root.index()] = 1;
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      const std::vector<ValueId>& inputs = graph.node(node).inputs;
      if (next == inputs.size()) {
        position_[node.index()] = static_cast<uint32_t>(order_.size());
        order_.push_back(node);
        stack.pop_back();
        continue;
      }
      const ValueId input = inputs[next++];
      const NodeId producer = input.valid() ? graph.value(input).producer : NodeId();
      if (!producer.valid() || state[producer.index()] != 0) continue;
      state[producer.index()] = 1;
      stack.emplace_back(producer, 0);
    }
  };
  for (ValueId output : graph.outputs()) {
    if (graph.value(output).producer.valid()) visit(graph.value(output).producer);
  }
  for (size_t n = 0; n < graph.nodes().size(); ++n) visit(NodeId(n));
}

Status Space::AddOptions() {
  for (uint32_t c = 0; c < problem_->candidates.size(); ++c) PT_CHECK_OK(AddOption(c));
  // Slots are numbered by form, so forms come first and slots after all of them are known.
  for (ValueSlots& value : values_) {
    if (problem_->platform.devices.size() * value.forms.size() > size_t{std::numeric_limits<Slot>::max()} + 1) {
      return MakeError(ErrorCode::kUnsupported, "planner.forms", "a value has more than 65536 places and forms");
    }
    value.first = slot_count_;
    slot_count_ += static_cast<uint32_t>(problem_->platform.devices.size() * value.forms.size());
  }
  for (size_t v = 0; v < values_.size(); ++v) {
    ValueSlots& value = values_[v];
    const Value& described = problem_->graph.values()[v];
    if (!value.is_input && !value.is_output) continue;
    const DeviceId lent_on = LentDevice(problem_->constraints.lent_on, ValueId(v));
    value.external = SlotOf(ValueId(v), lent_on, RowMajorForm(described.type));
  }
  std::vector<Option> kept;
  for (Option& option : options_) {
    Group& group = groups_[option.group];
    const Candidate& candidate = problem_->candidates[option.candidate];
    for (size_t i = 0; i < group.in.size(); ++i)
      option.in.push_back(SlotOf(group.in[i], option.device, candidate.in[i]));
    for (size_t i = 0; i < group.out.size(); ++i) {
      option.out.push_back(SlotOf(group.out[i], option.device, candidate.out[i]));
    }
    if (!MayOverwrite(group, option)) continue;
    group.options.push_back(static_cast<uint32_t>(kept.size()));
    kept.push_back(std::move(option));
  }
  options_ = std::move(kept);

  std::vector<bool> runs(problem_->graph.nodes().size(), false);
  for (const Group& group : groups_) {
    if (group.options.empty()) continue;
    for (NodeId node : group.nodes) runs[node.index()] = true;
  }
  for (size_t n = 0; n < runs.size(); ++n) {
    if (runs[n]) continue;
    Error error = MakeError(ErrorCode::kInfeasible, "planner.no_candidate",
                            "nothing can run " + NodeLabel(problem_->graph, NodeId(n)) +
                                ": no candidate with a known cost within the constraints");
    error.node = NodeLabel(problem_->graph, NodeId(n));
    return error;
  }
  return {};
}

Status Space::AddOption(uint32_t c) {
  const Candidate& candidate = problem_->candidates[c];
  const Graph& graph = problem_->graph;
  if (candidate.nodes.empty() || units_[candidate.unit_class.index()].empty()) return {};
  for (NodeId node : candidate.nodes) {
    if (IsForbidden(problem_->constraints, node, candidate)) return {};
  }
  const StepCost cost = problem_->step_costs.empty() ? problem_->costs.OfStep(candidate) : problem_->step_costs[c];
  if (!cost.run || cost.run->ns < 0) return {};

  uint32_t id = kNothing;
  for (uint32_t g : groups_of_[candidate.nodes.front().index()]) {
    if (groups_[g].nodes == candidate.nodes) id = g;
  }
  if (id == kNothing) {
    id = static_cast<uint32_t>(groups_.size());
    groups_.push_back({candidate.nodes, GroupInputs(graph, candidate.nodes), GroupOutputs(graph, candidate.nodes), {}});
    for (NodeId node : candidate.nodes) groups_of_[node.index()].push_back(id);
    if (candidate.nodes.size() == 1) single_group_[candidate.nodes.front().index()] = id;
  }
  const Group& group = groups_[id];
  const bool aliases_fit = std::all_of(candidate.aliases.begin(), candidate.aliases.end(), [&](const Alias& alias) {
    return alias.in < candidate.in.size() && alias.out < candidate.out.size();
  });
  if (group.in.size() != candidate.in.size() || group.out.size() != candidate.out.size() || !aliases_fit) {
    return MakeError(ErrorCode::kInternal, "planner.candidate",
                     candidate.library + " proposed a candidate for " + NodeLabel(graph, candidate.nodes.front()) +
                         " with other inputs, outputs or aliases than its nodes have");
  }
  const auto add_form = [&](ValueId value, const Form& form) {
    std::vector<Form>& forms = values_[value.index()].forms;
    if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
  };
  for (size_t i = 0; i < group.in.size(); ++i) add_form(group.in[i], candidate.in[i]);
  for (size_t i = 0; i < group.out.size(); ++i) add_form(group.out[i], candidate.out[i]);

  Option option;
  option.candidate = c;
  option.group = id;
  option.unit_class = candidate.unit_class;
  option.device = problem_->platform.unit_class(candidate.unit_class).device;
  option.run_ns = cost.run->ns;
  option.launch_ns = cost.overhead.ns;
  option.overhead_ns = launches_by_segments(candidate.unit_class) ? 0 : option.launch_ns;
  int64_t& least_overhead_ns = least_overheads_[candidate.unit_class.index()];
  least_overhead_ns = std::min(least_overhead_ns, option.overhead_ns);
  option.fetch_share = cost.fetch_share;
  option.demand = DemandOf(graph, problem_->platform, candidate, cost);
  option.estimated = cost.run->provenance == Provenance::kEstimated;
  option.view = candidate.elision == Elision::kViewOfInput && !candidate.in.empty() && candidate.out.size() == 1;
  option.slices = SlicesOf(graph, candidate).has_value();
  for (const Alias& alias : candidate.aliases) {
    if (alias.kind == Alias::Kind::kRequired) option.overwrites.push_back(static_cast<uint8_t>(alias.in));
  }
  options_.push_back(std::move(option));
  return {};
}

Slot Space::SlotOf(ValueId value, DeviceId device, const Form& form) const {
  const std::vector<Form>& forms = values_[value.index()].forms;
  const auto found = std::find(forms.begin(), forms.end(), form);
  return static_cast<Slot>(device.index() * forms.size() + static_cast<size_t>(found - forms.begin()));
}

// An accumulating kernel destroys one input. In any cover and order that is safe if every other reader of the value
// is an ancestor of the group; callers' buffers are never overwritten nor results of such kernels.
bool Space::MayOverwrite(const Group& group, const Option& option) const {
  if (option.overwrites.empty()) return true;
  const Graph& graph = problem_->graph;
  const Candidate& candidate = problem_->candidates[option.candidate];
  for (const Alias& alias : candidate.aliases) {
    if (alias.kind != Alias::Kind::kRequired) continue;
    const ValueSlots& in = values_[group.in[alias.in].index()];
    const ValueSlots& out = values_[group.out[alias.out].index()];
    if (in.is_output || (in.is_input && option.in[alias.in] == in.external)) return false;
    if (out.is_output && option.out[alias.out] == out.external) return false;
    std::set<NodeId> readers;
    for (NodeId reader : in.consumers) {
      if (!std::binary_search(group.nodes.begin(), group.nodes.end(), reader)) readers.insert(reader);
    }
    if (readers.empty()) continue;
    const NodeId first = *readers.begin();
    std::set<NodeId> seen(group.nodes.begin(), group.nodes.end());
    std::vector<NodeId> stack(group.nodes);
    while (!stack.empty() && !readers.empty()) {
      const NodeId node = stack.back();
      stack.pop_back();
      for (ValueId input : graph.node(node).inputs) {
        const NodeId producer = input.valid() ? graph.value(input).producer : NodeId();
        if (!producer.valid() || producer < first || !seen.insert(producer).second) continue;
        readers.erase(producer);
        stack.push_back(producer);
      }
    }
    if (!readers.empty()) return false;
  }
  return true;
}

Status Space::AddRoutes() {
  std::map<std::pair<std::vector<int64_t>, std::vector<Form>>, uint32_t> known;
  for (size_t v = 0; v < values_.size(); ++v) {
    ValueSlots& value = values_[v];
    const std::optional<std::vector<int64_t>> dims = problem_->graph.values()[v].type.static_dims();
    // Values of unknown dims share a key of their own: -1 is not a dim.
    const auto [found, fresh] = known.try_emplace({dims ? *dims : std::vector<int64_t>{-1}, value.forms},
                                                  static_cast<uint32_t>(routes_.size()));
    if (fresh) routes_.push_back(MakeRoutes(dims ? &*dims : nullptr, value));
    value.routes = found->second;
  }
  return {};
}

Routes Space::MakeRoutes(const std::vector<int64_t>* dims, const ValueSlots& value) const {
  Routes routes;
  routes.slots = static_cast<uint32_t>(problem_->platform.devices.size() * value.forms.size());
  routes.sized = dims != nullptr && std::all_of(value.forms.begin(), value.forms.end(),
                                                [](const Form& form) { return BitsOf(form.storage) != 0; });
  const size_t n = routes.slots;
  routes.ns.assign(n * n, kImpossible);
  routes.next.resize(n * n);
  for (size_t s = 0; s < n; ++s) {
    for (size_t t = 0; t < n; ++t) routes.next[s * n + t] = static_cast<Slot>(t);
    routes.ns[s * n + s] = 0;
  }
  routes.bound_ns = routes.ns;
  AddCopies(dims, value, routes);
  if (dims != nullptr) AddReorders(*dims, value, routes);
  FindShortest(value.forms, n, routes.bound_ns, nullptr);
  FindShortest(value.forms, n, routes.ns, &routes.next);
  return routes;
}

// A hop that takes run_ns on units of that class.
void Space::AddHop(size_t from, size_t to, UnitClassId unit_class, int64_t run_ns, Routes& routes) const {
  int64_t& ns = routes.ns[from * routes.slots + to];
  int64_t& bound_ns = routes.bound_ns[from * routes.slots + to];
  const int64_t whole_ns = run_ns + overheads_[unit_class.index()];
  ns = std::min(ns, whole_ns);
  bound_ns = std::min(bound_ns, is_launched(unit_class) ? run_ns : whole_ns);
}

void Space::AddCopies(const std::vector<int64_t>* dims, const ValueSlots& value, Routes& routes) const {
  const size_t devices = problem_->platform.devices.size();
  const size_t forms = value.forms.size();
  for (size_t f = 0; f < forms; ++f) {
    const Form& form = value.forms[f];
    const Result<TensorLayout> dense =
        dims == nullptr ? Result<TensorLayout>(Error{}) : DenseLayout(form.storage, *dims, form.layout);
    const Result<uint64_t> bytes = dense.ok() ? BytesOf(*dense) : Result<uint64_t>(dense.error());
    routes.bytes.push_back(bytes.ok() ? *bytes : 0);
    for (size_t from = 0; bytes.ok() && from < devices; ++from) {
      for (size_t to = 0; to < devices; ++to) {
        const LinkId link = links_[from * devices + to];
        if (from == to || !link.valid()) continue;
        const UnitClassId unit_class = problem_->platform.unit(copy_units_[link.index()].front()).unit_class;
        AddHop(from * forms + f, to * forms + f, unit_class, problem_->costs.Copy(*bytes, link).ns, routes);
      }
    }
  }
}

void Space::AddReorders(const std::vector<int64_t>& dims, const ValueSlots& value, Routes& routes) const {
  const size_t forms = value.forms.size();
  for (size_t c = 0; c < units_.size(); ++c) {
    const UnitClassId unit_class(c);
    if (units_[c].empty()) continue;
    const size_t first = problem_->platform.unit_class(unit_class).device.index() * forms;
    for (size_t f = 0; f < forms; ++f) {
      for (size_t g = 0; g < forms; ++g) {
        if (f == g) continue;
        const std::optional<Estimate> estimate =
            problem_->costs.Reorder(dims, value.forms[f], value.forms[g], unit_class);
        if (!estimate) continue;
        routes.reorders[{static_cast<Slot>(first + f), static_cast<Slot>(first + g)}].push_back(
            {unit_class, estimate->ns});
        AddHop(first + f, first + g, unit_class, estimate->ns, routes);
      }
    }
  }
}

// Floyd and Warshall over all slots; next: the first hop of each way.
void Space::FindShortest(const std::vector<Form>& forms, size_t n, std::vector<int64_t>& ns, std::vector<Slot>* next) {
  for (size_t k = 0; k < n; ++k) {
    for (size_t s = 0; s < n; ++s) {
      for (size_t t = 0; t < n; ++t) {
        const int64_t through = AddNs(ns[s * n + k], ns[k * n + t]);
        if (through >= ns[s * n + t]) continue;
        if (!LiesBetween(forms[s % forms.size()], forms[k % forms.size()], forms[t % forms.size()])) continue;
        ns[s * n + t] = through;
        if (next != nullptr) (*next)[s * n + t] = (*next)[s * n + k];
      }
    }
  }
}

// Of options that differ in nothing but time only the fastest counts.
void Space::DropDominated() {
  for (Group& group : groups_) {
    std::stable_sort(group.options.begin(), group.options.end(),
                     [&](uint32_t a, uint32_t b) { return options_[a].ns() < options_[b].ns(); });
    std::vector<uint32_t> kept;
    for (uint32_t o : group.options) {
      const Option& option = options_[o];
      const bool dominated = std::any_of(kept.begin(), kept.end(), [&](uint32_t k) {
        const Option& other = options_[k];
        return other.unit_class == option.unit_class && other.in == option.in && other.out == option.out &&
               other.overwrites == option.overwrites && (other.view || !option.view) &&
               (other.slices || !option.slices);
      });
      if (!dominated) kept.push_back(o);
    }
    group.options = std::move(kept);
  }
}

void Space::MarkElisions() {
  for (Option& option : options_) {
    const Group& group = groups_[option.group];
    const auto internal = [&](ValueId id) { return !values_[id.index()].is_input && !values_[id.index()].is_output; };
    if (option.view) option.likely_elided = internal(group.in[0]) && internal(group.out[0]);
    if (option.slices) {
      option.likely_elided = internal(group.out[0]) && std::all_of(group.in.begin(), group.in.end(), internal);
    }
  }
}

int64_t Routes::form_cost(uint32_t from, uint32_t to) const {
  const int64_t whole = cost(from, to);
  if (whole >= kImpossible) return kImpossible;
  const auto forms = static_cast<uint32_t>(bytes.size());
  const uint32_t from_form = from % forms, to_form = to % forms;
  return std::min({whole, cost(to - to_form + from_form, to), cost(from, from - from_form + to_form)});
}

Instance Space::instance(ValueId value, uint32_t slot) const {
  const std::vector<Form>& forms = values_[value.index()].forms;
  return {value, device(value, slot), forms[slot % forms.size()]};
}

LinkId Space::link(DeviceId from, DeviceId to) const {
  return links_[from.index() * problem_->platform.devices.size() + to.index()];
}

UnitClassId Space::widest_class(DeviceId device) const {
  UnitClassId widest;
  for (size_t c = 0; c < units_.size(); ++c) {
    const UnitClass& unit_class = problem_->platform.unit_classes[c];
    if (unit_class.device != device || units_[c].empty()) continue;
    if (!widest.valid() || unit_class.cores > problem_->platform.unit_class(widest).cores) widest = UnitClassId(c);
  }
  return widest;
}

}  // namespace pt
