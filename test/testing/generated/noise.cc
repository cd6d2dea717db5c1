#include "test/testing/generated/noise.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lib/backend/rounding_noise.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/graph/makers.h"
#include "partitiontuner/graph/visit_type.h"
#include "partitiontuner/support/random.h"
#include "test/testing/evaluate_graph.h"

namespace pt::testing {
namespace {

// Also: the share of the numbers that are rounded to bfloat16 afterwards, whereby different ones may become equal.
struct Noise : RoundingNoise {
  double to_bfloat16 = 0;
};

Noise NoiseOf(const Node& node, DataType type, MathMode math) {
  if (math != MathMode::kBf16 || type == DataType::kBfloat16) {
    Noise noise{RoundingNoiseOf(node, type), 0};
    // Passes may change the order of sums that are spelled out.
    if (type == DataType::kFloat32 && IsOfSingleNumbers(node)) noise.of_largest = 2e-7;
    return noise;
  }
  if (type != DataType::kFloat32 && type != DataType::kFloat16) return {};
  if (IsExact(node)) return {{}, 0.5};
  return {{4e-3, IsOfSingleNumbers(node) ? 1e-3 : 3e-3, false}, 0.5};
}

// Numbers that are 0 stay so where nothing is summed.
void Shake(const Noise& noise, bool keeps_zeros, Random& random, Tensor& tensor) {
  if (noise.is_none() && noise.to_bfloat16 == 0) return;
  VisitType(tensor.type(), [&]<typename T>() {
    if constexpr (kIsFloat<T>) {
      std::vector<T> data(tensor.values<T>().begin(), tensor.values<T>().end());
      double largest = 0;
      for (const T& x : data) largest = std::max(largest, std::fabs(NumberOf<double>(x)));
      for (T& x : data) {
        const double number = NumberOf<double>(x);
        if (number == 0 && keeps_zeros) continue;
        double shaken = Shaken(number, noise, largest, random);
        if (random.Uniform(0, 1) < noise.to_bfloat16) shaken = NumberOf<double>(ElementOf<Bfloat16>(shaken));
        x = ElementOf<T>(shaken);
      }
      tensor = Tensor::Of<T>(tensor.type(), tensor.dims(), data);
    }
  });
}

// Of a scale: float32, or any other type that is real.
double LargestOf(const Tensor& tensor) {
  double largest = 0;
  VisitType(tensor.type(), [&]<typename T>() {
    if constexpr (kIsFloat<T>) {
      for (const T& x : tensor.values<T>()) largest = std::max(largest, std::fabs(NumberOf<double>(x)));
    }
  });
  return largest;
}

// How many steps of its quantisation the results of QLinearConv and QLinearMatMul move, by one standard deviation,
// where both sides of each product are rounded to bfloat16 before it: products that cancel each other keep their
// errors. 0 where scales or weights are computed.
double StepsOfRoundedOperands(const Graph& graph, const Node& node) {
  if ((node.op != "QLinearConv" && node.op != "QLinearMatMul") || node.inputs.size() < 8) return 0;
  const auto constant = [&](size_t i) { return graph.value(node.inputs[i]).constant; };
  const auto &data_scale = constant(1), &data_zero = constant(2), &weights = constant(3), &weight_scale = constant(4),
             &result_scale = constant(6);
  if (!data_scale || !data_zero || !weights || !weight_scale || !result_scale) return 0;
  const bool is_signed = data_zero->type() == DataType::kInt8;
  const double zero = static_cast<double>(data_zero->ToInts()[0]), low = is_signed ? -128 : 0,
               high = is_signed ? 127 : 255;
  const double data = std::max(zero - low, high - zero) * LargestOf(*data_scale);
  double squares = 0;
  const double middle = weights->type() == DataType::kUint8 ? 128 : 0;
  for (const int64_t integer : weights->ToInts()) {
    const double w = static_cast<double>(integer) - middle;
    squares += w * w;
  }
  const int64_t sums = node.op == "QLinearConv" ? weights->dims().front() : weights->dims().back();
  const double of_a_sum = std::sqrt(squares / static_cast<double>(sums)) * LargestOf(*weight_scale);
  return 0x1p-9 * data * of_a_sum / LargestOf(*result_scale);
}

// Operators that quantise a product: libraries may come to the next integer (docs/operators.md), and as many steps
// further away as their operands' rounding moves them.
void ShakeIntegers(double steps, Random& random, Tensor& tensor) {
  if (tensor.type() != DataType::kInt8 && tensor.type() != DataType::kUint8) return;
  std::string bytes(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  const std::vector<int64_t> numbers = tensor.ToInts();
  const bool is_signed = tensor.type() == DataType::kInt8;
  const double least = is_signed ? -128 : 0, most = is_signed ? 127 : 255;
  for (size_t i = 0; i < bytes.size(); ++i) {
    double moved = static_cast<double>(numbers[i]) + (random.Below(20) == 0 ? 1 : 0);
    if (steps > 0) moved += std::nearbyint(random.Uniform(-2 * steps, 2 * steps));
    bytes[i] = static_cast<char>(static_cast<int64_t>(std::clamp(moved, least, most)));
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

Tolerance ToleranceBehindSteps(const Graph& graph, ValueId value, MathMode math) {
  Tolerance tolerance = DefaultTolerance(graph, value, math);
  const NodeId nearest = LastMaker(graph, value, [&](const Node& node) { return QuantisationStep(graph, node) > 0; });
  if (nearest.valid()) {
    tolerance.absolute = std::max(tolerance.absolute, QuantisationStep(graph, graph.node(nearest)) * (1 + 1e-5));
  }
  return tolerance;
}

Result<std::vector<bool>> SteadyValues(const Graph& graph, std::span<const Tensor> inputs,
                                       const std::vector<Tensor>& values, MathMode math, Trials how_often) {
  const bool lowered = math == MathMode::kBf16;
  constexpr uint64_t kFew = 6, kMany = 60;
  const uint64_t trials = how_often == Trials::kMany ? kMany : lowered ? kFew : 4;
  std::vector<bool> steady(values.size(), true);
  for (uint64_t trial = 1; trial <= trials; ++trial) {
    std::vector<Tensor> given(inputs.begin(), inputs.end());
    if (lowered && trial % 2 == 1) {
      Random random(trial);
      for (Tensor& input : given) Shake({{}, input.type() == DataType::kFloat32 ? 0.5 : 0}, true, random, input);
    }
    PT_ASSIGN(const std::vector<Tensor> shaken,
              EvaluateGraph(graph, given, [&](const Node& node, std::vector<Tensor>& results) {
                Random random = RandomOf(graph, node, trial);
                for (Tensor& result : results) {
                  Noise noise = NoiseOf(node, result.type(), math);
                  // Rounding alone makes numbers equal that noise would keep apart.
                  const bool rounds_alone = trial <= 2 || (trial > kFew && trial % 2 == 0);
                  if (rounds_alone && noise.to_bfloat16 > 0) noise = {{}, trial == 1 ? 1 : 0.5};
                  Shake(noise, IsExact(node) || IsOfSingleNumbers(node), random, result);
                  if (node.op.starts_with("QLinear"))
                    ShakeIntegers(lowered ? StepsOfRoundedOperands(graph, node) : 0, random, result);
                }
              }));
    for (size_t v = 0; v < values.size(); ++v) {
      if (!graph.values()[v].producer.valid()) continue;
      Tolerance tolerance = ToleranceBehindSteps(graph, ValueId(v), math);
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
