#include "tools/common/page_facts.h"

#include <algorithm>
#include <filesystem>

#include "partitiontuner/support/text.h"
#include "tools/common/commands.h"
#include "tools/common/host_checks.h"
#include "tools/common/text.h"
#include "tools/report/plan_facts.h"

namespace pt::tools {
namespace {

using Rows = std::vector<std::pair<std::string, int64_t>>;

// The text, and what it makes of the other one: "+12.0 %".
std::string ShareOver(int64_t ns, int64_t of_ns) {
  if (of_ns <= 0) return {};
  const double share = static_cast<double>(ns) / static_cast<double>(of_ns) - 1;
  return (share > 0 ? "+" : "") + Percent(share);
}

}  // namespace

Status CheckPageFile(const std::string& html) {
  if (html != "-") return CheckWritable(html);
  return MakeError(ErrorCode::kUsage, "usage.value", "--html - is not a file: standard output holds the table",
                   "--html page.html");
}

std::string ModelName(const std::string& path) {
  const std::filesystem::path file(path);
  const bool by_folder = file.filename() == "model.onnx" && file.has_parent_path();
  return (by_folder ? file.parent_path() : file).filename().string();
}

PageTable MachineFacts(const Platform& platform) {
  PageTable table{"Machine", "The host is as it was when this page was made.", {"what", "is", "advice"}, {}, {}, true};
  for (const Device& device : platform.devices) {
    std::string state = device.simulated ? "simulated" : device.kind;
    if (device.memory_bytes > 0) state += ", " + ShortBytes(device.memory_bytes);
    if (!device.isa.empty()) state += ", " + device.isa;
    if (!device.fingerprint.empty()) state += ", " + device.fingerprint;
    table.rows.push_back({"device " + device.name, state, ""});
  }
  for (const HostCheck& check : CheckHost(platform)) table.rows.push_back({check.topic, check.state, check.advice});
  return table;
}

PageTable OriginFacts(const Plan& plan, const CommonFlags& flags) {
  const MadeFor& made_for = plan.made_for;
  PageTable table{"What the plan was made from", "", {"what", "is"}, {}, {}, true};
  const auto add = [&](const std::string& what, const std::string& is) {
    if (!is.empty()) table.rows.push_back({what, is});
  };
  add("command", flags.command_line);
  add("partitiontuner", made_for.tool_version);
  for (const auto& [name, version] : made_for.libraries) add("library " + name, version);
  add("model", made_for.model_hash);
  for (const auto& [name, dims] : made_for.input_dims) {
    std::string text;
    for (const int64_t dim : dims) text += (text.empty() ? "" : "x") + std::to_string(dim);
    add("input " + name, text.empty() ? "scalar" : text);
  }
  add("measurements", made_for.profile_samples > 0 ? std::to_string(made_for.profile_samples) + " samples" : "");
  add("profile", made_for.profile_hash);
  for (const auto& [name, value] : made_for.settings) add(name, value);
  return table;
}

PageTable BaselineFacts(const Plan& plan) {
  PageTable table{"Compared with", "Predicted makespans.", {"plan", "predicted", "beside this plan"}, {1, 2}, {}};
  Rows rows(plan.report.baselines_ns.begin(), plan.report.baselines_ns.end());
  if (std::ranges::find(rows, plan.planner, &Rows::value_type::first) == rows.end()) {
    rows.emplace_back(plan.planner, plan.makespan.ns);
  }
  std::ranges::stable_sort(rows, {}, &Rows::value_type::second);
  for (const auto& [name, ns] : rows) {
    const bool own = name == plan.planner;
    table.rows.push_back(
        {name + (own ? " (this plan)" : ""), ShortTime(ns), own ? "" : ShareOver(ns, plan.makespan.ns)});
  }
  if (plan.lower_bound_ns > 0) {
    table.rows.push_back({"lower bound, " + plan.report.tight_bound, ShortTime(plan.lower_bound_ns),
                          ShareOver(plan.lower_bound_ns, plan.makespan.ns)});
  }
  return table;
}

void AddPlanCards(const Platform& platform, const Plan& plan, Page& page) {
  if (plan.lower_bound_ns > 0) {
    page.cards.push_back(
        {"lower bound", ShortTime(plan.lower_bound_ns), "the plan is " + Percent(plan.report.gap) + " above it"});
  }
  const MoveCounts moves = CountMoves(plan);
  page.cards.push_back({"steps", std::to_string(plan.steps.size()),
                        std::to_string(moves.reorders) + " reorders, " + std::to_string(moves.copies) + " copies"});
  for (const auto& [device, arena] : plan.memory) {
    if (arena.bytes > 0) {
      page.cards.push_back({"memory on " + platform.device(device).name, ShortBytes(arena.bytes), "beside weights"});
    }
  }
}

void NoteSimulated(const Platform& platform, Page& page) {
  std::vector<std::string> simulated;
  for (const Device& device : platform.devices) {
    if (device.simulated) simulated.push_back(device.name);
  }
  if (!simulated.empty()) page.notes.push_back("Simulated: times of " + Joined(simulated) + " come from a file.");
}

void AddPlanNotes(const Platform& platform, const Plan& plan, Page& page) {
  if (plan.report.stopped_by == "interrupted") {
    page.notes.push_back("The search was interrupted: this is the best plan so far.");
  }
  NoteSimulated(platform, page);
}

}  // namespace pt::tools
