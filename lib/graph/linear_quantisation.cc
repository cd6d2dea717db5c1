#include "partitiontuner/graph/linear_quantisation.h"

#include <algorithm>
#include <cmath>

#include "partitiontuner/graph/operators/axis.h"

namespace pt {
namespace {

bool IsModerate(float scale) { return scale >= std::ldexp(1.0F, -60) && scale <= std::ldexp(1.0F, 60); }

// The axis along which the scale varies: kWholeTensor, or a dim of the tensor; nullopt when it does neither.
std::optional<int64_t> AxisOf(const Graph& graph, const Node& node, const std::vector<int64_t>& dims,
                              const Tensor& scale) {
  if (scale.element_count() == 1 && scale.rank() <= 1) return LinearQuantisation::kWholeTensor;
  const Result<size_t> axis = ReadAxis(node, graph.opset(), dims.size());
  const bool fits = axis.ok() && scale.rank() == 1 && scale.dims()[0] == dims[*axis];
  return fits ? std::optional(static_cast<int64_t>(*axis)) : std::nullopt;
}

}  // namespace

std::optional<IntegerRange> RangeOf(DataType type) {
  switch (type) {  // no default: the compiler names the type that is missing
    case DataType::kInt2:
      return IntegerRange{-2, 1};
    case DataType::kUint2:
      return IntegerRange{0, 3};
    case DataType::kInt4:
      return IntegerRange{-8, 7};
    case DataType::kUint4:
      return IntegerRange{0, 15};
    case DataType::kInt8:
      return IntegerRange{-128, 127};
    case DataType::kUint8:
      return IntegerRange{0, 255};
    case DataType::kInt16:
      return IntegerRange{-32768, 32767};
    case DataType::kUint16:
      return IntegerRange{0, 65535};
    case DataType::kInt32:
      return IntegerRange{-2147483648.0, 2147483647.0};
    case DataType::kUndefined:
    case DataType::kFloat32:
    case DataType::kInt64:
    case DataType::kString:
    case DataType::kBool:
    case DataType::kFloat16:
    case DataType::kFloat64:
    case DataType::kUint32:
    case DataType::kUint64:
    case DataType::kComplex64:
    case DataType::kComplex128:
    case DataType::kBfloat16:
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2FNUZ:
    case DataType::kFloat4E2M1:
    case DataType::kFloat8E8M0:
      break;
  }
  return std::nullopt;
}

std::optional<LinearQuantisation> LinearQuantisationOf(const Graph& graph, const Node& node) {
  const bool from_integers = IsDequantisation(node);
  if ((!from_integers && !IsQuantisation(node)) || node.inputs.size() < 2 || node.outputs.size() != 1) {
    return std::nullopt;
  }
  if (!node.inputs[0].valid() || !node.inputs[1].valid() || !node.outputs[0].valid()) return std::nullopt;
  const ValueId integers = from_integers ? node.inputs[0] : node.outputs[0];
  const ValueId reals = from_integers ? node.outputs[0] : node.inputs[0];
  const auto dims = graph.value(integers).type.static_dims();
  const auto& scale = graph.value(node.inputs[1]).constant;
  const int64_t precision = node.int_or("precision", 0);
  LinearQuantisation result;
  result.type = graph.value(integers).type.type;
  if (!RangeOf(result.type) || graph.value(reals).type.type != DataType::kFloat32 || !dims || !scale ||
      scale->type() != DataType::kFloat32 ||
      (precision != 0 && precision != static_cast<int64_t>(DataType::kFloat32))) {
    return std::nullopt;
  }
  const auto axis = AxisOf(graph, node, *dims, *scale);
  if (!axis || !std::ranges::all_of(scale->values<float>(), IsModerate)) return std::nullopt;
  result.axis = *axis;
  result.scales.assign(scale->values<float>().begin(), scale->values<float>().end());
  result.zero_points.assign(result.scales.size(), 0);
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return result;
  const auto& zero = graph.value(node.inputs[2]).constant;
  if (!zero || zero->type() != result.type) return std::nullopt;
  const std::vector<int64_t> points = zero->ToInts();
  if (points.size() == result.zero_points.size()) {
    result.zero_points = points;
  } else if (points.size() == 1) {
    std::ranges::fill(result.zero_points, points[0]);
  } else {
    return std::nullopt;
  }
  return result;
}

}  // namespace pt
