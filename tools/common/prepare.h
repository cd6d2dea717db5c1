// From flags to something that runs: the plan a tool works with and the session made from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/plan_file.h"
#include "tools/common/console.h"
#include "tools/common/flags.h"

namespace pt::tools {

struct PlanSource {
  std::string plan_file;             // wins over planner
  std::shared_ptr<const Plan> plan;  // what the file holds
  // What --precision and --max-error say of a plan file; nothing: whatever the plan was made with.
  std::optional<Precision> precision;
  std::optional<double> max_error;
  bool keep_nan = false;                      // --nan keep: only a plan file that was made so is taken
  bool wants_budget = false;                  // --precision auto: only a plan file is taken
  std::string profile_command, plan_command;  // that measure and plan the model as it is loaded here
  // Empty: search over the database's costs, else a one-device plan. "dispatch:RULE": decided while running.
  std::string planner;
  PlanOptions options;  // .planner is set from the above
};

struct ChosenPlan {
  std::string name;  // the file, or the planner with its argument
  Plan plan;
  std::optional<DispatchTable> dispatch;  // of runs that decide: `plan` is then all that may run
};

inline constexpr std::string_view kDispatchPrefix = "dispatch:";

// The engine that the flags describe. Errors: kUsage; kDeviceUnusable for a device, library or math mode that was named
// and cannot be used on the machine.
Result<std::unique_ptr<Engine>> MakeEngine(const CommonFlags& flags);

// kUsage where --threads asks for more cores than there are: fewer would make other plans than were meant.
Status CheckCores(const Platform& platform, const CommonFlags& flags);

// kUsage where a plan file was made without --nan keep, and so may lose NaN. plan_command: makes another one.
Status CheckKeepsNan(const Plan& plan, const std::string& file, const std::string& plan_command);

// kInvalidInput where --db names a database that is not there: only pt-profile makes one.
Status CheckDatabase(const CommonFlags& flags);

// What the loader had to settle about the file.
void WarnOfModel(const Model& model, const Console& console);
// Says so where more than fp32 is allowed and nothing on this machine makes use of it.
void NotePrecision(const Model& model, const Console& console);
// Names the devices that compute in one mode alone which is not allowed: no plan that is made uses them.
void NoteDevicesLeftOut(const Model& model, const Platform& platform, const Console& console);

// The plan of the file or planner. Without either, `search` when the database knows this model on
// this machine, else a one-device plan from rough estimates; which of the two is said as a note.
Result<ChosenPlan> ChoosePlan(Engine& engine, const Model& model, const PlanSource& source, const Console& console);

Result<std::unique_ptr<Session>> MakeSession(Engine& engine, const Model& model, const ChosenPlan& chosen,
                                             const SessionOptions& options);

}  // namespace pt::tools
