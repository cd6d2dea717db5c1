#include "lib/profiler/input_data.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <random>

namespace pt {
namespace {

struct IndexInput {
  std::string_view op;
  uint32_t indices;  // which input holds positions
  uint32_t data;     // into which input
  int64_t default_axis;
  bool every_axis;  // positions along any of the data's axes (GatherND)
};

constexpr IndexInput kIndexInputs[] = {
    {"Gather", 1, 0, 0, false},       {"GatherElements", 1, 0, 0, false},
    {"GatherND", 1, 0, 0, true},      {"ScatterElements", 1, 0, 0, false},
    {"Scatter", 1, 0, 0, false},      {"ScatterND", 1, 0, 0, true},
    {"TensorScatter", 2, 0, 0, true}, {"EmbedLayerNormalization", 0, 2, 0, false},
};

std::optional<int64_t> MostIndex(const Graph& graph, const Node& node, const IndexInput& row) {
  if (node.inputs.size() <= std::max(row.data, row.indices) || !node.inputs[row.data].valid()) return std::nullopt;
  const std::vector<Dim>& dims = graph.value(node.inputs[row.data]).type.dims;
  if (dims.empty()) return std::nullopt;
  if (row.every_axis) {
    int64_t least = dims.front().value;
    for (const Dim& dim : dims) least = std::min(least, dim.value);
    return least - 1;
  }
  int64_t axis = node.int_or("axis", row.default_axis);
  if (axis < 0) axis += static_cast<int64_t>(dims.size());
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) return std::nullopt;
  return dims[static_cast<size_t>(axis)].value - 1;
}

template <typename T, typename F>
void FillWith(std::span<std::byte> storage, const F& next) {
  for (size_t at = 0; at + sizeof(T) <= storage.size(); at += sizeof(T)) {
    const T value = static_cast<T>(next());
    std::memcpy(storage.data() + at, &value, sizeof(T));
  }
}

uint16_t Bfloat16Bits(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }

// Of normal numbers up to 2: exponent and mantissa cut from the wider format.
uint16_t Float16Bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const int exponent = static_cast<int>((bits >> 23) & 0xff) - 127 + 15;
  const uint32_t sign = (bits >> 16) & 0x8000;
  if (exponent <= 0) return static_cast<uint16_t>(sign);
  return static_cast<uint16_t>(sign | (static_cast<uint32_t>(exponent) << 10) | ((bits >> 13) & 0x3ff));
}

}  // namespace

ValueRange RangeOf(const Graph& graph, std::span<const NodeId> nodes, ValueId value) {
  for (const Use& use : graph.value(value).uses) {
    if (!std::binary_search(nodes.begin(), nodes.end(), use.node)) continue;
    const Node& node = graph.node(use.node);
    for (const IndexInput& row : kIndexInputs) {
      if (node.op != row.op || use.input != row.indices) continue;
      if (const std::optional<int64_t> most = MostIndex(graph, node, row); most && *most >= 0) return {0, *most};
    }
  }
  return {};
}

void FillInput(DataType type, ValueRange range, uint64_t seed, std::span<std::byte> storage) {
  // A short series repeated: drawing millions of numbers would take longer than measuring with them.
  constexpr size_t kSeries = 4099;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> real(0.01, 1.0);
  std::uniform_int_distribution<int64_t> integer(range.least, range.most);
  std::vector<double> reals(kSeries);
  std::vector<int64_t> integers(kSeries);
  for (double& r : reals) r = random() % 2 == 0 ? real(random) : -real(random);
  for (int64_t& i : integers) i = integer(random);
  size_t at = 0;
  const auto next_real = [&] { return reals[at++ % kSeries]; };
  const auto next_integer = [&] { return integers[at++ % kSeries]; };
  switch (type) {
    case DataType::kFloat32:
      return FillWith<float>(storage, next_real);
    case DataType::kFloat64:
      return FillWith<double>(storage, next_real);
    case DataType::kComplex64:
      return FillWith<float>(storage, next_real);
    case DataType::kComplex128:
      return FillWith<double>(storage, next_real);
    case DataType::kBfloat16:
      return FillWith<uint16_t>(storage, [&] { return Bfloat16Bits(static_cast<float>(next_real())); });
    case DataType::kFloat16:
      return FillWith<uint16_t>(storage, [&] { return Float16Bits(static_cast<float>(next_real())); });
    case DataType::kInt64:
    case DataType::kUint64:
      return FillWith<int64_t>(storage, next_integer);
    case DataType::kInt32:
    case DataType::kUint32:
      return FillWith<int32_t>(storage, next_integer);
    case DataType::kInt16:
    case DataType::kUint16:
      return FillWith<int16_t>(storage, next_integer);
    case DataType::kBool:
      return FillWith<uint8_t>(storage, [&] { return next_integer() & 1; });
    default:
      return FillWith<uint8_t>(storage, next_integer);  // 8-bit and packed types: any bits are values
  }
}

}  // namespace pt
