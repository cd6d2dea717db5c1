#include "lib/backend/reference/element_copy.h"

#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

template <typename To, typename From>
To Convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, double>) {
    return ElementOf<To>(value);
  } else {
    return ElementOf<To>(NumberOf<float>(value));
  }
}

template <typename From, typename To>
void CopyRow(const void* from, const int64_t* from_offsets, void* to, const int64_t* to_offsets, int64_t n) {
  const From* source = static_cast<const From*>(from);
  To* target = static_cast<To*>(to);
  for (int64_t i = 0; i < n; ++i) {
    target[to_offsets[i]] = from_offsets[i] < 0 ? To{} : Convert<To>(source[from_offsets[i]]);
  }
}

using RowFunction = void (*)(const void*, const int64_t*, void*, const int64_t*, int64_t);

RowFunction ChooseRow(DataType from, DataType to) {
  if (from == to) {
    switch (BytesOf(from)) {
      case 1:
        return CopyRow<uint8_t, uint8_t>;
      case 2:
        return CopyRow<uint16_t, uint16_t>;
      case 4:
        return CopyRow<uint32_t, uint32_t>;
      case 8:
        return CopyRow<uint64_t, uint64_t>;
      case 16:
        return CopyRow<Bytes16, Bytes16>;
      default:
        return nullptr;
    }
  }
  return VisitType(from, [&]<typename From>() -> RowFunction {
    return VisitType(to, [&]<typename To>() -> RowFunction {
      if constexpr (kIsFloat<From> && kIsFloat<To>) return CopyRow<From, To>;
      return nullptr;
    });
  });
}

// Offsets are a sum over dims, since blocks split each dim on its own.
std::vector<std::vector<int64_t>> OffsetTables(const TensorLayout& tensor, std::span<const int64_t> extents) {
  std::vector<std::vector<int64_t>> tables(std::max<size_t>(1, extents.size()));
  if (extents.empty()) tables[0] = {0};
  for (size_t d = 0; d < extents.size(); ++d) {
    int64_t padded = 1;
    for (const Layout::Block& block : tensor.layout.blocks) padded *= block.dim == d ? block.size : 1;
    padded *= (tensor.dims[d] + padded - 1) / padded;
    std::vector<int64_t> index(extents.size(), 0);
    tables[d].assign(static_cast<size_t>(extents[d]), -1);
    for (int64_t i = 0; i < std::min(extents[d], padded); ++i) {
      index[d] = i;
      tables[d][static_cast<size_t>(i)] = OffsetOf(tensor, index);
    }
  }
  return tables;
}

std::vector<int64_t> PaddedDims(const TensorLayout& tensor) {
  std::vector<int64_t> dims = tensor.dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t block = 1;
    for (const Layout::Block& b : tensor.layout.blocks) block *= b.dim == d ? b.size : 1;
    dims[d] = (dims[d] + block - 1) / block * block;
  }
  return dims;
}

}  // namespace

bool ElementCopy::CanConvert(DataType from, DataType to) { return ChooseRow(from, to) != nullptr; }

ElementCopy::ElementCopy(const TensorLayout& from, const TensorLayout& to)
    : row_(ChooseRow(from.type, to.type)), from_bytes_(BytesOf(from.type)), to_bytes_(BytesOf(to.type)) {
  const std::vector<int64_t> extents = PaddedDims(to);
  to_ = OffsetTables(to, extents);
  from_ = OffsetTables(from, extents);
  // What lies past the source's dims is the target's padding, even where the source is padded too.
  for (size_t d = 0; d < extents.size(); ++d) {
    for (int64_t i = from.dims[d]; i < extents[d]; ++i) from_[d][static_cast<size_t>(i)] = -1;
  }
  for (size_t d = 0; d + 1 < extents.size(); ++d) outer_ *= extents[d];
}

void ElementCopy::Run(const void* from, void* to, Team* team) const {
  const size_t last = to_.size() - 1;
  const auto inner = static_cast<int64_t>(to_[last].size());
  if (inner == 0) return;
  static constexpr std::array<int64_t, 64> kPadding = [] {
    std::array<int64_t, 64> marks{};
    marks.fill(-1);
    return marks;
  }();
  ParallelRanges(team, outer_, static_cast<double>(inner), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      int64_t rest = o, from_offset = 0, to_offset = 0;
      bool padding = false;
      for (size_t d = last; d-- > 0;) {
        const auto extent = static_cast<int64_t>(to_[d].size());
        const auto i = static_cast<size_t>(rest % extent);
        rest /= extent;
        padding = padding || from_[d][i] < 0;
        from_offset += from_[d][i];
        to_offset += to_[d][i];
      }
      std::byte* target = static_cast<std::byte*>(to) + to_offset * to_bytes_;
      if (!padding) {
        row_(static_cast<const std::byte*>(from) + from_offset * from_bytes_, from_[last].data(), target,
             to_[last].data(), inner);
        continue;
      }
      for (int64_t i = 0; i < inner; i += 64) {
        row_(from, kPadding.data(), target, to_[last].data() + i, std::min<int64_t>(64, inner - i));
      }
    }
  });
}

void Unpack(DataType type, const void* packed, int64_t count, void* bytes) {
  const int bits = BitsOf(type);
  const bool is_signed = type == DataType::kInt4 || type == DataType::kInt2;
  const auto* source = static_cast<const uint8_t*>(packed);
  auto* target = static_cast<uint8_t*>(bytes);
  for (int64_t i = 0; i < count; ++i) {
    const int value = source[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
    const bool negative = is_signed && (value >> (bits - 1)) != 0;
    target[i] = static_cast<uint8_t>(negative ? value - (1 << bits) : value);
  }
}

void Pack(DataType type, const void* bytes, int64_t count, void* packed) {
  const int bits = BitsOf(type);
  const auto* source = static_cast<const uint8_t*>(bytes);
  auto* target = static_cast<uint8_t*>(packed);
  for (int64_t i = 0; i < (count * bits + 7) / 8; ++i) target[i] = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int value = source[i] & ((1 << bits) - 1);
    target[i * bits / 8] = static_cast<uint8_t>(target[i * bits / 8] | value << (i * bits % 8));
  }
}

}  // namespace pt::reference
