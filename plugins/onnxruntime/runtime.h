// ONNX Runtime: says what its providers run of groups, and makes sessions of them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "plugins/onnxruntime/owned.h"
#include "plugins/onnxruntime/providers.h"

namespace pt::onnxruntime {

// A compiled group with the names that ONNX Runtime knows its inputs and outputs by, in the group's order.
struct GroupSession {
  std::shared_ptr<const class OrtRuntime> runtime;
  Owned<OrtSession> session;
  std::vector<std::string> inputs, outputs;
};

// What a group is compiled for.
struct OrtTarget {
  ProviderName provider = {kCpuProvider, ""};
  MathMode math = MathMode::kFp32;
  // Of the host's unit, the operating system's numbers. One or none: a run computes on the thread that calls. More: on
  // that thread, which is taken to be on the first, and on one thread on each of the others.
  std::vector<uint32_t> cores = {};
};

// Thread-safe. Errors carry ONNX Runtime's own words. Nothing is printed.
class OrtRuntime : public std::enable_shared_from_this<OrtRuntime> {
 public:
  explicit OrtRuntime(LoadedRuntime loaded);
  ~OrtRuntime();

  // The one of this process; it lives as long as somebody holds it. Errors: those of LoadRuntime.
  static Result<std::shared_ptr<const OrtRuntime>> Get();

  const OrtApi& api() const { return *loaded_.api; }
  const std::string& version() const { return loaded_.version; }
  // What it can run groups on, by ONNX Runtime's names: "CPUExecutionProvider" and others.
  Result<std::vector<std::string>> Providers() const;

  // kUnsupported, with the reason, where the provider has no kernel for a node of the group, hands it to the CPU's, or
  // reads it as something else. Costs about what loading the group does, and what the provider takes to start.
  Status CheckRuns(const Graph& group, const OrtTarget& target) const;
  // Threads for the target's cores are there when this returns, the session's own, and sleep between its runs. Errors:
  // kUnsupported, kOutOfMemory.
  Result<GroupSession> Compile(const Graph& group, const OrtTarget& target) const;

 private:
  struct Wish;
  Status Start() const;
  Status MakeEnvironment() const;
  Status MakeArena() const;
  Result<Owned<OrtSessionOptions>> Options(const Wish& wish) const;
  Result<GroupSession> Make(const Graph& group, const Wish& wish) const;

  const LoadedRuntime loaded_;
  mutable std::mutex mutex_;
  mutable OrtEnv* environment_ = nullptr;  // made once
};

}  // namespace pt::onnxruntime
