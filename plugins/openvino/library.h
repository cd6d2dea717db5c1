// The library "openvino": groups as models of OpenVINO, on host units by its CPU device and on devices of their own.
#pragma once

#include <memory>
#include <string>

#include "plugins/openvino/runtime.h"
#include "plugins/shared/runtime_library.h"

namespace pt::openvino {

class OpenVinoLibrary final : public plugins::RuntimeLibrary {
 public:
  // Without a runtime, when OpenVINO cannot be used, it serves no device.
  explicit OpenVinoLibrary(Result<std::shared_ptr<Runtime>> runtime);

  std::string_view name() const override;
  std::string version() const override;
  // Like oneDNN within it, OpenVINO offers what the processor it runs on can do: hosts with other instruction sets are
  // not served. A platform that says nothing of them is taken to be this machine's.
  bool Serves(const Platform& platform, DeviceId device) const override;

 private:
  std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId node, const Device& host) const override;
  Asked AskedAt(const Place&) const override { return Asked::kGroups; }
  std::string NameOf(const Place& place) const override;
  Status CheckRuns(const Graph& graph, std::span<const NodeId> nodes, const Place& place) const override;
  Result<std::unique_ptr<Kernel>> CompileAt(const Graph& graph, std::span<const NodeId> nodes, const Place& place,
                                            const Platform& platform) const override;

  const Result<std::shared_ptr<Runtime>> runtime_;
  std::string isa_;  // of this machine
};

}  // namespace pt::openvino
