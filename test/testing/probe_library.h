// A library for tests of the profiler: runs single nodes of one input on any device, refuses on demand, and notes in
// which state it finds its memory.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::testing {

// Set before measuring, read afterwards; must outlive the library.
struct ProbeControl {
  std::optional<ErrorCode> compile_error, bind_error, run_error;
  int first_failing_run = 0;               // where run_error is set: earlier ones succeed
  int64_t device_ns = 0;                   // what an execution takes on a remote device
  std::vector<int64_t> variant_ns = {};    // instead, one variant of each kernel for each of these
  std::chrono::nanoseconds launch_time{};  // and the host to enqueue it there
  std::atomic<int> compiled{0}, runs{0};
  std::atomic<int> used_outputs{0};  // runs that found their output as an earlier run had left it
  std::atomic<int> unset_inputs{0};  // runs that found no data in their input
};

std::unique_ptr<Library> MakeProbeLibrary(ProbeControl& control);

}  // namespace pt::testing
