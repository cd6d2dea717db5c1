#include <algorithm>

#include "partitiontuner/graph/find_nodes.h"
#include "partitiontuner/support/file.h"
#include "partitiontuner/support/text.h"
#include "tools/common/commands.h"
#include "tools/common/inputs.h"
#include "tools/common/memory_caps.h"
#include "tools/common/models.h"
#include "tools/common/text.h"
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {
namespace {

// Adds NODE=WHERE to the constraints; WHERE is a unit class or a device. To a device with several
// classes belongs every one of them, so "must run there" becomes "must not run elsewhere".
Status AddPlacement(const std::string& text, bool place, const Graph& graph, const Platform& platform,
                    Constraints& constraints) {
  const std::string flag = place ? "--place" : "--forbid";
  PT_ASSIGN(const auto pair, ParseAssignment(text, flag));
  const std::vector<NodeId> nodes = FindNodes(graph, pair.first);
  if (nodes.empty()) {
    return MakeError(ErrorCode::kUsage, "usage.node", flag + ": no node is called \"" + pair.first + "\"",
                     "pt-plan -v lists the nodes with their indices");
  }
  const UnitClassId unit_class = FindUnitClass(platform, pair.second);
  const DeviceId device = FindDevice(platform, pair.second);
  if (!unit_class.valid() && !device.valid()) {
    std::string known;
    for (const UnitClass& row : platform.unit_classes) known += (known.empty() ? "" : ", ") + row.name;
    return MakeError(ErrorCode::kUsage, "usage.unit",
                     flag + ": no unit class or device is called \"" + pair.second + "\"", "one of " + known);
  }
  for (const NodeId node : nodes) {
    for (size_t i = 0; i < platform.unit_classes.size(); ++i) {
      const bool meant = device.valid() ? platform.unit_classes[i].device == device : UnitClassId(i) == unit_class;
      if (meant != place) constraints.forbid.emplace_back(node, UnitClassId(i));
    }
  }
  return {};
}

// Adds NAME=DEVICE to the constraints.
Status AddLending(const std::string& text, const Graph& graph, const Platform& platform, Constraints& constraints) {
  PT_ASSIGN(const auto pair, ParseAssignment(text, "--lend"));
  PT_ASSIGN(const DeviceId device, DeviceMeant(platform, pair.second, "--lend"));
  bool any = false;
  std::string known;
  for (const std::span<const ValueId> values : {graph.inputs(), graph.outputs()}) {
    for (const ValueId value : values) {
      const std::string& name = graph.value(value).name;
      known += (known.empty() ? "" : ", ") + name;
      if (!MatchesGlob(name, pair.first)) continue;
      any = true;
      constraints.lent_on[value] = device;
    }
  }
  if (any) return {};
  return MakeError(ErrorCode::kUsage, "usage.lend", "--lend: no input or output is called \"" + pair.first + "\"",
                   "one of " + known);
}

}  // namespace

Status AddConstraints(const PlanFlags& flags, const Graph& graph, const Platform& platform, Constraints& constraints) {
  for (const std::string& text : flags.place) PT_CHECK_OK(AddPlacement(text, true, graph, platform, constraints));
  for (const std::string& text : flags.forbid) PT_CHECK_OK(AddPlacement(text, false, graph, platform, constraints));
  for (const std::string& text : flags.lend) PT_CHECK_OK(AddLending(text, graph, platform, constraints));
  PT_ASSIGN(constraints.memory_caps, MemoryCapsOf(flags.memory, platform));
  return {};
}

Result<PlanningSetup> MakePlanningSetup(const PlanFlags& flags) {
  PlanningSetup setup;
  PT_ASSIGN(ModelOptions model_options, ModelOptionsOf(flags.common));
  PT_CHECK_OK(CheckDatabase(flags.common));
  if (!flags.check.empty()) {
    PT_ASSIGN(const Plan checked, LoadPlan(flags.check));
    PT_ASSIGN(ModelOptions of_plan, OptionsOf(checked));
    model_options.default_dims = std::move(of_plan.default_dims);
    model_options.load.given_inputs.merge(of_plan.load.given_inputs);
  }
  if (!flags.time_limit.empty()) {
    PT_ASSIGN(setup.options.time_limit, ParseDuration(flags.time_limit, "--time-limit"));
  }
  if (!flags.profile.empty()) {
    const Limits limits;
    PT_ASSIGN(const std::string text, ReadFile(flags.profile, limits.profile_bytes));
    PT_ASSIGN(const Json json, ParseJson(text, flags.profile, limits));
    PT_ASSIGN(setup.profile, ProfileFromJson(json, flags.profile));
  }
  PT_ASSIGN(setup.given, ReadInputs(flags.common.inputs));
  if (setup.given.by_position.empty() && !flags.calibrate.empty()) {
    PT_ASSIGN(const std::vector<std::string> folders, DataSetFolders(flags.calibrate.front()));
    PT_ASSIGN(const GivenInputs first, ReadInputs({folders.front()}));
    AddDims(first, model_options);
  }
  PT_ASSIGN(setup.engine, MakeEngine(flags.common));
  PT_ASSIGN(setup.model, LoadGiven(*setup.engine, flags.common, setup.given, model_options));
  const Platform& platform = setup.engine->machine().platform();
  if (!flags.profile.empty() && setup.profile.platform_fingerprint != PlatformFingerprint(platform)) {
    Error error = MakeError(ErrorCode::kStale, "profile.stale",
                            "the profile was made on another machine: its platform is " +
                                setup.profile.platform_fingerprint + ", this one " + PlatformFingerprint(platform),
                            CommandFor("pt-profile", flags.common) + " measures on this machine");
    error.file = flags.profile;
    return error;
  }
  setup.options.planner = flags.planner;
  setup.options.effort = flags.effort;
  setup.options.seed = flags.seed;
  setup.options.margin = flags.margin == "0" ? SplitMargin::kNone : SplitMargin::kUncertainty;
  setup.options.allow_estimates = !flags.no_estimates;
  PT_CHECK_OK(AddConstraints(flags, *setup.model->graph, platform, setup.options.constraints));
  return setup;
}

}  // namespace pt::tools
