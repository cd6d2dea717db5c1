// NonZero and Compress.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/data_sized.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/visit_type.h"

namespace pt::host {
namespace {

// Of floating-point numbers by their bits, so that the least ones count in runs that flush them to zero too.
template <typename T>
bool IsOn(T element) {
  if constexpr (kIsFloat<T>) {
    using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
    return static_cast<Bits>(std::bit_cast<Bits>(element) << 1) != 0;
  } else {
    return element != T{};
  }
}

// Places of the elements begin to before end that are not 0, counted from the first one. No branch depends on the data.
template <typename T>
int64_t FindOn(const T* x, int64_t count, int64_t* to) {
  constexpr int64_t kBlock = 64;
  int64_t found = 0;
  for (int64_t at = 0; at < count; at += kBlock) {
    std::array<int64_t, kBlock> places;
    size_t n = 0;
    for (int64_t i = at; i < std::min(at + kBlock, count); ++i) {
      places[n] = i;
      n += IsOn(x[i]) ? 1 : 0;
    }
    std::copy_n(places.begin(), n, to + found);
    found += static_cast<int64_t>(n);
  }
  return found;
}

// One row a dim, in row-major order of the elements. Counted first, in the parts that are then written by themselves.
class NonZero final : public DataSized {
 public:
  Status Run(DataSizedRun& run) override {
    return VisitType(run.type(0), [&]<typename T>() -> Status {
      if constexpr (kIsNumber<T>) {
        return RunOn<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>(run);
      } else {
        return run.Invalid("it is not defined for " + std::string(DataTypeName(run.type(0))));
      }
    });
  }

 private:
  static constexpr double kCountNs = 0.3, kFindNs = 1;

  template <typename T>
  Status RunOn(DataSizedRun& run) {
    const std::vector<int64_t>& dims = run.dims(0);
    const T* const x = run.in<T>(0);
    const int64_t count = run.count(0);
    const int64_t most = run.team() != nullptr ? run.team()->width() : 1;
    starts_.assign(static_cast<size_t>(most) + 1, 0);
    ParallelParts(run.team(), count, kCountNs + kFindNs, most, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t on = 0;
      for (int64_t i = begin; i < end; ++i) on += IsOn(x[i]) ? 1 : 0;
      starts_[static_cast<size_t>(part) + 1] = on;
    });
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    const int64_t total = starts_.back();
    PT_ASSIGN(void* const out, run.Output(0, DataType::kInt64, std::array{static_cast<int64_t>(dims.size()), total}));
    if (out == nullptr || dims.empty()) return {};
    ParallelParts(run.team(), count, kCountNs + kFindNs, most, [&](int64_t part, int64_t begin, int64_t end) {
      Write(x, dims, begin, end, total, static_cast<int64_t*>(out) + starts_[static_cast<size_t>(part)]);
    });
    return {};
  }

  // By rows of the innermost dim: all of what is found in one has the same places along the others.
  template <typename T>
  static void Write(const T* x, const std::vector<int64_t>& dims, int64_t begin, int64_t end, int64_t total,
                    int64_t* to) {
    const int64_t inner = dims.back();
    int64_t* const columns = to + static_cast<int64_t>(dims.size() - 1) * total;
    for (int64_t at = begin, written = 0; at < end;) {
      int64_t row = at / inner;
      const int64_t first = at - row * inner, count = std::min(end - at, inner - first);
      const int64_t found = FindOn(x + at, count, columns + written);
      for (int64_t i = 0; i < found && first > 0; ++i) columns[written + i] += first;
      for (size_t d = dims.size() - 1; d-- > 0 && found > 0;) {
        std::fill_n(to + static_cast<int64_t>(d) * total + written, found, row % dims[d]);
        row /= dims[d];
      }
      written += found;
      at += count;
    }
  }

  std::vector<int64_t> starts_;
};

// The slices along an axis, or the elements of the flat input, that the condition is true for.
class Compress final : public DataSized {
 public:
  Status Run(DataSizedRun& run) override {
    if (!run.has(1) || run.type(1) != DataType::kBool || run.dims(1).size() != 1) {
      return run.Invalid("the condition is not a list of booleans");
    }
    std::vector<int64_t> dims = run.dims(0);
    int64_t outer = 1, bytes = BitsOf(run.type(0)) / 8, length = run.count(0);
    size_t axis = 0;
    if (HasAxis(run.node())) {
      PT_ASSIGN(axis, OrInvalid(ReadAxis(run.node(), run.opset(), dims.size()), run));
      length = dims[axis];
      for (size_t d = 0; d < dims.size(); ++d) {
        if (d != axis) (d < axis ? outer : bytes) *= dims[d];
      }
    } else {
      dims = {0};
    }
    if (run.count(1) > length) return run.Invalid("the condition is longer than the axis");
    const int64_t kept = FindStretches(run.in<uint8_t>(1), run.count(1));
    dims[axis] = kept;
    PT_ASSIGN(void* const out, run.Output(0, run.type(0), dims));
    const auto stretches = static_cast<int64_t>(stretches_.size());
    if (out == nullptr || bytes == 0 || stretches == 0) return {};
    const auto* const from = run.in<std::byte>(0);
    auto* const to = static_cast<std::byte*>(out);
    const double work = static_cast<double>(kept * bytes) / static_cast<double>(stretches) * 0.06 + 3;
    ParallelRanges(run.team(), outer * stretches, work, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t o = i / stretches;
        const Stretch& stretch = stretches_[static_cast<size_t>(i % stretches)];
        std::memcpy(to + (o * kept + stretch.to) * bytes, from + (o * length + stretch.from) * bytes,
                    static_cast<size_t>(stretch.count * bytes));
      }
    });
    return {};
  }

 private:
  struct Stretch {
    int64_t from, to, count;
  };

  // What is kept, in stretches of neighbours; returns how much it is.
  int64_t FindStretches(const uint8_t* condition, int64_t count) {
    stretches_.clear();
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (condition[i] == 0) continue;
      if (stretches_.empty() || stretches_.back().from + stretches_.back().count != i) {
        stretches_.push_back({i, kept, 0});
      }
      ++stretches_.back().count;
      ++kept;
    }
    return kept;
  }

  std::vector<Stretch> stretches_;
};

bool HasBytes(DataType type) { return BitsOf(type) >= 8; }

template <typename T>
std::unique_ptr<DataSized> Make() {
  return std::make_unique<T>();
}

constexpr std::array kSelectionOperators = {DataSizedRow{"NonZero", IsNumber, Make<NonZero>},
                                            DataSizedRow{"Compress", HasBytes, Make<Compress>}};

}  // namespace

std::span<const DataSizedRow> SelectionOperators() { return kSelectionOperators; }

}  // namespace pt::host
