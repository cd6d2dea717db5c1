// Families of operators that anchor a group: which nodes they can run, which layouts they propose,
// and how their descriptor is made. One row each in the table of families.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/backend/onednn/fusion_group.h"
#include "lib/backend/onednn/kernel_descriptor.h"
#include "lib/backend/onednn/operand_rule.h"

namespace pt::onednn {

constexpr auto kInference = dnnl::prop_kind::forward_inference;

// How a group is run where there is a choice beyond layouts; measured like any other.
enum class Way : uint8_t {
  kUsual,
  kSum,            // the first full-size addition through the sum post-operation, in the operand's own buffer
  kNarrowWeights,  // weights in blocks of 16 columns: read in longer runs than those oneDNN chooses
  kWinograd2,      // minimal filtering in tiles of 2x2 results
  kWinograd4,      // in tiles of 4x4
  kPhases,         // a transposed convolution as convolutions
};

// A group at the layouts its inputs and output will have.
struct Request {
  const dnnl::engine& engine;
  const Graph& graph;
  const FusionGroup& group;
  std::span<const ValueId> inputs;  // GroupInputs
  std::span<const TensorLayout> in;
  const TensorLayout& out;
  MathMode math = MathMode::kFp32;  // says in which type weights are packed
  Way way = Way::kUsual;
};

enum class LayoutRule : uint8_t {
  kConvolution,  // proposes blocked and channels-last layouts
  kAgnostic,     // runs in whatever layout it is given, the same on all sides
  kRowMajor,
  kGlobalPool,  // agnostic, and row-major out from any layout in
  kTranspose,   // row-major on one side, anything on the other
  kConversion,  // between integers and real numbers: like kTranspose, and agnostic
};

// What of a group with this anchor may be integers that a DequantizeLinear or QuantizeLinear explains.
enum class Integers : uint8_t {
  kNone,
  kOperands,   // both operands, and then the result
  kBothSides,  // input and result together
  kResult,
};

struct Family {
  std::string_view op;
  LayoutRule layouts;
  bool post_ops;  // elementwise operations may follow in the same primitive
  Integers integers;
  std::optional<std::string> (*why_not)(const Graph&, const Node&);
  Result<KernelDescriptor> (*build)(const Request&);
};

// Convolutions and matrix products.
bool IsProduct(const Node& node);
// Null when the operator anchors nothing.
const Family* FindFamily(const Node& node);

// Builds the group's descriptor for the cores set by the ConcurrencyScope around the call. Every
// failure of oneDNN comes back as kUnsupported.
Result<KernelDescriptor> Build(const Request& request);

// ---- for the families
// ----------------------------------------------------------------------------------

Error Unsupported(std::string message);
// Index of a value among the group's inputs, as a real number or as the integers read for it; empty for constants.
std::optional<uint32_t> InputIndex(const Request& request, ValueId value);

// A group's operations as a primitive applies them to its result.
struct PostOps {
  std::span<const Pointwise> ops;
  Desc result;                           // of the primitive: with the value's own dims, or row-major and flattened
  Layout layout;                         // of the result
  Followed followed = Followed::kOther;  // the primitive
};
// The attributes for these operations, adding their arguments and constants to the descriptor.
Result<dnnl::primitive_attr> Attributes(const Request& request, const PostOps& post, KernelDescriptor& descriptor);

// The type of constant weights: float32, or bfloat16 in bf16 math.
DataType WeightsType(const Request& request);

// The value as a constant of real numbers; nullopt when it is not one.
std::optional<Tensor> RealConstant(const Request& request, ValueId value);

// Argument and descriptor of an operand of the result's rank: an input of the group or a constant.
Result<Argument> OperandArgument(const Request& request, const PostOps& post, const SecondOperand& operand, int key,
                                 KernelDescriptor& descriptor);
// A constant given to the primitive in `packed` format.
Argument ConstantArgument(KernelDescriptor& descriptor, int key, Tensor tensor, Desc plain, Desc packed);

// Takes the description and completes the descriptor with the scratchpad; kUnsupported when it is
// empty.
Status Complete(KernelDescriptor& descriptor, dnnl::primitive_desc_base description);
Status Complete(Call& call, dnnl::primitive_desc_base description);

// Moves the elements of `from` to `to`, whose descriptors have the same dims; keys are set here.
Result<Call> MoveCall(const dnnl::engine& engine, Argument from, Argument to, KernelDescriptor& descriptor);

// Static dims of a value that was checked to have them.
Dims DimsOf(const Graph& graph, ValueId value);
// "input x is not a static float32 tensor" for the first of these that is not (invalid ids are
// skipped).
std::optional<std::string> WhyNoFloats(const Graph& graph, std::span<const ValueId> values);
// The same where 8-bit integers are as good: they are only moved or compared.
std::optional<std::string> WhyNoFloatsOrBytes(const Graph& graph, std::span<const ValueId> values);
// An output beyond the first that somebody uses.
std::optional<std::string> WhyMoreOutputs(const Graph& graph, const Node& node);

// One per file.
Result<KernelDescriptor> BuildElementwise(const Request& request);
// Elementwise operations of which integers go in or come out, and conversions.
Result<KernelDescriptor> BuildOnIntegers(const Request& request);

std::optional<std::string> WhyNotConvolution(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildConvolution(const Request& request);
std::optional<std::string> WhyNotTransposedConvolution(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildTransposedConvolution(const Request& request);

std::optional<std::string> WhyNotMatMul(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildMatMul(const Request& request);
std::optional<std::string> WhyNotMatMulInteger(const Graph& graph, const Node& node);  // built like MatMul
std::optional<std::string> WhyNotGemm(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildGemm(const Request& request);

std::optional<std::string> WhyNotPooling(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildPooling(const Request& request);

std::optional<std::string> WhyNotSoftmax(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildSoftmax(const Request& request);
std::optional<std::string> WhyNotLrn(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildLrn(const Request& request);
std::optional<std::string> WhyNotLayerNorm(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildLayerNorm(const Request& request);

std::optional<std::string> WhyNotReduction(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildReduction(const Request& request);
std::optional<std::string> WhyNotResize(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildResize(const Request& request);

std::optional<std::string> WhyNotConcat(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildConcat(const Request& request);
bool IsTranspose(const Node& node);
std::optional<std::string> WhyNotTranspose(const Graph& graph, const Node& node);
Result<KernelDescriptor> BuildTranspose(const Request& request);

}  // namespace pt::onednn
