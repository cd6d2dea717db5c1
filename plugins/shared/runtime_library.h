// A library that hands groups as models to the runtime of another program, which says itself what it runs. Each plugin
// around such a runtime derives its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/backend/backend.h"
#include "plugins/shared/answers.h"

namespace pt::plugins {

class RuntimeLibrary : public Library {
 public:
  Precision Modes(const Platform& platform) const final;
  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const final;
  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const final;
  // Says it of the host alone.
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const final;
  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const final;

 protected:
  // A unit class that is served.
  struct Place {
    UnitClassId unit_class = {};
    const Device* device = nullptr;  // null: the host
    MathMode math = MathMode::kFp32;
    uint32_t cores = 1;  // of a unit of the host
    uint32_t units = 1;  // of the class
    bool on_host() const { return device == nullptr; }
  };
  // What the runtime is asked about a place before it is offered work there.
  enum class Asked : uint8_t {
    kGroups,  // each group as a whole
    kNodes,   // single nodes: it runs every group of nodes that it runs
    kBoth,    // the nodes of a group, then the group
  };

  // Without a runtime the library compiles nothing and says why; its `Serves` is false for every device.
  template <typename Runtime>
  explicit RuntimeLibrary(const Result<Runtime>& runtime)
      : absent_(runtime.ok() ? std::nullopt : std::optional<Error>(runtime.error())) {}
  bool has_runtime() const { return !absent_.has_value(); }

 private:
  // Why the plugin does not hand this node to its runtime at all. host: the device, with what its processor can do; an
  // empty one stands for this machine's.
  virtual std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId node, const Device& host) const = 0;
  virtual Asked AskedAt(const Place& place) const = 0;
  // By what name its answers at the place are remembered: places of one name get the same ones.
  virtual std::string NameOf(const Place& place) const = 0;
  // Asks the runtime whether it runs these nodes, which are all taken, as one model.
  virtual Status CheckRuns(const Graph& graph, std::span<const NodeId> nodes, const Place& place) const = 0;
  virtual Result<std::unique_ptr<Kernel>> CompileAt(const Graph& graph, std::span<const NodeId> nodes,
                                                    const Place& place, const Platform& platform) const = 0;

  std::vector<Place> Places(const Platform& platform, const Precision& precision) const;
  // Asks once for each signature and name of a place.
  std::optional<std::string> WhyNotRun(const Graph& graph, std::span<const NodeId> nodes, const Place& place) const;
  bool IsTaken(const Graph& graph, const Platform& platform, const Place& place, NodeId node) const;
  // Adds the candidate of nodes that are each taken, where the place runs them together.
  void Offer(const Graph& graph, const Platform& platform, const Place& place, std::span<const NodeId> nodes,
             std::vector<Candidate>& candidates) const;

  const std::optional<Error> absent_;
  mutable Answers answers_;
};

}  // namespace pt::plugins
