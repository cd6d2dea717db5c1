// Computation: kernels of the host's libraries that compute a group of nodes one after the other, with the tensors that
// lie between them. For libraries that compute with the kernels of others.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt {

// Immutable once made.
struct Computation {
  struct Part {
    std::unique_ptr<Kernel> kernel;
    std::vector<size_t> in, out;  // tensors
  };
  std::vector<TensorLayout> tensors;  // the group's inputs, its outputs, then what lies between the parts
  size_t inputs = 0, outputs = 0;     // how many of them are the group's
  std::vector<Part> parts;            // in the order in which they run

  // Of what lies between the parts, and of their scratch. kOutOfMemory where it does not fit 64 bits.
  Result<uint64_t> memory_bytes() const;
};

// A computation in memory: of the caller's tensors, and of host memory for what lies between.
class BoundComputation {
 public:
  // memory: computation.memory_bytes() at a multiple of kTensorAlignment. It and the slots outlive this.
  static Result<BoundComputation> Make(const Computation& computation, TensorSlots in, TensorSlots out,
                                       std::span<std::byte> memory);
  // One run at a time, on run.stream's team.
  Status Run(const RunContext& run) noexcept;

 private:
  std::vector<std::unique_ptr<TensorView>> between_;
  std::vector<std::unique_ptr<BoundKernel>> parts_;
};

// A library's candidate for some nodes of a graph whose sizes are all known.
struct LibraryCandidate {
  const Library* library = nullptr;
  Candidate candidate;
};

// Of the ways in fp32 in which the library runs exactly these nodes on the unit class, the one between the fewest
// reorders, all of them the library's own, that turn row-major tensors into its forms and back; of as many the one
// whose forms take the fewest bytes. None that works on what its output held before, and none that does not `fit`.
std::optional<Candidate> PlainestWay(const Graph& graph, const Platform& platform, const Library& library,
                                     std::span<const NodeId> nodes, UnitClassId unit_class,
                                     const std::function<bool(const Candidate&)>& fits);

size_t AddTensor(TensorLayout layout, Computation& computation);
// The tensor of a value that lies between the nodes; made row-major when it is met first. kUnsupported where its size
// is not known.
Result<size_t> TensorOf(const Graph& graph, ValueId value, std::map<ValueId, size_t>& known, Computation& computation);
// The way's kernel behind what there is, between reorders where its forms are not those of the tensors. in, out: those
// that it reads and makes, in the candidate's order.
Status AddWay(const Graph& graph, const LibraryCandidate& way, std::vector<size_t> in, std::vector<size_t> out,
              CompileContext& context, Computation& computation);

}  // namespace pt
