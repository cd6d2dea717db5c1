// OpenVINO's core: its devices, reads groups, says what devices run of them, compiles them.
#pragma once

#include <memory>
#include <openvino/runtime/core.hpp>
#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"
#include "plugins/openvino/blob_cache.h"

namespace pt::openvino {

inline constexpr const char* kCpu = "CPU";  // OpenVINO's name of the host

// What OpenVINO says of one of its devices.
struct DeviceFacts {
  std::string name;                       // of OpenVINO: "CPU", "GPU.0", "NPU"
  std::string full_name, driver;          // for people, and for fingerprints
  std::vector<std::string> capabilities;  // "FP32", "FP16", "INT8", …
  uint32_t requests = 1;                  // that it takes at once with a gain
  uint64_t memory_bytes = 0;              // 0 = it does not say

  bool can(std::string_view capability) const;
  // Everything that times and compiled models depend on.
  std::string Fingerprint() const;
};

// What a model is compiled for.
struct Target {
  std::string device = kCpu;  // of OpenVINO
  MathMode math = MathMode::kFp32;
  uint32_t threads = 0;   // of the host's cores; 0: a device that has its own
  uint32_t requests = 1;  // in flight
  friend auto operator<=>(const Target&, const Target&) = default;
};

// Thread-safe. Errors carry OpenVINO's own words.
class Runtime {
 public:
  // The one of this process, which lives as long as somebody holds it: making one takes tens of milliseconds. Compiled
  // models are kept where BlobCache::Options::FromEnvironment says. Errors (kDeviceUnusable): OpenVINO cannot be used,
  // is of another version (CheckVersion), or has no CPU device; kUsage for an environment variable that cannot be read.
  static Result<std::shared_ptr<Runtime>> Get();

  static std::string Version();

  // All devices but those that stand for several (AUTO, MULTI, HETERO, BATCH).
  std::vector<std::string> Devices() const;
  // Errors: kDeviceUnusable where there is no such device.
  Result<DeviceFacts> FactsOf(const std::string& device) const;
  // Memory that this device and the host share; nothing where it has none of its own. kOutOfMemory.
  Result<std::optional<ov::Tensor>> SharedTensor(const std::string& device, uint64_t bytes) const;

  // The group as OpenVINO's ONNX front end reads it: inputs and outputs as the group's, all float32 of the same static
  // dims. Errors (kUnsupported): what ONNX or the front end does not take, or reads as something else.
  Result<std::shared_ptr<ov::Model>> Read(const Graph& group) const;
  // kUnsupported, with the names, for operators that the device does not run.
  Status CheckRuns(const std::shared_ptr<ov::Model>& model, const std::string& device) const;
  // In the target's mode throughout. On the host, on `threads` threads: with one, a request computes on the thread that
  // runs it; with more it has been run once, so that OpenVINO's pool has its threads: they may run where the calling
  // thread may. Errors: kUnsupported, also where the device computes in another mode than it was asked for.
  Result<ov::CompiledModel> Compile(const std::shared_ptr<ov::Model>& model, const Target& target) const;
  // For devices that compile slowly: what Read and Compile make of the group, from a file where an earlier process left
  // it there.
  Result<ov::CompiledModel> CompileCached(const Graph& group, const Target& target) const;

 private:
  Result<ov::AnyMap> Config(const Target& target) const;
  Result<ov::CompiledModel> Import(const std::string& blob, const Target& target) const;

  mutable ov::Core core_;
  std::optional<BlobCache> blobs_;
};

}  // namespace pt::openvino
