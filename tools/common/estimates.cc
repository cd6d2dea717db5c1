#include "tools/common/estimates.h"

#include <algorithm>

#include "tools/common/text.h"

namespace pt::tools {
namespace {

constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-";

std::string Quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// The flags that say which model on which machine, as they were given.
std::string SubjectFlags(const CommonFlags& flags) {
  std::string text = " " + Quoted(flags.model);
  const auto add = [&](const char* flag, const std::string& value, std::string_view otherwise = "") {
    if (value != otherwise) text += " " + std::string(flag) + " " + Quoted(value);
  };
  const auto add_all = [&](const char* flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) add(flag, value);
  };
  add_all("--dim", flags.dims);
  add_all("--shape", flags.shapes);
  add_all("--constant", flags.constants);
  add_all("--input", flags.inputs);
  add("--precision", flags.precision);
  add("--rewrite", flags.rewrite);
  add("--devices", flags.devices, "all");
  add_all("--platform", flags.platforms);
  add("--libraries", flags.libraries);
  if (flags.threads > 0) add("--threads", std::to_string(flags.threads));
  add("--plugins", flags.plugins, "all");
  add("--plugin-path", flags.plugin_path);
  if (flags.db != "none") add("--db", flags.db);
  return text;
}

std::string Listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

std::string MeasureCommand(const CommonFlags& flags) { return "pt-profile" + SubjectFlags(flags); }
std::string RefineCommand(const CommonFlags& flags) { return "pt-plan" + SubjectFlags(flags) + " --refine 1"; }

Unmeasured UnmeasuredOf(Engine& engine, const Model& model, const Plan& plan, const PlanOptions& options) {
  const Platform& platform = engine.machine().platform();
  if (plan.complete && platform.devices.size() == 1) return {};  // costs take long to gather
  const bool to_plan = !model.candidates.empty();
  Model asked = model;
  if (!to_plan) asked.candidates = plan.candidates;
  const Result<std::unique_ptr<CostModel>> costs = engine.CostsOf(asked, options);
  Unmeasured unmeasured;
  if (!plan.complete) {
    unmeasured.time = EstimatedTimeOf(*model.graph, platform, plan, costs.ok() ? costs->get() : nullptr);
  }
  if (!to_plan || !costs.ok()) return unmeasured;
  for (const DeviceId device : UnmeasuredDevices(model, platform, **costs)) {
    unmeasured.left_out.push_back(platform.device(device).name);
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
      line += (measurable ? "; " : ": ") + Percent(time.unsized_share) + " is of " + Listed(time.unsized_operators) +
              ", whose time only runs can tell: " + RefineCommand(flags) + " takes it from them";
    }
    lines.push_back(std::move(line));
  }
  if (!unmeasured.left_out.empty()) {
    lines.push_back("left out for want of measurements: " + Listed(unmeasured.left_out) + "; " + MeasureCommand(flags) +
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
