// What runs take and give, by the names that the model has for its inputs and outputs.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>

#include "arrays.h"

namespace pt::python {

// Throws Failure where one is missing, unknown or no array can be made of it.
LentValues LendInputs(const Graph& graph, const nanobind::dict& given, LentValues::Inputs inputs);
// Those that are not given are made. Throws Failure likewise.
LentValues LendOutputs(const Graph& graph, const nanobind::dict& given);
nanobind::dict OutputsByName(const Graph& graph, const LentValues& outputs, const RunReport& report);

// Seconds; none: no deadline. Throws Failure for what is not a time from now on.
std::optional<std::chrono::nanoseconds> DeadlineOf(std::optional<double> seconds);

}  // namespace pt::python
