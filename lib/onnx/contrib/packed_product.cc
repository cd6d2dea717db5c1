// Products with a matrix of a few bits an element, in blocks that have a scale each.
#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/packed_parts.h"
#include "partitiontuner/support/checked.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

enum ProductInput { kLeft, kMatrix, kMatrixScales, kMatrixZeros, kGroups, kProductBias };

// What MatMulNBits says of its matrix, which has a row for each of the product's columns.
struct Packed {
  int64_t rows = 0, columns = 0;  // the operator's N and K
  int64_t block = 0, blocks = 0;  // elements of a row's blocks, and how many: the last may be in part padding
  bool real_zeros = false;        // whether zero points are not packed
  Packing packing = {};
};

Result<Packed> ReadPacked(Rewrite& r) {
  Packed packed = {r.Int("N", 0), r.Int("K", 0), r.Int("block_size", 0)};
  if (packed.rows < 1 || packed.columns < 1) {
    return Rewrite::Invalid("N is " + std::to_string(packed.rows) + " and K is " + std::to_string(packed.columns) +
                            "; both need to be positive");
  }
  if (r.has(kMatrixZeros)) {
    PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(kMatrixZeros), "zero_points"));
    packed.real_zeros = type != proto::TensorProto::UINT8;
  }
  PT_ASSIGN(packed.packing, PackingOf(r, r.Int("bits", 4), {kMatrix, packed.real_zeros ? kMatrix : kMatrixZeros}));
  PT_CHECK_OK(CheckBlock(packed.block));
  if (r.Int("weight_prepacked", 0) != 0)
    return Rewrite::Unsupported("weight_prepacked is not supported: the matrix is in an order of some GPU");
  packed.blocks = packed.columns / packed.block + (packed.columns % packed.block == 0 ? 0 : 1);
  const auto padded = CheckedMul(packed.blocks, packed.block);
  if (!padded || !CheckedMul(*padded, packed.rows)) return Rewrite::Invalid("K and N are too large");
  return packed;
}

// The leading `count` columns of a matrix of `width`.
std::string Columns(Rewrite& r, const std::string& matrix, int64_t width, int64_t count) {
  if (width == count) return matrix;
  return r.Add("Slice", {matrix, r.AddInts({0}), r.AddInts({count}), r.AddInts({1})});
}

// One a block, [rows, blocks], in the elements' type.
Result<std::string> PackedZeroPoints(Rewrite& r, const Packed& packed) {
  // Rows end with a byte.
  const int64_t per_byte = packed.packing.per_byte(), width = (packed.blocks + per_byte - 1) / per_byte * per_byte;
  PT_ASSIGN(const std::string zero_points,
            Reinterpret(r, kMatrixZeros, "zero_points", packed.packing, {packed.rows, width}));
  return Columns(r, zero_points, width, packed.blocks);
}

// (q - zero_point) · scale with one of each an element or a block, where DequantizeLinear has no form for it.
std::string Scaled(Rewrite& r, int32_t type, const std::string& elements, const std::string& zero_points,
                   const std::string& scales) {
  const std::string real = r.Add("Cast", {elements}, {IntAttribute("to", type)});
  const std::string zeros = r.Add("Cast", {zero_points}, {IntAttribute("to", type)});
  return r.Add("Mul", {r.Add("Sub", {real, zeros}), scales});
}

// The matrix as real numbers, [rows, columns].
Result<std::string> Unpacked(Rewrite& r, const Packed& packed) {
  const int64_t width = packed.block * packed.blocks;
  PT_ASSIGN(std::string elements, Reinterpret(r, kMatrix, "B", packed.packing, {packed.rows, width}));
  std::string scales = r.in(kMatrixScales);
  const auto by_block = [&](const std::string& value) {
    return r.Add("Reshape", {value, r.AddInts({packed.rows, packed.blocks})});
  };
  if (r.rank(scales) != 2) scales = by_block(scales);
  const bool real_zeros = packed.real_zeros;
  std::string zero_points;
  // ONNX Runtime takes g_idx with 4 bits alone, and then passes over packed zero points.
  if (r.has(kGroups) && (packed.packing.bits != 4 || (r.has(kMatrixZeros) && !real_zeros)))
    return Rewrite::Unsupported("g_idx is supported with 4 bits and without packed zero_points only");
  if (real_zeros) {
    zero_points = by_block(r.in(kMatrixZeros));
  } else if (r.has(kMatrixZeros)) {
    PT_ASSIGN(zero_points, PackedZeroPoints(r, packed));
  } else {
    PT_ASSIGN(zero_points, MiddleZeroPoints(r, packed.packing, {packed.rows, packed.blocks}));
  }
  if (!real_zeros && !r.has(kGroups)) {
    // The last block may be shorter.
    return r.Add("DequantizeLinear", {Columns(r, elements, width, packed.columns), scales, zero_points},
                 {IntAttribute("axis", 1), IntAttribute("block_size", packed.block)});
  }
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(kMatrixScales), "scales"));
  if (r.has(kGroups)) {
    // Which block's scale and zero point each column has.
    const Attributes along = {IntAttribute("axis", 1)};
    const std::string& groups = r.in(kGroups);
    const std::string zeros = r.Add("Cast", {zero_points}, {IntAttribute("to", type)});
    return Scaled(r, type, Columns(r, elements, width, packed.columns), r.Add("Gather", {zeros, groups}, along),
                  r.Add("Gather", {scales, groups}, along));
  }
  const std::string one_a_block = r.AddInts({packed.rows, packed.blocks, 1});
  elements = r.Add("Reshape", {elements, r.AddInts({packed.rows, packed.blocks, packed.block})});
  const std::string blocks =
      Scaled(r, type, elements, r.Add("Reshape", {zero_points, one_a_block}), r.Add("Reshape", {scales, one_a_block}));
  return Columns(r, r.Add("Reshape", {blocks, r.AddInts({packed.rows, width})}), width, packed.columns);
}

// accuracy_level only allows results to be worse than this.
Status MatMulNBits(Rewrite& r) {
  PT_ASSIGN(const Packed packed, ReadPacked(r));
  if (const auto depth = r.dim(r.in(kLeft), -1); depth && *depth != packed.columns) {
    return Rewrite::Invalid("the last dim of A is " + std::to_string(*depth) + " where K is " +
                            std::to_string(packed.columns));
  }
  if (const auto length = r.dim(r.in(kProductBias), 0); r.has(kProductBias) && length && *length != packed.rows) {
    return Rewrite::Invalid("its bias has " + std::to_string(*length) + " elements where N is " +
                            std::to_string(packed.rows));
  }
  PT_ASSIGN(const std::string rows, Unpacked(r, packed));
  const std::string matrix = r.Add("Transpose", {rows}, {IntsAttribute("perm", {1, 0})});
  if (!r.has(kProductBias)) {
    r.Finish(0, "MatMul", {r.in(kLeft), matrix});
    return {};
  }
  r.Finish(0, "Add", {r.Add("MatMul", {r.in(kLeft), matrix}), r.in(kProductBias)});
  return {};
}

}  // namespace

std::vector<Row> PackedProductRows() {
  return {{"MatMulNBits",
           {"A", "B", "scales", "zero_points?", "g_idx?", "bias?"},
           {"Y"},
           {{"K", A::INT, true},
            {"N", A::INT, true},
            {"accuracy_level", A::INT},
            {"bits", A::INT},
            {"block_size", A::INT, true},
            {"weight_prepacked", A::INT}},
           ShapeByColumns,
           MatMulNBits}};
}

}  // namespace pt::contrib
