#include "partitiontuner/plan/plan_diff.h"

#include <algorithm>
#include <map>
#include <set>

#include "partitiontuner/support/quantity_text.h"

namespace pt {
namespace {

using NodeSet = std::vector<NodeId>;  // ascending

// "3", "3-7, 9".
std::string ListText(const NodeSet& nodes) {
  std::string text;
  for (size_t i = 0; i < nodes.size();) {
    size_t end = i + 1;
    while (end < nodes.size() && nodes[end].value == nodes[end - 1].value + 1) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(nodes[i].value);
    if (end - i > 1) text += (end - i > 2 ? "-" : ", ") + std::to_string(nodes[end - 1].value);
    i = end;
  }
  return text;
}

std::string NodesText(const NodeSet& nodes) { return (nodes.size() == 1 ? "node " : "nodes ") + ListText(nodes); }

// "abcd abcd to aBcd16b".
std::string FormsText(const Candidate& candidate) {
  std::string text;
  const auto add = [&](const std::vector<Form>& forms) {
    for (const Form& form : forms) {
      text += (text.empty() ? "" : " ") + ToString(form.layout) + ":" + std::string(DataTypeName(form.storage));
    }
  };
  add(candidate.in);
  text += text.empty() ? "to" : " to";
  add(candidate.out);
  return text;
}

std::string KernelText(const Candidate& candidate) {
  return candidate.library + (candidate.variant.empty() ? "" : " " + candidate.variant) + " in " +
         std::string(MathModeName(candidate.math));
}

// A plan with its groups by their nodes.
class Indexed {
 public:
  explicit Indexed(const Plan& plan) : plan_(plan) {
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const auto* run = std::get_if<RunGroup>(&plan.steps[s].work);
      if (run == nullptr) continue;
      const Candidate& candidate = plan.candidates[run->candidate.index()];
      groups_[candidate.nodes] = &plan.steps[s];
      order_.push_back(&candidate.nodes);
      for (const NodeId node : candidate.nodes) step_of_[node] = &plan.steps[s];
    }
  }

  const std::map<NodeSet, const Step*>& groups() const { return groups_; }
  const std::map<NodeId, const Step*>& step_of() const { return step_of_; }
  const Candidate& candidate(const Step& step) const {
    return plan_.candidates[std::get<RunGroup>(step.work).candidate.index()];
  }
  const NodeSet& group_of(NodeId node) const { return candidate(*step_of_.at(node)).nodes; }
  const std::string& unit_of(const Step& step) const { return plan_.made_for.platform.unit(step.unit).name; }
  // Groups in the order of their steps.
  const std::vector<const NodeSet*>& order() const { return order_; }

  size_t Count(bool copies) const {
    return static_cast<size_t>(std::ranges::count_if(plan_.steps, [&](const Step& step) {
      return copies ? std::holds_alternative<Copy>(step.work) : std::holds_alternative<Reorder>(step.work);
    }));
  }

 private:
  const Plan& plan_;
  std::map<NodeSet, const Step*> groups_;
  std::map<NodeId, const Step*> step_of_;
  std::vector<const NodeSet*> order_;
};

class Differ {
 public:
  Differ(const Plan& a, const Plan& b) : a_(a), b_(b), in_a_(a), in_b_(b) {}

  std::vector<PlanDifference> Run() {
    const bool same_graph = a_.made_for.graph_hash == b_.made_for.graph_hash;
    Add("graph", "", a_.made_for.graph_hash, b_.made_for.graph_hash);
    for (const std::string& line : PlatformDifferences(a_.made_for.platform, b_.made_for.platform)) {
      found_.push_back({"machine", line, "", ""});
    }
    Add("planner", "", a_.planner, b_.planner);
    AddTimes("makespan", a_.makespan.ns, b_.makespan.ns);
    AddTimes("bound", a_.lower_bound_ns, b_.lower_bound_ns);
    if (same_graph) {
      CompareUnits();
      CompareGroups();
      CompareKernels();
      CompareOrder();
    }
    Add("copies", "", std::to_string(in_a_.Count(true)), std::to_string(in_b_.Count(true)));
    Add("reorders", "", std::to_string(in_a_.Count(false)), std::to_string(in_b_.Count(false)));
    CompareMemory();
    return std::move(found_);
  }

 private:
  void Add(std::string what, std::string where, std::string a, std::string b) {
    if (a != b) found_.push_back({std::move(what), std::move(where), std::move(a), std::move(b)});
  }

  // With the share by which B is longer.
  void AddTimes(const char* what, int64_t a, int64_t b) {
    if (a == b) return;
    std::string text = ShortTime(b);
    if (a > 0) {
      const double more = static_cast<double>(b) / static_cast<double>(a) - 1;
      text += " (" + std::string(more > 0 ? "+" : "") + Percent(more, 2) + ")";
    }
    found_.push_back({what, "", ShortTime(a), std::move(text)});
  }

  // Nodes that go the same way are told together.
  void CompareUnits() {
    std::map<std::pair<std::string, std::string>, NodeSet> moved;
    for (const auto& [node, step] : in_a_.step_of()) {
      const auto other = in_b_.step_of().find(node);
      if (other == in_b_.step_of().end()) continue;
      const std::string &from = in_a_.unit_of(*step), &to = in_b_.unit_of(*other->second);
      if (from != to) moved[{from, to}].push_back(node);
    }
    std::vector<std::pair<NodeSet, std::pair<std::string, std::string>>> by_node;
    by_node.reserve(moved.size());
    for (const auto& [units, nodes] : moved) by_node.emplace_back(nodes, units);
    std::ranges::sort(by_node);
    for (const auto& [nodes, units] : by_node) Add("unit", NodesText(nodes), units.first, units.second);
  }

  // Stretches of nodes that are cut into other groups.
  void CompareGroups() {
    std::set<NodeId> told;
    for (const auto& [node, step] : in_a_.step_of()) {
      if (told.contains(node) || in_a_.group_of(node) == GroupInB(node)) continue;
      std::set<NodeSet> of_a, of_b;
      std::set<NodeId> nodes = {node};
      for (std::vector<NodeId> open = {node}; !open.empty();) {
        const NodeId next = open.back();
        open.pop_back();
        of_a.insert(GroupInA(next)), of_b.insert(GroupInB(next));
        for (const NodeSet& group : {GroupInA(next), GroupInB(next)}) {
          for (const NodeId mate : group) {
            if (nodes.insert(mate).second) open.push_back(mate);
          }
        }
      }
      told.insert(nodes.begin(), nodes.end());
      Add("groups", NodesText({nodes.begin(), nodes.end()}), GroupsText(of_a), GroupsText(of_b));
    }
  }

  NodeSet GroupInA(NodeId node) const { return in_a_.step_of().contains(node) ? in_a_.group_of(node) : NodeSet(); }
  NodeSet GroupInB(NodeId node) const { return in_b_.step_of().contains(node) ? in_b_.group_of(node) : NodeSet(); }

  static std::string GroupsText(const std::set<NodeSet>& groups) {
    std::string text;
    for (const NodeSet& group : groups) {
      if (!group.empty()) text += (text.empty() ? "{" : " {") + ListText(group) + "}";
    }
    return text;
  }

  // Of groups that both run.
  void CompareKernels() {
    std::vector<PlanDifference> layouts;
    for (const auto& [nodes, step] : in_a_.groups()) {
      const auto other = in_b_.groups().find(nodes);
      if (other == in_b_.groups().end()) continue;
      const Candidate &a = in_a_.candidate(*step), &b = in_b_.candidate(*other->second);
      Add("kernel", NodesText(nodes), KernelText(a), KernelText(b));
      if (a.in != b.in || a.out != b.out) {
        layouts.push_back({"layout", NodesText(nodes), FormsText(a), FormsText(b)});
      }
    }
    found_.insert(found_.end(), layouts.begin(), layouts.end());
  }

  // Of each unit, the first place where the groups that it runs in both plans come in another order.
  void CompareOrder() {
    std::map<std::string, std::vector<const NodeSet*>> of_a, of_b;
    const auto collect = [](const Indexed& one, const Indexed& other, auto& lists) {
      for (const NodeSet* nodes : one.order()) {
        const std::string& unit = one.unit_of(*one.groups().at(*nodes));
        const auto there = other.groups().find(*nodes);
        if (there != other.groups().end() && other.unit_of(*there->second) == unit) lists[unit].push_back(nodes);
      }
    };
    collect(in_a_, in_b_, of_a);
    collect(in_b_, in_a_, of_b);
    for (const auto& [unit, list] : of_a) {
      const std::vector<const NodeSet*>& other = of_b[unit];
      const auto [here, there] =
          std::ranges::mismatch(list, other, [](const NodeSet* a, const NodeSet* b) { return *a == *b; });
      if (here == list.end() || there == other.end()) continue;
      Add("order", unit, NodesText(**here) + " before " + NodesText(**there),
          NodesText(**there) + " before " + NodesText(**here));
    }
  }

  void CompareMemory() {
    std::map<std::string, std::pair<uint64_t, uint64_t>> bytes;
    for (const auto& [device, arena] : a_.memory) bytes[a_.made_for.platform.device(device).name].first = arena.bytes;
    for (const auto& [device, arena] : b_.memory) bytes[b_.made_for.platform.device(device).name].second = arena.bytes;
    for (const auto& [device, of] : bytes) {
      Add("memory", device, std::to_string(of.first) + " B", std::to_string(of.second) + " B");
    }
  }

  const Plan &a_, &b_;
  Indexed in_a_, in_b_;
  std::vector<PlanDifference> found_;
};

Status CheckIds(const Plan& plan, const char* which) {
  const auto fault = [&](const std::string& what) {
    return MakeError(ErrorCode::kInvalidInput, "plan.diff", std::string("plan ") + which + ": " + what,
                     "pt-plan MODEL --check PLAN lists what is wrong with a plan");
  };
  std::set<NodeId> seen;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const std::string step = "step " + std::to_string(s);
    if (plan.steps[s].unit.index() >= plan.made_for.platform.units.size()) return fault(step + " has no unit");
    const auto* run = std::get_if<RunGroup>(&plan.steps[s].work);
    if (run == nullptr) continue;
    if (run->candidate.index() >= plan.candidates.size()) return fault(step + " has no candidate");
    for (const NodeId node : plan.candidates[run->candidate.index()].nodes) {
      if (!seen.insert(node).second) return fault(step + " runs node " + std::to_string(node.value) + " again");
    }
  }
  for (const auto& [device, arena] : plan.memory) {
    if (device.index() >= plan.made_for.platform.devices.size()) return fault("an arena has no device");
  }
  return {};
}

}  // namespace

Result<std::vector<PlanDifference>> DiffPlans(const Plan& a, const Plan& b) {
  PT_CHECK_OK(CheckIds(a, "A"));
  PT_CHECK_OK(CheckIds(b, "B"));
  return Differ(a, b).Run();
}

std::string ToText(const std::vector<PlanDifference>& differences) {
  if (differences.empty()) return "the plans do the same\n";
  std::string text;
  for (const PlanDifference& difference : differences) {
    text += difference.what;
    if (difference.a.empty() && difference.b.empty()) {
      text += ": " + difference.where + "\n";  // a line that tells of both
      continue;
    }
    if (!difference.where.empty()) text += " of " + difference.where;
    text += ": " + (difference.a.empty() ? "none" : difference.a) + " in A, " +
            (difference.b.empty() ? "none" : difference.b) + " in B\n";
  }
  return text;
}

Json ToJson(const std::vector<PlanDifference>& differences) {
  Json rows = Json::MakeArray();
  for (const PlanDifference& difference : differences) {
    Json row = Json::MakeObject();
    row.Set("what", difference.what);
    row.Set("where", difference.where);
    row.Set("a", difference.a);
    row.Set("b", difference.b);
    rows.Push(std::move(row));
  }
  return rows;
}

}  // namespace pt
