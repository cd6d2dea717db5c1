// Looks at the values of a graph while it runs: as kernels of the host read them, and as these have made them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "partitiontuner/exec/kernel_watch.h"
#include "partitiontuner/graph/tensor.h"

namespace pt::tools {

// A value as the kernel of a group reads it, or has made it.
struct Sighting {
  NodeId node;  // the group's first
  bool made = false;
  size_t index = 0;  // among what the group reads or makes
};

class ValueProbes final : public KernelWatch {
 public:
  // Called in runs, by several threads at once.
  using Look = std::function<void(const Sighting&, const TensorView&)>;

  // inner: the watch that is told and asked all else; null where there is none. Outlives this.
  explicit ValueProbes(KernelWatch* inner) : inner_(inner) {}

  // Whose runs are looked at from now on, between runs. Sessions of the graph may be older.
  void LookAt(const Graph& graph, Look look) {
    graph_ = &graph;
    look_ = std::move(look);
  }

  bool IsExcluded(const WatchedKernelName& kernel) const override;
  bool ExcludesAnyOf(std::string_view library) const override;
  void Begin(const WatchedKernelName& kernel) noexcept override;
  void End() noexcept override;
  std::shared_ptr<KernelProbe> ProbeOf(const Graph& graph, const Candidate& candidate) override;

 private:
  class Probe;

  KernelWatch* inner_;
  const Graph* graph_ = nullptr;  // nested graphs are others
  Look look_;
};

// The view as a tensor of that type, row-major and dense. Nothing for what holds no numbers, or is packed in another
// layout.
std::optional<Tensor> DenseTensor(const TensorView& view, DataType type);

}  // namespace pt::tools
