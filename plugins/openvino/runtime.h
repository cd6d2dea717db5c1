// OpenVINO's core: reads groups, says what its CPU device runs of them, compiles them.
#pragma once

#include <memory>
#include <openvino/runtime/core.hpp>
#include <string>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt::openvino {

// Thread-safe. Errors carry OpenVINO's own words.
class Runtime {
 public:
  // The one of this process, which lives as long as somebody holds it: making one takes tens of milliseconds. Errors
  // (kDeviceUnusable): OpenVINO cannot be used, or has no CPU device.
  static Result<std::shared_ptr<Runtime>> Get();

  static std::string Version();

  // The group as OpenVINO's ONNX front end reads it: inputs and outputs as the group's, all float32 of the same static
  // dims. Errors (kUnsupported): what ONNX or the front end does not take, or reads as something else.
  Result<std::shared_ptr<ov::Model>> Read(const Graph& group) const;
  // kUnsupported, with the names, for operators that the CPU device does not run.
  Status CheckRuns(const std::shared_ptr<ov::Model>& model) const;
  // In float32 throughout, on `threads` threads: with one, a request computes on the thread that runs it. Errors:
  // kUnsupported. With more it has been run once, so that OpenVINO's pool has its threads: they may run where the
  // calling thread may.
  Result<ov::CompiledModel> Compile(const std::shared_ptr<ov::Model>& model, uint32_t threads) const;

 private:
  mutable ov::Core core_;
};

}  // namespace pt::openvino
