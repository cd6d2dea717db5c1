#include <algorithm>
#include <cctype>

#include "lib/backend/onednn/family.h"
#include "partitiontuner/support/alignment.h"

namespace pt::onednn {
namespace {

constexpr Family kFamilies[] = {
    {"Conv", LayoutRule::kConvolution, true, Integers::kOperands, WhyNotConvolution, BuildConvolution},
    {"ConvTranspose", LayoutRule::kConvolution, true, Integers::kOperands, WhyNotTransposedConvolution,
     BuildTransposedConvolution},
    {"MatMul", LayoutRule::kRowMajor, true, Integers::kOperands, WhyNotMatMul, BuildMatMul},
    {"MatMulInteger", LayoutRule::kRowMajor, false, Integers::kNone, WhyNotMatMulInteger, BuildMatMul},
    {"Gemm", LayoutRule::kRowMajor, true, Integers::kOperands, WhyNotGemm, BuildGemm},
    {"MaxPool", LayoutRule::kAgnostic, false, Integers::kNone, WhyNotPooling, BuildPooling},
    {"AveragePool", LayoutRule::kAgnostic, false, Integers::kBothSides, WhyNotPooling, BuildPooling},
    {"GlobalMaxPool", LayoutRule::kGlobalPool, false, Integers::kNone, WhyNotPooling, BuildPooling},
    {"GlobalAveragePool", LayoutRule::kGlobalPool, false, Integers::kBothSides, WhyNotPooling, BuildPooling},
    {"Softmax", LayoutRule::kAgnostic, false, Integers::kResult, WhyNotSoftmax, BuildSoftmax},
    {"LogSoftmax", LayoutRule::kAgnostic, false, Integers::kNone, WhyNotSoftmax, BuildSoftmax},
    {"LRN", LayoutRule::kAgnostic, false, Integers::kNone, WhyNotLrn, BuildLrn},
    {"LayerNormalization", LayoutRule::kRowMajor, false, Integers::kNone, WhyNotLayerNorm, BuildLayerNorm},
    {"Concat", LayoutRule::kAgnostic, false, Integers::kNone, WhyNotConcat, BuildConcat},
    {"Transpose", LayoutRule::kTranspose, false, Integers::kNone, WhyNotTranspose, BuildTranspose},
    {"Resize", LayoutRule::kAgnostic, false, Integers::kNone, WhyNotResize, BuildResize},
    {"ReduceMean", LayoutRule::kGlobalPool, false, Integers::kNone, WhyNotReduction, BuildReduction},
    {"ReduceSum", LayoutRule::kGlobalPool, false, Integers::kNone, WhyNotReduction, BuildReduction},
    {"ReduceProd", LayoutRule::kGlobalPool, false, Integers::kNone, WhyNotReduction, BuildReduction},
    {"ReduceL1", LayoutRule::kGlobalPool, false, Integers::kNone, WhyNotReduction, BuildReduction},
    {"ReduceL2", LayoutRule::kGlobalPool, false, Integers::kNone, WhyNotReduction, BuildReduction},
    {"ReduceSumSquare", LayoutRule::kGlobalPool, false, Integers::kNone, WhyNotReduction, BuildReduction},
};

uint64_t ScratchpadBytes(const Call& call) {
  for (const Argument& argument : call.arguments) {
    if (argument.source == Argument::Source::kScratch) return argument.desc.get_size();
  }
  return 0;
}

}  // namespace

const Family* FindFamily(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  const auto* family =
      std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& f) { return f.op == node.op; });
  return family == std::end(kFamilies) ? nullptr : family;
}

bool IsProduct(const Node& node) {
  const Family* family = FindFamily(node);
  return family != nullptr && family->integers == Integers::kOperands;
}

Error Unsupported(std::string message) {
  return MakeError(ErrorCode::kUnsupported, "onednn.unsupported", std::move(message));
}

namespace {

// Functions that oneDNN's plain loops compute otherwise at infinities and denormals than its kernels do: Relu as x
// times 0, a quotient as the inverse times c.
bool DiffersInLoops(const Pointwise& op) {
  return op.algorithm == dnnl::algorithm::eltwise_pow || MistakesInfinity(op) ||
         (op.algorithm == dnnl::algorithm::eltwise_relu && op.alpha == 0);
}

// Transposed convolutions that are made of a convolution's kernel compute what follows in loops behind it.
bool HasLoops(const KernelDescriptor& descriptor) {
  return descriptor.is_slow() || std::string_view(descriptor.call.description.impl_info_str()).starts_with("conv:");
}

Result<KernelDescriptor> BuildAny(const Request& request) {
  if (!request.group.anchor.valid()) {
    return request.group.has_integers() ? BuildOnIntegers(request) : BuildElementwise(request);
  }
  const Family* family = FindFamily(request.graph.node(request.group.anchor));
  if (family == nullptr) return Unsupported("no family of this operator");
  return family->build(request);
}

}  // namespace

Result<KernelDescriptor> Build(const Request& request) {
  try {
    PT_ASSIGN(KernelDescriptor descriptor, BuildAny(request));
    if (HasLoops(descriptor) && std::ranges::any_of(request.group.ops, DiffersInLoops)) {
      return Unsupported("oneDNN has only loops for it, which are wrong for infinities");
    }
    return descriptor;
  } catch (const dnnl::error& error) {
    return Unsupported(std::string("oneDNN: ") + error.what());
  }
}

uint64_t KernelDescriptor::temporary_offset(size_t index) const {
  uint64_t scratchpad = ScratchpadBytes(call);
  for (const Call& other : before) scratchpad = std::max(scratchpad, ScratchpadBytes(other));
  for (const Call& other : after) scratchpad = std::max(scratchpad, ScratchpadBytes(other));
  if (temporaries.empty()) return scratchpad;
  uint64_t offset = AlignUp(scratchpad);
  for (size_t i = 0; i < index; ++i) offset += AlignUp(temporaries[i].get_size());
  return offset;
}

uint64_t KernelDescriptor::scratch_bytes() const { return temporary_offset(temporaries.size()); }

uint64_t KernelDescriptor::constant_bytes() const {
  uint64_t bytes = 0;
  for (const ConstantOperand& constant : constants) bytes += constant.packed.get_size();
  return bytes;
}

bool IsReferenceImplementation(std::string_view name) {
  constexpr std::string_view kWord = "ref";
  const auto is_letter = [&](size_t i) { return i < name.size() && std::isalnum(static_cast<unsigned char>(name[i])); };
  for (size_t at = name.find(kWord); at != std::string_view::npos; at = name.find(kWord, at + 1)) {
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + kWord.size())) return true;
  }
  return false;
}

bool KernelDescriptor::is_slow() const {
  const auto slow = [](const Call& part) { return IsReferenceImplementation(part.description.impl_info_str()); };
  return slow(call) || std::ranges::any_of(before, slow) || std::ranges::any_of(after, slow);
}

DataType WeightsType(const Request& request) {
  return request.math == MathMode::kBf16 ? DataType::kBfloat16 : DataType::kFloat32;
}

std::optional<uint32_t> InputIndex(const Request& request, ValueId value) {
  const ValueId input = request.group.input_of(value);
  const auto at = std::find(request.inputs.begin(), request.inputs.end(), input);
  if (at == request.inputs.end()) return std::nullopt;
  return static_cast<uint32_t>(at - request.inputs.begin());
}

std::optional<Tensor> RealConstant(const Request& request, ValueId value) {
  const auto& weights = request.group.real_weights;
  if (weights && weights->real == value) return DequantisedConstant(request.graph, *weights);
  const auto& packed = request.group.packed_weights;
  if (packed && request.graph.node(packed->node).outputs[0] == value) return packed->Dequantised();
  return request.graph.value(value).constant;
}

Dims DimsOf(const Graph& graph, ValueId value) {
  return graph.value(value).type.static_dims().value_or(std::vector<int64_t>());
}

std::optional<std::string> WhyNoFloats(const Graph& graph, std::span<const ValueId> values) {
  for (ValueId value : values) {
    if (!value.valid() || IsStaticFloat(graph, value)) continue;
    return "\"" + graph.value(value).name + "\" is " + ToString(graph.value(value).type) +
           ", not a float32 tensor of known size";
  }
  return std::nullopt;
}

std::optional<std::string> WhyNoFloatsOrBytes(const Graph& graph, std::span<const ValueId> values) {
  if (values.empty() || !values[0].valid() || !IsByte(graph.value(values[0]).type.type)) {
    return WhyNoFloats(graph, values);
  }
  const DataType type = graph.value(values[0]).type.type;
  for (ValueId value : values) {
    const auto dims = value.valid() ? graph.value(value).type.static_dims() : std::nullopt;
    if (dims && graph.value(value).type.type == type && dims->size() <= DNNL_MAX_NDIMS &&
        std::ranges::count(*dims, 0) == 0) {
      continue;
    }
    return "its tensors are not all of " + std::string(DataTypeName(type)) + " and known size";
  }
  return std::nullopt;
}

std::optional<std::string> WhyMoreOutputs(const Graph& graph, const Node& node) {
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    const Value& value = graph.value(node.outputs[i]);
    if (!value.uses.empty() || value.is_graph_output) return "output " + std::to_string(i) + " is used";
  }
  return std::nullopt;
}

}  // namespace pt::onednn
