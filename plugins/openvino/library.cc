#include "plugins/openvino/library.h"

#include "partitiontuner/candidate/group_graph.h"
#include "partitiontuner/platform/discover.h"
#include "plugins/openvino/device.h"
#include "plugins/openvino/device_kernel.h"
#include "plugins/openvino/discover.h"
#include "plugins/openvino/fence.h"
#include "plugins/openvino/kernel.h"
#include "plugins/openvino/operators.h"
#include "plugins/shared/cores.h"

namespace pt::openvino {

OpenVinoLibrary::OpenVinoLibrary(Result<std::shared_ptr<Runtime>> runtime)
    : RuntimeLibrary(runtime), runtime_(std::move(runtime)) {
  if (const auto host = DiscoverHost(); host.ok()) isa_ = host->device(kHostDevice).isa;
}

std::string_view OpenVinoLibrary::name() const { return kName; }
std::string OpenVinoLibrary::version() const { return Runtime::Version(); }

bool OpenVinoLibrary::Serves(const Platform& platform, DeviceId device) const {
  if (!has_runtime()) return false;
  if (!IsHost(device)) return platform.device(device).kind == kDeviceKind;
  const std::string& isa = platform.device(device).isa;
  return isa.empty() || isa == isa_;
}

std::optional<std::string> OpenVinoLibrary::WhyNotTaken(const Graph& graph, NodeId node, const Device&) const {
  return openvino::WhyNotTaken(graph, node);
}

std::string OpenVinoLibrary::NameOf(const Place& place) const {
  return place.on_host() ? kCpu : OvNameOf(*place.device);
}

Status OpenVinoLibrary::CheckRuns(const Graph& graph, std::span<const NodeId> nodes, const Place& place) const {
  PT_ASSIGN(const Graph group, GroupGraph(graph, nodes));
  PT_ASSIGN(const auto model, (*runtime_)->Read(group));
  return (*runtime_)->CheckRuns(model, NameOf(place));
}

Result<std::unique_ptr<Kernel>> OpenVinoLibrary::CompileAt(const Graph& graph, std::span<const NodeId> nodes,
                                                           const Place& place, const Platform& platform) const {
  PT_ASSIGN(const Graph group, GroupGraph(graph, nodes));
  const Target target = place.on_host() ? Target{kCpu, MathMode::kFp32, place.cores, 1}
                                        : Target{NameOf(place), place.math, 0, place.units};
  std::optional<Result<ov::CompiledModel>> compiled;
  // For one thread too: OpenVINO also compiles on threads of its pool, which are then there for all models.
  plugins::RunOnCores(plugins::HostCores(platform), [&]() noexcept {
    const auto compile = [&]() -> Result<ov::CompiledModel> {
      if (!place.on_host()) return (*runtime_)->CompileCached(group, target);
      PT_ASSIGN(const auto model, (*runtime_)->Read(group));
      return (*runtime_)->Compile(model, target);
    };
    compiled.emplace(compile());
  });
  if (!compiled->ok()) return std::move(*compiled).error();
  if (!place.on_host()) return std::unique_ptr<Kernel>(std::make_unique<DeviceKernel>(std::move(**compiled)));
  return std::unique_ptr<Kernel>(std::make_unique<OpenVinoKernel>(std::move(**compiled), target.threads));
}

}  // namespace pt::openvino
