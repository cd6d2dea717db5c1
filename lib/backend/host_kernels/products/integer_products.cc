#include "lib/backend/host_kernels/products/integer_products.h"

#include <algorithm>
#include <tuple>

#include "lib/backend/host/parallel.h"

namespace pt::host {
namespace {

using Offsets = IntegerOffsets;

// Memory of one part of the work, or of all parts in front of it; every piece is aligned for vectors.
class Room {
 public:
  explicit Room(std::byte* base = nullptr) : base_(base) {}
  template <typename T>
  T* Take(int64_t count) {
    std::byte* at = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (static_cast<uint64_t>(count) * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(at);
  }
  uint64_t used() const { return used_; }

 private:
  std::byte* base_;
  uint64_t used_ = 0;
};

struct Memory {
  Memory(const IntegerProducts& p, std::byte* base) {
    Room room(base);
    const int64_t chunk = p.padded(p.division.columns), rows = p.division.rows_at_once;
    terms = room.Take<int32_t>(chunk);
    zeros = room.Take<int32_t>(chunk);
    column_scales = room.Take<float>(p.by_row ? 0 : chunk);
    row_zeros = room.Take<int32_t>(rows);
    row_sums = room.Take<int32_t>(rows);
    row_scales = room.Take<float>(p.by_row ? rows : 0);
    if (!p.constant) sums = room.Take<int32_t>(chunk + IntegerWindowCall::kRoom);
    if (p.is_by_window()) numbers = room.Take<int32_t>(p.depth);
    if (!p.constant && !p.is_by_window()) panels = room.Take<int8_t>(p.packed_depth() * chunk);
    if (p.images && !p.is_by_window()) gathered = room.Take<uint8_t>(p.depth * (chunk + IntegerImages::kRoom));
    if (!p.is_direct()) stretch = room.Take<int32_t>(rows * p.division.columns);
    if (p.rest) slots = room.Take<std::byte>(static_cast<int64_t>(p.rest->part.bytes));
    bytes = room.used();
  }

  int32_t *terms, *zeros, *row_zeros, *row_sums;
  float *column_scales, *row_scales;
  int8_t* panels = nullptr;
  int32_t *sums = nullptr, *numbers = nullptr;
  uint8_t* gathered = nullptr;
  int32_t* stretch = nullptr;  // of integers or real numbers
  std::byte* slots = nullptr;
  uint64_t bytes = 0;
};

// One part of the work: goes through the items of the division.
class Worker {
 public:
  Worker(const IntegerProducts& products, const HostCall& run, std::byte* scratch, const uint8_t* padded)
      : p_(products), run_(run), m_(products, scratch), padded_(padded) {
    if (p_.rest) rest_.emplace(*p_.rest, run, m_.slots);
  }

  void Run(int64_t begin, int64_t end) {
    const IntegerDivision& division = p_.division;
    int64_t prepared = -1;
    for (int64_t item = begin; item < end; ++item) {
      if (item / division.blocks != prepared) {
        prepared = item / division.blocks;
        matrix_ = prepared / division.chunks;
        first_ = prepared % division.chunks * division.columns;
        columns_ = std::min(division.columns, p_.columns - first_);
        at_ = p_.matrices.At(matrix_);
        PrepareMatrix();
        PrepareColumns();
      }
      const int64_t first = item % division.blocks * division.rows;
      const int64_t past = std::min(first + division.rows, p_.rows.count);
      for (int64_t row = first; row < past; row += division.rows_at_once) {
        ComputeRows(row, std::min(division.rows_at_once, past - row));
      }
    }
  }

 private:
  void PrepareMatrix() {
    if (p_.constant) {
      const auto* all = static_cast<const int8_t*>(p_.packed->data());
      const int64_t index = at_[kB] / (p_.depth * p_.columns),
                    count = p_.constant->element_count() / (p_.depth * p_.columns);
      panels_ = all + index * p_.matrix_bytes() + first_ * p_.packed_depth();
      sums_ =
          reinterpret_cast<const int32_t*>(all + count * p_.matrix_bytes()) + index * p_.padded(p_.columns) + first_;
      return;
    }
    if (p_.is_by_window()) return SumWindows();
    IntegerPackCall call{.b = run_.input<uint8_t>(p_.b) + at_[kB] + first_,
                         .row_stride = p_.b_row_stride,
                         .depth = p_.depth,
                         .columns = columns_,
                         .flips = p_.b_flips,
                         .panels = m_.panels,
                         .column_sums = m_.sums};
    if (p_.images) {
      // What is beyond the columns counts for nothing, and whole panels are packed faster.
      call.columns = p_.padded(columns_);
      call.b = m_.gathered;
      call.row_stride = call.columns + IntegerImages::kRoom;
      p_.images->Gather(padded_, at_[kB], first_, columns_, m_.gathered, call.row_stride);
    }
    p_.math.pack(call);
    panels_ = m_.panels;
    sums_ = m_.sums;
  }

  // Both zero points included, so that the sums are what the product would be; a product of depth 0 brings them to the
  // result.
  void SumWindows() {
    const uint8_t* a = run_.input<uint8_t>(p_.a) + at_[kA];
    const int32_t zero = p_.a_zero.At(run_, at_[kAZero]);
    uint32_t total = 0;
    for (int64_t k = 0; k < p_.depth; ++k) {
      m_.numbers[k] = (p_.a_flips ? a[k] ^ 0x80 : a[k]) - zero;
      total += static_cast<uint32_t>(m_.numbers[k]);
    }
    // Pixels count as uint8 here.
    const auto image_zero = static_cast<uint32_t>(p_.b_zero.At(run_, 0) + 128);
    IntegerWindowCall call;
    call.flips = !p_.b_flips;
    call.numbers = m_.numbers;
    call.start = static_cast<int32_t>(-image_zero * total);
    call.sums = m_.sums;
    p_.images->Sum(p_.math, padded_, at_[kB], first_, columns_, call);
    sums_ = m_.sums;
  }

  // Numbers of columns that are not there count for nothing.
  void PrepareColumns() {
    terms_ = sums_;
    has_column_zeros_ = p_.may_have_column_zeros && !p_.is_by_window() && ReadColumnZeros();
    if (has_column_zeros_) {
      const auto depth = static_cast<uint32_t>(p_.depth);
      for (int64_t j = 0; j < p_.padded(columns_); ++j) {
        m_.terms[j] =
            static_cast<int32_t>(static_cast<uint32_t>(sums_[j]) - depth * static_cast<uint32_t>(m_.zeros[j]));
      }
      terms_ = m_.terms;
    }
    if (!p_.is_real || p_.by_row) return;
    std::fill_n(m_.column_scales, p_.padded(columns_), 1.0F);
    for (const IntegerFactor& factor : p_.scales) {
      if (factor.is_one) {
        ForColumns([&, scale = factor.At(run_, 0)](int64_t j) { m_.column_scales[j] *= scale; });
      } else if (factor.stride == 1) {
        const float* scales = run_.input<float>(factor.place) + first_;
        ForColumns([&](int64_t j) { m_.column_scales[j] *= scales[j]; });
      } else {
        ForColumns([&](int64_t j) { m_.column_scales[j] *= factor.At(run_, first_ + j); });
      }
    }
  }

  template <typename F>
  void ForColumns(const F& f) const {
    for (int64_t j = 0; j < columns_; ++j) f(j);
  }

  // Whether there are some.
  bool ReadColumnZeros() {
    const int64_t padded = p_.padded(columns_);
    if (p_.b_zero_stride == 0) {
      std::fill_n(m_.zeros, padded, p_.b_zero.At(run_, at_[kBZero]));
      return m_.zeros[0] != 0;
    }
    int32_t any = 0;
    for (int64_t j = 0; j < padded; ++j) {
      const int64_t column = std::min(first_ + j, p_.columns - 1);
      m_.zeros[j] = p_.b_zero.At(run_, at_[kBZero] + column * p_.b_zero_stride);
      any |= m_.zeros[j];
    }
    return any != 0;
  }

  float ScaleAt(int64_t i) const {
    float scale = p_.scales[0].At(run_, i);
    if (p_.scales.size() > 1) scale *= p_.scales[1].At(run_, i);
    return scale;
  }

  // f(row, how many, where) for stretches of these rows that lie evenly.
  template <typename F>
  void ForEvenRows(int64_t first, int64_t rows, const F& f) const {
    const int64_t whole = p_.rows.inner_size();
    for (int64_t row = first; row < first + rows;) {
      const int64_t together = std::min(first + rows - row, whole - row % whole);
      Offsets at = p_.rows.At(row);
      for (size_t k = 0; k < kOffsets; ++k) at[k] += at_[k];
      f(row, together, at);
      row += together;
    }
  }

  void ComputeRows(int64_t first, int64_t rows) {
    const Offsets strides = p_.rows.inner_stride();
    ForEvenRows(first, rows, [&](int64_t row, int64_t together, const Offsets& at) {
      const auto* a = run_.input<uint8_t>(p_.a) + at[kA];
      PrepareRows(row, together, at, strides[kAZero]);
      if (has_column_zeros_) p_.math.sum_rows({a, strides[kA], p_.a_flips, together, p_.depth, m_.row_sums});
      IntegerCall call{.a = a,
                       .a_row_stride = strides[kA],
                       .flips = p_.a_flips,
                       .panels = panels_,
                       .rows = together,
                       .depth = p_.is_by_window() ? 0 : p_.depth,
                       .columns = columns_,
                       .row_zeros = m_.row_zeros,
                       .column_terms = terms_,
                       .row_sums = has_column_zeros_ ? m_.row_sums : nullptr,
                       .column_zeros = m_.zeros};
      int32_t* c = p_.is_direct() ? run_.output<int32_t>(0) + at[kC] + first_ : m_.stretch + (row - first) * columns_;
      call.c_row_stride = p_.is_direct() ? strides[kC] : columns_;
      if (p_.is_real) {
        call.reals = reinterpret_cast<float*>(c);
        (p_.by_row ? call.row_scales : call.column_scales) = p_.by_row ? m_.row_scales : m_.column_scales;
        if (!p_.bias.empty()) {
          (p_.by_row ? call.row_bias : call.column_bias) = p_.bias.data() + (p_.by_row ? ChannelOf(row) : first_);
        }
        call.bounds = p_.bounds;
      } else {
        call.integers = c;
      }
      p_.math.multiply(call);
    });
    if (rest_) return RunRest(first, rows);
    if (!p_.is_direct()) Scatter(first, rows);
  }

  void PrepareRows(int64_t row, int64_t rows, const Offsets& at, int64_t zero_stride) {
    for (int64_t r = 0; r < rows; ++r) {
      m_.row_zeros[r] = p_.is_by_window() ? -1 : p_.a_zero.At(run_, at[kAZero] + r * zero_stride);
    }
    if (!p_.is_real || !p_.by_row) return;
    for (int64_t r = 0; r < rows; ++r) m_.row_scales[r] = ScaleAt(ChannelOf(row) + r);
  }

  // Of a convolution.
  int64_t ChannelOf(int64_t row) const { return matrix_ * p_.rows.count % p_.a_channels + row; }

  void RunRest(int64_t first, int64_t rows) {
    const int64_t begin = (matrix_ * p_.rows.count + first) * p_.columns + first_;
    if (columns_ == p_.columns) return rest_->Run(m_.stretch, begin, rows * columns_);
    for (int64_t r = 0; r < rows; ++r) rest_->Run(m_.stretch + r * columns_, begin + r * p_.columns, columns_);
  }

  // To a result whose columns do not lie side by side.
  void Scatter(int64_t first, int64_t rows) const {
    const int32_t* from = m_.stretch;
    ForEvenRows(first, rows, [&](int64_t, int64_t together, const Offsets& at) {
      for (int64_t r = 0; r < together; ++r) {
        int32_t* to = run_.output<int32_t>(0) + at[kC] + r * p_.rows.inner_stride()[kC];
        Cursor<1> column(p_.column_walk, first_);
        for (int64_t j = 0; j < columns_; ++j, column.Next()) to[column.offsets()[0]] = *from++;
      }
    });
  }

  const IntegerProducts& p_;
  const struct HostCall& run_;
  Memory m_;
  const uint8_t* padded_;
  std::optional<RestRunner> rest_;
  int64_t matrix_ = 0, first_ = 0, columns_ = 0;
  Offsets at_{};
  const int8_t* panels_ = nullptr;
  const int32_t *sums_ = nullptr, *terms_ = nullptr;
  bool has_column_zeros_ = false;
};

uint64_t PartBytes(const IntegerProducts& products) { return Memory(products, nullptr).bytes; }

uint64_t PaddedBytes(const IntegerProducts& products) {
  return products.images ? (products.images->padded_bytes() + 63) / 64 * 64 : 0;
}

}  // namespace

uint64_t ScratchBytes(const IntegerProducts& products, uint32_t width) {
  return PaddedBytes(products) + PartBytes(products) * width;
}

void RunIntegerProducts(const IntegerProducts& products, const HostCall& run) {
  auto* padded = reinterpret_cast<uint8_t*>(run.scratch);
  if (products.images) {
    const auto fill = static_cast<uint8_t>(products.b_zero.At(run, 0) - products.b_zero.moved);
    products.images->Pad(run.team, run.input<uint8_t>(products.b), fill, padded);
  }
  std::byte* parts = run.scratch + PaddedBytes(products);
  const uint64_t part_bytes = PartBytes(products);
  const IntegerDivision& division = products.division;
  const int64_t most = run.team == nullptr ? 1 : run.team->width();
  ParallelParts(run.team, products.matrices.count * division.chunks * division.blocks, products.work, most,
                [&](int64_t part, int64_t begin, int64_t end) {
                  Worker(products, run, parts + static_cast<uint64_t>(part) * part_bytes, padded).Run(begin, end);
                });
}

}  // namespace pt::host
