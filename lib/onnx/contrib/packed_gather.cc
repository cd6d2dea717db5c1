// GatherBlockQuantized: rows of a table of a few bits an element, in blocks that have a scale each.
#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/packed_parts.h"
#include "partitiontuner/support/checked.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

enum GatherInput { kData, kIndices, kScales, kZeroPoints };

struct Table {
  int64_t gather = 0, quantise = 0, rank = 0;  // axes
  int64_t rows = 0;                            // along the first of them
  std::string elements, zero_points;           // unpacked; "" for zero points of 0
};

Result<std::vector<int64_t>> KnownDims(const Rewrite& r, GatherInput input, const std::string& what) {
  PT_ASSIGN(const int64_t rank, r.NeedRank(r.in(input), what));
  std::vector<int64_t> dims;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const auto dim = r.dim(r.in(input), axis);
    if (!dim) return Rewrite::Unsupported("the dims of " + what + " are not known when the model loads");
    dims.push_back(*dim);
  }
  return dims;
}

Result<int64_t> AxisOf(const Rewrite& r, const char* attribute, int64_t otherwise, int64_t rank) {
  const int64_t axis = r.Int(attribute, otherwise);
  if (axis < -rank || axis >= rank) {
    return Rewrite::Invalid(std::string(attribute) + " is " + std::to_string(axis) + " of a tensor of " +
                            std::to_string(rank) + " dims");
  }
  return axis < 0 ? axis + rank : axis;
}

// Bytes hold several elements of the last dim; rows of zero points end with a byte.
Status Unpack(Rewrite& r, std::vector<int64_t> data, std::vector<int64_t> scales, Table& table) {
  PT_ASSIGN(const Packing packing, PackingOf(r, r.Int("bits", 4), {kData, kZeroPoints}));
  const int64_t per_byte = packing.per_byte();
  if (table.gather != 0) return Rewrite::Invalid("gather_axis of a table of uint8 needs to be 0");
  const auto width = CheckedMul(data.back(), per_byte);
  if (!width) return Rewrite::Invalid("its table is too large");
  data.back() = *width;
  PT_ASSIGN(table.elements, Reinterpret(r, kData, "data", packing, data));
  if (!r.has(kZeroPoints)) {
    PT_ASSIGN(table.zero_points, MiddleZeroPoints(r, packing, std::move(scales)));
    return {};
  }
  const int64_t count = scales.back();
  scales.back() = (count + per_byte - 1) / per_byte * per_byte;
  PT_ASSIGN(table.zero_points, Reinterpret(r, kZeroPoints, "zero_points", packing, scales));
  if (scales.back() != count) {
    table.zero_points =
        r.Add("Slice", {table.zero_points, r.AddInts({0}), r.AddInts({count}), r.AddInts({table.rank - 1})});
  }
  return {};
}

Result<Table> ReadTable(Rewrite& r) {
  PT_CHECK_OK(CheckBlock(r.Int("block_size", 128)));
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(kData), "data"));
  PT_ASSIGN(const std::vector<int64_t> data, KnownDims(r, kData, "data"));
  PT_ASSIGN(const std::vector<int64_t> scales, KnownDims(r, kScales, "scales"));
  Table table;
  table.rank = static_cast<int64_t>(data.size());
  PT_ASSIGN(table.gather, AxisOf(r, "gather_axis", 0, table.rank));
  PT_ASSIGN(table.quantise, AxisOf(r, "quantize_axis", 1, table.rank));
  if (table.gather == table.quantise) return Rewrite::Invalid("gather_axis and quantize_axis are the same");
  if (scales.size() != data.size()) return Rewrite::Invalid("data and scales have different numbers of dims");
  table.rows = data[static_cast<size_t>(table.gather)];
  if (table.rows == 0) return Rewrite::Invalid("its table is empty");
  if (type == proto::TensorProto::UINT8) {
    PT_CHECK_OK(Unpack(r, data, scales, table));
    return table;
  }
  if (type != proto::TensorProto::INT4 && type != proto::TensorProto::UINT4) {
    return Rewrite::Unsupported("data of element type " + proto::TensorProto::DataType_Name(type) +
                                " is not supported: uint8, int4 and uint4 are");
  }
  table.elements = r.in(kData);
  table.zero_points = r.in(kZeroPoints);
  return table;
}

Status GatherBlockQuantized(Rewrite& r) {
  PT_ASSIGN(const Table table, ReadTable(r));
  PT_ASSIGN(const int64_t rank, r.NeedRank(r.in(kIndices), "indices"));
  PT_ASSIGN(const int32_t index_type, r.NeedElementType(r.in(kIndices), "indices"));
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(kScales), "scales"));
  // Indices that no row has give zeros.
  const auto index = [&](int64_t value) {
    return r.Add("Cast", {r.Add("Reshape", {r.AddInts({value}), r.AddInts({})})}, {IntAttribute("to", index_type)});
  };
  const std::string& given = r.in(kIndices);
  const std::string exists =
      r.Add("And", {r.Add("Less", {given, index(table.rows)}), r.Add("GreaterOrEqual", {given, index(-table.rows)})});
  const std::string rows = r.Add("Where", {exists, given, index(0)});
  const Attributes along = {IntAttribute("axis", table.gather)};
  std::vector<std::string> parts;
  for (const std::string& part : {table.elements, r.in(kScales), table.zero_points})
    parts.push_back(part.empty() ? part : r.Add("Gather", {part, rows}, along));
  const int64_t axis = table.quantise < table.gather ? table.quantise : table.quantise + rank - 1;
  const std::string real = r.Add("DequantizeLinear", parts,
                                 {IntAttribute("axis", axis), IntAttribute("block_size", r.Int("block_size", 128))});
  std::vector<int64_t> behind;  // dims of the table behind the rows
  for (int64_t d = table.gather + 1; d < table.rank; ++d) behind.push_back(rank + d - table.gather - 1);
  const std::string shown = behind.empty() ? exists : r.Add("Unsqueeze", {exists, r.AddInts(behind)});
  r.Finish(0, "Where", {shown, real, r.AddZero(type)});
  return {};
}

void InferGather(proto::InferenceContext& context) { CopyElementType(context, 0, kScales); }

}  // namespace

std::vector<Row> PackedGatherRows() {
  return {{"GatherBlockQuantized",
           {"data", "indices", "scales", "zero_points?"},
           {"output"},
           {{"bits", A::INT}, {"block_size", A::INT}, {"gather_axis", A::INT}, {"quantize_axis", A::INT}},
           InferGather,
           GatherBlockQuantized}};
}

}  // namespace pt::contrib
