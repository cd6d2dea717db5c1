// The library "onnxruntime": groups as sessions of ONNX Runtime, on host units by its CPU provider and on devices by
// theirs.
#pragma once

#include <memory>
#include <string>

#include "plugins/onnxruntime/runtime.h"
#include "plugins/shared/runtime_library.h"

namespace pt::onnxruntime {

class OnnxRuntimeLibrary final : public plugins::RuntimeLibrary {
 public:
  // Without a runtime, when ONNX Runtime cannot be used, it serves no device.
  explicit OnnxRuntimeLibrary(Result<std::shared_ptr<const OrtRuntime>> runtime);

  std::string_view name() const override;
  std::string version() const override;
  // Hosts with other instruction sets than this one are served as well: which kernels there are does not depend on
  // them.
  bool Serves(const Platform& platform, DeviceId device) const override;

 private:
  std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId node, const Device& host) const override;
  // The CPU provider runs groups node by node where it has nothing better, and so all groups of nodes that it runs.
  Asked AskedAt(const Place& place) const override;
  std::string NameOf(const Place& place) const override;
  Status CheckRuns(const Graph& graph, std::span<const NodeId> nodes, const Place& place) const override;
  Result<std::unique_ptr<Kernel>> CompileAt(const Graph& graph, std::span<const NodeId> nodes, const Place& place,
                                            const Platform& platform) const override;

  const Result<std::shared_ptr<const OrtRuntime>> runtime_;
};

}  // namespace pt::onnxruntime
