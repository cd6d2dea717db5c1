// tuned-ops: what an operator-tuning compiler gives, TVM (Chen and others, OSDI 2018) for one. What is fused is decided
// by rules over operator classes and not by times: injective operators with each other, with the convolution, product
// or pooling before them, and with the reduction behind them; opaque ones never. Then each fused group takes its
// fastest candidate by measurement, with the library, layout and width that it has; all in one stream on one device.
// What changes of layout between groups cost is not asked when choosing.
#include <algorithm>

#include "lib/planner/methods/operator_classes.h"
#include "lib/planner/solve.h"

namespace pt {
namespace {

class TunedOperators {
 public:
  TunedOperators(const Space& space, DeviceId device)
      : space_(space), device_(device), covered_(space.graph().nodes().size(), false) {}

  // What is fused around the classes that lead a group comes first.
  Result<Solution> Run() {
    for (OperatorClass leader : {OperatorClass::kComplexOutFusable, OperatorClass::kReduction,
                                 OperatorClass::kInjective, OperatorClass::kOpaque}) {
      for (NodeId node : space_.order()) {
        if (covered_[node.index()] || ClassOf(space_.graph().node(node)) != leader) continue;
        PT_CHECK_OK(Cover(node));
      }
    }
    SortLegally(space_, solution_, keys_);
    return std::move(solution_);
  }

 private:
  Status Cover(NodeId node) {
    uint32_t largest = kNothing;
    for (uint32_t g : space_.groups_of(node)) {
      const bool is_larger = largest == kNothing || space_.group(g).nodes.size() > space_.group(largest).nodes.size();
      if (is_larger && IsOpen(space_.group(g)) && IsFused(space_.group(g)) && FastestOf(g) != kNothing) largest = g;
    }
    if (largest == kNothing) {
      Error error = MakeError(
          ErrorCode::kInfeasible, "planner.no_cover",
          "no candidates cover " + NodeLabel(space_.graph(), node) + " on the device with what the rules fuse to it");
      error.node = NodeLabel(space_.graph(), node);
      error.device = space_.platform().device(device_).name;
      return error;
    }
    const uint32_t option = FastestOf(largest);
    solution_.push_back({option, space_.units(space_.option(option).unit_class).front()});
    keys_.push_back(space_.position(node));
    for (NodeId of : space_.group(largest).nodes) covered_[of.index()] = true;
    return {};
  }

  bool IsOpen(const Group& group) const {
    return std::none_of(group.nodes.begin(), group.nodes.end(), [&](NodeId node) { return covered_[node.index()]; });
  }

  // One result, and one operator at most that is not injective: at the head of the group, or a reduction at its end.
  // Groups of one result never wait for each other in a cycle.
  bool IsFused(const Group& group) const {
    if (group.nodes.size() == 1) return true;
    if (group.out.size() != 1) return false;
    bool has_leader = false;
    for (NodeId node : group.nodes) {
      switch (ClassOf(space_.graph().node(node))) {
        case OperatorClass::kInjective:
          break;
        case OperatorClass::kReduction:
          if (has_leader || space_.value(group.out.front()).producer != node) return false;
          has_leader = true;
          break;
        case OperatorClass::kComplexOutFusable:
          if (has_leader || ReadsWithin(group, node)) return false;
          has_leader = true;
          break;
        case OperatorClass::kOpaque:
          return false;
      }
    }
    return true;
  }

  bool ReadsWithin(const Group& group, NodeId node) const {
    const std::vector<ValueId>& inputs = space_.graph().node(node).inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId in) {
      const NodeId maker = in.valid() ? space_.value(in).producer : NodeId();
      return maker.valid() && std::binary_search(group.nodes.begin(), group.nodes.end(), maker);
    });
  }

  uint32_t FastestOf(uint32_t group) const {
    const std::vector<uint32_t>& options = space_.group(group).options;  // cheapest first
    const auto found =
        std::find_if(options.begin(), options.end(), [&](uint32_t o) { return space_.option(o).device == device_; });
    return found == options.end() ? kNothing : *found;
  }

  const Space& space_;
  const DeviceId device_;
  std::vector<bool> covered_;  // by node
  Solution solution_;
  std::vector<int64_t> keys_;
};

}  // namespace

// Without a device: the one on which the result is fastest.
Result<Solved> SolveTunedOps(const Space& space, std::string_view argument) {
  if (!argument.empty()) {
    PT_ASSIGN(const DeviceId device, DeviceNamed(space.platform(), argument));
    PT_ASSIGN(Solution solution, TunedOperators(space, device).Run());
    return Solved{std::move(solution)};
  }
  Scheduler scheduler(space);
  Solved best;
  int64_t best_ns = kImpossible;
  Error error = MakeError(ErrorCode::kInfeasible, "planner.infeasible", "no copies lead to any device and back");
  for (size_t d = 0; d < space.platform().devices.size(); ++d) {
    Result<Solution> solution = TunedOperators(space, DeviceId(d)).Run();
    if (!solution.ok()) {
      error = solution.error();
      continue;
    }
    const int64_t ns = scheduler.Run(*solution);
    if (ns >= best_ns) continue;
    best_ns = ns;
    best.order = std::move(*solution);
  }
  if (best_ns >= kImpossible) return error;
  return best;
}

}  // namespace pt
