#include "plugins/onnxruntime/library.h"

#include "partitiontuner/candidate/group_graph.h"
#include "partitiontuner/graph/graph_builder.h"
#include "plugins/onnxruntime/device_kernel.h"
#include "plugins/onnxruntime/discover.h"
#include "plugins/onnxruntime/kernel.h"
#include "plugins/onnxruntime/operators.h"
#include "plugins/shared/cores.h"
#include "plugins/shared/operators.h"

namespace pt::onnxruntime {
namespace {

// Of nodes without names: ONNX Runtime refuses a model with two nodes of one name, which ONNX and our graphs do not.
Result<Graph> NamelessGroup(const Graph& graph, std::span<const NodeId> nodes) {
  PT_ASSIGN(const Graph group, GroupGraph(graph, nodes));
  GraphBuilder builder(group);
  for (size_t i = 0; i < group.nodes().size(); ++i) builder.node(NodeId(i)).name.clear();
  return builder.Build();
}

// device: null for the host.
ProviderName ProviderAt(const Device* device) { return device == nullptr ? OrtTarget().provider : ProviderOf(*device); }

}  // namespace

OnnxRuntimeLibrary::OnnxRuntimeLibrary(Result<std::shared_ptr<const OrtRuntime>> runtime)
    : RuntimeLibrary(runtime), runtime_(std::move(runtime)) {}

std::string_view OnnxRuntimeLibrary::name() const { return kName; }
std::string OnnxRuntimeLibrary::version() const { return has_runtime() ? (*runtime_)->version() : "none"; }

bool OnnxRuntimeLibrary::Serves(const Platform& platform, DeviceId device) const {
  return has_runtime() && (IsHost(device) || platform.device(device).kind == kName);
}

std::optional<std::string> OnnxRuntimeLibrary::WhyNotTaken(const Graph& graph, NodeId node, const Device& host) const {
  return onnxruntime::WhyNotTaken(graph, node, plugins::HasExactProducts(host));
}

plugins::RuntimeLibrary::Asked OnnxRuntimeLibrary::AskedAt(const Place& place) const {
  return ProviderAt(place.device).is_cpu() ? Asked::kNodes : Asked::kBoth;
}

std::string OnnxRuntimeLibrary::NameOf(const Place& place) const {
  return ProviderAt(place.device).text() + " " + std::string(MathModeName(place.math));
}

Status OnnxRuntimeLibrary::CheckRuns(const Graph& graph, std::span<const NodeId> nodes, const Place& place) const {
  PT_ASSIGN(const Graph group, NamelessGroup(graph, nodes));
  return (*runtime_)->CheckRuns(group, {ProviderAt(place.device), place.math, {}});
}

Result<std::unique_ptr<Kernel>> OnnxRuntimeLibrary::CompileAt(const Graph& graph, std::span<const NodeId> nodes,
                                                              const Place& place, const Platform& platform) const {
  PT_ASSIGN(const Graph group, NamelessGroup(graph, nodes));
  OrtTarget target{ProviderAt(place.device), place.math, {}};
  if (place.on_host() && place.cores > 1) target.cores = plugins::HostCores(platform);
  PT_ASSIGN(GroupSession session, (*runtime_)->Compile(group, target));
  if (!place.on_host()) return std::unique_ptr<Kernel>(std::make_unique<OrtDeviceKernel>(std::move(session)));
  return std::unique_ptr<Kernel>(std::make_unique<OnnxRuntimeKernel>(std::move(session), target.cores.size() > 1));
}

}  // namespace pt::onnxruntime
