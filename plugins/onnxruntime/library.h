// The library "onnxruntime": groups as sessions of ONNX Runtime's CPU provider, on host units.
#pragma once

#include <memory>
#include <string>

#include "partitiontuner/backend/backend.h"
#include "plugins/onnxruntime/runtime.h"
#include "plugins/shared/answers.h"

namespace pt::onnxruntime {

class OnnxRuntimeLibrary final : public Library {
 public:
  // Without a runtime, when ONNX Runtime cannot be used, it serves no device.
  explicit OnnxRuntimeLibrary(Result<std::shared_ptr<const Runtime>> runtime);

  std::string_view name() const override;
  std::string version() const override;
  // Hosts with other instruction sets than this one are served as well: which kernels there are does not depend on
  // them.
  bool Serves(const Platform& platform, DeviceId device) const override;
  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override;
  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override;
  // ONNX Runtime is asked once for each signature of a node. It runs groups node by node where it has nothing better,
  // so it runs all groups of nodes that it runs.
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override;
  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override;

 private:
  void Offer(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
             std::vector<Candidate>& candidates) const;

  const Result<std::shared_ptr<const Runtime>> runtime_;
  mutable plugins::Answers answers_;
};

}  // namespace pt::onnxruntime
