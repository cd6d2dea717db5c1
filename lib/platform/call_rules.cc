// CallRules as JSON: one form for platform files, for files of plugins' devices and for serialised platforms.
#include <algorithm>
#include <array>

#include "partitiontuner/platform/platform.h"

namespace pt {
namespace {

constexpr std::array<std::string_view, 3> kModes = {"fp32", "fp16", "bf16"};

Error Bad(std::string_view what, std::string message) {
  return MakeError(ErrorCode::kInvalidInput, "platform.calls", std::string(what) + ": " + std::move(message));
}

Result<std::vector<std::string>> OperatorsFrom(const Json& json, std::string_view what) {
  PT_ASSIGN(const Json::Array* rows, JsonArray(json, "operators", what));
  std::vector<std::string> operators;
  for (const Json& op : *rows) {
    if (op.as_string() == nullptr) return Bad(what, "operators holds something that is not a text");
    operators.push_back(*op.as_string());
  }
  if (operators.empty()) return Bad(what, "operators is empty: leave it out where all are taken");
  return operators;
}

}  // namespace

Json ToJson(const CallRules& rules) {
  Json json = Json::MakeObject();
  if (!rules.operators.empty()) {
    Json operators = Json::MakeArray();
    for (const std::string& op : rules.operators) operators.Push(op);
    json.Set("operators", std::move(operators));
  }
  if (rules.least_flops > 0) json.Set("least_flops", rules.least_flops);
  if (rules.islands) json.Set("islands", true);
  if (!rules.math.empty()) json.Set("math", rules.math);
  return json;
}

Result<CallRules> CallRulesFromJson(const Json& json, std::string_view what) {
  if (json.as_object() == nullptr) return Bad(what, "the rules of calls are a JSON object");
  CallRules rules;
  for (const auto& [key, value] : *json.as_object()) {
    if (key == "operators") {
      PT_ASSIGN(rules.operators, OperatorsFrom(json, what));
    } else if (key == "least_flops") {
      PT_ASSIGN(rules.least_flops, JsonNumber(json, key, what));
      if (!(rules.least_flops >= 0)) return Bad(what, "least_flops is negative");
    } else if (key == "islands") {
      PT_ASSIGN(rules.islands, JsonBool(json, key, what));
    } else if (key == "math") {
      PT_ASSIGN(rules.math, JsonString(json, key, what));
      if (std::ranges::find(kModes, rules.math) == kModes.end()) {
        return Bad(what, "math \"" + rules.math + "\" is unknown; expected fp32, fp16 or bf16");
      }
    } else {
      return Bad(what, "unknown key '" + key + "'");
    }
  }
  return rules;
}

}  // namespace pt
