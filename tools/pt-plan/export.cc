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

}  // namespace

Status CheckExport(const PlanFlags& flags) {
  if (flags.export_to.empty() || flags.exports_ort_streams()) return {};
  if (FormOf(flags.export_to) == nullptr) {
    std::string known;
    for (const OutputForm& form : kForms) {
      known += (known.empty() ? "" : ", ") + std::string(form.ending) + " (" + std::string(form.what) + ")";
    }
    return MakeError(ErrorCode::kUsage, "usage.export", "--export " + flags.export_to + ": the ending names no form",
                     "one of " + known + ", or ort-streams");
  }
  if (!flags.check.empty()) {
    return MakeError(ErrorCode::kUsage, "usage.combination",
                     "--export cannot be combined with --check: it draws the plans that this call makes",
                     "--export ort-streams takes the plan of --check");
  }
  return {};
}

Status ExportPlans(const PlanFlags& flags, const Graph& graph, const Platform& platform,
                   std::span<const DrawnPlan> plans, const Plan& chosen) {
  if (flags.export_to.empty()) return {};
  const std::string heading = flags.workload.empty() ? flags.common.model() : flags.workload;
  return WriteTo(flags.export_to, FormOf(flags.export_to)->draw(graph, platform, plans, chosen, heading));
}

}  // namespace pt::tools
