#include "plugins/cuda/expression.h"

#include <algorithm>
#include <array>
#include <map>

#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/elementwise.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/quantisation.h"

namespace pt::cuda {
namespace {

// A value within the kernel: the name of a variable, and its type in the graph. The two 16-bit floats are kept in a
// float, rounded after each node as between kernels.
struct Variable {
  std::string name;
  DataType type = DataType::kUndefined;
};

enum class Types : uint8_t { kFloat, kInteger, kNumber, kBool, kAny };

bool Has(Types types, DataType type) {
  const bool is_float = IsReal(type), is_bool = type == DataType::kBool;
  const bool is_integer = type == DataType::kInt32 || type == DataType::kInt64;
  switch (types) {
    case Types::kFloat:
      return is_float;
    case Types::kInteger:
      return is_integer;
    case Types::kNumber:
      return is_float || is_integer;
    case Types::kBool:
      return is_bool;
    case Types::kAny:
      return !CTypeOf(type).empty();
  }
  return false;
}

// What an operator computes, as C++ in which $a, $b, $c are its inputs, $t their type, $u that type without a sign (so
// that integers wrap around), $p and $q its alpha and beta (ReadActivation). What NaN and bounds give is what the
// reference library gives.
struct Pattern {
  std::string_view op;
  Types types;
  std::string_view text;
  uint32_t inputs = 1;
  bool gives_bool = false;
};

constexpr std::string_view kSoftplus = "fmaxf($a, 0.0f) + log1pf(expf(-fabsf($a)))";

constexpr std::array kUnary = {
    Pattern{"Abs", Types::kFloat, "fabsf($a)"},
    Pattern{"Abs", Types::kInteger, "$a < 0 ? ($t)(0 - ($u)$a) : $a"},
    Pattern{"Ceil", Types::kFloat, "ceilf($a)"},
    Pattern{"Celu", Types::kFloat, "$a > 0.0f ? $a : $p * expm1f($a / $p)"},
    Pattern{"Cos", Types::kFloat, "cosf($a)"},
    Pattern{"Elu", Types::kFloat, "$a < 0.0f ? $p * expm1f($a) : $a"},
    Pattern{"Erf", Types::kFloat, "erff($a)"},
    Pattern{"Exp", Types::kFloat, "expf($a)"},
    Pattern{"Floor", Types::kFloat, "floorf($a)"},
    Pattern{"HardSigmoid", Types::kFloat, "$p * $a + $q > 1.0f ? 1.0f : $p * $a + $q < 0.0f ? 0.0f : $p * $a + $q"},
    Pattern{"HardSwish", Types::kFloat, "$a * fmaxf(0.0f, fminf(1.0f, $a / 6.0f + 0.5f))"},
    Pattern{"Identity", Types::kAny, "$a"},
    Pattern{"IsNaN", Types::kFloat, "$a != $a", 1, true},
    Pattern{"LeakyRelu", Types::kFloat, "$a < 0.0f ? $p * $a : $a"},
    Pattern{"Log", Types::kFloat, "logf($a)"},
    Pattern{"Mish", Types::kFloat, "$a * tanhf(fmaxf($a, 0.0f) + log1pf(expf(-fabsf($a))))"},
    Pattern{"Neg", Types::kFloat, "-$a"},
    Pattern{"Neg", Types::kInteger, "($t)(0 - ($u)$a)"},
    Pattern{"Not", Types::kBool, "$a == 0"},
    Pattern{"Reciprocal", Types::kFloat, "1.0f / $a"},
    Pattern{"Relu", Types::kNumber, "$a < 0 ? ($t)0 : $a"},
    Pattern{"Round", Types::kFloat, "rintf($a)"},
    Pattern{"Selu", Types::kFloat, "$q * ($a > 0.0f ? $a : $p * expm1f($a))"},
    Pattern{"Sigmoid", Types::kFloat, "($a < 0.0f ? expf(-fabsf($a)) : 1.0f) / (1.0f + expf(-fabsf($a)))"},
    Pattern{"Sign", Types::kFloat, "$a != $a ? $a : (float)((0.0f < $a) - ($a < 0.0f))"},
    Pattern{"Sign", Types::kInteger, "($t)((0 < $a) - ($a < 0))"},
    Pattern{"Sin", Types::kFloat, "sinf($a)"},
    Pattern{"Softplus", Types::kFloat, kSoftplus},
    Pattern{"Softsign", Types::kFloat, "$a / (1.0f + fabsf($a))"},
    Pattern{"Sqrt", Types::kFloat, "sqrtf($a)"},
    Pattern{"Tan", Types::kFloat, "tanf($a)"},
    Pattern{"Tanh", Types::kFloat, "tanhf($a)"},
    Pattern{"ThresholdedRelu", Types::kFloat, "$a > $p ? $a : 0.0f"},
};

constexpr std::array kBinary = {
    Pattern{"And", Types::kBool, "$a != 0 && $b != 0", 2, true},
    Pattern{"Div", Types::kFloat, "$a / $b", 2},
    // By zero gives 0, the least number by -1 gives itself.
    Pattern{"Div", Types::kInteger, "$b == 0 ? ($t)0 : $b == -1 ? ($t)(0 - ($u)$a) : ($t)($a / $b)", 2},
    Pattern{"Equal", Types::kNumber, "$a == $b", 2, true},
    Pattern{"Equal", Types::kBool, "($a != 0) == ($b != 0)", 2, true},
    Pattern{"Greater", Types::kNumber, "$a > $b", 2, true},
    Pattern{"GreaterOrEqual", Types::kNumber, "$a >= $b", 2, true},
    Pattern{"Less", Types::kNumber, "$a < $b", 2, true},
    Pattern{"LessOrEqual", Types::kNumber, "$a <= $b", 2, true},
    Pattern{"Or", Types::kBool, "$a != 0 || $b != 0", 2, true},
    Pattern{"PRelu", Types::kFloat, "$a < 0.0f ? $a * $b : $a", 2},
    Pattern{"Sub", Types::kFloat, "$a - $b", 2},
    Pattern{"Sub", Types::kInteger, "($t)(($u)$a - ($u)$b)", 2},
    Pattern{"Xor", Types::kBool, "($a != 0) != ($b != 0)", 2, true},
};

// Of two operands or, folded from the left, more.
constexpr std::array kFolds = {
    Pattern{"Add", Types::kFloat, "$a + $b", 2},
    Pattern{"Add", Types::kInteger, "($t)(($u)$a + ($u)$b)", 2},
    Pattern{"Max", Types::kFloat, "$a != $a ? $a : $b != $b ? $b : $a < $b ? $b : $a", 2},
    Pattern{"Max", Types::kInteger, "$a < $b ? $b : $a", 2},
    Pattern{"Min", Types::kFloat, "$a != $a ? $a : $b != $b ? $b : $b < $a ? $b : $a", 2},
    Pattern{"Min", Types::kInteger, "$b < $a ? $b : $a", 2},
    Pattern{"Mul", Types::kFloat, "$a * $b", 2},
    Pattern{"Mul", Types::kInteger, "($t)(($u)$a * ($u)$b)", 2},
    Pattern{"Sum", Types::kFloat, "$a + $b", 2},
    Pattern{"Mean", Types::kFloat, "$a + $b", 2},
};

constexpr Pattern kGelu{"Gelu", Types::kFloat, "$a / 2.0f * (1.0f + erff($a * 0.7071067811865476f))"};
constexpr Pattern kGeluTanh{"Gelu", Types::kFloat,
                            "$a / 2.0f * (1.0f + tanhf(0.7978845608028654f * ($a + 0.044715f * $a * $a * $a)))"};
constexpr Pattern kSquare{"Pow", Types::kFloat, "$a * $a"};
constexpr Pattern kPow{"Pow", Types::kFloat, "$b == 2.0f ? $a * $a : powf($a, $b)", 2};
constexpr Pattern kRaise{"Clip", Types::kNumber, "$a < $b ? $b : $a", 2};
constexpr Pattern kLower{"Clip", Types::kNumber, "$b < $a ? $b : $a", 2};
constexpr Pattern kWhere{"Where", Types::kAny, "$c != 0 ? $a : $b", 2};

std::string_view UnsignedOf(DataType type) { return type == DataType::kInt64 ? "unsigned long long" : "unsigned int"; }

// Builds the body of the kernel node by node.
class Emitter {
 public:
  explicit Emitter(const CudaSite& site) : site_(site) {}

  const CudaSite& site() const { return site_; }

  // The variable of an input of the node.
  Result<Variable> Input(const Node& node, size_t i) {
    if (i >= node.inputs.size() || !node.inputs[i].valid()) return Unsupported(node, "an input is missing");
    const ValueId value = node.inputs[i];
    if (const auto known = variables_.find(value); known != variables_.end()) return known->second;
    const std::optional<uint32_t> at = site_.FindInput(value);
    if (!at) return Unsupported(node, "an input comes from nowhere");
    const CudaOperand& operand = site_.in[*at];
    if (CTypeOf(operand.type()).empty()) {
      return Unsupported(node, "kernels do not know " + std::string(DataTypeName(operand.type())));
    }
    std::string literal;
    if (operand.constant != nullptr) literal = LiteralOf(operand.type(), *operand.constant);
    const Variable variable{"v" + std::to_string(count_++), operand.value_type};
    Declare(variable, literal.empty() ? "$L" + std::to_string(*at) + "$" : literal);
    variables_[value] = variable;
    return variable;
  }

  Variable Define(const std::string& text, DataType type) {
    const Variable variable{"v" + std::to_string(count_++), type};
    const bool rounded = IsReal(type) && type != DataType::kFloat32;
    Declare(variable, rounded ? "(float)" + std::string(CTypeOf(type)) + "((float)(" + text + "))" : text);
    return variable;
  }
  void Name(ValueId value, const Variable& variable) { variables_[value] = variable; }

  // $c is what Where asks.
  Result<Variable> Apply(const Node& node, const Pattern& pattern, const Variable& a, const Variable& b = {},
                         const std::string& c = {}) {
    if (!Has(pattern.types, a.type) || (pattern.inputs == 2 && b.type != a.type)) {
      return Unsupported(node, "it does not run on " + std::string(DataTypeName(a.type)));
    }
    std::string text;
    for (size_t i = 0; i < pattern.text.size(); ++i) {
      if (pattern.text[i] != '$') {
        text += pattern.text[i];
        continue;
      }
      switch (pattern.text[++i]) {
        case 'a':
          text += a.name;
          break;
        case 'b':
          text += b.name;
          break;
        case 'c':
          text += c;
          break;
        case 't':
          text += ComputeTypeOf(a.type);
          break;
        case 'u':
          text += UnsignedOf(a.type);
          break;
        default: {
          const ActivationNode activation = ReadActivation(node);
          const std::string literal = FloatLiteral(pattern.text[i] == 'p' ? activation.alpha : activation.beta);
          if (literal.empty()) return Unsupported(node, "one of its attributes is not a number");
          text += literal;
        }
      }
    }
    const bool truth = pattern.gives_bool || a.type == DataType::kBool;
    return Define(truth ? "(" + text + ") ? 1 : 0" : text, pattern.gives_bool ? DataType::kBool : a.type);
  }

  Result<std::string> Finish() {
    for (size_t i = 0; i < site_.out.size(); ++i) {
      const auto made = variables_.find(site_.out[i].value);
      if (made == variables_.end() || made->second.type != site_.out[i].value_type) {
        return site_.Unsupported("its result is of another type");
      }
      body_ += "    $S" + std::to_string(i) + "$ = " + made->second.name + ";\n";
    }
    return std::move(body_);
  }

  static Error Unsupported(const Node& node, const std::string& why) {
    return MakeError(ErrorCode::kUnsupported, "cuda.unsupported", node.op + ": " + why);
  }

 private:
  void Declare(const Variable& variable, const std::string& text) {
    body_ += "    const " + std::string(ComputeTypeOf(variable.type)) + " " + variable.name + " = " + text + ";\n";
  }

  const CudaSite& site_;
  std::map<ValueId, Variable> variables_;
  std::string body_;
  size_t count_ = 0;
};

// The pattern of the node for these types.
template <size_t N>
const Pattern* Find(const std::array<Pattern, N>& patterns, const Node& node, DataType type) {
  const auto found = std::ranges::find_if(
      patterns, [&](const Pattern& pattern) { return pattern.op == node.op && Has(pattern.types, type); });
  return found == patterns.end() ? nullptr : &*found;
}

template <size_t N>
bool Knows(const std::array<Pattern, N>& patterns, const Node& node) {
  return std::ranges::any_of(patterns, [&](const Pattern& pattern) { return pattern.op == node.op; });
}

using Emitted = Result<Variable>;

Emitted EmitPattern(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const Variable a, emitter.Input(node, 0));
  if (const Pattern* unary = Find(kUnary, node, a.type)) {
    if (node.inputs.size() != 1) return Emitter::Unsupported(node, "it has more than one input");
    return emitter.Apply(node, *unary, a);
  }
  if (const Pattern* binary = Find(kBinary, node, a.type)) {
    PT_ASSIGN(const Variable b, emitter.Input(node, 1));
    return emitter.Apply(node, *binary, a, b);
  }
  const Pattern* const fold = Find(kFolds, node, a.type);
  if (fold == nullptr) return Emitter::Unsupported(node, "it does not run on " + std::string(DataTypeName(a.type)));
  Variable result = a;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    PT_ASSIGN(const Variable next, emitter.Input(node, i));
    PT_ASSIGN(result, emitter.Apply(node, *fold, result, next));
  }
  if (node.op != "Mean") return result;
  return emitter.Define("(float)((double)" + result.name + " / " + std::to_string(node.inputs.size()) + ")",
                        result.type);
}

Emitted EmitGelu(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const Variable a, emitter.Input(node, 0));
  return emitter.Apply(node, IsGelu(node, GeluForm::kTanh) ? kGeluTanh : kGelu, a);
}

// Real powers of real numbers.
Emitted EmitPow(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const Variable a, emitter.Input(node, 0));
  PT_ASSIGN(const Variable b, emitter.Input(node, 1));
  const auto& exponent = emitter.site().graph.value(node.inputs[1]).constant;
  const bool square = exponent && exponent->type() == DataType::kFloat32 && exponent->element_count() == 1 &&
                      exponent->values<float>()[0] == 2.0F;
  return square ? emitter.Apply(node, kSquare, a) : emitter.Apply(node, kPow, a, b);
}

Emitted EmitClip(Emitter& emitter, const Node& node) {
  PT_ASSIGN(Variable result, emitter.Input(node, 0));
  for (size_t i = 1; i < node.inputs.size() && i < 3; ++i) {
    if (!node.inputs[i].valid()) continue;
    const auto dims = emitter.site().graph.value(node.inputs[i]).type.static_dims();
    if (!dims || std::ranges::any_of(*dims, [](int64_t dim) { return dim != 1; })) {
      return Emitter::Unsupported(node, "a bound is not a single number");
    }
    PT_ASSIGN(const Variable bound, emitter.Input(node, i));
    PT_ASSIGN(result, emitter.Apply(node, i == 1 ? kRaise : kLower, result, bound));
  }
  return result;
}

Emitted EmitWhere(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const Variable condition, emitter.Input(node, 0));
  PT_ASSIGN(const Variable a, emitter.Input(node, 1));
  PT_ASSIGN(const Variable b, emitter.Input(node, 2));
  if (condition.type != DataType::kBool) return Emitter::Unsupported(node, "its condition is not boolean");
  return emitter.Apply(node, kWhere, a, b, condition.name);
}

// A real number as an integer, as the reference library has it: towards zero, beyond 64 bits the nearest of those, NaN
// 0, and then the low bits.
std::string TruncatedText(const std::string& x, const std::string& suffix, DataType to) {
  const std::string limit = "9223372036854775808.0" + suffix, twice = "18446744073709551616.0" + suffix;
  std::string text = x + " >= " + limit + " ? 9223372036854775807ll : " + x + " <= -" + limit +
                     " ? -9223372036854775807ll - 1 : (long long)" + x;
  if (to == DataType::kUint64) {
    text = x + " >= " + twice + " ? ~0ull : " + x + " >= " + limit + " ? (unsigned long long)" + x +
           " : (unsigned long long)(" + text + ")";
  }
  return "(" + std::string(CTypeOf(to)) + ")(" + x + " != " + x + " ? 0 : " + text + ")";
}

Emitted EmitCast(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const Variable a, emitter.Input(node, 0));
  const DataType to = emitter.site().graph.value(node.outputs[0]).type.type;
  const std::string type(ComputeTypeOf(to));
  if (type.empty()) return Emitter::Unsupported(node, "kernels do not know " + std::string(DataTypeName(to)));
  if (to == DataType::kBool) return emitter.Define(a.name + " != 0 ? 1 : 0", to);
  if (a.type == DataType::kBool) return emitter.Define(a.name + " != 0 ? (" + type + ")1 : (" + type + ")0", to);
  const bool is_double = a.type == DataType::kFloat64;
  if (!IsReal(to) && to != DataType::kFloat64 && (IsReal(a.type) || is_double)) {
    return emitter.Define(TruncatedText(a.name, is_double ? "" : "f", to), to);
  }
  // One rounding, not two, on the way to 16 bits.
  const bool narrow = IsReal(to) && to != DataType::kFloat32;
  if (narrow && !IsReal(a.type)) return emitter.Define("pt_odd((double)" + a.name + ")", to);
  return emitter.Define("(" + type + ")" + a.name, to);
}

// Of a QuantizeLinear or DequantizeLinear: the scale's name, and the zero point's, empty where it has none.
struct Parameters {
  std::string scale, zero;
};
Result<Parameters> ReadParameters(Emitter& emitter, const Node& node, DataType integers) {
  PT_ASSIGN(const Variable scale, emitter.Input(node, 1));
  if (!IsReal(scale.type)) return Emitter::Unsupported(node, "its scale is not float32, float16 or bfloat16");
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return Parameters{scale.name, ""};
  PT_ASSIGN(const Variable zero, emitter.Input(node, 2));
  if (zero.type != integers) return Emitter::Unsupported(node, "its zero point is of another type than its integers");
  return Parameters{scale.name, zero.name};
}

Emitted EmitQuantize(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const Variable x, emitter.Input(node, 0));
  const DataType to = emitter.site().graph.value(node.outputs[0]).type.type;
  if (!IsQuantised(to)) return Emitter::Unsupported(node, "it does not quantise to " + std::string(DataTypeName(to)));
  if (!IsReal(x.type) && x.type != DataType::kInt32) {
    return Emitter::Unsupported(node, "it does not run on " + std::string(DataTypeName(x.type)));
  }
  PT_ASSIGN(const Parameters parameters, ReadParameters(emitter, node, to));
  return emitter.Define(QuantisedText("(float)" + x.name, parameters.scale, parameters.zero, to), to);
}

Emitted EmitDequantize(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const Variable x, emitter.Input(node, 0));
  const DataType to = emitter.site().graph.value(node.outputs[0]).type.type;
  if (!IsDequantisable(x.type) || !IsReal(to)) {
    return Emitter::Unsupported(
        node, "it does not run from " + std::string(DataTypeName(x.type)) + " to " + std::string(DataTypeName(to)));
  }
  PT_ASSIGN(const Parameters parameters, ReadParameters(emitter, node, x.type));
  return emitter.Define(DequantisedText(x.name, parameters.scale, parameters.zero, x.type), to);
}

struct Special {
  std::string_view op;
  Emitted (*emit)(Emitter&, const Node&);
};
constexpr std::array kSpecial = {
    Special{"Cast", EmitCast},  Special{"Clip", EmitClip}, Special{"DequantizeLinear", EmitDequantize},
    Special{"Gelu", EmitGelu},  Special{"Pow", EmitPow},   Special{"QuantizeLinear", EmitQuantize},
    Special{"Where", EmitWhere}};

// What emits the node; null when nothing does.
auto EmitterOf(const Node& node) -> Emitted (*)(Emitter&, const Node&) {
  if (!node.domain.empty() || node.outputs.size() != 1) return nullptr;
  const auto special = std::ranges::find(kSpecial, node.op, &Special::op);
  if (special != kSpecial.end()) return special->emit;
  return Knows(kUnary, node) || Knows(kBinary, node) || Knows(kFolds, node) ? EmitPattern : nullptr;
}

// How input i of the node, whose result has these dims, is read.
Result<std::vector<int64_t>> StridesOfUse(const CudaSite& site, const Node& node, size_t i, const CudaOperand& operand,
                                          std::span<const int64_t> dims) {
  if ((!IsQuantisation(node) && !IsDequantisation(node)) || i == 0) {
    const auto broadcast = BroadcastStrides(operand.layout, dims);
    if (!broadcast) return site.Unsupported("an input does not broadcast to the result");
    return *broadcast;
  }
  std::vector<int64_t> strides(dims.size(), 0);
  if (operand.elements() == 1) return strides;
  if (operand.dims().size() != 1) return site.Unsupported("its scale is given by blocks");
  PT_ASSIGN(const size_t axis, OrUnsupported(ReadAxis(node, site.graph.opset(), dims.size()), site));
  if (operand.dims()[0] != dims[axis]) return site.Unsupported("its scale is not one number for each index of an axis");
  strides[axis] = operand.strides()[0];
  return strides;
}

// Where the elements of all operands lie, outputs last.
Result<IndexSpace> SpaceOf(const CudaSite& site) {
  const std::vector<int64_t>& dims = site.out.front().dims();
  std::vector<std::vector<int64_t>> strides;
  for (const CudaOperand& operand : site.in) {
    PT_ASSIGN(std::vector<int64_t> read, StridesFor(site, site.nodes, operand, dims));
    strides.push_back(std::move(read));
  }
  for (const CudaOperand& operand : site.out) {
    if (operand.dims() != dims) return site.Unsupported("its results differ in dims");
    strides.push_back(operand.strides());
  }
  return IndexSpace(dims, std::move(strides));
}

}  // namespace

bool IsElementwiseOperator(const Node& node) { return EmitterOf(node) != nullptr; }

Result<std::string> ElementwiseBody(const CudaSite& site, std::span<const NodeId> nodes, const Computed& computed) {
  Emitter emitter(site);
  if (computed.value.valid()) {
    emitter.Name(computed.value, emitter.Define(computed.text, site.graph.value(computed.value).type.type));
  }
  for (const NodeId id : nodes) {
    const Node& node = site.graph.node(id);
    const auto emit = EmitterOf(node);
    if (emit == nullptr) return Emitter::Unsupported(node, "there is no such elementwise operator");
    // Values within that are smaller would have to be broadcast between nodes.
    if (site.graph.value(node.outputs[0]).type.static_dims() != site.out.front().dims()) {
      return Emitter::Unsupported(node, "a value within the group differs in dims from its results");
    }
    PT_ASSIGN(const Variable result, emit(emitter, node));
    emitter.Name(node.outputs[0], result);
  }
  return emitter.Finish();
}

Result<std::vector<int64_t>> StridesFor(const CudaSite& site, std::span<const NodeId> nodes, const CudaOperand& operand,
                                        std::span<const int64_t> dims) {
  std::optional<std::vector<int64_t>> strides;
  for (const NodeId id : nodes) {
    const Node& node = site.graph.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != operand.value) continue;
      PT_ASSIGN(std::vector<int64_t> used, StridesOfUse(site, node, i, operand, dims));
      if (strides && *strides != used) return site.Unsupported("an input is read along two axes");
      strides = std::move(used);
    }
  }
  return strides.value_or(std::vector<int64_t>(dims.size(), 0));
}

Result<std::string> BehindText(const CudaSite& site, std::span<const NodeId> nodes, std::span<const int64_t> dims,
                               const Computed& computed) {
  std::vector<std::vector<int64_t>> strides;
  for (const CudaOperand& operand : site.in) {
    PT_ASSIGN(std::vector<int64_t> read, StridesFor(site, nodes, operand, dims));
    strides.push_back(std::move(read));
  }
  strides.push_back(site.out[0].strides());
  PT_ASSIGN(const std::string body, ElementwiseBody(site, nodes, computed));
  return AtCoordinates(site, IndexSpace::Whole(dims, std::move(strides)), body);
}

Result<KernelText> MakeElementwise(const CudaSite& site) {
  PT_ASSIGN(const IndexSpace space, SpaceOf(site));
  PT_ASSIGN(const std::string body, ElementwiseBody(site, site.nodes, {}));
  return TogetherKernel(site, space, body);
}

std::vector<uint32_t> InPlaceInputs(const CudaSite& site) {
  std::vector<uint32_t> inputs;
  if (site.out.size() != 1) return inputs;
  const CudaOperand& out = site.out.front();
  for (uint32_t i = 0; i < site.in.size(); ++i) {
    const CudaOperand& in = site.in[i];
    if (in.constant == nullptr && in.type() == out.type() && in.dims() == out.dims()) inputs.push_back(i);
  }
  return inputs;
}

}  // namespace pt::cuda
