// The library "onnxruntime": groups as sessions of ONNX Runtime, on host units by its CPU provider and on devices by
// theirs.
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
  Precision Modes(const Platform& platform) const override;
  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override;
  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override;
  // Of the host's provider.
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override;
  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override;

 private:
  // A unit class that is served, and what sessions are made for there.
  struct Place {
    UnitClassId unit_class;
    Target target;
    bool is_device = false;
    bool exact_products = false;  // of the host's processor
  };
  std::vector<Place> Places(const Platform& platform, const Precision& precision) const;

  // Why the place's provider does not run these nodes, which are all taken, as one session; nothing when it does. Asked
  // once for each signature, provider and mode. The host's runs groups node by node where it has nothing better, and so
  // all groups of nodes that it runs: it is asked for single ones.
  std::optional<std::string> WhyNotRun(const Graph& graph, std::span<const NodeId> nodes, const Target& target) const;
  bool IsTaken(const Graph& graph, const Platform& platform, const Place& place, NodeId node) const;
  // Nodes that are each taken.
  void Offer(const Graph& graph, const Platform& platform, const Place& place, std::span<const NodeId> nodes,
             std::vector<Candidate>& candidates) const;

  const Result<std::shared_ptr<const Runtime>> runtime_;
  mutable plugins::Answers answers_;
};

}  // namespace pt::onnxruntime
