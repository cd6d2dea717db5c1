// How requests to a plan are run, as a plan that was made for a rate of them says it in its file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "partitiontuner/exec/session.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

struct RequestSetting {
  // kNever: each by all units of the plan, in turns; kAlways: one a core of the plan; kAnyCore: one a core of the
  // machine. Not kAuto.
  AloneRuns alone = AloneRuns::kNever;
  uint32_t in_flight = 2;  // runs at once (RequestQueueOptions::in_flight)

  // Allows as many runs at once, and runs them so.
  void ApplyTo(SessionOptions& options) const;
  friend bool operator==(const RequestSetting&, const RequestSetting&) = default;
};

// "auto", "never", "always", "any-core".
std::string_view NameOf(AloneRuns alone);
std::optional<AloneRuns> AloneRunsNamed(std::string_view name);

// Writes it to MadeFor::settings ("alone", "in_flight").
void SetRequestSetting(const RequestSetting& setting, Plan& plan);
// What the plan says; nothing where it was not made for a rate. Errors: kInvalidInput.
Result<std::optional<RequestSetting>> RequestSettingOf(const Plan& plan);

}  // namespace pt
