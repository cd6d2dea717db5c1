// The data that --precision auto chooses and confirms by.
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {
namespace {

using DataSet = std::vector<Tensor>;

// Runs are short beside planning; more sets to confirm by than to choose by, since a plan must hold on all of them.
constexpr uint64_t kRandomCalibration = 2, kRandomConfirmation = 4;

Result<std::vector<DataSet>> GivenSets(const PlanningSetup& setup, const PlanFlags& flags) {
  const Graph& graph = *setup.model->graph;
  std::vector<DataSet> sets;
  if (!setup.given.by_position.empty() || setup.given.by_name.size() == graph.inputs().size()) {
    PT_ASSIGN(DataSet set, MakeInputs(graph, setup.given, flags.seed));
    sets.push_back(std::move(set));
  }
  for (const std::string& folder : flags.calibrate) {
    PT_ASSIGN(const std::vector<std::string> folders, DataSetFolders(folder));
    for (const std::string& one : folders) {
      PT_ASSIGN(const GivenInputs given, ReadInputs({one}));
      PT_ASSIGN(DataSet set, DataSetInputs(graph, given, one));
      sets.push_back(std::move(set));
    }
  }
  return sets;
}

// Tensors that were given by name stay what they are, unless they are all there is.
Result<std::vector<DataSet>> RandomSets(const PlanningSetup& setup, const PlanFlags& flags, uint64_t first,
                                        uint64_t count) {
  GivenInputs given = setup.given;
  given.by_position.clear();
  if (given.by_name.size() == setup.model->graph->inputs().size()) given.by_name.clear();
  std::vector<DataSet> sets;
  for (uint64_t i = 0; i < count; ++i) {
    constexpr uint64_t kApart = 1000;  // seeds of one --seed and of the next
    PT_ASSIGN(DataSet set, MakeInputs(*setup.model->graph, given, flags.seed * kApart + first + i));
    sets.push_back(std::move(set));
  }
  return sets;
}

std::string CountText(size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? " data set" : " data sets");
}

}  // namespace

// Of given sets every second one confirms. A single one is for choosing, and random ones confirm.
Result<ErrorBudget> MakeErrorBudget(const PlanningSetup& setup, const PlanFlags& flags, const Console& console) {
  ErrorBudget budget;
  PT_ASSIGN(budget.max_error, MaxErrorOf(flags.common));
  PT_ASSIGN(std::vector<DataSet> given, GivenSets(setup, flags));
  for (size_t i = 0; i < given.size(); ++i) {
    (i % 2 == 0 ? budget.calibration : budget.confirmation).push_back(std::move(given[i]));
  }
  if (given.empty()) {
    PT_ASSIGN(budget.calibration, RandomSets(setup, flags, 0, kRandomCalibration));
  }
  if (given.size() < 2) {
    PT_ASSIGN(budget.confirmation, RandomSets(setup, flags, kRandomCalibration, kRandomConfirmation));
  }
  console.Note("note: error budget: chosen by " +
               CountText(budget.calibration.size(), given.empty() ? "random" : "given") + ", confirmed by " +
               CountText(budget.confirmation.size(), given.size() < 2 ? "random" : "given"));
  if (!HasRealOutput(*setup.model->graph)) {
    console.Note(
        "note: no output of the model holds real numbers, so an error budget says nothing: all is computed in fp32");
  }
  return budget;
}

}  // namespace pt::tools
