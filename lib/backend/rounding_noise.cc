#include "lib/backend/rounding_noise.h"

#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace pt {
namespace {

using OperatorNames = std::set<std::string, std::less<>>;

OperatorNames NamesOf(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

}  // namespace

bool IsExact(const Node& node) {
  static const OperatorNames ops = NamesOf(
      "Abs ArgMax ArgMin Cast Ceil CenterCropPad Clip Concat ConstantOfShape DepthToSpace Dropout Expand Flatten Floor "
      "Gather GatherElements GatherND GlobalMaxPool Hardmax Identity Max MaxPool Min Neg OneHot Pad ReduceMax "
      "ReduceMin "
      "Relu Reshape ReverseSequence Round Shape Sign Slice SpaceToDepth Split Squeeze ThresholdedRelu Tile TopK "
      "Transpose Trilu Unsqueeze Where");
  return ops.contains(node.op);
}

bool IsOfSingleNumbers(const Node& node) {
  static const OperatorNames ops = NamesOf(
      "Acos Acosh Add Asin Asinh Atan Atanh Celu Cos Cosh DequantizeLinear Div Elu Erf Exp Gelu HardSigmoid HardSwish "
      "LeakyRelu Log Mish Mod Mul PRelu Pow Reciprocal Selu Shrink Sigmoid Sin Sinh Softplus Softsign Sqrt Sub Sum "
      "Swish Tan Tanh");
  return ops.contains(node.op);
}

namespace {

// Rounds its result and nothing else: how large other numbers of the tensor are, a mask of -3e38 say, does not matter.
bool IsArithmetic(const Node& node) {
  static const OperatorNames ops = NamesOf("Add DequantizeLinear Div LeakyRelu Mul PRelu Reciprocal Sqrt Sub");
  return ops.contains(node.op);
}

}  // namespace

RoundingNoise RoundingNoiseOf(const Node& node, DataType type) {
  if (!node.subgraphs.empty()) return {};
  const bool alone = IsOfSingleNumbers(node) || IsExact(node);
  if (type == DataType::kFloat16) return {1e-3, alone ? 0 : 1e-3, alone};
  if (type == DataType::kBfloat16) return {8e-3, alone ? 0 : 8e-3, alone};
  if (type != DataType::kFloat32 || IsExact(node)) return {};
  if (alone) return {1e-6, IsArithmetic(node) ? 0 : 2e-7, true};
  // Convolutions by way of Winograd's transforms lose a digit.
  return {1e-6, node.op == "Conv" ? 5e-6 : 2e-6, false};
}

double Shaken(double number, const RoundingNoise& noise, double largest, Random& random) {
  if (!std::isfinite(number) || (number == 0 && noise.keeps_zeros)) return number;
  const double shaken =
      number * (1 + noise.of_itself * random.Uniform(-1, 1)) + noise.of_largest * largest * random.Uniform(-1, 1);
  return std::fabs(shaken) < kFlushed ? 0 : shaken;
}

}  // namespace pt
