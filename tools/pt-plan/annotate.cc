#include "tools/pt-plan/annotate.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "partitiontuner/onnx/annotate_nodes.h"
#include "partitiontuner/plan/step_text.h"
#include "partitiontuner/support/file.h"
#include "partitiontuner/support/text.h"
#include "tools/common/commands.h"

namespace pt::tools {
namespace {

constexpr std::string_view kPrefix = "partitiontuner.";

// The steps of a node of the file: those that run it, several where it was cut, and those that run an operator around
// it.
struct StepsOfNode {
  std::vector<StepId> run, within;
};

class StepsOfFile {
 public:
  StepsOfFile(const Graph& planned, const Plan& plan) {
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const auto* run = std::get_if<RunGroup>(&plan.steps[s].work);
      if (run == nullptr) continue;
      for (const NodeId node : plan.candidates[run->candidate.index()].nodes) {
        for (const Source& source : planned.node(node).source) Add(StepId(s), Steps(source).run);
        AddNested(StepId(s), planned.node(node));
      }
    }
  }

  const StepsOfNode& of(const NodePlace& node) const {
    static const StepsOfNode none;
    const auto found = steps_.find(node);
    return found == steps_.end() ? none : found->second;
  }

 private:
  StepsOfNode& Steps(const Source& source) { return steps_[{source.subgraph, source.index}]; }

  static void Add(StepId step, std::vector<StepId>& known) {
    if (known.empty() || known.back() != step) known.push_back(step);
  }

  void AddNested(StepId step, const Node& outer) {
    for (const Subgraph& nested : outer.subgraphs) {
      for (const Node& inner : nested.graph->nodes()) {
        for (const Source& source : inner.source) Add(step, Steps(source).within);
        AddNested(step, inner);
      }
    }
  }

  std::map<NodePlace, StepsOfNode> steps_;
};

// Of a node that runs with the operator around it, as often as that says: what it takes by itself is in no plan.
NodeNotes NotesWithin(const std::vector<StepId>& ids, const Platform& platform, const Plan& plan) {
  std::vector<std::string> steps, units;
  for (const StepId id : ids) {
    steps.push_back(std::to_string(id.index()));
    units.push_back(platform.unit(plan.steps[id.index()].unit).name);
  }
  return {{std::string(kPrefix) + "within_step", Joined(steps)}, {std::string(kPrefix) + "unit", Joined(units)}};
}

NodeNotes NotesOf(const std::vector<StepId>& ids, const Graph& planned, const Platform& platform, const Plan& plan) {
  const auto note = [&](const char* key, const auto& text_of) {
    std::vector<std::string> texts;
    for (const StepId id : ids) texts.push_back(text_of(id, plan.steps[id.index()]));
    return std::pair(std::string(kPrefix) + key, Joined(texts));
  };
  NodeNotes notes = {note("step", [](StepId id, const Step&) { return std::to_string(id.index()); }),
                     note("unit", [&](StepId, const Step& step) { return platform.unit(step.unit).name; }),
                     note("library", [&](StepId, const Step& step) { return LibraryLabel(plan, step); }),
                     note("start_ns", [](StepId, const Step& step) { return std::to_string(step.expected_start_ns); }),
                     note("time_ns", [](StepId, const Step& step) { return std::to_string(step.expected_ns); })};
  const bool grouped = std::ranges::any_of(ids, [&](StepId id) {
    return plan.candidates[std::get<RunGroup>(plan.steps[id.index()].work).candidate.index()].nodes.size() > 1;
  });
  if (grouped) notes.push_back(note("group", [&](StepId, const Step& step) { return WorkLabel(planned, plan, step); }));
  return notes;
}

// The files of weights that the new model does not find.
std::vector<std::string> LostFiles(const std::vector<std::string>& files, const std::string& output) {
  std::vector<std::string> lost;
  for (const std::string& file : files) {
    std::error_code problem;
    if (!std::filesystem::exists(std::filesystem::path(output).parent_path() / file, problem)) lost.push_back(file);
  }
  return lost;
}

}  // namespace

Status CheckAnnotate(const PlanFlags& flags) {
  if (flags.annotate.empty()) return {};
  const auto refuse = [&](const std::string& why) {
    return MakeError(ErrorCode::kUsage, "usage.value", "--annotate " + flags.annotate + " " + why,
                     "--annotate annotated.onnx");
  };
  if (flags.annotate == "-") return refuse("is not a file: standard output holds the table");
  std::error_code problem;
  if (std::filesystem::equivalent(flags.annotate, flags.common.model(), problem)) {
    return refuse("is the model itself, which stays as it is");
  }
  return CheckWritable(flags.annotate);
}

Status WriteAnnotated(const PlanFlags& flags, const Graph& planned, const Platform& platform, const Plan& plan,
                      const Console& console) {
  if (flags.annotate.empty()) return {};
  const Limits limits;
  PT_ASSIGN(const std::string model, ReadFile(flags.common.model(), limits.file_bytes));
  const StepsOfFile steps(planned, plan);
  uint64_t folded = 0;
  const auto notes = [&](const NodePlace& node) -> NodeNotes {
    const StepsOfNode& known = steps.of(node);
    if (!known.run.empty()) return NotesOf(known.run, planned, platform, plan);
    if (!known.within.empty()) return NotesWithin(known.within, platform, plan);
    ++folded;
    return {{std::string(kPrefix) + "folded", "no step: computed while loading, part of other nodes, or not needed"}};
  };
  PT_ASSIGN(const AnnotatedModel annotated, AnnotateNodes(model, kPrefix, notes, limits));
  PT_CHECK_OK(WriteFileAtomically(flags.annotate, annotated.bytes));
  console.Note("model with the plan's notes written to " + flags.annotate + ": " +
               std::to_string(annotated.nodes - folded) + " nodes in steps, " + std::to_string(folded) + " folded");
  const std::vector<std::string> lost = LostFiles(annotated.external_files, flags.annotate);
  if (!lost.empty()) {
    console.Warn(flags.annotate + " has weights in " + Joined(lost) +
                 ", as the model has, and not beside it: viewers show it, but to run it put them there");
  }
  return {};
}

}  // namespace pt::tools
