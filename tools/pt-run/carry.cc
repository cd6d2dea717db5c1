#include "tools/pt-run/carry.h"

#include <algorithm>
#include <functional>

namespace pt::tools {
namespace {

bool HasName(const Graph& graph, std::span<const ValueId> values, const std::string& name) {
  return std::ranges::any_of(values, [&](ValueId id) { return graph.value(id).name == name; });
}

// Names may hold any character: the text is parted where both sides are names of the model, else at the last "=".
Carry CarryFrom(const std::string& text, const Graph& graph) {
  Carry last;
  for (size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1)) {
    last = {text.substr(0, at), text.substr(at + 1)};
    if (HasName(graph, graph.outputs(), last.output) && HasName(graph, graph.inputs(), last.input)) break;
  }
  return last;
}

using InitialOf = std::function<std::optional<Datum>(size_t input)>;

Result<std::vector<Carry>> CarriesFrom(const RunFlags& flags, const Model& model, const InitialOf& initial_of) {
  if (!flags.carry.empty() && model.rewrites.requests > 1) {
    return MakeError(ErrorCode::kUsage, "usage.combination",
                     "--carry does not go with a graph that answers several requests at once",
                     "leave out --rewrite requests=" + std::to_string(model.rewrites.requests));
  }
  const Graph& graph = *model.graph;
  std::vector<Carry> carries;
  for (const std::string& text : flags.carry) {
    Carry carry = CarryFrom(text, graph);
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      if (graph.value(graph.inputs()[i]).name == carry.input) carry.initial = initial_of(i);
    }
    carries.push_back(std::move(carry));
  }
  return carries;
}

}  // namespace

Status CheckCarry(const RunFlags& flags) {
  if (flags.carry.empty()) return {};
  for (const std::string& text : flags.carry) {
    const size_t at = text.find('=');
    if (at != std::string::npos && at > 0 && text.back() != '=') continue;
    return MakeError(ErrorCode::kUsage, "usage.value", "--carry " + text + " is not OUT=IN",
                     "name an output of the model and an input: --carry stateN=state");
  }
  return {};
}

Result<std::vector<Carry>> CarriesOf(const RunFlags& flags, const Model& model, const GivenInputs& given,
                                     const std::vector<Tensor>& inputs) {
  return CarriesFrom(flags, model, [&](size_t input) {
    return DataOf(model, given, input) != nullptr ? std::optional<Datum>(inputs[input]) : std::nullopt;
  });
}

Result<std::vector<Carry>> CarriesOf(const RunFlags& flags, const Model& model, const std::vector<Datum>& inputs) {
  return CarriesFrom(flags, model, [&](size_t input) { return std::optional<Datum>(inputs[input]); });
}

Result<RunOutputs> RunsInARow::Next(const std::shared_ptr<const ReadyModel>& ready, const std::vector<Datum>& inputs,
                                    const CancelToken& cancel) {
  if (carries_.empty()) return RunOnce(*ready, inputs, &cancel);
  if (ready != ready_) PT_CHECK_OK(MoveTo(ready));
  const RunOptions options{.deadline = ready->deadline, .cancel = &cancel};
  RunOutputs result;
  PT_ASSIGN(result.values, runs_->RunData(inputs, options));
  if (twin_) {
    PT_ASSIGN(const std::vector<Datum> twin, twin_->RunData(inputs, options));
    result.twin_equal = std::ranges::equal(result.values, twin, SameData);
  }
  return result;
}

Status RunsInARow::MoveTo(const std::shared_ptr<const ReadyModel>& ready) {
  for (size_t c = 0; c < carries_.size() && runs_; ++c) {
    PT_ASSIGN(carries_[c].initial, runs_->State(c));
  }
  PT_ASSIGN(runs_, CarriedRuns::Make(*ready->session, carries_));
  if (ready->twin != nullptr) {
    PT_ASSIGN(twin_, CarriedRuns::Make(*ready->twin, carries_));
  }
  ready_ = ready;
  return {};
}

}  // namespace pt::tools
