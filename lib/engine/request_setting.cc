#include "partitiontuner/engine/request_setting.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace pt {
namespace {

constexpr const char *kAlone = "alone", *kInFlight = "in_flight";
constexpr uint32_t kMostInFlight = 1024;

Error BadSetting(const std::string& name, const std::string& value, const std::string& expected) {
  return MakeError(ErrorCode::kInvalidInput, "plan.request_setting",
                   "the plan's setting " + name + " is \"" + value + "\", not " + expected,
                   "make the plan anew: pt-plan --rate");
}

struct Way {
  AloneRuns alone;
  std::string_view name;
};
constexpr std::array kWays = {Way{AloneRuns::kAuto, "auto"}, Way{AloneRuns::kNever, "never"},
                              Way{AloneRuns::kAlways, "always"}, Way{AloneRuns::kAnyCore, "any-core"}};

}  // namespace

std::string_view NameOf(AloneRuns alone) { return std::ranges::find(kWays, alone, &Way::alone)->name; }

std::optional<AloneRuns> AloneRunsNamed(std::string_view name) {
  const auto way = std::ranges::find(kWays, name, &Way::name);
  return way == kWays.end() ? std::nullopt : std::optional(way->alone);
}

void RequestSetting::ApplyTo(SessionOptions& options) const {
  options.alone = alone;
  options.max_run_states = std::max(options.max_run_states, in_flight);
}

void SetRequestSetting(const RequestSetting& setting, Plan& plan) {
  plan.made_for.settings[kAlone] = NameOf(setting.alone);
  plan.made_for.settings[kInFlight] = std::to_string(setting.in_flight);
}

Result<std::optional<RequestSetting>> RequestSettingOf(const Plan& plan) {
  const auto& settings = plan.made_for.settings;
  const auto alone = settings.find(kAlone), in_flight = settings.find(kInFlight);
  if (alone == settings.end() && in_flight == settings.end()) return std::optional<RequestSetting>();
  RequestSetting setting;
  if (alone == settings.end() || in_flight == settings.end()) {
    const char* const missing = alone == settings.end() ? kAlone : kInFlight;
    return BadSetting(missing, "", "there beside the other one");
  }
  const std::optional<AloneRuns> named = AloneRunsNamed(alone->second);
  if (!named || *named == AloneRuns::kAuto) return BadSetting(kAlone, alone->second, "never, always or any-core");
  setting.alone = *named;
  const std::string& text = in_flight->second;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, setting.in_flight).ptr != end || setting.in_flight < 1 ||
      setting.in_flight > kMostInFlight) {
    return BadSetting(kInFlight, text, "a number from 1 to " + std::to_string(kMostInFlight));
  }
  return std::optional(setting);
}

}  // namespace pt
