// The library "openvino": groups as models of OpenVINO, on host units by its CPU device and on devices of their own.
#pragma once

#include <memory>
#include <string>

#include "partitiontuner/backend/backend.h"
#include "plugins/openvino/runtime.h"
#include "plugins/shared/answers.h"

namespace pt::openvino {

class OpenVinoLibrary final : public Library {
 public:
  // Without a runtime, when OpenVINO cannot be used, it serves no device.
  explicit OpenVinoLibrary(Result<std::shared_ptr<Runtime>> runtime);

  std::string_view name() const override;
  std::string version() const override;
  // Like oneDNN within it, OpenVINO offers what the processor it runs on can do: hosts with other instruction sets are
  // not served. A platform that says nothing of them is taken to be this machine's.
  bool Serves(const Platform& platform, DeviceId device) const override;
  Precision Modes(const Platform& platform) const override;
  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override;
  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override;
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override;
  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override;

 private:
  // A unit class that is served, and what models are compiled for there.
  struct Place {
    UnitClassId unit_class;
    Target target;
  };
  std::vector<Place> Places(const Platform& platform, const Precision& precision) const;

  // Why the place's device does not run these nodes, which are all taken, as one model; nothing when it does. Asked
  // once for each signature and device of OpenVINO.
  std::optional<std::string> WhyNotRun(const Graph& graph, std::span<const NodeId> nodes,
                                       const std::string& device) const;
  // Nodes that are each taken.
  void Offer(const Graph& graph, const Platform& platform, const Place& place, std::span<const NodeId> nodes,
             std::vector<Candidate>& candidates) const;

  const Result<std::shared_ptr<Runtime>> runtime_;
  std::string isa_;  // of this machine
  mutable plugins::Answers answers_;
};

}  // namespace pt::openvino
