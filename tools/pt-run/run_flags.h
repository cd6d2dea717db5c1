// What pt-run's command line says.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "partitiontuner/engine/request_setting.h"
#include "tools/common/console.h"
#include "tools/common/crash_retry.h"
#include "tools/common/flags.h"
#include "tools/common/interrupt.h"
#include "tools/common/prepare.h"

namespace pt::tools {

// By what plan, or how without one, and what it is held to.
struct PlanChoice {
  std::string plan, planner, dispatch;
  std::shared_ptr<const Plan> given_plan;  // what the file of `plan` holds; null without one
  std::vector<std::string> memory;         // DEVICE=SIZE
  bool sequential = false, twin = false;
};

struct RunFlags {
  CommonFlags common;
  CrashFlags crash;
  PlanChoice choice;
  std::string duration, verify, suite, only = "*", trace, html, percentiles = "50,90,99", save_outputs, compare, alone,
                                       denormals, rtol, atol, case_timeout = "60s", rate, find_rate,
                                       arrivals = "poisson";
  std::vector<std::string> carry;       // OUT=IN
  std::vector<std::string> shape_sets;  // batch=1,x=1x16
  std::vector<std::string> assertions;  // p99<5ms
  uint64_t iterations = 0, seed = 1;
  uint32_t concurrency = 0;                          // callers at once; 0 = not asked for
  uint32_t in_flight = 0;                            // with --rate: runs at once; 0: one a core of the plan
  uint32_t queue = 64;                               // with --rate: requests that may wait
  uint32_t sessions = 8;                             // kept by --shape-set
  bool same = false;                                 // --aa: the plan against itself
  std::optional<std::chrono::nanoseconds> deadline;  // of --deadline; 0: none
  uint64_t run_bytes = 0;                            // of --run-memory, or its default
  const CancelToken* cancel = nullptr;               // of Ctrl-C; null in a suite's child process
  bool residuals = false, bisect = false, no_capture = false, suite_worker = false;

  // ModelOptionsOf, with what the plan of --plan says of the model's inputs where the flags leave it open.
  Result<ModelOptions> model_options() const;
  // Errors: kUsage (--precision, --max-error, --memory).
  Result<PlanSource> plan_source(const Platform& platform) const;
  // How long a run by this plan may take; nothing: for ever.
  std::optional<std::chrono::nanoseconds> deadline_for(const Plan& plan) const;
  // How --rate and --find-rate run a plan that was made for a rate, unless the flags say otherwise; nothing for other
  // plans and modes. Errors: kInvalidInput.
  Result<std::optional<RequestSetting>> requests_of(const Plan& of) const;
  // Flush-to-zero is on in plain runs and off in a suite, unless --denormals says otherwise.
  SessionOptions session_options(bool suite) const;
  // The same, which hold runs of this plan to --memory, and run requests as it says. Errors: kUsage, kOutOfMemory;
  // kInvalidInput (requests_of).
  Result<SessionOptions> session_options(const Platform& platform, const Plan& of, bool suite) const;
};

void AddFlags(CLI::App& app, RunFlags& flags);
// Which of them go together. Errors: kUsage.
Status CheckFlags(const CLI::App& app, const RunFlags& flags);

// How to measure; parsed once, before anything is loaded.
struct MeasureLength {
  std::chrono::nanoseconds duration{};
  uint64_t iterations = 0;  // 0: by duration
};
Result<MeasureLength> MeasureLengthOf(const RunFlags& flags);

// The modes of pt-run. Each returns the exit code.
int RunMeasured(const RunFlags& flags, Console& console, const InterruptWatch& interrupt);
int RunCompared(const RunFlags& flags, Console& console, const InterruptWatch& interrupt);
int RunConcurrent(const RunFlags& flags, Console& console, const InterruptWatch& interrupt);
int RunOpenLoop(const RunFlags& flags, Console& console, const InterruptWatch& interrupt);
int RunShapeSets(const RunFlags& flags, Console& console, const InterruptWatch& interrupt);
int RunVerified(const RunFlags& flags, Console& console, const InterruptWatch& interrupt);
int RunBisected(const RunFlags& flags, Console& console, const InterruptWatch& interrupt);
int RunSuite(const RunFlags& flags, int argc, char** argv, Console& console, const InterruptWatch& interrupt);
int ServeSuite(const RunFlags& flags, Console& console);  // in the child process

}  // namespace pt::tools
