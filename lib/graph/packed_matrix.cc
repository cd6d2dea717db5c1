#include "partitiontuner/graph/packed_matrix.h"

#include <algorithm>
#include <cmath>

#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/gemm.h"

namespace pt {
namespace {

bool HasPackedType(const Tensor& tensor) {
  switch (tensor.type()) {
    case DataType::kInt2:
    case DataType::kUint2:
    case DataType::kInt4:
    case DataType::kUint4:
    case DataType::kInt8:
    case DataType::kUint8:
      return true;
    default:
      return false;
  }
}

const std::optional<Tensor>& ConstantOf(const Graph& graph, const Node& node, size_t input) {
  static const std::optional<Tensor> kNone;
  return input < node.inputs.size() && node.inputs[input].valid() ? graph.value(node.inputs[input]).constant : kNone;
}

bool IsFiniteReal(const std::optional<Tensor>& scales) {
  return scales && scales->type() == DataType::kFloat32 && scales->element_count() > 0 &&
         std::ranges::all_of(scales->values<float>(), [](float scale) { return std::isfinite(scale); });
}

// Blocks of the matrix and where their scales are; false where these vary in another way.
bool ReadBlocks(const Node& node, int64_t opset, PackedMatrix& matrix) {
  const size_t along_depth = matrix.transposed ? 1 : 0;
  const std::vector<int64_t>& scales = matrix.scales.dims();
  matrix.block = matrix.depth;
  if (scales.size() <= 1 && matrix.scales.element_count() == 1) return true;
  const Result<size_t> axis = ReadAxis(node, opset, 2);
  if (!axis.ok()) return false;
  const size_t at = *axis;
  const int64_t given = ReadBlockSize(node);
  if (scales.size() == 1) {
    matrix.column_step = 1;
    return at != along_depth && scales[0] == matrix.columns;
  }
  if (scales.size() != 2 || at != along_depth || given < 1) return false;
  matrix.block = std::min(given, matrix.depth);
  if (scales[at] != matrix.blocks() || scales[1 - at] != matrix.columns) return false;
  matrix.block_step = matrix.transposed ? 1 : matrix.columns;
  matrix.column_step = matrix.transposed ? matrix.blocks() : 1;
  return true;
}

}  // namespace

int64_t PackedMatrix::bits() const { return BitsOf(elements.type()); }

std::string PackedMatrix::content_key() const {
  std::string key = ToHex(elements.content_hash()) + ToHex(scales.content_hash());
  if (zero_points) key += ToHex(zero_points->content_hash());
  return key + " blocks of " + std::to_string(block) + (transposed ? " transposed" : "");
}

Tensor PackedMatrix::Dequantised() const {
  const int width_bits = static_cast<int>(bits()), per_byte = 8 / width_bits;
  const DataType type = elements.type();
  const bool is_signed = type == DataType::kInt2 || type == DataType::kInt4 || type == DataType::kInt8;
  const auto* bytes = reinterpret_cast<const uint8_t*>(elements.bytes().data());
  const auto number = [&](int64_t i) {
    const int raw = (bytes[i / per_byte] >> (i % per_byte * width_bits)) & ((1 << width_bits) - 1);
    return is_signed && raw >> (width_bits - 1) != 0 ? raw - (1 << width_bits) : raw;
  };
  std::vector<float> zeros(static_cast<size_t>(scales.element_count()), 0.0F);
  if (zero_points) std::ranges::copy(zero_points->ToInts(), zeros.begin());
  const float* scale = scales.values<float>().data();
  const int64_t rows = transposed ? columns : depth, width = transposed ? depth : columns;
  std::string real(static_cast<size_t>(rows * width) * sizeof(float), '\0');
  auto* to = reinterpret_cast<float*>(real.data());
  for (int64_t i = 0; i < rows; ++i) {
    // Stretches of a row whose parameters lie evenly.
    const int64_t together = transposed ? block : width, step = transposed ? 0 : column_step;
    for (int64_t j = 0; j < width; j += together) {
      const int64_t p = transposed ? j / block * block_step + i * column_step : i / block * block_step;
      for (int64_t n = 0; n < std::min(together, width - j); ++n) {
        const auto at = static_cast<size_t>(p + n * step);
        to[i * width + j + n] = (static_cast<float>(number(i * width + j + n)) - zeros[at]) * scale[at];
      }
    }
  }
  return Tensor::FromBytes(DataType::kFloat32, elements.dims(), std::move(real)).value();
}

std::optional<bool> HasTransposedMatrix(const Node& product) {
  if (!product.domain.empty() || product.inputs.size() < 2) return std::nullopt;
  if (product.op == "MatMul") return false;
  if (product.op == "Gemm") return ReadGemm(product).transpose_b;
  return std::nullopt;
}

std::optional<PackedMatrix> ReadPackedMatrix(const Graph& graph, NodeId dequantisation, bool transposed) {
  const Node& node = graph.node(dequantisation);
  const auto &elements = ConstantOf(graph, node, 0), &scales = ConstantOf(graph, node, 1);
  if (!IsDequantisation(node) || !elements || elements->rank() != 2 || elements->element_count() == 0 ||
      !HasPackedType(*elements) || !IsFiniteReal(scales) ||
      graph.value(node.outputs[0]).type.type != DataType::kFloat32) {
    return std::nullopt;
  }
  PackedMatrix matrix{dequantisation, *elements, transposed, *scales, std::nullopt};
  matrix.depth = elements->dims()[transposed ? 1 : 0];
  matrix.columns = elements->dims()[transposed ? 0 : 1];
  if (node.inputs.size() > 2 && node.inputs[2].valid()) {
    matrix.zero_points = ConstantOf(graph, node, 2);
    if (!matrix.zero_points || matrix.zero_points->type() != elements->type() ||
        matrix.zero_points->dims() != scales->dims()) {
      return std::nullopt;
    }
  }
  return ReadBlocks(node, graph.opset(), matrix) ? std::optional(std::move(matrix)) : std::nullopt;
}

std::optional<PackedMatrix> PackedMatrixOf(const Graph& graph, const Node& product) {
  const auto transposed = HasTransposedMatrix(product);
  if (!transposed || !product.inputs[0].valid() || !product.inputs[1].valid()) return std::nullopt;
  const Value& real = graph.value(product.inputs[1]);
  const bool read_once = real.uses.size() == 1 && !real.is_graph_output;
  if (graph.value(product.inputs[0]).is_constant() || !real.producer.valid() || !read_once) return std::nullopt;
  return ReadPackedMatrix(graph, real.producer, *transposed);
}

}  // namespace pt
