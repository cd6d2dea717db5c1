#include "partitiontuner/engine/plan_file.h"

#include <charconv>

#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/plan/plan_precision.h"
#include "partitiontuner/support/caught.h"
#include "partitiontuner/support/file.h"

namespace pt {
namespace {

Result<double> ConstantNumber(const std::string& input, const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem == std::errc() && stop == end && !text.empty()) return number;
  return MakeError(ErrorCode::kInvalidInput, "plan.constant",
                   "setting " + std::string(kConstantSetting) + input + " is \"" + text + "\", not a number");
}

}  // namespace

Status SavePlan(const std::string& path, const Plan& plan, const Graph& graph) try {
  return WriteFileAtomically(path, WriteJson(ToJson(plan, graph)) + "\n");
} catch (...) {
  return Caught("plan", "write a plan");
}

Result<Plan> LoadPlan(const std::string& path) try {
  const Limits limits;
  PT_ASSIGN(const std::string text, ReadFile(path, limits.plan_bytes));
  PT_ASSIGN(const Json json, ParseJson(text, path, limits));
  Result<Plan> plan = PlanFromJson(json, path);
  if (!plan.ok() && plan.error().file.empty()) plan.error().file = path;
  return plan;
} catch (...) {
  return Caught("plan", "read a plan");
}

Result<ModelOptions> OptionsOf(const Plan& plan) try {
  ModelOptions options;
  options.to_plan = false;
  PT_ASSIGN(options.precision, AllowedPrecision(plan));
  PT_ASSIGN(options.keep_nan, MustKeepNan(plan));
  for (const auto& [setting, value] : plan.made_for.settings) {
    if (setting == "rewrite") {
      Result<Rewrites> rewrites = RewritesFromString(value);
      if (!rewrites.ok()) {
        return MakeError(ErrorCode::kInvalidInput, "plan.rewrite", "setting rewrite: " + rewrites.error().message);
      }
      options.rewrites = *std::move(rewrites);
    } else if (setting.starts_with(kConstantSetting)) {
      const std::string input = setting.substr(kConstantSetting.size());
      PT_ASSIGN(options.constants[input], ConstantNumber(input, value));
    }
  }
  // Of several requests each has its inputs; those of the file are the first one's.
  const uint32_t requests = options.rewrites.requests;
  for (const auto& [input, dims] : plan.made_for.input_dims) {
    const size_t mark = requests > 1 ? input.rfind('#') : std::string::npos;
    const bool of_another = mark != std::string::npos && plan.made_for.input_dims.contains(input.substr(0, mark));
    if (of_another) continue;
    options.default_dims[input] = dims;
    options.load.given_inputs.insert(input);
  }
  return options;
} catch (...) {
  return Caught("plan", "read the settings of a plan");
}

}  // namespace pt
