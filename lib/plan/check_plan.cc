#include "partitiontuner/plan/check_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "lib/plan/check_described.h"
#include "lib/plan/check_memory.h"
#include "lib/plan/check_narrowing.h"
#include "lib/plan/check_run_time_sizes.h"
#include "lib/plan/work.h"
#include "partitiontuner/plan/plan_precision.h"

namespace pt {
namespace {

constexpr size_t kNever = SIZE_MAX;

class PlanChecker {
 public:
  PlanChecker(const Graph& graph, const Platform& platform, const Plan& plan, const PlanDescription& description,
              Absent absent)
      : graph_(graph), platform_(platform), plan_(plan), description_(description), absent_(absent) {}

  // Each phase relies on what the earlier ones found sane.
  std::vector<PlanFault> Run() {
    CheckRanges();
    CheckLending();
    CheckNumbers();
    CheckPrecision();
    if (!faults_.empty()) return std::move(faults_);
    for (size_t c = 0; c < plan_.candidates.size(); ++c) CheckCandidate(c);
    CheckInstances();
    if (!faults_.empty()) return std::move(faults_);
    const CheckedPlan checked{graph_, platform_, plan_, CheckDescribed(plan_, description_, absent_, faults_)};
    CheckNan();
    if (!faults_.empty()) return std::move(faults_);
    CheckCover();
    for (size_t s = 0; s < plan_.steps.size(); ++s) CheckWork(s);
    if (!faults_.empty()) return std::move(faults_);
    const StepOrder order(platform_, plan_);
    CheckData(order);
    if (!faults_.empty()) return std::move(faults_);
    CheckNarrowing(checked, faults_);
    CheckRunTimeSizes(checked, faults_);
    if (!faults_.empty()) return std::move(faults_);
    const std::vector<const Placement*> placements = CheckPlacements(checked, faults_);
    // What follows relies on one sane place each.
    if (faults_.empty()) CheckSharing(checked, placements, order, faults_);
    return std::move(faults_);
  }

 private:
  void Fault(std::string id, std::string message) { faults_.push_back({std::move(id), std::move(message)}); }

  template <typename Id>
  void CheckRange(Id id, size_t count, const std::string& where, const char* what) {
    if (id.index() < count) return;
    Fault("id_range", where + " names " + what + " " + (id.valid() ? std::to_string(id.value) : "none") + " of " +
                          std::to_string(count));
  }

  static std::string StepName(size_t s) { return "step " + std::to_string(s); }
  static std::string CandidateName(size_t c) { return "candidate " + std::to_string(c); }
  static std::string InstanceName(size_t i) { return "instance " + std::to_string(i); }

  void CheckRanges() {
    for (size_t c = 0; c < plan_.candidates.size(); ++c) {
      const Candidate& candidate = plan_.candidates[c];
      for (NodeId node : candidate.nodes) CheckRange(node, graph_.nodes().size(), CandidateName(c), "node");
      CheckRange(candidate.unit_class, platform_.unit_classes.size(), CandidateName(c), "unit class");
    }
    for (size_t i = 0; i < plan_.instances.size(); ++i) {
      CheckRange(plan_.instances[i].value, graph_.values().size(), InstanceName(i), "value");
      CheckRange(plan_.instances[i].device, platform_.devices.size(), InstanceName(i), "device");
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      CheckRange(step.unit, platform_.units.size(), StepName(s), "unit");
      for (InstanceId id : ReadsOf(step.work)) CheckRange(id, plan_.instances.size(), StepName(s), "instance");
      for (InstanceId id : WritesOf(step.work)) CheckRange(id, plan_.instances.size(), StepName(s), "instance");
      if (const auto* group = std::get_if<RunGroup>(&step.work)) {
        CheckRange(group->candidate, plan_.candidates.size(), StepName(s), "candidate");
      } else if (const auto* copy = std::get_if<Copy>(&step.work)) {
        CheckRange(copy->link, platform_.links.size(), StepName(s), "link");
      }
      for (StepId predecessor : step.after) {
        if (predecessor.index() < s) continue;
        Fault("wait_order",
              StepName(s) + " waits for step " + std::to_string(predecessor.value) + ", which is not earlier");
      }
    }
    for (const auto& [device, arena] : plan_.memory) {
      CheckRange(device, platform_.devices.size(), "the memory plan", "device");
      for (const Placement& p : arena.placements) {
        CheckRange(p.instance, plan_.instances.size(), "the memory plan", "instance");
      }
      for (const ScratchPlacement& p : arena.scratch) CheckRange(p.step, plan_.steps.size(), "the memory plan", "step");
    }
    for (StepId step : plan_.report.critical_path) CheckRange(step, plan_.steps.size(), "the critical path", "step");
  }

  void CheckLending() {
    for (const auto& [value, device] : plan_.lent_on) {
      const std::string fault = LendingFault(graph_, platform_, value, device);
      if (!fault.empty()) Fault("lent_on", fault);
    }
  }

  void CheckNumbers() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      if (step.expected_start_ns < 0 || step.expected_ns < 0) {
        Fault("number", StepName(s) + " is expected at a negative time or for one");
      }
    }
    const Estimate& makespan = plan_.makespan;
    if (makespan.ns < 0 || makespan.spread_ns < 0 || !(makespan.relative_error >= 0) ||
        !std::isfinite(makespan.relative_error)) {
      Fault("number", "the makespan is not a valid time");
    }
    if (plan_.lower_bound_ns < 0) Fault("number", "the lower bound is negative");
    if (!std::isfinite(plan_.report.gap)) Fault("number", "the gap is not a number");
    for (const auto& [unit, share] : plan_.report.busy) {
      if (!(share >= 0) || !std::isfinite(share)) Fault("number", "the busy share of " + unit + " is not a number");
    }
  }

  void CheckForm(const Form& form, const Candidate* candidate, ValueId value, const std::string& where) {
    const Value& v = graph_.value(value);
    if (v.type.ranked && form.layout.order.size() != v.type.dims.size()) {
      Fault("form", where + ": layout \"" + ToString(form.layout) + "\" does not fit " + ToString(v.type));
    }
    // A candidate stores what its own math allows; instances and reorders what the plan's precision does.
    const bool may_store = candidate != nullptr
                               ? MayStore(candidate->math, v.type.type, form.storage, form.quantisation)
                               : precision_.allows_storage(v.type.type, form.storage, form.quantisation);
    if (!may_store) {
      Fault("form", where + ": '" + v.name + "' is stored as " + std::string(DataTypeName(form.storage)) + ", which " +
                        (candidate != nullptr ? std::string(MathModeName(candidate->math)) + " math"
                                              : "precision " + ToString(precision_)) +
                        " does not allow");
    }
    if (form.quantisation.valid()) CheckQuantisation(form, v, where);
  }

  void CheckQuantisation(const Form& form, const Value& value, const std::string& where) {
    const auto found = plan_.quantisations.find(form.quantisation);
    if (found == plan_.quantisations.end()) {
      Fault("quantisation", where + " names quantisation " + ToString(form.quantisation) + ", which the plan lacks");
      return;
    }
    const std::string fault = QuantisationFault(found->second, value.type, form.storage);
    if (!fault.empty()) Fault("quantisation", where + ": '" + value.name + "': " + fault);
  }

  void CheckPrecision() {
    Result<Precision> precision = AllowedPrecision(plan_);
    if (!precision.ok()) {
      Fault("precision", precision.error().message);
      return;
    }
    precision_ = *precision;
    for (size_t c = 0; c < plan_.candidates.size(); ++c) {
      if (IsWithin(plan_.candidates[c], precision_)) continue;
      Fault("precision", CandidateName(c) + " computes in " + std::string(MathModeName(plan_.candidates[c].math)) +
                             ", which precision " + ToString(precision_) + " does not allow");
    }
    for (const auto& [id, quantisation] : plan_.quantisations) {
      if (id != IdOf(quantisation)) Fault("quantisation", "quantisation " + ToString(id) + " is not what its id says");
    }
  }

  void CheckNan() {
    const Result<bool> must_keep = MustKeepNan(plan_);
    if (!must_keep.ok()) Fault("nan", must_keep.error().message);
    if (!must_keep.ok() || !*must_keep) return;
    for (const size_t c : description_.nan_droppers) {
      Fault("nan", CandidateName(c) + " may lose NaN, which setting nan does not allow");
    }
  }

  void CheckCandidate(size_t c) {
    const Candidate& candidate = plan_.candidates[c];
    const std::string name = CandidateName(c);
    const bool ascending = std::adjacent_find(candidate.nodes.begin(), candidate.nodes.end(), std::greater_equal<>()) ==
                           candidate.nodes.end();
    if (candidate.nodes.empty() || !ascending) {
      Fault("candidate_nodes", name + ": nodes are not ascending");
      return;
    }
    if (!IsConvex(graph_, candidate.nodes)) {
      Fault("candidate_convex", name + ": a path leaves its nodes and comes back");
    }
    const std::vector<ValueId> in = GroupInputs(graph_, candidate.nodes);
    const std::vector<ValueId> out = GroupOutputs(graph_, candidate.nodes);
    if (in.size() != candidate.in.size() || out.size() != candidate.out.size()) {
      Fault("form", name + " has " + std::to_string(candidate.in.size()) + " inputs and " +
                        std::to_string(candidate.out.size()) + " outputs, its nodes have " + std::to_string(in.size()) +
                        " and " + std::to_string(out.size()));
      return;
    }
    for (size_t i = 0; i < in.size(); ++i) CheckForm(candidate.in[i], &candidate, in[i], name);
    for (size_t i = 0; i < out.size(); ++i) CheckForm(candidate.out[i], &candidate, out[i], name);
    for (const Alias& alias : candidate.aliases) {
      if (alias.in >= in.size() || alias.out >= out.size()) Fault("alias", name + " aliases what it does not have");
    }
    candidate_in_.resize(plan_.candidates.size());
    candidate_out_.resize(plan_.candidates.size());
    candidate_in_[c] = in;
    candidate_out_[c] = out;
  }

  void CheckInstances() {
    std::set<Instance> seen;
    for (size_t i = 0; i < plan_.instances.size(); ++i) {
      const Instance& instance = plan_.instances[i];
      if (graph_.value(instance.value).is_constant()) {
        Fault("instance_constant", InstanceName(i) + " is of a constant; kernels hold those");
      }
      CheckForm(instance.form, nullptr, instance.value, InstanceName(i));
      if (!seen.insert(instance).second) Fault("instance_repeated", "duplicate instance " + InstanceName(i));
    }
  }

  void CheckCover() {
    std::vector<size_t> by(graph_.nodes().size(), kNever);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const auto* group = std::get_if<RunGroup>(&plan_.steps[s].work);
      if (group == nullptr) continue;
      for (NodeId node : plan_.candidates[group->candidate.index()].nodes) {
        if (by[node.index()] != kNever) {
          Fault("node_repeated", NodeLabel(graph_, node) + " is computed by step " + std::to_string(by[node.index()]) +
                                     " and by step " + std::to_string(s));
        }
        by[node.index()] = s;
      }
    }
    for (size_t n = 0; n < by.size(); ++n) {
      if (by[n] == kNever) Fault("node_missing", NodeLabel(graph_, NodeId(n)) + " is computed by no step");
    }
  }

  void CheckWork(size_t s) {
    const Step& step = plan_.steps[s];
    if (const auto* group = std::get_if<RunGroup>(&step.work)) {
      CheckGroup(s, step, *group);
    } else if (const auto* copy = std::get_if<Copy>(&step.work)) {
      CheckCopy(s, step, *copy);
    } else {
      CheckReorder(s, step, std::get<Reorder>(step.work));
    }
  }

  void CheckGroup(size_t s, const Step& step, const RunGroup& group) {
    const size_t c = group.candidate.index();
    const Candidate& candidate = plan_.candidates[c];
    if (platform_.unit(step.unit).unit_class != candidate.unit_class || platform_.unit(step.unit).link) {
      Fault("unit_class", StepName(s) + " runs a candidate of " + platform_.unit_class(candidate.unit_class).name +
                              " on " + platform_.unit(step.unit).name);
    }
    if (group.in.size() != candidate.in.size() || group.out.size() != candidate.out.size()) {
      Fault("step_instances", StepName(s) + " has other inputs or outputs than its candidate");
      return;
    }
    const DeviceId device = platform_.device_of(step.unit);
    const auto check = [&](InstanceId id, ValueId value, const Form& form) {
      const Instance& instance = plan_.instances[id.index()];
      if (instance.value == value && instance.form == form && instance.device == device) return;
      Fault("step_instances", StepName(s) + ": instance " + std::to_string(id.value) + " is not value '" +
                                  graph_.value(value).name + "' as \"" + ToString(form.layout) + "\" on " +
                                  platform_.device(device).name);
    };
    for (size_t i = 0; i < group.in.size(); ++i) check(group.in[i], candidate_in_[c][i], candidate.in[i]);
    for (size_t i = 0; i < group.out.size(); ++i) check(group.out[i], candidate_out_[c][i], candidate.out[i]);
  }

  void CheckCopy(size_t s, const Step& step, const Copy& copy) {
    const Instance& from = plan_.instances[copy.from.index()];
    const Instance& to = plan_.instances[copy.to.index()];
    const Link& link = platform_.link(copy.link);
    if (from.value != to.value || from.form != to.form) {
      Fault("copy", StepName(s) + " copies between instances of different values or forms");
    }
    if (link.from != from.device || link.to != to.device) {
      Fault("copy", StepName(s) + " copies from " + platform_.device(from.device).name + " to " +
                        platform_.device(to.device).name + " over a link that does not join them");
    }
    if (platform_.unit(step.unit).link != copy.link) {
      Fault("copy", StepName(s) + ": " + platform_.unit(step.unit).name + " does not serve its link");
    }
  }

  void CheckReorder(size_t s, const Step& step, const Reorder& reorder) {
    const Instance& from = plan_.instances[reorder.from.index()];
    const Instance& to = plan_.instances[reorder.to.index()];
    if (from.value != to.value || from.device != to.device || from.form == to.form) {
      Fault("reorder", StepName(s) + " does not change the form of one value on one device");
    }
    if (platform_.device_of(step.unit) != to.device || platform_.unit(step.unit).link) {
      Fault("reorder", StepName(s) + " reorders on " + platform_.unit(step.unit).name + " what lies on " +
                           platform_.device(to.device).name);
    }
  }

  void CheckData(const StepOrder& order) {
    std::vector<size_t> writer(plan_.instances.size(), kNever);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (InstanceId id : WritesOf(plan_.steps[s].work)) {
        size_t& written_by = writer[id.index()];
        if (written_by != kNever) {
          Fault("written_twice", InstanceName(id.index()) + " is written by steps " + std::to_string(written_by) +
                                     " and " + std::to_string(s));
        }
        written_by = s;
        const Instance& instance = plan_.instances[id.index()];
        if (IsGiven(graph_, plan_, instance)) {
          Fault("written_input", StepName(s) + " writes graph input '" + graph_.value(instance.value).name + "'");
        }
      }
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (InstanceId id : ReadsOf(plan_.steps[s].work)) CheckRead(order, s, id, writer[id.index()]);
    }
    CheckOutputs(writer);
  }

  void CheckRead(const StepOrder& order, size_t s, InstanceId id, size_t writer) {
    const Instance& instance = plan_.instances[id.index()];
    const std::string& name = graph_.value(instance.value).name;
    if (writer == kNever) {
      if (IsGiven(graph_, plan_, instance)) return;
      Fault("not_written",
            StepName(s) + " reads " + InstanceName(id.index()) + " of '" + name + "', which no step writes");
    } else if (writer == s || !order.Before(writer, s)) {
      Fault("race", StepName(s) + " reads '" + name + "' and nothing makes it wait for step " + std::to_string(writer) +
                        ", which writes it");
    }
  }

  void CheckOutputs(const std::vector<size_t>& writer) {
    std::set<ValueId> made;
    for (size_t i = 0; i < plan_.instances.size(); ++i) {
      if (writer[i] != kNever && IsLent(graph_, plan_, plan_.instances[i])) made.insert(plan_.instances[i].value);
    }
    for (ValueId output : graph_.outputs()) {
      if (graph_.value(output).producer.valid() && !made.contains(output)) {
        Fault("output_missing", "no step writes graph output '" + graph_.value(output).name + "', row-major, on " +
                                    platform_.device(LentDevice(plan_.lent_on, output)).name);
      }
    }
  }

  const Graph& graph_;
  const Platform& platform_;
  const Plan& plan_;
  Precision precision_;
  const PlanDescription& description_;
  const Absent absent_;
  std::vector<PlanFault> faults_;
  std::vector<std::vector<ValueId>> candidate_in_, candidate_out_;
};

}  // namespace

std::vector<PlanFault> CheckPlan(const Graph& graph, const Platform& platform, const Plan& plan,
                                 const PlanDescription& description) {
  return PlanChecker(graph, platform, plan, description, Absent::kFault).Run();
}

std::vector<PlanFault> CheckPlanStructure(const Graph& graph, const Platform& platform, const Plan& plan,
                                          const PlanDescription& description) {
  return PlanChecker(graph, platform, plan, description, Absent::kBelieved).Run();
}

}  // namespace pt
