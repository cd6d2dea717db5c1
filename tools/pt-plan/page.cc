#include "tools/pt-plan/page.h"

#include "partitiontuner/support/file.h"
#include "tools/common/page_facts.h"
#include "tools/common/text.h"
#include "tools/report/page_plan.h"

namespace pt::tools {
namespace {

std::string TimelineTitle(const Plan& plan) { return plan.planner + ", predicted: " + ShortTime(plan.makespan.ns); }

void AddSummary(const PlanFlags& flags, const Platform& platform, const Plan& plan, const Summary& summary,
                Page& page) {
  page.cards.push_back({"predicted", ShortTime(plan.makespan.ns), "± " + Percent(summary.spread)});
  if (!summary.best_single.empty()) {
    page.cards.push_back({"best single device", ShortTime(summary.best_single_ns), summary.best_single});
    page.cards.push_back(
        {"gain", Percent(summary.declined ? 0 : summary.gain), "uncertain by " + Percent(summary.noise)});
  }
  AddPlanCards(platform, plan, page);
  page.cards.push_back({"planner", plan.planner, StoppedText(plan.report)});
  AddPlanNotes(platform, plan, page);
  if (!summary.best_single.empty()) page.notes.push_back(ResultText(summary));
  for (std::string& line : UnmeasuredLines(summary.unmeasured, flags.common)) page.notes.push_back(std::move(line));
}

// What the steps of a plan file are called there: without its graph there are no other names.
class NamesOfFile {
 public:
  static Result<NamesOfFile> Read(const std::string& path) {
    const Limits limits;
    PT_ASSIGN(const std::string text, ReadFile(path, limits.plan_bytes));
    PT_ASSIGN(const Json json, ParseJson(text, path, limits));
    NamesOfFile names;
    const Json* const steps = json.find("steps");
    if (steps == nullptr || steps->as_array() == nullptr) return names;
    for (const Json& step : *steps->as_array()) names.Add(step);
    return names;
  }

  StepNames names_for(const Plan& plan) const {
    const auto group = [this, &plan](const Step& step) -> const std::string& {
      static const std::string kNone;
      const auto s = static_cast<size_t>(&step - plan.steps.data());
      return s < work_.size() ? work_[s] : kNone;
    };
    return {[this, &plan, group](const Step& step) {
              if (std::holds_alternative<RunGroup>(step.work)) return group(step);
              const bool copies = std::holds_alternative<Copy>(step.work);
              const InstanceId from = copies ? std::get<Copy>(step.work).from : std::get<Reorder>(step.work).from;
              const ValueId value = plan.instances[from.index()].value;
              return (copies ? "copy of value " : "reorder of value ") + std::to_string(value.value);
            },
            [group](const Step& step) { return group(step).substr(0, group(step).find(' ')); }};
  }

 private:
  // "Conv #3 + Relu #4"; empty where the file says nothing.
  void Add(const Json& step) {
    std::string text;
    const Json* const nodes = step.find("nodes");
    const Json::Array* const list = nodes != nullptr ? nodes->as_array() : nullptr;
    for (const Json& row : list != nullptr ? *list : Json::Array()) {
      const Json* const op = row.find("operator");
      const Json* const index = row.find("index");
      const std::string* const name = op != nullptr ? op->as_string() : nullptr;
      text += (text.empty() ? "" : " + ") + (name != nullptr ? *name : std::string("node"));
      if (index != nullptr && index->as_int()) text += " #" + std::to_string(*index->as_int());
    }
    work_.push_back(std::move(text));
  }

  std::vector<std::string> work_;  // by step
};

PageTable DifferenceTable(const std::vector<PlanDifference>& differences) {
  PageTable table{"Differences", "", {"what", "where", "A", "B"}, {}, {}};
  for (const PlanDifference& row : differences) table.rows.push_back({row.what, row.where, row.a, row.b});
  if (differences.empty()) table.note = "The plans do the same.";
  return table;
}

}  // namespace

Status WritePlanPage(const PlanFlags& flags, const PlanningSetup& setup, const Plan& plan, const Summary& summary,
                     const Explanations& explanations) {
  if (flags.html.empty()) return {};
  const Graph& graph = *setup.model->graph;
  const Platform& platform = setup.engine->machine().platform();
  PlanOptions options = setup.options;
  if (!flags.profile.empty()) options.profile = &setup.profile;
  PT_ASSIGN(const std::unique_ptr<CostModel> costs, setup.engine->CostsOf(*setup.model, options));
  Page page;
  page.heading = ModelName(flags.common.model());
  page.subtitle = "Plan for " + flags.common.model();
  AddSummary(flags, platform, plan, summary, page);
  PagePlan drawn = PagePlanOf(platform, plan, NamesBy(graph, plan), TimelineTitle(plan));
  AddAlternatives(platform, plan, setup.model->candidates, *costs, drawn);
  AddReasons(plan, explanations, drawn);
  page.plans.push_back(std::move(drawn));
  page.tables = {BaselineFacts(plan), OriginFacts(plan, flags.common), MachineFacts(platform)};
  return WriteTo(flags.html, PageHtml(page));
}

Status WriteDiffPage(const PlanFlags& flags, const Plan& a, const Plan& b,
                     const std::vector<PlanDifference>& differences) {
  if (flags.html.empty()) return {};
  Page page;
  page.heading = "Two plans";
  page.subtitle = "A: " + flags.diff[0] + "; B: " + flags.diff[1];
  const Plan* const plans[] = {&a, &b};
  for (size_t i = 0; i < 2; ++i) {
    const Plan& plan = *plans[i];
    const std::string letter = i == 0 ? "A" : "B";
    PT_ASSIGN(const NamesOfFile names, NamesOfFile::Read(flags.diff[i]));
    const Platform& platform = plan.made_for.platform;
    page.cards.push_back({letter + ", predicted", ShortTime(plan.makespan.ns), plan.planner});
    page.plans.push_back(PagePlanOf(platform, plan, names.names_for(plan), letter + ": " + TimelineTitle(plan)));
    PageTable origin = OriginFacts(plan, flags.common);
    origin.title = letter + ": " + origin.title;
    page.tables.push_back(std::move(origin));
  }
  if (a.makespan.ns > 0) {
    const double change = static_cast<double>(b.makespan.ns) / static_cast<double>(a.makespan.ns) - 1;
    page.cards.push_back({"B beside A", (change > 0 ? "+" : "") + Percent(change), ""});
  }
  page.cards.push_back({"differences", std::to_string(differences.size()), ""});
  page.tables.insert(page.tables.begin(), DifferenceTable(differences));
  return WriteTo(flags.html, PageHtml(page));
}

}  // namespace pt::tools
