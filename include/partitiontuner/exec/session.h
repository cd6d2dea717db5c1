// Session: a plan, compiled and allocated, that runs many times. See docs/architecture.md, "the walk of one value".
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/exec/cancel_token.h"
#include "partitiontuner/exec/machine.h"
#include "partitiontuner/exec/trace.h"
#include "partitiontuner/plan/plan.h"
#include "partitiontuner/support/limits.h"

namespace pt {

struct SessionOptions {
  bool sequential = false;      // the plan's sequential twin: one step after another, same candidates and units
  bool flush_denormals = true;  // set on every worker during a run, restored on the caller
  bool check_plan = true;       // refuse an illegal plan (kInvalidInput, all faults)
  uint32_t max_run_states = 4;  // concurrent runs before Run blocks
  uint64_t run_bytes = Limits().run_bytes;  // memory of one run state on all devices; 0 = no limit
};

// A caller's buffer, row-major on the host, of exactly the bytes of its type and dims.
struct HostTensor {
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;
  void* data = nullptr;
  uint64_t bytes = 0;
};

struct RunOptions {
  std::optional<std::chrono::nanoseconds> deadline = {};  // from the start of Run; kRunFailed when over
  const CancelToken* cancel = nullptr;
  Trace* trace = nullptr;  // filled when not null
};

struct RunReport {
  int64_t wall_ns = 0;      // the whole of Run
  int64_t makespan_ns = 0;  // first step's start to last step's end; of the virtual clock when simulated
  bool simulated = false;
};

class Session {
 public:
  // graph is the planned graph, shared. Errors: kStale (plan of another graph or machine, with the list of
  // differences), kInvalidInput (illegal plan), kUnsupported, kOutOfMemory.
  static Result<std::unique_ptr<Session>> Create(std::shared_ptr<const Graph> graph, const Plan& plan, Machine& machine,
                                                 const SessionOptions& options = {});
  ~Session();  // waits for runs in flight

  // In the order of graph.inputs() and graph.outputs(). Blocks until done; callable from many threads.
  // After a first run with the same buffers it allocates nothing of our own. On an error the outputs are unspecified,
  // the session stays usable. Input and output buffers may not overlap.
  Result<RunReport> Run(std::span<const HostTensor> inputs, std::span<const HostTensor> outputs,
                        const RunOptions& options = {}) noexcept;

  const Plan& plan() const;
  const Graph& graph() const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pt
