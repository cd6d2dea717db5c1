// pt-plan --pareto: what plans with less memory take.
#include "partitiontuner/engine/memory_front.h"

#include "partitiontuner/plan/plan_json.h"
#include "tools/common/planning_progress.h"
#include "tools/common/text.h"
#include "tools/pt-plan/plan_flags.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

// The pattern with the number of the plan in the place of '%'.
std::string FileOf(const std::string& pattern, size_t number) {
  std::string file = pattern;
  return file.replace(file.rfind('%'), 1, std::to_string(number));
}

std::string FrontText(const Platform& platform, const std::vector<Plan>& front) {
  std::vector<std::string> heads = {"plan", "predicted", "vs fastest", "memory"};
  for (const Device& device : platform.devices) heads.push_back(device.name);
  TextTable table(heads);
  for (size_t i = 0; i < front.size(); ++i) {
    const Plan& plan = front[i];
    const double slower = static_cast<double>(plan.makespan.ns) / static_cast<double>(front.front().makespan.ns) - 1;
    std::vector<std::string> row = {std::to_string(i + 1), ShortTime(plan.makespan.ns), Percent(slower),
                                    ShortBytes(TotalMemory(plan))};
    for (size_t d = 0; d < platform.devices.size(); ++d) {
      const auto arena = plan.memory.find(DeviceId(d));
      row.push_back(ShortBytes(arena == plan.memory.end() ? 0 : arena->second.bytes));
    }
    table.Row(row);
  }
  return table.Text();
}

Json FrontJson(const PlanFlags& flags, const Platform& platform, const std::vector<Plan>& front, bool interrupted) {
  Json rows = Json::MakeArray();
  for (size_t i = 0; i < front.size(); ++i) {
    Json memory = Json::MakeObject();
    for (const auto& [device, arena] : front[i].memory) {
      memory.Set(platform.device(device).name, static_cast<int64_t>(arena.bytes));
    }
    Json row = Json::MakeObject();
    row.Set("makespan_ns", front[i].makespan.ns);
    row.Set("memory_bytes", static_cast<int64_t>(TotalMemory(front[i])));
    row.Set("memory", std::move(memory));
    if (!flags.output.empty()) row.Set("file", FileOf(flags.output, i + 1));
    rows.Push(std::move(row));
  }
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model());
  json.Set("planner", flags.planner);
  json.Set("front", std::move(rows));
  if (interrupted) json.Set("interrupted", true);
  return json;
}

}  // namespace

Result<int> MakeMemoryFront(const PlanFlags& flags, Console& console) {
  PT_ASSIGN(const PlanningSetup setup, MakePlanningSetup(flags));
  PlanOptions options = CostOptions(setup, flags);
  Result<std::vector<Plan>> made = [&] {
    PlanningProgress progress(console, flags.interrupt);
    options.watch = &progress.watch();
    return setup.engine->MakeMemoryFront(*setup.model, options);
  }();
  PT_ASSIGN(const std::vector<Plan> front, std::move(made));
  const bool interrupted = IsInterrupted(flags);
  for (size_t i = 0; i < front.size() && !flags.output.empty(); ++i) {
    const std::string text = WriteJson(ToJson(front[i], *setup.model->graph)) + "\n";
    PT_CHECK_OK(WriteTo(FileOf(flags.output, i + 1), text));
  }
  const Platform& platform = setup.engine->machine().platform();
  PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(FrontJson(flags, platform, front, interrupted)) + "\n"
                                           : FrontText(platform, front)));
  console.Note(flags.output.empty() ? "note: no plan was written; -o 'plan-%.json' writes them all"
                                    : std::to_string(front.size()) + " plans written");
  return ExitCodeForPlans(interrupted, flags, console);
}

}  // namespace pt::tools
