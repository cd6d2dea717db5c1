// Elementwise operators as operations on tiles: one row each.
#include "partitiontuner/graph/operators/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lib/backend/host_kernels/clip_bounds.h"
#include "lib/backend/host_kernels/elementwise/expression.h"
#include "partitiontuner/graph/linear_quantisation.h"

namespace pt::host {
namespace {

// The least rounding of an input may change the result by as much as results differ.
bool MagnifiesRounding(Function function, DataType to) {
  switch (function) {
    case Function::kCeil:
    case Function::kCos:
    case Function::kFloor:
    case Function::kFloorMod:
    case Function::kRound:
    case Function::kSign:
    case Function::kShrink:
    case Function::kSin:
    case Function::kTan:
    case Function::kThresholdedRelu:
    case Function::kTruncatedMod:
      return true;
    default:
      return !IsFloating(to);
  }
}

// Builds an expression node by node.
class Emitter {
 public:
  explicit Emitter(const HostSite& site) : site_(site) {
    for (uint32_t i = 0; i < site.in.size(); ++i) {
      registers_[site.in[i].value] = i;
      expression_.registers.push_back(site.in[i].type());
    }
    for (uint32_t i = 0; i < site.in.size(); ++i) {
      if (!site.is_shortened(site.in[i])) continue;
      registers_[site.in[i].value] = Convert(i, DataType::kFloat32);
      shortened_ = true;
    }
  }

  const Graph& graph() const { return site_.graph; }
  const HostSite& site() const { return site_; }
  DataType type(uint32_t r) const { return expression_.registers[r]; }

  // The register of an input of the node.
  Result<uint32_t> Input(const Node& node, size_t i) {
    const auto at = i < node.inputs.size() ? registers_.find(node.inputs[i]) : registers_.end();
    if (at == registers_.end()) return site_.Unsupported("input " + std::to_string(i) + " is missing");
    return at->second;
  }
  // A constant of one element.
  std::optional<float> Scalar(const Node& node, size_t i) const {
    if (i >= node.inputs.size() || !node.inputs[i].valid()) return std::nullopt;
    const auto& constant = graph().value(node.inputs[i]).constant;
    if (!constant || constant->element_count() != 1 || constant->type() != DataType::kFloat32) return std::nullopt;
    return constant->values<float>()[0];
  }
  // The register of what the function makes of those registers.
  Result<uint32_t> Apply(Function function, std::initializer_list<uint32_t> in, DataType to, float p = 0, float q = 0) {
    Operation operation;
    std::copy(in.begin(), in.end(), operation.in.begin());
    operation.inputs = static_cast<uint32_t>(in.size());
    for (size_t k = in.size(); k < operation.in.size(); ++k) operation.in[k] = *in.begin();  // never read
    const DataType from = type(*(in.end() - 1));
    if (shortened_ && MagnifiesRounding(function, to)) return site_.Unsupported("its inputs must not be rounded");
    operation.function = FindTileFunction(function, from, to);
    if (operation.function == nullptr) {
      return site_.Unsupported("it does not run from " + std::string(DataTypeName(from)) + " to " +
                               std::string(DataTypeName(to)));
    }
    operation.p = p;
    operation.q = q;
    operation.work = WorkOf(function);
    return Append(operation, to);
  }
  void Define(ValueId value, uint32_t r) { registers_[value] = r; }

  Result<Expression> Finish() {
    for (const HostOperand& y : site_.out) {
      const auto at = registers_.find(y.value);
      const bool made = at != registers_.end() && at->second >= site_.in.size();
      if (!made) return site_.Unsupported("its result is of another type");
      const bool shortened = site_.is_shortened(y) && type(at->second) == DataType::kFloat32;
      const uint32_t result = shortened ? Convert(at->second, y.type()) : at->second;
      if (type(result) != y.type()) return site_.Unsupported("its result is of another type");
      expression_.results.push_back(result);
    }
    return std::move(expression_);
  }

 private:
  uint32_t Append(Operation operation, DataType to) {
    operation.out = static_cast<uint32_t>(expression_.registers.size());
    expression_.registers.push_back(to);
    expression_.operations.push_back(operation);
    return operation.out;
  }
  // Between float32 and how it is stored.
  uint32_t Convert(uint32_t from, DataType to) {
    constexpr double kWork = 0.03;
    const TileFunction function = FindTileFunction(Function::kCast, type(from), to);
    return Append({.function = function, .in = {from, from, from}, .inputs = 1, .work = kWork}, to);
  }

  const HostSite& site_;
  Expression expression_;
  std::map<ValueId, uint32_t> registers_;
  bool shortened_ = false;  // some input is stored as bfloat16
};

using Register = Result<uint32_t>;

template <Function function>
Register Unary(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t x, emitter.Input(node, 0));
  return emitter.Apply(function, {x}, emitter.type(x));
}

Register Gelu(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t x, emitter.Input(node, 0));
  const Result<GeluForm> form = ReadGelu(node);
  if (!form.ok()) return emitter.site().Unsupported(form.error().message);
  return emitter.Apply(*form == GeluForm::kTanh ? Function::kGeluTanh : Function::kGelu, {x}, emitter.type(x));
}

// With the numbers of its formula.
template <Function function>
Register Activation(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t x, emitter.Input(node, 0));
  const auto [alpha, beta] = ReadActivation(node);
  return emitter.Apply(function, {x}, emitter.type(x), alpha, beta);
}

// Where alpha is positive, what is computed is between -alpha and 0.
Register Celu(Emitter& emitter, const Node& node) {
  if (!(ReadActivation(node).alpha > 0)) return emitter.site().Unsupported("its alpha is not positive");
  return Activation<Function::kCelu>(emitter, node);
}

Register IsInf(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t x, emitter.Input(node, 0));
  const auto [negative, positive] = ReadIsInf(node);
  if (!negative && !positive) return emitter.site().Unsupported("it asks for no infinity");
  const Function function = negative && positive ? Function::kIsInf
                            : negative           ? Function::kIsNegativeInf
                                                 : Function::kIsPositiveInf;
  return emitter.Apply(function, {x}, DataType::kBool);
}

Register IsNan(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t x, emitter.Input(node, 0));
  return emitter.Apply(Function::kIsNan, {x}, DataType::kBool);
}

Register Clip(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t x, emitter.Input(node, 0));
  const auto bounds = ClipBounds(emitter.graph(), node);
  if (!bounds) return emitter.site().Unsupported("its bounds are not known in order");
  return emitter.Apply(Function::kClip, {x}, emitter.type(x), bounds->low, bounds->high);
}

Register Pow(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t x, emitter.Input(node, 0));
  const std::optional<float> known = emitter.type(x) == DataType::kFloat32 ? emitter.Scalar(node, 1) : std::nullopt;
  if (known == 2.0F) return emitter.Apply(Function::kSquare, {x}, emitter.type(x));
  if (known == -1.0F) return emitter.Apply(Function::kReciprocal, {x}, emitter.type(x));
  if (known == 3.0F) {
    PT_ASSIGN(const uint32_t square, emitter.Apply(Function::kSquare, {x}, emitter.type(x)));
    return emitter.Apply(Function::kMul, {square, x}, emitter.type(x));
  }
  PT_ASSIGN(uint32_t exponent, emitter.Input(node, 1));
  if (emitter.type(x) == DataType::kFloat32 && IsInteger(emitter.type(exponent))) {
    PT_ASSIGN(exponent, emitter.Apply(Function::kCast, {exponent}, DataType::kFloat32));
  }
  if (emitter.type(exponent) != emitter.type(x)) return emitter.site().Unsupported("its exponent is of another type");
  return emitter.Apply(Function::kPow, {x, exponent}, emitter.type(x));
}

// Two operands or, folded from the left, more.
template <Function function>
Register Fold(Emitter& emitter, const Node& node) {
  PT_ASSIGN(uint32_t result, emitter.Input(node, 0));
  if (node.inputs.size() < 2) return emitter.site().Unsupported("it has one input");
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    PT_ASSIGN(const uint32_t next, emitter.Input(node, i));
    if (emitter.type(next) != emitter.type(result)) return emitter.site().Unsupported("its inputs differ in type");
    PT_ASSIGN(result, emitter.Apply(function, {result, next}, emitter.type(result)));
  }
  return result;
}

Register Mod(Emitter& emitter, const Node& node) {
  return IsTruncatedModulo(node) ? Fold<Function::kTruncatedMod>(emitter, node)
                                 : Fold<Function::kFloorMod>(emitter, node);
}

Register Mean(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t sum, Fold<Function::kAdd>(emitter, node));
  return emitter.Apply(Function::kDivideBy, {sum}, emitter.type(sum), static_cast<float>(node.inputs.size()));
}

template <Function function>
Register Truth(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t a, emitter.Input(node, 0));
  PT_ASSIGN(const uint32_t b, emitter.Input(node, 1));
  if (emitter.type(a) != emitter.type(b)) return emitter.site().Unsupported("its inputs differ in type");
  return emitter.Apply(function, {a, b}, DataType::kBool);
}

Register Where(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t condition, emitter.Input(node, 0));
  PT_ASSIGN(const uint32_t a, emitter.Input(node, 1));
  PT_ASSIGN(const uint32_t b, emitter.Input(node, 2));
  if (emitter.type(condition) != DataType::kBool || emitter.type(a) != emitter.type(b)) {
    return emitter.site().Unsupported("its inputs do not fit each other");
  }
  return emitter.Apply(Function::kWhere, {condition, a, b}, emitter.type(a));
}

Register Cast(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t x, emitter.Input(node, 0));
  return emitter.Apply(Function::kCast, {x}, emitter.graph().value(node.outputs[0]).type.type);
}

// To or from integers with one scale and zero point for all.
template <Function function>
Register ToOrFromBytes(Emitter& emitter, const Node& node) {
  PT_ASSIGN(const uint32_t x, emitter.Input(node, 0));
  const std::optional<LinearQuantisation> quantisation = LinearQuantisationOf(emitter.graph(), node);
  if (!quantisation || !quantisation->is_whole() || !IsByte(quantisation->type))
    return emitter.site().Unsupported("its scale or zero point is not one constant of 8-bit integers");
  return emitter.Apply(function, {x}, emitter.graph().value(node.outputs[0]).type.type, quantisation->scales[0],
                       static_cast<float>(quantisation->zero_points[0]));
}

struct ElementwiseRow {
  std::string_view op;
  Register (*emit)(Emitter&, const Node&);
};

constexpr std::array kRows = {
    ElementwiseRow{"Abs", Unary<Function::kAbs>},
    ElementwiseRow{"Acos", Unary<Function::kAcos>},
    ElementwiseRow{"Acosh", Unary<Function::kAcosh>},
    ElementwiseRow{"Add", Fold<Function::kAdd>},
    ElementwiseRow{"And", Truth<Function::kAnd>},
    ElementwiseRow{"Asin", Unary<Function::kAsin>},
    ElementwiseRow{"Asinh", Unary<Function::kAsinh>},
    ElementwiseRow{"Atan", Unary<Function::kAtan>},
    ElementwiseRow{"Atanh", Unary<Function::kAtanh>},
    ElementwiseRow{"BitwiseAnd", Fold<Function::kBitwiseAnd>},
    ElementwiseRow{"BitwiseNot", Unary<Function::kBitwiseNot>},
    ElementwiseRow{"BitwiseOr", Fold<Function::kBitwiseOr>},
    ElementwiseRow{"BitwiseXor", Fold<Function::kBitwiseXor>},
    ElementwiseRow{"Cast", Cast},
    ElementwiseRow{"Ceil", Unary<Function::kCeil>},
    ElementwiseRow{"Celu", Celu},
    ElementwiseRow{"Clip", Clip},
    ElementwiseRow{"Cos", Unary<Function::kCos>},
    ElementwiseRow{"Cosh", Unary<Function::kCosh>},
    ElementwiseRow{"DequantizeLinear", ToOrFromBytes<Function::kDequantise>},
    ElementwiseRow{"Div", Fold<Function::kDiv>},
    ElementwiseRow{"Elu", Activation<Function::kElu>},
    ElementwiseRow{"Equal", Truth<Function::kEqual>},
    ElementwiseRow{"Erf", Unary<Function::kErf>},
    ElementwiseRow{"Exp", Unary<Function::kExp>},
    ElementwiseRow{"Floor", Unary<Function::kFloor>},
    ElementwiseRow{"Gelu", Gelu},
    ElementwiseRow{"Greater", Truth<Function::kGreater>},
    ElementwiseRow{"GreaterOrEqual", Truth<Function::kGreaterOrEqual>},
    ElementwiseRow{"HardSigmoid", Activation<Function::kHardSigmoid>},
    ElementwiseRow{"HardSwish", Unary<Function::kHardSwish>},
    ElementwiseRow{"IsInf", IsInf},
    ElementwiseRow{"IsNaN", IsNan},
    ElementwiseRow{"LeakyRelu", Activation<Function::kLeakyRelu>},
    ElementwiseRow{"Less", Truth<Function::kLess>},
    ElementwiseRow{"LessOrEqual", Truth<Function::kLessOrEqual>},
    ElementwiseRow{"Log", Unary<Function::kLog>},
    ElementwiseRow{"Max", Fold<Function::kMax>},
    ElementwiseRow{"Mean", Mean},
    ElementwiseRow{"Min", Fold<Function::kMin>},
    ElementwiseRow{"Mish", Unary<Function::kMish>},
    ElementwiseRow{"Mod", Mod},
    ElementwiseRow{"Mul", Fold<Function::kMul>},
    ElementwiseRow{"Neg", Unary<Function::kNeg>},
    ElementwiseRow{"Not", Unary<Function::kNot>},
    ElementwiseRow{"Or", Truth<Function::kOr>},
    ElementwiseRow{"PRelu", Fold<Function::kPrelu>},
    ElementwiseRow{"Pow", Pow},
    ElementwiseRow{"QuantizeLinear", ToOrFromBytes<Function::kQuantise>},
    ElementwiseRow{"Reciprocal", Unary<Function::kReciprocal>},
    ElementwiseRow{"Relu", Unary<Function::kRelu>},
    ElementwiseRow{"Round", Unary<Function::kRound>},
    ElementwiseRow{"Selu", Activation<Function::kSelu>},
    ElementwiseRow{"Shrink", Activation<Function::kShrink>},
    ElementwiseRow{"Sigmoid", Unary<Function::kSigmoid>},
    ElementwiseRow{"Sign", Unary<Function::kSign>},
    ElementwiseRow{"Sin", Unary<Function::kSin>},
    ElementwiseRow{"Sinh", Unary<Function::kSinh>},
    ElementwiseRow{"Softplus", Unary<Function::kSoftplus>},
    ElementwiseRow{"Softsign", Unary<Function::kSoftsign>},
    ElementwiseRow{"Sqrt", Unary<Function::kSqrt>},
    ElementwiseRow{"Sub", Fold<Function::kSub>},
    ElementwiseRow{"Sum", Fold<Function::kAdd>},
    ElementwiseRow{"Swish", Activation<Function::kSwish>},
    ElementwiseRow{"Tan", Unary<Function::kTan>},
    ElementwiseRow{"Tanh", Unary<Function::kTanh>},
    ElementwiseRow{"ThresholdedRelu", Activation<Function::kThresholdedRelu>},
    ElementwiseRow{"Where", Where},
    ElementwiseRow{"Xor", Truth<Function::kXor>},
};

const ElementwiseRow* FindElementwiseRow(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const ElementwiseRow& r) { return r.op == node.op; });
  return row == kRows.end() ? nullptr : &*row;
}

}  // namespace

bool IsElementwiseOperator(const Node& node) { return FindElementwiseRow(node) != nullptr; }

Result<Expression> MakeExpression(const HostSite& site) {
  Emitter emitter(site);
  for (NodeId id : site.nodes) {
    const Node& node = site.graph.node(id);
    const ElementwiseRow* row = FindElementwiseRow(node);
    if (row == nullptr || node.outputs.size() != 1) {
      return MakeError(ErrorCode::kUnsupported, "host.unsupported", "the host library has no operator " + node.op);
    }
    // Broadcast to the results' dims at the end, all values between would be too few.
    if (site.graph.value(node.outputs[0]).type.static_dims() != site.out[0].dims()) {
      return site.Unsupported("a value within the group differs in dims from its results");
    }
    PT_ASSIGN(const uint32_t result, row->emit(emitter, node));
    emitter.Define(node.outputs[0], result);
  }
  return emitter.Finish();
}

}  // namespace pt::host
