// pt-run --html: a plan and runs of it as a page, what was predicted above what was measured.
#pragma once

#include <optional>
#include <span>

#include "partitiontuner/plan/residuals.h"
#include "tools/pt-run/runner.h"

namespace pt::tools {

// Where --html is given. traces: at least one, by their lengths; pace: of the machine, if it is known. Errors: those of
// costs; kInvalidInput where the file cannot be written.
Status WriteRunPage(const RunFlags& flags, const Setup& setup, const MeasuredPlan& runner,
                    std::span<const Trace> traces, const std::optional<Pace>& pace);

}  // namespace pt::tools
