// Specialisation: a group of nodes compiled for the sizes that its inputs have turned out to have in the run, and for
// those of their contents that sizes follow from.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/backend/computation.h"

namespace pt::run_time {

using Libraries = std::vector<std::unique_ptr<Library>>;

// Immutable once made.
struct Specialisation {
  std::vector<TensorLayout> in, out;            // by input and output of the group
  std::vector<std::optional<Tensor>> contents;  // by input: those that decide sizes
  // A single node with so little to do that the reference library's loops are over before others are prepared: there is
  // nothing more in here then.
  bool is_small = false;
  std::unique_ptr<const Graph> graph;  // the group, with these sizes
  Computation computation;
  uint64_t memory_bytes = 0;  // of the computation
  bool is_heavy = false;      // so much work that its kernels may be large themselves

  // The inputs are of these sizes, with these contents.
  bool IsFor(TensorSlots given) const;
};

// Thread-safe; what it is made of must outlive it and what it makes.
class Specialiser {
 public:
  // libraries: those that may compute, the reference library last. keep_nan: only by kernels that lose no NaN.
  Specialiser(const Graph& graph, const Candidate& candidate, bool keep_nan, const CompileContext& context,
              std::shared_ptr<const Libraries> libraries);

  // For inputs as they lie there; outputs of static sizes lie where their slots say. The kernels are compiled by
  // `team`. Errors: kUnsupported where more than a few numbers decide a size; those of the operators' definitions.
  Result<std::shared_ptr<const Specialisation>> Make(TensorSlots in, TensorSlots out, Team* team) const;

  std::span<const ValueId> outputs() const { return out_values_; }
  const Graph& graph() const { return graph_; }

 private:
  struct Facts;
  Status FindSizes(TensorSlots in, Facts& facts) const;
  bool IsSmall(const Facts& facts) const;
  Status FindSizesOf(NodeId node, TensorSlots in, Facts& facts) const;
  Result<Graph> StaticGraph(const Facts& facts, std::vector<ValueId>& in, std::vector<ValueId>& out) const;
  Status AddWays(const Graph& graph, std::map<ValueId, size_t> known, Team* team, Computation& computation) const;
  std::optional<LibraryCandidate> FindWay(const Graph& graph, std::span<const NodeId> nodes) const;

  const Graph& graph_;
  const std::vector<NodeId> nodes_;
  const std::vector<ValueId> in_values_, out_values_;
  const bool keep_nan_;  // kernels that lose a NaN are out of the question
  Platform platform_;    // with one unit class: that of the candidate
  DeviceDriver& device_;
  WeightStore& weights_;
  std::shared_ptr<const Libraries> libraries_;
};

}  // namespace pt::run_time
