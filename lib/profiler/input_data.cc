#include "lib/profiler/input_data.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

#include "partitiontuner/graph/index_inputs.h"
#include "partitiontuner/graph/visit_type.h"

namespace pt {
namespace {

template <typename T, typename F>
void FillWith(std::span<std::byte> storage, const F& next) {
  for (size_t at = 0; at + sizeof(T) <= storage.size(); at += sizeof(T)) {
    const T value = next();
    std::memcpy(storage.data() + at, &value, sizeof(T));
  }
}

}  // namespace

ValueRange RangeOf(const Graph& graph, std::span<const NodeId> nodes, ValueId value) {
  for (const Use& use : graph.value(value).uses) {
    if (!std::binary_search(nodes.begin(), nodes.end(), use.node)) continue;
    const std::optional<int64_t> most = MostIndex(graph, graph.node(use.node), use.input);
    if (most && *most >= 0) return {0, *most};
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
  VisitType(type, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) {
      FillWith<uint8_t>(storage, [&] { return static_cast<uint8_t>(next_integer() & 1); });
    } else if constexpr (std::is_integral_v<T>) {
      FillWith<T>(storage, [&] { return static_cast<T>(next_integer()); });
    } else if constexpr (kIsNumber<T>) {
      FillWith<T>(storage, [&] { return ElementOf<T>(next_real()); });
    } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      using Part = typename T::value_type;
      FillWith<Part>(storage, [&] { return static_cast<Part>(next_real()); });
    } else {  // packed types and 8-bit floats: any bits are values
      FillWith<uint8_t>(storage, [&] { return static_cast<uint8_t>(next_integer()); });
    }
  });
}

}  // namespace pt
