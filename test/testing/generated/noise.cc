#include "test/testing/generated/noise.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "partitiontuner/engine/verify.h"
#include "partitiontuner/graph/visit_type.h"
#include "partitiontuner/support/random.h"
#include "test/testing/evaluate_graph.h"

namespace pt::testing {
namespace {

using Words = std::set<std::string, std::less<>>;

Words WordsOf(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

// Results that are numbers of an input, unchanged: nothing is rounded.
bool IsExact(const Node& node) {
  static const Words ops = WordsOf(
      "Abs ArgMax ArgMin Cast Ceil CenterCropPad Clip Concat ConstantOfShape DepthToSpace Dropout Expand Flatten Floor "
      "Gather GatherElements GatherND GlobalMaxPool Hardmax Identity Max MaxPool Min Neg OneHot Pad ReduceMax "
      "ReduceMin "
      "Relu Reshape ReverseSequence Round Shape Sign Slice SpaceToDepth Split Squeeze ThresholdedRelu Tile TopK "
      "Transpose Trilu Unsqueeze Where");
  return ops.contains(node.op);
}

// One number from one number of each operand: nothing is summed, and nothing lost where large numbers cancel.
bool IsOfSingleNumbers(const Node& node) {
  static const Words ops = WordsOf(
      "Acos Acosh Add Asin Asinh Atan Atanh Celu Cos Cosh DequantizeLinear Div Elu Erf Exp Gelu HardSigmoid HardSwish "
      "LeakyRelu Log Mish Mod Mul PRelu Pow Reciprocal Selu Shrink Sigmoid Sin Sinh Softplus Softsign Sqrt Sub Sum "
      "Swish Tan Tanh");
  return ops.contains(node.op);
}

// Shares of a number itself, and of the largest number of its tensor.
struct Noise {
  double of_itself = 0, of_largest = 0;
  double to_bfloat16 = 0;  // share of the numbers that are rounded so afterwards: different ones may become equal
};

Noise NoiseOf(const Node& node, DataType type, MathMode math) {
  const bool lowered = math == MathMode::kBf16;
  if (type == DataType::kFloat16 && !lowered) return {1e-3, IsOfSingleNumbers(node) || IsExact(node) ? 0 : 1e-3};
  if (type == DataType::kBfloat16) return {8e-3, IsOfSingleNumbers(node) || IsExact(node) ? 0 : 8e-3};
  if (type != DataType::kFloat32 && type != DataType::kFloat16) return {};
  if (IsExact(node)) return {0, 0, lowered ? 0.5 : 0};
  if (lowered) return {4e-3, IsOfSingleNumbers(node) ? 1e-3 : 3e-3, 0.5};
  if (IsOfSingleNumbers(node)) return {1e-6, 2e-7};
  // Convolutions by way of Winograd's transforms lose a digit.
  return {1e-6, node.op == "Conv" ? 5e-6 : 2e-6};
}

// Smaller numbers count as zero in sessions, or might on the way.
constexpr double kFlushed = 1e-36;

// Numbers that are 0 stay so where nothing is summed.
void Shake(const Noise& noise, bool keeps_zeros, Random& random, Tensor& tensor) {
  if (noise.of_itself == 0 && noise.of_largest == 0 && noise.to_bfloat16 == 0) return;
  VisitType(tensor.type(), [&]<typename T>() {
    if constexpr (kIsFloat<T>) {
      std::vector<T> data(tensor.values<T>().begin(), tensor.values<T>().end());
      double largest = 0;
      for (const T& x : data) largest = std::max(largest, std::fabs(NumberOf<double>(x)));
      for (T& x : data) {
        const double number = NumberOf<double>(x);
        if (number == 0 && keeps_zeros) continue;
        double shaken =
            number * (1 + noise.of_itself * random.Uniform(-1, 1)) + noise.of_largest * largest * random.Uniform(-1, 1);
        if (random.Uniform(0, 1) < noise.to_bfloat16) shaken = NumberOf<double>(ElementOf<Bfloat16>(shaken));
        x = ElementOf<T>(std::fabs(shaken) < kFlushed ? 0 : shaken);
      }
      tensor = Tensor::Of<T>(tensor.type(), tensor.dims(), data);
    }
  });
}

// Operators that quantise a product: libraries may come to the next integer (docs/operators.md).
void ShakeIntegers(Random& random, Tensor& tensor) {
  if (tensor.type() != DataType::kInt8 && tensor.type() != DataType::kUint8) return;
  std::string bytes(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  const std::vector<int64_t> numbers = tensor.ToInts();
  const int64_t most = tensor.type() == DataType::kInt8 ? 127 : 255;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (random.Below(20) == 0 && numbers[i] < most) bytes[i] = static_cast<char>(numbers[i] + 1);
  }
  tensor = Tensor::FromBytes(tensor.type(), tensor.dims(), std::move(bytes)).value();
}

// By name, so that a node's noise stays when others go.
Random RandomOf(const Graph& graph, const Node& node, uint64_t trial) {
  uint64_t seed = trial;
  for (const ValueId output : node.outputs) {
    if (!output.valid()) continue;
    for (const char c : graph.value(output).name) seed = SplitMix(seed + static_cast<unsigned char>(c));
  }
  return Random(seed);
}

}  // namespace

Result<std::vector<bool>> SteadyValues(const Graph& graph, std::span<const Tensor> inputs,
                                       const std::vector<Tensor>& values, MathMode math) {
  const bool lowered = math == MathMode::kBf16;
  const uint64_t trials = lowered ? 6 : 4;
  std::vector<bool> steady(values.size(), true);
  for (uint64_t trial = 1; trial <= trials; ++trial) {
    std::vector<Tensor> given(inputs.begin(), inputs.end());
    if (lowered && trial % 2 == 1) {
      Random random(trial);
      for (Tensor& input : given) Shake({0, 0, input.type() == DataType::kFloat32 ? 0.5 : 0}, true, random, input);
    }
    PT_ASSIGN(const std::vector<Tensor> shaken,
              EvaluateGraph(graph, given, [&](const Node& node, std::vector<Tensor>& results) {
                Random random = RandomOf(graph, node, trial);
                for (Tensor& result : results) {
                  Noise noise = NoiseOf(node, result.type(), math);
                  // Rounding alone makes numbers equal that noise would keep apart.
                  if (trial <= 2 && noise.to_bfloat16 > 0) noise = {0, 0, trial == 1 ? 1 : 0.5};
                  Shake(noise, IsExact(node) || IsOfSingleNumbers(node), random, result);
                  if (node.op.starts_with("QLinear")) ShakeIntegers(random, result);
                }
              }));
    for (size_t v = 0; v < values.size(); ++v) {
      if (!graph.values()[v].producer.valid()) continue;
      Tolerance tolerance = DefaultTolerance(graph, ValueId(v), math);
      tolerance.relative /= lowered ? 2 : 4;
      ExpectedTensor expected;
      expected.tensor = values[v];
      if (values[v].type() == DataType::kUndefined) continue;  // an output that nobody wants
      const Comparison comparison = CompareTensors(expected, shaken[v], tolerance);
      if (!comparison.equal || comparison.nan_count > 0) steady[v] = false;
    }
  }
  return steady;
}

}  // namespace pt::testing
