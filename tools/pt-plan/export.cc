#include "tools/pt-plan/export.h"

#include <algorithm>
#include <array>

#include "partitiontuner/plan/draw_graph.h"

namespace pt::tools {
namespace {

struct OutputForm {
  std::string_view ending, what;
  std::string (*draw)(const Graph& graph, const Platform& platform, std::span<const DrawnPlan> plans,
                      const Plan& chosen, std::string_view heading);
};

constexpr std::array kForms = {
    OutputForm{".svg", "timelines",
               [](const Graph& graph, const Platform& platform, std::span<const DrawnPlan> plans, const Plan&,
                  std::string_view heading) { return TimelinesSvg(graph, platform, plans, heading); }},
    OutputForm{".dot", "the planned graph",
               [](const Graph& graph, const Platform& platform, std::span<const DrawnPlan>, const Plan& chosen,
                  std::string_view) { return PlanDot(graph, platform, chosen); }},
};

// Null when no form has the ending of that file.
const OutputForm* FormOf(std::string_view file) {
  const auto found = std::ranges::find_if(kForms, [&](const OutputForm& form) { return file.ends_with(form.ending); });
  return found == kForms.end() ? nullptr : &*found;
}

Status CheckOrtStreams(const PlanFlags& flags) {
  if (flags.output.empty()) {
    return MakeError(ErrorCode::kUsage, "usage.combination", "--export ort-streams writes a file: -o says where",
                     "pt-plan " + flags.common.model + " --export ort-streams -o streams.json");
  }
  if (flags.makes_more_than_a_plan()) {
    return MakeError(
        ErrorCode::kUsage, "usage.combination",
        "--export ort-streams cannot be combined with --finalists, --refine, --split-critical, --baselines, "
        "--pareto, --explain, --workload or --diff",
        "write such a plan with -o, then name it: --check PLAN --export ort-streams");
  }
  return {};
}

}  // namespace

Status CheckExport(const PlanFlags& flags) {
  if (flags.export_to.empty()) return {};
  if (flags.exports_ort_streams()) return CheckOrtStreams(flags);
  if (FormOf(flags.export_to) == nullptr) {
    std::string known;
    for (const OutputForm& form : kForms) {
      known += (known.empty() ? "" : ", ") + std::string(form.ending) + " (" + std::string(form.what) + ")";
    }
    return MakeError(ErrorCode::kUsage, "usage.export", "--export " + flags.export_to + ": the ending names no form",
                     "one of " + known + ", or ort-streams");
  }
  if (flags.pareto || !flags.check.empty() || !flags.explain.empty()) {
    return MakeError(
        ErrorCode::kUsage, "usage.combination",
        "--export draws the plans that this call makes: it cannot be combined with --pareto, --check or --explain");
  }
  return {};
}

Status ExportPlans(const PlanFlags& flags, const Graph& graph, const Platform& platform,
                   std::span<const DrawnPlan> plans, const Plan& chosen) {
  if (flags.export_to.empty()) return {};
  const std::string& heading = flags.workload.empty() ? flags.common.model : flags.workload;
  return WriteTo(flags.export_to, FormOf(flags.export_to)->draw(graph, platform, plans, chosen, heading));
}

}  // namespace pt::tools
