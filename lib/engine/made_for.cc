#include "lib/engine/made_for.h"

#include <set>

#include "partitiontuner/plan/check_plan.h"
#include "partitiontuner/plan/plan_precision.h"
#include "partitiontuner/profiler/measure.h"
#include "partitiontuner/transform/passes.h"
#include "partitiontuner/version.h"

namespace pt {
namespace {

std::string ConstraintsText(const Graph& graph, const Platform& platform, const Constraints& constraints) {
  std::string text;
  const auto add = [&](const char* what, const auto& pairs) {
    for (const auto& [node, unit_class] : pairs) {
      text += (text.empty() ? "" : ", ") + std::string(what) + " " + NodeLabel(graph, node) + " " +
              platform.unit_class(unit_class).name;
    }
  };
  add("pin", constraints.pin);
  add("forbid", constraints.forbid);
  const bool all_in_fp32 = constraints.in_fp32.size() == graph.nodes().size();
  if (all_in_fp32) text += (text.empty() ? "" : ", ") + std::string("all in fp32");
  for (const NodeId node : all_in_fp32 ? std::set<NodeId>() : constraints.in_fp32) {
    text += (text.empty() ? "" : ", ") + std::string("fp32 ") + NodeLabel(graph, node);
  }
  for (const auto& [device, bytes] : constraints.memory_caps) {
    text += (text.empty() ? "" : ", ") + std::string("memory ") + platform.device(device).name + " " +
            std::to_string(bytes);
  }
  for (const std::vector<NodeId>& nodes : constraints.together) {
    text += (text.empty() ? "" : ", ") + std::string("together");
    for (const NodeId node : nodes) text += " " + NodeLabel(graph, node);
  }
  for (const auto& [device, bytes] : constraints.resident_caps) {
    text += (text.empty() ? "" : ", ") + std::string("resident ") + platform.device(device).name + " " +
            std::to_string(bytes);
  }
  if (constraints.total_memory_cap) {
    text += (text.empty() ? "" : ", ") + std::string("memory ") + std::to_string(*constraints.total_memory_cap);
  }
  return text;
}

// All but what names the graph and the model.
MadeFor MadeForMachine(const Graph& graph, const Machine& machine, const Plan& plan) {
  MadeFor made_for;
  made_for.tool_version = kVersion;
  const std::set<std::string> used = LibrariesOf(plan);
  for (const auto& [name, version] : LibraryVersions(machine)) {
    if (used.contains(name)) made_for.libraries.emplace(name, version);
  }
  made_for.opset = graph.opset();
  made_for.platform = machine.platform();
  return made_for;
}

}  // namespace

ProfileSummary SummaryOf(const Profile& profile) {
  ProfileSummary summary;
  std::string text;
  for (const auto& [hash, measurement] : profile.measurements) {
    text += ToHex(hash) + " " + std::to_string(measurement.median_ns) + "\n";
    summary.samples += measurement.samples;
  }
  summary.hash = ToHex(HashText(text));
  return summary;
}

MadeFor MadeForOf(const Model& model, const Machine& machine, const Plan& plan, const ProfileSummary& profile,
                  const PlanOptions& options) {
  MadeFor made_for = MadeForMachine(*model.graph, machine, plan);
  made_for.model_hash = model.model_hash;
  made_for.graph_hash = model.graph_hash;
  made_for.models = model.models;
  for (ValueId input : model.graph->inputs()) {
    const Value& value = model.graph->value(input);
    if (const auto dims = value.type.static_dims()) made_for.input_dims[value.name] = *dims;
  }
  made_for.profile_hash = profile.hash;
  made_for.profile_samples = profile.samples;
  made_for.settings = {{"objective", "latency"},
                       {"seed", std::to_string(options.seed)},
                       {"effort", std::to_string(options.effort)},
                       {"passes", std::to_string(kPassPipelineVersion)},
                       {"precision", ToString(model.precision)}};
  if (model.keep_nan) made_for.settings[std::string(kNanSetting)] = kKeepNan;
  if (!model.rewrites.empty()) made_for.settings["rewrite"] = ToString(model.rewrites);
  for (const auto& [input, number] : model.constants) {
    made_for.settings[std::string(kConstantSetting) + input] = ConstantText(number);
  }
  const std::string constraints = ConstraintsText(*model.graph, machine.platform(), options.constraints);
  if (!constraints.empty()) made_for.settings["constraints"] = constraints;
  return made_for;
}

MadeFor MadeForOf(const Graph& graph, const Machine& machine, const Plan& plan) {
  MadeFor made_for = MadeForMachine(graph, machine, plan);
  made_for.graph_hash = ToHex(GraphHash(graph));
  return made_for;
}

}  // namespace pt
