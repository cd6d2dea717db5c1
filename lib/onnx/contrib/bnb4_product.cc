// MatMulBnb4: a product with a matrix of 4-bit floats in blocks, as bitsandbytes quantises it.
#include <iterator>
#include <limits>

#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/packed_parts.h"
#include "partitiontuner/support/checked.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

enum Bnb4Input { kRowsIn, kCodes, kLargest };

// What the codes 0 to 15 say, as parts of a block's largest magnitude.
constexpr float kFp4[] = {0,           0.0052083333F, 0.66666667F, 1,
                          0.33333333F, 0.5F,          0.16666667F, 0.25F};  // the sign is bit 3
// Quantiles of the normal distribution.
constexpr float kNf4[] = {
    -1,         -0.6961928F, -0.52507305F, -0.39491749F, -0.28444138F, -0.18477343F, -0.091050036F, 0,
    0.0795803F, 0.1609302F,  0.2461123F,   0.33791524F,  0.44070983F,  0.562617F,    0.72295684F,   1};

std::vector<float> ValuesOfCodes(bool normal) {
  if (normal) return {std::begin(kNf4), std::end(kNf4)};
  std::vector<float> values(std::begin(kFp4), std::end(kFp4));
  for (const float value : kFp4) values.push_back(-value);
  return values;
}

// The leading `count` of a vector of `length`.
std::string Leading(Rewrite& r, const std::string& vector, int64_t length, int64_t count) {
  return length == count ? vector : r.Add("Slice", {vector, r.AddInts({0}), r.AddInts({count}), r.AddInts({0})});
}

// Two a byte, the first in its upper half.
std::string Codes(Rewrite& r, int64_t count) {
  const std::string column = r.Add("Reshape", {r.in(kCodes), r.AddInts({(count + 1) / 2, 1})});
  const std::string codes = r.Add("Reshape", {ElementsOfBytes(r, column, 4, {4, 0}), r.AddInts({-1})});
  return r.Add("Cast", {Leading(r, codes, count + count % 2, count)}, {IntAttribute("to", proto::TensorProto::INT32)});
}

Status MatMulBnb4(Rewrite& r) {
  const int64_t rows = r.Int("N", 0), columns = r.Int("K", 0), block = r.Int("block_size", 0);
  const int64_t kind = r.Int("quant_type", -1);
  PT_CHECK_OK(CheckBlock(block));
  if (kind != 0 && kind != 1) {
    return Rewrite::Unsupported("quant_type " + std::to_string(kind) + " is not supported: 0 (FP4) and 1 (NF4) are");
  }
  if (r.Int("transB", 1) == 0) return Rewrite::Unsupported("transB 0 is not supported");
  const auto count = CheckedMul(rows, columns);
  if (rows < 1 || columns < 1 || !count || *count > std::numeric_limits<int64_t>::max() - block)
    return Rewrite::Invalid("N is " + std::to_string(rows) + " and K is " + std::to_string(columns));
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(kLargest), "absmax"));
  const int64_t blocks = (*count + block - 1) / block;
  const std::string table =
      r.Add("Cast", {r.AddTensor(Tensor::Float32({16}, ValuesOfCodes(kind == 1)))}, {IntAttribute("to", type)});
  const std::string parts = r.Add("Gather", {table, Codes(r, *count)});
  const std::string largest = r.Add("Reshape", {r.in(kLargest), r.AddInts({blocks, 1})});
  const std::string each = r.Add("Reshape", {r.Add("Expand", {largest, r.AddInts({blocks, block})}), r.AddInts({-1})});
  const std::string values = r.Add("Mul", {parts, Leading(r, each, blocks * block, *count)});
  const std::string matrix = r.Add("Reshape", {values, r.AddInts({rows, columns})});
  r.Finish(0, "MatMul", {r.in(kRowsIn), r.Add("Transpose", {matrix}, {IntsAttribute("perm", {1, 0})})});
  return {};
}

}  // namespace

std::vector<Row> Bnb4ProductRows() {
  return {{"MatMulBnb4",
           {"A", "B", "absmax"},
           {"Y"},
           {{"K", A::INT, true},
            {"N", A::INT, true},
            {"block_size", A::INT, true},
            {"quant_type", A::INT, true},
            {"training_mode", A::INT},
            {"transB", A::INT}},
           ShapeByColumns,
           MatMulBnb4}};
}

}  // namespace pt::contrib
