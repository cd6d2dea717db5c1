// The rates of a simulated device as JSON: one form for platform files and for serialised platforms.
#pragma once

#include "partitiontuner/platform/platform.h"

namespace pt {

// Reads the fields families, exact_ns, unsupported and call_ns; the last three may be absent.
Result<SimulatedRates> RatesFromJson(const Json& json, std::string_view what);

}  // namespace pt
