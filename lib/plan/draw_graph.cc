#include "partitiontuner/plan/draw_graph.h"

#include <map>
#include <vector>

#include "lib/plan/colors.h"
#include "partitiontuner/plan/step_text.h"
#include "partitiontuner/support/markup.h"
#include "partitiontuner/support/quantity_text.h"

namespace pt {
namespace {

std::string Quoted(std::string_view text) { return "\"" + DotText(text) + "\""; }

class DotPicture {
 public:
  DotPicture(const Graph& graph, const Platform& platform, const Plan& plan)
      : graph_(graph), platform_(platform), plan_(plan), step_of_(graph.nodes().size()) {
    std::map<UnitId, size_t> used;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const auto* run = std::get_if<RunGroup>(&plan.steps[s].work);
      if (run == nullptr) continue;
      used.emplace(plan.steps[s].unit, 0);
      for (const NodeId node : plan.candidates[run->candidate.index()].nodes) step_of_[node.index()] = s;
    }
    size_t number = 0;
    for (auto& [unit, place] : used) place = number++;
    number_of_ = std::move(used);
  }

  std::string Draw() {
    text_ =
        "digraph plan {\n"
        "  graph [rankdir=TB, fontname=Helvetica, fontsize=12, labelloc=t, label=" +
        Quoted(plan_.planner + ": " + ShortTime(plan_.makespan.ns)) +
        "];\n"
        "  node [shape=box, style=filled, color=\"#555555\", fontname=Helvetica, fontsize=10];\n"
        "  edge [color=\"#555555\", fontname=Helvetica, fontsize=9, arrowsize=0.7];\n";
    DrawLegend();
    for (size_t v = 0; v < graph_.values().size(); ++v) DrawBoundary(ValueId(v));
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (const auto* run = std::get_if<RunGroup>(&plan_.steps[s].work)) DrawStep(s, *run);
    }
    return text_ + "}\n";
  }

 private:
  static std::string StepName(size_t step) { return "s" + std::to_string(step); }
  static std::string ValueName(ValueId value) { return "v" + std::to_string(value.value); }
  std::string Color(UnitId unit) const { return Quoted(PaletteColor(number_of_.at(unit))); }

  void DrawLegend() {
    text_ += "  subgraph cluster_units {\n    label=units; color=\"#cccccc\";\n";
    for (const auto& [unit, number] : number_of_) {
      text_ += "    u" + std::to_string(unit.value) + " [label=" + Quoted(platform_.unit(unit).name) +
               ", fillcolor=" + Color(unit) + "];\n";
    }
    text_ += "  }\n";
  }

  // Inputs stand alone; outputs have an edge from who makes them.
  void DrawBoundary(ValueId id) {
    const Value& value = graph_.value(id);
    const bool is_input = !value.producer.valid() && !value.is_constant();
    if (!is_input && !(value.is_graph_output && value.producer.valid())) return;
    const std::string name = is_input ? ValueName(id) : ValueName(id) + "_out";
    text_ += "  " + name + " [label=" + Quoted(value.name) + ", shape=ellipse, fillcolor=\"#ffffff\"];\n";
    if (!is_input) text_ += "  " + StepName(step_of_[value.producer.index()]) + " -> " + name + ";\n";
  }

  void DrawStep(size_t s, const RunGroup& run) {
    const Step& step = plan_.steps[s];
    const Candidate& candidate = plan_.candidates[run.candidate.index()];
    const std::string label =
        GroupLabel(graph_, candidate) + "\n" + platform_.unit(step.unit).name + ", " + ShortTime(step.expected_ns);
    text_ += "  " + StepName(s) + " [label=" + Quoted(label) + ", fillcolor=" + Color(step.unit) +
             ", tooltip=" + Quoted(LibraryLabel(plan_, step)) + "];\n";
    for (const ValueId in : GroupInputs(graph_, candidate.nodes)) DrawEdge(in, s);
  }

  void DrawEdge(ValueId id, size_t reader) {
    const Value& value = graph_.value(id);
    if (!value.producer.valid()) {
      text_ += "  " + ValueName(id) + " -> " + StepName(reader) + ";\n";
      return;
    }
    const size_t maker = step_of_[value.producer.index()];
    const bool moves = platform_.device_of(plan_.steps[maker].unit) != platform_.device_of(plan_.steps[reader].unit);
    text_ += "  " + StepName(maker) + " -> " + StepName(reader) + " [tooltip=" + Quoted(value.name) +
             (moves ? ", style=dashed, color=\"#cc0000\"" : "") + "];\n";
  }

  const Graph& graph_;
  const Platform& platform_;
  const Plan& plan_;
  std::vector<size_t> step_of_;         // by node
  std::map<UnitId, size_t> number_of_;  // of units that run groups, from 0
  std::string text_;
};

}  // namespace

std::string PlanDot(const Graph& graph, const Platform& platform, const Plan& plan) {
  return DotPicture(graph, platform, plan).Draw();
}

}  // namespace pt
