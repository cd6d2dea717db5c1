#include "lib/planner/methods/operator_classes.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace pt {
namespace {

struct Row {
  std::string_view op;
  OperatorClass its;
};

constexpr OperatorClass kI = OperatorClass::kInjective, kR = OperatorClass::kReduction,
                        kC = OperatorClass::kComplexOutFusable;

// BatchNormalization is one multiplication and one addition in a network that does not learn.
constexpr std::array kRows = {
    Row{"Abs", kI},
    Row{"Acos", kI},
    Row{"Acosh", kI},
    Row{"Add", kI},
    Row{"And", kI},
    Row{"ArgMax", kR},
    Row{"ArgMin", kR},
    Row{"Asin", kI},
    Row{"Asinh", kI},
    Row{"Atan", kI},
    Row{"Atanh", kI},
    Row{"AveragePool", kC},
    Row{"BatchNormalization", kI},
    Row{"BitShift", kI},
    Row{"BitwiseAnd", kI},
    Row{"BitwiseNot", kI},
    Row{"BitwiseOr", kI},
    Row{"BitwiseXor", kI},
    Row{"Cast", kI},
    Row{"CastLike", kI},
    Row{"Ceil", kI},
    Row{"Celu", kI},
    Row{"Clip", kI},
    Row{"Concat", kI},
    Row{"Conv", kC},
    Row{"ConvInteger", kC},
    Row{"ConvTranspose", kC},
    Row{"Cos", kI},
    Row{"Cosh", kI},
    Row{"DepthToSpace", kI},
    Row{"DequantizeLinear", kI},
    Row{"Div", kI},
    Row{"Elu", kI},
    Row{"Equal", kI},
    Row{"Erf", kI},
    Row{"Exp", kI},
    Row{"Expand", kI},
    Row{"Flatten", kI},
    Row{"Floor", kI},
    Row{"Gather", kI},
    Row{"Gelu", kI},
    Row{"Gemm", kC},
    Row{"GlobalAveragePool", kC},
    Row{"GlobalLpPool", kC},
    Row{"GlobalMaxPool", kC},
    Row{"Greater", kI},
    Row{"GreaterOrEqual", kI},
    Row{"HardSigmoid", kI},
    Row{"HardSwish", kI},
    Row{"Identity", kI},
    Row{"IsInf", kI},
    Row{"IsNaN", kI},
    Row{"LeakyRelu", kI},
    Row{"Less", kI},
    Row{"LessOrEqual", kI},
    Row{"Log", kI},
    Row{"LpPool", kC},
    Row{"MatMul", kC},
    Row{"MatMulInteger", kC},
    Row{"Max", kI},
    Row{"MaxPool", kC},
    Row{"Mean", kI},
    Row{"Min", kI},
    Row{"Mish", kI},
    Row{"Mod", kI},
    Row{"Mul", kI},
    Row{"Neg", kI},
    Row{"Not", kI},
    Row{"Or", kI},
    Row{"PRelu", kI},
    Row{"Pad", kI},
    Row{"Pow", kI},
    Row{"QLinearConv", kC},
    Row{"QLinearMatMul", kC},
    Row{"QuantizeLinear", kI},
    Row{"Reciprocal", kI},
    Row{"ReduceL1", kR},
    Row{"ReduceL2", kR},
    Row{"ReduceLogSum", kR},
    Row{"ReduceLogSumExp", kR},
    Row{"ReduceMax", kR},
    Row{"ReduceMean", kR},
    Row{"ReduceMin", kR},
    Row{"ReduceProd", kR},
    Row{"ReduceSum", kR},
    Row{"ReduceSumSquare", kR},
    Row{"Relu", kI},
    Row{"Reshape", kI},
    Row{"Resize", kI},
    Row{"Round", kI},
    Row{"Selu", kI},
    Row{"Sigmoid", kI},
    Row{"Sign", kI},
    Row{"Sin", kI},
    Row{"Sinh", kI},
    Row{"Slice", kI},
    Row{"Softplus", kI},
    Row{"Softsign", kI},
    Row{"SpaceToDepth", kI},
    Row{"Split", kI},
    Row{"Sqrt", kI},
    Row{"Squeeze", kI},
    Row{"Sub", kI},
    Row{"Sum", kI},
    Row{"Swish", kI},
    Row{"Tan", kI},
    Row{"Tanh", kI},
    Row{"ThresholdedRelu", kI},
    Row{"Tile", kI},
    Row{"Transpose", kI},
    Row{"Trilu", kI},
    Row{"Unsqueeze", kI},
    Row{"Where", kI},
    Row{"Xor", kI},
};
static_assert(std::is_sorted(kRows.begin(), kRows.end(), [](const Row& a, const Row& b) { return a.op < b.op; }));

}  // namespace

OperatorClass ClassOf(const Node& node) {
  if (!node.domain.empty()) return OperatorClass::kOpaque;
  const auto row = std::lower_bound(kRows.begin(), kRows.end(), node.op,
                                    [](const Row& r, std::string_view op) { return r.op < op; });
  return row != kRows.end() && row->op == node.op ? row->its : OperatorClass::kOpaque;
}

}  // namespace pt
