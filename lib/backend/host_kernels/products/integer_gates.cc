#include "lib/backend/host_kernels/products/integer_gates.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

// No panel of any set of instructions has more columns.
constexpr int64_t kMostColumns = 32;

// Of one direction, with its columns where panels want them: what is beside the units is 0 once it is packed.
std::vector<uint8_t> Arranged(const IntegerGates& gates, int64_t direction) {
  const int64_t row = IntegerGates::kGates * gates.units, columns = gates.columns();
  std::vector<uint8_t> arranged(static_cast<size_t>(gates.depth * columns), gates.flips ? 128 : 0);
  const auto* from = reinterpret_cast<const uint8_t*>(gates.weights.bytes().data()) + direction * gates.depth * row;
  for (int64_t k = 0; k < gates.depth; ++k) {
    for (int64_t gate = 0; gate < IntegerGates::kGates; ++gate) {
      for (int64_t unit = 0; unit < gates.units; unit += gates.math.columns) {
        std::memcpy(arranged.data() + k * columns + gates.PlaceOf(gate, unit),
                    from + k * row + gate * gates.units + unit,
                    static_cast<size_t>(std::min(gates.math.columns, gates.units - unit)));
      }
    }
  }
  return arranged;
}

Status ReadScales(const HostSite& site, size_t scale, size_t zero, IntegerGates& gates) {
  const std::optional<Tensor>&scales = site.in[scale].constant, &zeros = site.in[zero].constant;
  if (scales->type() != DataType::kFloat32 || zeros->type() != gates.weights.type() ||
      scales->dims() != zeros->dims()) {
    return site.Unsupported("its scales and zero points do not fit the weights");
  }
  const int64_t numbers = IntegerGates::kGates * gates.units, columns = gates.columns();
  const bool by_column = scales->dims() == std::vector<int64_t>{gates.directions, numbers};
  if (!by_column && scales->dims() != std::vector<int64_t>{gates.directions})
    return site.Unsupported("its scales do not fit the weights");
  const std::vector<int64_t> zero_values = zeros->ToInts();
  gates.scales.assign(static_cast<size_t>(gates.directions * columns), 0);
  gates.zeros.assign(static_cast<size_t>(gates.directions * columns), 0);
  for (int64_t d = 0; d < gates.directions; ++d) {
    for (int64_t i = 0; i < numbers; ++i) {
      const auto from = static_cast<size_t>(by_column ? d * numbers + i : d);
      const auto to = static_cast<size_t>(d * columns + gates.PlaceOf(i / gates.units, i % gates.units));
      gates.scales[to] = scales->values<float>()[from];
      gates.zeros[to] = static_cast<int32_t>(zero_values[from]) - (gates.flips ? 128 : 0);
      gates.has_zeros = gates.has_zeros || gates.zeros[to] != 0;
    }
  }
  return {};
}

}  // namespace

Status IntegerGates::Pack(CompileContext& context) {
  const auto panels = CheckedMul(directions, panel_bytes());
  const auto sums = CheckedProduct(std::array<int64_t, 3>{directions, columns(), sizeof(int32_t)});
  const auto bytes = panels && sums ? CheckedAdd(*panels, *sums) : std::nullopt;
  if (!bytes) return MakeError(ErrorCode::kInvalidInput, "host.size", "packed weights are too large");
  const auto fill = [&](DeviceBuffer& buffer) -> Status {
    auto* to = static_cast<int8_t*>(buffer.data());
    for (int64_t d = 0; d < directions; ++d) {
      const std::vector<uint8_t> arranged = Arranged(*this, d);
      math.pack({.b = arranged.data(),
                 .row_stride = columns(),
                 .depth = depth,
                 .columns = columns(),
                 .flips = flips,
                 .panels = to + d * panel_bytes(),
                 .column_sums = reinterpret_cast<int32_t*>(to + *panels) + d * columns()});
    }
    return {};
  };
  const std::string format = "host int8 gates of " + std::to_string(math.columns);
  PT_ASSIGN(packed,
            context.weights.Get(weights.content_hash(), format, context.device, static_cast<uint64_t>(*bytes), fill));
  const auto* column_sums = reinterpret_cast<const int32_t*>(static_cast<const int8_t*>(packed->data()) + *panels);
  terms.resize(zeros.size());
  for (size_t i = 0; i < terms.size(); ++i) terms[i] = column_sums[i] - static_cast<int32_t>(depth) * zeros[i];
  return {};
}

void IntegerGates::Multiply(const Rows& rows, int64_t direction, int64_t block, const float* bias, float* c,
                            int64_t c_stride) const {
  const int64_t width = block_columns(), first = direction * columns() + block * width;
  float scaled[kGates * kMostColumns];
  for (int64_t i = 0; i < width; ++i) scaled[i] = rows.scale * scales[static_cast<size_t>(first + i)];
  const int64_t panel_depth = (depth + kQuad - 1) / kQuad * kQuad;
  math.multiply(
      {.a = rows.bytes,
       .a_row_stride = rows.stride,
       .panels = static_cast<const int8_t*>(packed->data()) + direction * panel_bytes() + block * width * panel_depth,
       .rows = rows.count,
       .depth = depth,
       .columns = width,
       .row_zeros = rows.zeros,
       .column_terms = terms.data() + first,
       .row_sums = has_zeros ? rows.sums : nullptr,
       .column_zeros = zeros.data() + first,
       .reals = c,
       .c_row_stride = c_stride,
       .column_scales = scaled,
       .column_bias = bias});
}

Result<IntegerGates> ReadIntegerGates(const HostSite& site, size_t weights, size_t scale, size_t zero) {
  for (size_t i : {weights, scale, zero}) {
    if (!site.is_constant(i)) return site.Unsupported("its weights, scales or zero points are not constant");
  }
  IntegerGates gates;
  gates.math = FindIntegerPanels();
  gates.weights = *site.in[weights].constant;
  const std::vector<int64_t>& dims = gates.weights.dims();
  const DataType type = gates.weights.type();
  if (type != DataType::kInt8 && type != DataType::kUint8)
    return site.Unsupported("its weights are not of int8 or uint8");
  if (dims.size() != 3 || dims[2] % IntegerGates::kGates != 0 || gates.weights.element_count() == 0)
    return site.Unsupported("the dims of its weights");
  gates.flips = type == DataType::kUint8;
  gates.directions = dims[0];
  gates.depth = dims[1];
  gates.units = dims[2] / IntegerGates::kGates;
  // A product's sums have 32 bits.
  constexpr int64_t kMostDepth = 65536, kMostUnits = int64_t{1} << 24;
  if (gates.depth > kMostDepth || gates.units > kMostUnits) return site.Unsupported("its weights are too large");
  PT_CHECK_OK(ReadScales(site, scale, zero, gates));
  return gates;
}

}  // namespace pt::host
