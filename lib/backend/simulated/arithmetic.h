// Arithmetic: how the results of a simulated device are computed, on one core of the host and outside the accounting of
// time and memory. What the device offers follows the reference library; what computes is the first of the built-in
// host libraries that has a kernel for the node, so that runs do not take the reference's time.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "lib/backend/computation.h"

namespace pt {

// Thread-safe.
class Arithmetic {
 public:
  Arithmetic();

  // What is offered and refused follows it.
  const Library& reference() const { return *reference_; }
  // How the reference library runs the node on the computing class; nullopt when it cannot.
  std::optional<Candidate> OnHost(const Graph& graph, const Platform& platform, NodeId node) const;

  // In fp32, or with all that is read and made rounded as the mode says (rounding.h).
  // in, out: row-major, as the group's inputs and outputs. context.team has one core; context.device is not used.
  // Errors: kUnsupported when the reference library cannot run a node, or a size between the nodes is not known.
  Result<Computation> Compile(const Graph& graph, std::span<const NodeId> nodes, MathMode mode,
                              std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                              const CompileContext& context) const;

 private:
  Result<LibraryCandidate> FindWay(const Graph& graph, const Platform& platform, NodeId node) const;
  Status AddGroup(const Graph& graph, std::span<const NodeId> nodes, MathMode mode, std::span<const TensorLayout> in,
                  std::span<const TensorLayout> out, CompileContext& context, Computation& computation) const;
  std::span<const std::unique_ptr<Library>> fast() const;

  std::unique_ptr<Library> reference_;
  std::unique_ptr<DeviceDriver> host_;
  mutable std::once_flag made_fast_;
  mutable std::vector<std::unique_ptr<Library>> fast_;  // in order of preference
};

// The host class whose kernels do the arithmetic: the narrowest, since one core enqueues. Invalid where there is none.
UnitClassId ComputingClass(const Platform& platform);

}  // namespace pt
