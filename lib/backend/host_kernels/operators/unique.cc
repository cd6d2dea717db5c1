// Unique: elements become keys whose order is theirs, so that slices are compared as rows of integers.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/data_sized.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/selections.h"
#include "partitiontuner/graph/visit_type.h"

namespace pt::host {
namespace {

// 0 and -0 have one key, and all NaN have the greatest. Read off the bits, so that the least numbers are told apart in
// runs that flush them to zero.
template <typename Bits>
uint64_t KeyOfFloat(Bits bits, Bits infinity) {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto size = static_cast<Bits>(bits & static_cast<Bits>(~kSign));
  if (size > infinity) return UINT64_MAX;
  return bits == size || size == 0 ? static_cast<Bits>(size | kSign) : static_cast<Bits>(~bits);
}

template <typename T>
uint64_t KeyOf(T element) {
  if constexpr (std::is_same_v<T, Half>) {
    return KeyOfFloat<uint16_t>(std::bit_cast<uint16_t>(element), 0x7C00);
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return KeyOfFloat<uint16_t>(std::bit_cast<uint16_t>(element), 0x7F80);
  } else if constexpr (std::is_same_v<T, float>) {
    return KeyOfFloat<uint32_t>(std::bit_cast<uint32_t>(element), 0x7F800000);
  } else if constexpr (std::is_same_v<T, double>) {
    return KeyOfFloat<uint64_t>(std::bit_cast<uint64_t>(element), uint64_t{0x7FF} << 52);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(element)) ^ uint64_t { 1 } << 63;
  } else {
    return static_cast<uint64_t>(element);
  }
}

// The slices [outer, count, inner] of the input; of a flat one each element is a slice.
struct Slices {
  int64_t outer = 1, count = 1, inner = 1;
  int64_t elements() const { return outer * inner; }  // of a slice
};

class Unique final : public DataSized {
 public:
  Status Run(DataSizedRun& run) override {
    Slices slices{1, run.count(0), 1};
    std::vector<int64_t> dims = {0};
    size_t axis = 0;
    if (HasAxis(run.node())) {
      dims = run.dims(0);
      PT_ASSIGN(axis, OrInvalid(ReadAxis(run.node(), run.opset(), dims.size()), run));
      slices.count = dims[axis];
      for (size_t d = 0; d < dims.size(); ++d) {
        if (d != axis) (d < axis ? slices.outer : slices.inner) *= dims[d];
      }
    }
    VisitType(run.type(0), [&]<typename T>() {
      if constexpr (kIsNumber<T>) FindKeys(run.in<T>(0), slices, run.team());
    });
    Sort(slices);
    FindGroups(slices, SortsDistinctElements(run.node()));
    dims[axis] = static_cast<int64_t>(groups_.size());
    PT_CHECK_OK(WriteSlices(run, slices, dims));
    return WriteLists(run, slices);
  }

 private:
  struct Entry {
    uint64_t key;  // of its first element
    int64_t slice;
  };
  struct Group {
    size_t begin, end;  // of equal entries
    int64_t first;      // the slice that is met first
  };

  template <typename T>
  void FindKeys(const T* x, const Slices& s, Team* team) {
    keys_.resize(static_cast<size_t>(s.elements() > 1 ? s.count * s.elements() : 0));
    entries_.resize(static_cast<size_t>(s.count));
    ParallelRanges(team, s.count, static_cast<double>(s.elements()) * 2 + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        entries_[static_cast<size_t>(i)] = {s.elements() > 0 ? KeyOf(x[i * s.inner]) : 0, i};
        if (s.elements() <= 1) continue;
        uint64_t* key = keys_.data() + i * s.elements();
        for (int64_t o = 0; o < s.outer; ++o) {
          const T* from = x + (o * s.count + i) * s.inner;
          key = std::transform(from, from + s.inner, key, KeyOf<T>);
        }
      }
    });
  }

  // How the rest of two slices compares whose first elements are equal.
  int OrderOfRest(const Slices& s, const Entry& a, const Entry& b) const {
    const int64_t n = s.elements();
    for (int64_t i = 1; i < n; ++i) {
      const uint64_t left = keys_[static_cast<size_t>(a.slice * n + i)];
      const uint64_t right = keys_[static_cast<size_t>(b.slice * n + i)];
      if (left != right) return left < right ? -1 : 1;
    }
    return 0;
  }

  // Of equal slices the one that is met first comes first.
  void Sort(const Slices& s) {
    std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
      if (a.key != b.key) return a.key < b.key;
      const int order = OrderOfRest(s, a, b);
      return order != 0 ? order < 0 : a.slice < b.slice;
    });
  }

  void FindGroups(const Slices& s, bool sorted) {
    groups_.clear();
    for (size_t begin = 0, end = 0; begin < entries_.size(); begin = end) {
      const Entry& first = entries_[begin];
      for (end = begin + 1; end < entries_.size(); ++end) {
        if (entries_[end].key != first.key || OrderOfRest(s, first, entries_[end]) != 0) break;
      }
      groups_.push_back({begin, end, first.slice});
    }
    if (!sorted) std::ranges::sort(groups_, {}, &Group::first);
  }

  Status WriteSlices(DataSizedRun& run, const Slices& s, const std::vector<int64_t>& dims) const {
    PT_ASSIGN(void* const out, run.Output(0, run.type(0), dims));
    const auto bytes = static_cast<size_t>(s.inner * BitsOf(run.type(0)) / 8);
    if (out == nullptr || bytes == 0) return {};
    auto* to = static_cast<std::byte*>(out);
    for (int64_t o = 0; o < s.outer; ++o) {
      for (const Group& group : groups_) {
        std::memcpy(to, run.in<std::byte>(0) + static_cast<size_t>(o * s.count + group.first) * bytes, bytes);
        to += bytes;
      }
    }
    return {};
  }

  Status WriteLists(DataSizedRun& run, const Slices& s) const {
    const auto found = static_cast<int64_t>(groups_.size());
    PT_ASSIGN(void* const first, run.Output(1, DataType::kInt64, std::array{found}));
    PT_ASSIGN(void* const inverse, run.Output(2, DataType::kInt64, std::array{s.count}));
    PT_ASSIGN(void* const counts, run.Output(3, DataType::kInt64, std::array{found}));
    for (size_t g = 0; g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      if (first != nullptr) static_cast<int64_t*>(first)[g] = group.first;
      if (counts != nullptr) static_cast<int64_t*>(counts)[g] = static_cast<int64_t>(group.end - group.begin);
      for (size_t i = group.begin; i < group.end && inverse != nullptr; ++i) {
        static_cast<int64_t*>(inverse)[entries_[i].slice] = static_cast<int64_t>(g);
      }
    }
    return {};
  }

  std::vector<uint64_t> keys_;  // slice by slice, where they have more than one element
  std::vector<Entry> entries_;
  std::vector<Group> groups_;
};

constexpr std::array kUniqueOperators = {
    DataSizedRow{"Unique", IsNumber, []() -> std::unique_ptr<DataSized> { return std::make_unique<Unique>(); }}};

}  // namespace

std::span<const DataSizedRow> UniqueOperators() { return kUniqueOperators; }

}  // namespace pt::host
