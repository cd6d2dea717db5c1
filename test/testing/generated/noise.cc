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
                  if (node.op.starts_with("QLinear")) ShakeIntegers(random, result);
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
