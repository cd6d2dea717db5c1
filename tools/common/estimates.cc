#include "tools/common/estimates.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "partitiontuner/support/text.h"
#include "tools/common/commands.h"
#include "tools/common/text.h"

namespace pt::tools {
namespace {

bool Computes(const Plan& plan, const Platform& platform, DeviceId device) {
  return std::ranges::any_of(plan.steps, [&](const Step& step) {
    return std::holds_alternative<RunGroup>(step.work) && platform.device_of(step.unit) == device;
  });
}

}  // namespace

std::string MeasureCommand(const CommonFlags& flags) { return CommandFor("pt-profile", flags); }
std::string RefineCommand(const CommonFlags& flags) { return CommandFor("pt-plan", flags) + " --refine 1"; }

Unmeasured UnmeasuredOf(Engine& engine, const Model& model, const Plan& plan, const PlanOptions& options) {
  const Platform& platform = engine.machine().platform();
  if (plan.complete && platform.devices.size() == 1) return {};  // costs take long to gather
  const bool to_plan = !model.candidates.empty();
  std::optional<Model> of_plan;  // a model of many candidates is not copied without need
  if (!to_plan) of_plan.emplace(model).candidates = plan.candidates;
  const Result<std::unique_ptr<CostModel>> costs = engine.CostsOf(of_plan ? *of_plan : model, options);
  Unmeasured unmeasured;
  if (!plan.complete) {
    unmeasured.time = EstimatedTimeOf(*model.graph, platform, plan, costs.ok() ? costs->get() : nullptr);
  }
  if (!to_plan || !costs.ok()) return unmeasured;
  for (const DeviceId device : UnmeasuredDevices(model, platform, **costs)) {
    if (!Computes(plan, platform, device)) unmeasured.left_out.push_back(platform.device(device).name);
  }
  return unmeasured;
}

std::vector<std::string> UnmeasuredLines(const Unmeasured& unmeasured, const CommonFlags& flags) {
  std::vector<std::string> lines;
  const EstimatedTime& time = unmeasured.time;
  const bool measurable = time.ns > time.unsized_ns;
  if (time.ns > 0) {
    std::string line = Percent(time.share) + " of the predicted time is estimated, not measured";
    if (measurable) {
      line += ": " + MeasureCommand(flags) + " measures " +
              (time.unsized_ns > 0 ? Percent(time.share - time.unsized_share) : std::string("it"));
    }
    if (time.unsized_ns > 0) {
      line += (measurable ? "; " : ": ") + Percent(time.unsized_share) + " is of " + Joined(time.unsized_operators) +
              ", whose time only runs can tell: " + RefineCommand(flags) + " takes it from them";
    }
    lines.push_back(std::move(line));
  }
  if (!unmeasured.left_out.empty()) {
    lines.push_back("left out for want of measurements: " + Joined(unmeasured.left_out) + "; " + MeasureCommand(flags) +
                    " measures there");
  }
  return lines;
}

Json ToJson(const Unmeasured& unmeasured, const CommonFlags& flags) {
  const auto list = [](const std::vector<std::string>& words) {
    Json array = Json::MakeArray();
    for (const std::string& word : words) array.Push(word);
    return array;
  };
  const EstimatedTime& time = unmeasured.time;
  Json json = Json::MakeObject();
  json.Set("ns", time.ns);
  json.Set("share", time.share);
  json.Set("unsized_ns", time.unsized_ns);
  json.Set("unsized_share", time.unsized_share);
  json.Set("unsized_operators", list(time.unsized_operators));
  json.Set("left_out", list(unmeasured.left_out));
  if (time.ns > time.unsized_ns || !unmeasured.left_out.empty()) json.Set("measure", MeasureCommand(flags));
  if (time.unsized_ns > 0) json.Set("refine", RefineCommand(flags));
  return json;
}

}  // namespace pt::tools
