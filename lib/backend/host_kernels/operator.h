// How this library describes an operator: a row with a function that looks at one node with its types, layouts,
// attributes and constants (HostSite), checks them, and returns what runs it (HostRoutine). Tensors lie as one of the
// arrangements of the nodes says, each with strides of its own: any may be a slice of something bigger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::host {

inline constexpr size_t kMaxRank = 32;

// One operand, input or output.
struct HostOperand {
  TensorLayout layout;             // of no type where the operand is absent or not read
  std::optional<Tensor> constant;  // inputs whose content is known before the run
  ValueId value;
  uint32_t slot = 0;  // into the candidate's in or out, unless constant

  bool present() const { return layout.type != DataType::kUndefined; }
  DataType type() const { return layout.type; }  // as it is stored: bfloat16 may stand for float32
  const std::vector<int64_t>& dims() const { return layout.dims; }
  const std::vector<int64_t>& strides() const { return layout.strides; }  // in elements
  int64_t rank() const { return static_cast<int64_t>(layout.dims.size()); }
  int64_t count() const;  // elements
};

// What a routine sees when it runs: one pointer an operand, null where that is absent or empty.
struct HostCall {
  std::span<const void* const> in;
  std::span<void* const> out;
  std::byte* scratch = nullptr;  // 64-byte aligned
  Team* team = nullptr;

  template <typename T>
  const T* input(size_t i) const {
    return static_cast<const T*>(in[i]);
  }
  template <typename T>
  T* output(size_t i) const {
    return static_cast<T*>(out[i]);
  }
};

struct HostRoutine {
  std::function<Status(const HostCall&)> run;  // allocates nothing, throws nothing
  uint64_t scratch_bytes = 0;
  std::vector<uint32_t> in_place = {};  // inputs (indices into HostSite::in) that output 0 may lie on
  Elision elision = Elision::kNone;
  std::function<Status(CompileContext&)> pack = {};  // called once before `run`: brings constants into another shape
};

// Nodes with what is known of them before the run.
struct HostSite {
  const Graph& graph;
  std::vector<NodeId> nodes;         // ascending
  std::vector<HostOperand> in, out;  // of a single node: its inputs and outputs; of a group: what it reads and makes
  uint32_t width = 1;                // of the team
  bool dequantised = false;          // constants of a few bits an element become real numbers before the run

  const Node& node() const { return graph.node(nodes.front()); }
  bool has(size_t i) const { return i < in.size() && in[i].present(); }
  bool is_constant(size_t i) const { return has(i) && in[i].constant.has_value(); }
  // Real numbers, as float32 or, for short, as bfloat16.
  bool is_float32(const HostOperand& operand) const {
    return operand.type() == DataType::kFloat32 || is_shortened(operand);
  }
  bool is_shortened(const HostOperand& operand) const {
    return operand.type() == DataType::kBfloat16 && graph.value(operand.value).type.type == DataType::kFloat32;
  }

  Error Unsupported(std::string why) const;
  // kUnsupported unless there are that many inputs, the first `at_least` of them present.
  Status NeedInputs(size_t at_least, size_t at_most) const;
  // Counts a negative axis from the end; kUnsupported when out of range.
  Result<int64_t> Axis(int64_t axis, int64_t rank) const;
  // The integers of a constant input, or of an attribute of that name (older operator sets); nullopt when neither is
  // given; kUnsupported when the input is known only at run time.
  Result<std::optional<std::vector<int64_t>>> Ints(size_t input, std::string_view attribute) const;
  // kUnsupported unless output i is absent or has this type and these dims.
  Status NeedOutput(size_t i, DataType type, const std::vector<int64_t>& dims) const;
};

struct HostRow {
  std::string_view op;
  Result<HostRoutine> (*make)(const HostSite&);
  bool any_order = false;  // of the dims of its tensors in memory; otherwise they are row-major
  bool in_blocks = false;  // also of images in full blocks of channels
  std::string_view domain = "";
};

// The row of a node; null when no table has one.
const HostRow* FindOperator(const Node& node);

// One table a family; operators.cc lists them.
std::span<const HostRow> ReductionOperators();
std::span<const HostRow> MovementOperators();
std::span<const HostRow> SliceOperators();
std::span<const HostRow> PadOperators();
std::span<const HostRow> GatherOperators();
std::span<const HostRow> ArgReductionOperators();
std::span<const HostRow> NormalizationOperators();
std::span<const HostRow> PlaneNormalizationOperators();
std::span<const HostRow> ScatterOperators();
std::span<const HostRow> AttentionOperators();
std::span<const HostRow> ElementIndexOperators();
std::span<const HostRow> OneHotOperators();
std::span<const HostRow> TriluOperators();
std::span<const HostRow> CumulativeSumOperators();
std::span<const HostRow> TopKOperators();
std::span<const HostRow> RotaryEmbeddingOperators();
std::span<const HostRow> LpNormalizationOperators();
std::span<const HostRow> GridSampleOperators();
std::span<const HostRow> DeformableConvolutionOperators();
std::span<const HostRow> ResizeOperators();
std::span<const HostRow> RoiAlignOperators();
std::span<const HostRow> ViewOperators();
std::span<const HostRow> FourierOperators();
std::span<const HostRow> QuantisedLstmOperators();

}  // namespace pt::host
