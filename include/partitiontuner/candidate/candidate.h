// Candidate: one way to run a group of nodes as one step. Libraries propose them, profiles cost them,
// planners choose among them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/candidate/layout.h"
#include "partitiontuner/candidate/quantisation.h"
#include "partitiontuner/graph/graph.h"
#include "partitiontuner/platform/platform.h"

namespace pt {

// How exact a candidate computes. Flush-to-zero is set alike on all threads of a run.
enum class MathMode : uint8_t { kFp32, kTf32, kBf16, kFp16, kInt8 };
inline constexpr std::array kMathModes = {MathMode::kFp32, MathMode::kTf32, MathMode::kBf16, MathMode::kFp16,
                                          MathMode::kInt8};
std::string_view MathModeName(MathMode mode);
std::optional<MathMode> MathModeFromName(std::string_view name);

// Layout, storage type and what integers stand for. Storage differs from the value's type only where the math mode
// allows: see MayStore in precision.h.
struct Form {
  Layout layout;
  DataType storage = DataType::kUndefined;
  QuantisationId quantisation = {};
  friend auto operator<=>(const Form&, const Form&) = default;
};

// Row-major, stored as what it is: how a value crosses the border of a graph.
Form RowMajorForm(const ValueType& type);

// Output `out` may (or must) lie in the buffer of input `in`. kAllowed: in-place is safe when the input's
// instance has no other reader left. kRequired: the kernel accumulates into it (sum post-op).
struct Alias {
  enum class Kind : uint8_t { kAllowed, kRequired };
  uint32_t out = 0, in = 0;
  Kind kind = Kind::kAllowed;
  friend bool operator==(const Alias&, const Alias&) = default;
};

// kViewOfInput: the step moves no bytes when its output instance is placed onto its input (Reshape).
// kSlices: the inputs may be placed as slices of the output (Concat along the outermost unpadded dim);
// then the step does nothing. Both are decided by PlanMemory; without them the kernel copies.
enum class Elision : uint8_t { kNone, kViewOfInput, kSlicesOfOutput };

struct Candidate {
  std::vector<NodeId> nodes;  // ascending; convex in the graph
  UnitClassId unit_class;
  std::string library;  // "onednn"
  std::string variant;  // library-defined stable text: algorithm, layout family; may be empty
  MathMode math = MathMode::kFp32;
  std::vector<Form> in;   // one per GroupInputs(graph, nodes), in its order
  std::vector<Form> out;  // one per GroupOutputs(graph, nodes), in its order
  std::vector<Alias> aliases;
  Elision elision = Elision::kNone;
  uint64_t scratch_bytes = 0, constant_bytes = 0;
};

// How a library runs the nodes that reads and writes nothing but row-major tensors; the unit class is left open.
Candidate RowMajorCandidate(const Graph& graph, std::span<const NodeId> nodes, std::string_view library);

// The same kernel: nodes, unit class, library, variant, math and forms agree. What the library adds to these (aliases,
// elision, sizes) is not looked at.
bool IsSameKernel(const Candidate& a, const Candidate& b);

// The values a group reads from outside that are not constants, in order of first use (by node, then
// input), without repeats.
std::vector<ValueId> GroupInputs(const Graph& graph, std::span<const NodeId> nodes);
// The values a group makes that somebody outside needs (another node or the graph), in order of production.
std::vector<ValueId> GroupOutputs(const Graph& graph, std::span<const NodeId> nodes);
// No path leaves the group and comes back.
bool IsConvex(const Graph& graph, std::span<const NodeId> nodes);

// Estimated arithmetic and memory traffic, for rates and fallback predictions.
struct WorkSize {
  double flops = 0;
  double bytes = 0;  // read + written once each, constants included
};
WorkSize WorkSizeOf(const Graph& graph, std::span<const NodeId> nodes);
// The operator that dominates (most flops, then bytes): the family of cost predictions.
NodeId HeaviestNode(const Graph& graph, std::span<const NodeId> nodes);

// The rates that a simulated device's file has for a group: of its heaviest node's operator with its shapes ("Conv
// 1x64x56x56,64x64x3x3>1x64x56x56"), else of the operator, else "*"; null when none is there.
const SimulatedRates::Family* RatesFamily(const SimulatedRates& rates, const Graph& graph,
                                          std::span<const NodeId> nodes);
// What a simulated device takes for the candidate by its file; none where the file has no rate for it, and on other
// devices.
std::optional<int64_t> SimulatedNs(const Graph& graph, const Platform& platform, const Candidate& candidate);
// The share of its simulated device that the candidate asks for while it runs, on average; 0 on other devices.
double SimulatedDemand(const Graph& graph, const Platform& platform, const Candidate& candidate);

}  // namespace pt
