// The data that --precision auto chooses and confirms by.
#include <algorithm>
#include <iterator>

#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {
namespace {

using DataSet = std::vector<Tensor>;

// Every plan that is tried runs on the first, few run on the second, so these can be many.
constexpr uint64_t kRandomCalibration = 8, kRandomConfirmation = 16;

Result<std::vector<DataSet>> GivenSets(const PlanningSetup& setup, const PlanFlags& flags) {
  const Model& model = *setup.model;
  std::vector<DataSet> sets;
  if (!setup.given.by_position.empty() || setup.given.by_name.size() == model.graph->inputs().size()) {
    PT_ASSIGN(DataSet set, MakeInputs(model, setup.given, flags.seed));
    sets.push_back(std::move(set));
  }
  for (const std::string& folder : flags.calibrate) {
    PT_ASSIGN(const std::vector<std::string> folders, DataSetFolders(folder));
    for (const std::string& one : folders) {
      PT_ASSIGN(const GivenInputs given, ReadInputs({one}));
      PT_ASSIGN(DataSet set, DataSetInputs(model, given, one));
      sets.push_back(std::move(set));
    }
  }
  return sets;
}

// Tensors that were given by name stay what they are, unless they are all there is. Errors depend on how numbers are
// spread, so every second set is of another distribution unless a range was asked for.
Result<std::vector<DataSet>> RandomSets(const PlanningSetup& setup, const PlanFlags& flags, uint64_t first,
                                        uint64_t count) {
  GivenInputs given = setup.given;
  given.by_position.clear();
  if (given.by_name.size() == setup.model->graph->inputs().size()) given.by_name.clear();
  std::vector<DataSet> sets;
  for (uint64_t i = 0; i < count; ++i) {
    given.standard_normal = !given.random_range_given && i % 2 == 1;
    constexpr uint64_t kApart = 1000;  // seeds of one --seed and of the next
    PT_ASSIGN(DataSet set, MakeInputs(*setup.model, given, flags.seed * kApart + first + i));
    sets.push_back(std::move(set));
  }
  return sets;
}

// "1 given and 4 random data sets".
std::string CountText(size_t given, size_t random) {
  std::string text;
  if (given > 0) text += std::to_string(given) + " given";
  if (random > 0) text += (text.empty() ? "" : " and ") + std::to_string(random) + " random";
  return text + (given + random == 1 ? " data set" : " data sets");
}

}  // namespace

// Of given sets every second one confirms. Of fewer than two there is none that does, so random ones are added to both.
Result<ErrorBudget> MakeErrorBudget(const PlanningSetup& setup, const PlanFlags& flags, const Console& console) {
  ErrorBudget budget;
  PT_ASSIGN(budget.max_error, MaxErrorOf(flags.common));
  PT_ASSIGN(std::vector<DataSet> given, GivenSets(setup, flags));
  for (size_t i = 0; i < given.size(); ++i) {
    (i % 2 == 0 ? budget.calibration : budget.confirmation).push_back(std::move(given[i]));
  }
  const size_t choosing = budget.calibration.size(), confirming = budget.confirmation.size();
  if (confirming == 0) {
    PT_ASSIGN(std::vector<DataSet> first, RandomSets(setup, flags, 0, kRandomCalibration));
    std::ranges::move(first, std::back_inserter(budget.calibration));
    PT_ASSIGN(budget.confirmation, RandomSets(setup, flags, kRandomCalibration, kRandomConfirmation));
  }
  console.Note("note: error budget: chosen by " + CountText(choosing, budget.calibration.size() - choosing) +
               ", confirmed by " + CountText(confirming, budget.confirmation.size() - confirming));
  if (!HasRealOutput(*setup.model->graph)) {
    console.Note(
        "note: no output of the model holds real numbers, so an error budget says nothing: all is computed in fp32");
  }
  return budget;
}

}  // namespace pt::tools
