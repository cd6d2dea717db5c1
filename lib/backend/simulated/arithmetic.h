// Arithmetic: how the results of a simulated device are computed, on one core of the host and outside the accounting of
// time and memory. What the device offers follows the reference library; what computes is the first of the built-in
// host libraries that has a kernel for the node, so that runs do not take the reference's time.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/support/aligned_bytes.h"

namespace pt {

// Kernels that compute a group one after the other. Immutable once made.
struct Computation {
  struct Part {
    std::unique_ptr<Kernel> kernel;
    std::vector<size_t> in, out;  // tensors
  };
  std::vector<TensorLayout> tensors;  // the group's inputs, its outputs, then what lies between the parts
  size_t inputs = 0, outputs = 0;     // how many of them are the group's
  std::vector<Part> parts;            // in the order in which they run
};

// A computation in memory: of the caller's tensors, and of host memory of its own for what lies between.
class BoundComputation {
 public:
  static Result<BoundComputation> Make(const Computation& computation, TensorSlots in, TensorSlots out);
  // One run at a time, on the calling core.
  Status Run(const RunContext& run) noexcept;

 private:
  std::vector<AlignedBytes> memory_;  // tensors and scratch
  std::vector<std::unique_ptr<TensorView>> between_;
  std::vector<std::unique_ptr<BoundKernel>> parts_;
};

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
  struct Way;  // a library's candidate for one node
  Result<Way> FindWay(const Graph& graph, const Platform& platform, NodeId node) const;
  Status AddGroup(const Graph& graph, std::span<const NodeId> nodes, MathMode mode, std::span<const TensorLayout> in,
                  std::span<const TensorLayout> out, CompileContext& context, Computation& computation) const;
  Status AddNode(const Graph& graph, const Way& way, std::vector<size_t> in, std::vector<size_t> out,
                 CompileContext& context, Computation& computation) const;
  std::span<const std::unique_ptr<Library>> fast() const;

  std::unique_ptr<Library> reference_;
  std::unique_ptr<DeviceDriver> host_;
  mutable std::once_flag made_fast_;
  mutable std::vector<std::unique_ptr<Library>> fast_;  // in order of preference
};

// The host class whose kernels do the arithmetic: the narrowest, since one core enqueues. Invalid where there is none.
UnitClassId ComputingClass(const Platform& platform);

}  // namespace pt
