// How the reference library describes an operator: a row with a function that looks at one node's types,
// attributes and constants (ReferenceSite), checks them, and returns what runs it (ReferenceRoutine). Routines see
// dense row-major tensors only; strides and narrow storage types are dealt with around them (kernel.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::reference {

inline constexpr size_t kMaxRank = 32;

// What a ReferenceSite knows of one operand, input or output. Absent optional operands have no type.
struct TensorFacts {
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;
  std::optional<Tensor> constant;  // inputs whose content is known before the run
  bool settled = false;            // outputs: type and dims are known

  bool present() const { return type != DataType::kUndefined; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t count() const;  // elements
};

// What a routine sees when it runs. Pointers of absent operands are null.
struct TensorCall {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  std::byte* scratch = nullptr;  // 64-byte aligned
  Team* team = nullptr;          // null: run on the calling core alone

  template <typename T>
  const T* in(size_t i) const {
    return i < inputs.size() ? static_cast<const T*>(inputs[i]) : nullptr;
  }
  template <typename T>
  T* out(size_t i = 0) const {
    return i < outputs.size() ? static_cast<T*>(outputs[i]) : nullptr;
  }
};

struct ReferenceRoutine {
  std::function<Status(const TensorCall&)> run;  // allocates nothing, throws nothing
  uint64_t scratch_bytes = 0;
};

// One node with what is known about it before the run.
struct ReferenceSite {
  const Node& node;
  int64_t opset;
  std::vector<TensorFacts> in, out;
  CompileContext* context = nullptr;  // null when only asked whether the node can run
  uint32_t width = 1;                 // of the team it will run on
  Limits limits;

  bool has(size_t i) const { return i < in.size() && in[i].present(); }
  bool wants(size_t i) const { return i < out.size() && !(out[i].settled && !out[i].present()); }

  // States what output i is: settles it when unknown, otherwise it must agree (kInvalidInput).
  Status Out(size_t i, DataType type, std::vector<int64_t> dims);
  // Like Out, for dims that depend on data not known before the run: takes what inference or the file said
  // (kUnsupported when nothing did); the routine must check at run time.
  Status OutFromGraph(size_t i, DataType type, int64_t rank) const;

  Error Unsupported(std::string why) const;
  Error Invalid(std::string why) const;
  Status NeedInputs(size_t at_least, size_t at_most) const;
  // kInvalidInput, with both dims, when input i is given and its dims are not those.
  Status NeedDims(size_t i, std::string_view what, const std::vector<int64_t>& dims) const;
  // Counts a negative axis from the end; kInvalidInput when out of range.
  Result<int64_t> Axis(int64_t axis, int64_t rank) const;
  // The integers of a constant input, or of an attribute of that name (older opsets); nullopt when neither is
  // given; kUnsupported when the input is known only at run time.
  Result<std::optional<std::vector<int64_t>>> Ints(size_t input, std::string_view attribute) const;
  // The first element of a constant numeric input as a double; nullopt when absent.
  Result<std::optional<double>> Scalar(size_t input) const;
  bool is_constant(size_t i) const { return has(i) && in[i].constant.has_value(); }
  // kUnsupported when an input that is given is not known until run time: rows sized by contents are then called again.
  Status NeedContent(size_t i) const;
};

// What kind of types surround the routine: how kernel.cc feeds it.
enum class Feeding : uint8_t {
  kExact,    // as they are
  kWidened,  // float16 and bfloat16 as float32, rounded back afterwards
};

// Inputs of an operator by their index: bit i stands for input i.
using InputSet = uint32_t;
constexpr InputSet Inputs(std::initializer_list<unsigned> indices) {
  InputSet set = 0;
  for (const unsigned i : indices) set |= InputSet{1} << i;
  return set;
}

struct ReferenceRow {
  std::string_view op;
  Result<ReferenceRoutine> (*make)(ReferenceSite&);
  Feeding feeding = Feeding::kExact;
  int64_t since = 1, until = 1000;  // opsets of the domain it holds for
  // What candidates may promise: see candidate.h. in_place: output 0 may lie on an input of its type and dims.
  bool in_place = false;
  Elision elision = Elision::kNone;
  std::string_view domain = "";
  // Inputs that `make` needs the contents of, since sizes follow from them: where one is not constant, it is called in
  // the run.
  InputSet by_content = 0;
};

// The row of a node; null when no table has one.
const ReferenceRow* FindOperator(const Node& node, int64_t opset);

// One table a family; operators.cc lists them.
std::span<const ReferenceRow> ArithmeticOperators();
std::span<const ReferenceRow> ActivationOperators();
std::span<const ReferenceRow> LogicOperators();
std::span<const ReferenceRow> CastOperators();
std::span<const ReferenceRow> ViewOperators();
std::span<const ReferenceRow> MovementOperators();
std::span<const ReferenceRow> SliceOperators();
std::span<const ReferenceRow> GatherOperators();
std::span<const ReferenceRow> ScatterOperators();
std::span<const ReferenceRow> ReduceOperators();
std::span<const ReferenceRow> SoftmaxOperators();
std::span<const ReferenceRow> NormalizationOperators();
std::span<const ReferenceRow> PoolOperators();
std::span<const ReferenceRow> ConvolutionOperators();
std::span<const ReferenceRow> MatMulOperators();
std::span<const ReferenceRow> RecurrentOperators();
std::span<const ReferenceRow> ResizeOperators();
std::span<const ReferenceRow> GeneratorOperators();
std::span<const ReferenceRow> QuantizeOperators();
std::span<const ReferenceRow> SortOperators();
std::span<const ReferenceRow> EinsumOperators();
std::span<const ReferenceRow> AttentionOperators();
std::span<const ReferenceRow> SamplingOperators();
std::span<const ReferenceRow> ImageOperators();
std::span<const ReferenceRow> SignalOperators();
std::span<const ReferenceRow> LossOperators();
std::span<const ReferenceRow> SelectionOperators();
std::span<const ReferenceRow> NonMaxSuppressionOperators();
std::span<const ReferenceRow> UniqueOperators();
std::span<const ReferenceRow> DropoutOperators();
std::span<const ReferenceRow> RandomOperators();
std::span<const ReferenceRow> TfIdfOperators();
std::span<const ReferenceRow> FeatureOperators();
std::span<const ReferenceRow> TreeEnsembleOperators();
std::span<const ReferenceRow> ListedTreeOperators();
std::span<const ReferenceRow> SupportVectorOperators();
std::span<const ReferenceRow> TrainingOperators();
std::span<const ReferenceRow> CausalConvolutionOperators();
std::span<const ReferenceRow> LinearAttentionOperators();

// Routines of other operators for inputs of float64, as parts of bigger ones.
Result<ReferenceRoutine> MakeConvolution(ReferenceSite& site);
Result<ReferenceRoutine> MakeMatMul(ReferenceSite& site);

}  // namespace pt::reference
