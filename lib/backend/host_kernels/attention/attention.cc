#include "lib/backend/host_kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/elementwise/tiles.h"
#include "lib/backend/host_kernels/kernels/bfloat16.h"
#include "lib/backend/host_kernels/kernels/exponentials.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "lib/backend/host_kernels/products/panels.h"
#include "lib/backend/host_kernels/products/thin_products.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

constexpr int64_t kMostScoreRows = 64;  // of scores computed together
constexpr int64_t kFewQueries = 8;      // for which keys and values are not worth packing
enum : size_t { kQ, kK, kV, kY, kMask, kTensors = kMask + kMostAttentionMasks };

// The matrices of one batch entry in a tensor.
struct Matrix {
  size_t operand = 0;  // into the site's inputs, or outputs for the result
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
  bool is_output = false;
};

struct Mask {
  Matrix at;
  AttentionMask kind;
  bool shortened = false;  // numbers stored as bfloat16
};

// T: float or Bfloat16, in which queries, keys and values are stored.
template <typename T>
struct Attention {
  Walk<kTensors> batches;
  Matrix q, k, v, y;  // k: depth x keys
  std::vector<Mask> masks;
  float scale = 1, softcap = 0;
  int64_t offset = 0, left = -1, right = -1;
  bool one_position = false, blind_is_zero = false, nan_is_zero = false;
  bool short_y = false;  // the result is stored as bfloat16
  std::vector<AttentionCache> caches;

  PanelProducts<T> products;
  ThinProduct thin = nullptr;  // unless null: keys and values are read as they lie
  ScoresFunction exponentials = nullptr;
  TileFunction tanh = nullptr;
  int64_t block = 0;   // rows of scores computed together
  int64_t blocks = 0;  // of one batch entry
  // Of each part of the work, in floats.
  int64_t k_panels = 0, v_panels = 0, scores = 0, score_row = 0;
  int64_t short_scores = 0, mask = 0;  // scores rounded for the second product; rows of a mask that was stored so

  bool has_window() const { return left >= 0 || right >= 0; }
  int64_t part_floats() const { return k_panels + v_panels + scores + short_scores + mask + kMostScoreRows; }
  // One mask that is added on the way to the exponentials.
  bool has_plain_mask() const {
    return masks.size() == 1 && !masks[0].kind.is_condition && masks[0].at.column_stride <= 1 && !has_window() &&
           softcap == 0;
  }
};

float NumberOf(float x) { return x; }
float NumberOf(Bfloat16 x) { return ToFloat(x); }

template <typename T>
void AddMask(const T* numbers, size_t stride, std::span<float> row) {
  for (size_t i = 0; i < row.size(); ++i) row[i] += NumberOf(numbers[i * stride]);
}

void ApplyMask(const Mask& mask, const void* data, int64_t offset, std::span<float> row) {
  const auto stride = static_cast<size_t>(mask.at.column_stride);
  if (mask.kind.is_condition) {
    const bool* condition = static_cast<const bool*>(data) + offset;
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = condition[i * stride] == mask.kind.keep_where ? row[i] : mask.kind.otherwise;
  } else if (mask.shortened) {
    AddMask(static_cast<const Bfloat16*>(data) + offset, stride, row);
  } else {
    AddMask(static_cast<const float*>(data) + offset, stride, row);
  }
}

// One part of the work: packs keys and values of a batch entry, then goes through blocks of its queries.
template <typename T>
class AttentionWorker {
 public:
  AttentionWorker(const Attention<T>& attention, const HostCall& run, int64_t part)
      : attention_(attention),
        run_(run),
        memory_(reinterpret_cast<float*>(run.scratch) + part * attention.part_floats()),
        k_panels_(reinterpret_cast<T*>(memory_)),
        v_panels_(reinterpret_cast<T*>(memory_ + attention.k_panels)),
        scores_(memory_ + attention.k_panels + attention.v_panels),
        short_scores_(reinterpret_cast<Bfloat16*>(scores_ + attention.scores)),
        mask_(scores_ + attention.scores + attention.short_scores),
        inverses_(mask_ + attention.mask) {}

  void Run(int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      if (item == begin || item % attention_.blocks == 0) Enter(item / attention_.blocks);
      const int64_t first = item % attention_.blocks * attention_.block;
      Compute(first, std::min(attention_.block, attention_.q.rows - first));
    }
  }

 private:
  void Enter(int64_t batch) {
    const Attention<T>& a = attention_;
    const auto before = at_;
    at_ = a.batches.At(batch);
    if (a.thin != nullptr) return;
    // Query heads that share keys and values come one after another.
    const bool same_keys = entered_ && before[kK] == at_[kK], same_values = entered_ && before[kV] == at_[kV];
    if (!same_keys) Pack(a.k, at_[kK], k_panels_);
    if (!same_values) Pack(a.v, at_[kV], v_panels_);
    entered_ = true;
  }

  const T* DataOf(const Matrix& matrix, int64_t offset) const {
    return (matrix.is_output ? run_.output<T>(matrix.operand) : run_.input<T>(matrix.operand)) + offset;
  }

  void Pack(const Matrix& matrix, int64_t offset, T* panels) const {
    attention_.products.pack({.b = DataOf(matrix, offset),
                              .row_stride = matrix.row_stride,
                              .column_stride = matrix.column_stride,
                              .depth = matrix.rows,
                              .columns = matrix.columns,
                              .panels = panels});
  }

  void Compute(int64_t first, int64_t rows) {
    const Attention<T>& a = attention_;
    if (a.thin != nullptr) return ComputeThin(first, rows);
    a.products.multiply({.a = DataOf(a.q, at_[kQ] + first * a.q.row_stride),
                         .a_row_stride = a.q.row_stride,
                         .a_column_stride = a.q.column_stride,
                         .panels = k_panels_,
                         .rows = rows,
                         .depth = a.k.rows,
                         .columns = a.k.columns,
                         .c = scores_,
                         .c_row_stride = a.score_row,
                         .c_has_room = true});
    if (a.k.columns > 0) Soften(first, rows);
    ProductCall<T> second{.a = Weights(rows),
                          .a_row_stride = a.score_row,
                          .panels = v_panels_,
                          .rows = rows,
                          .depth = a.v.rows,
                          .columns = a.v.columns,
                          .c_row_stride = a.y.row_stride,
                          .c_column_stride = a.y.column_stride,
                          .row_scales = a.k.columns > 0 ? inverses_ : nullptr};
    const int64_t to = at_[kY] + first * a.y.row_stride;
    if (a.short_y) {
      second.short_c = run_.output<Bfloat16>(0) + to;
    } else {
      second.c = run_.output<float>(0) + to;
    }
    a.products.multiply(second);
  }

  // Few rows by keys and values as they lie.
  void ComputeThin(int64_t first, int64_t rows) {
    if constexpr (std::is_same_v<T, float>) {
      const Attention<T>& a = attention_;
      const auto multiply = [&](ThinCall call) {
        for (int64_t row = 0; row < rows; row += kMostThinRows) {
          call.rows = std::min(kMostThinRows, rows - row);
          a.thin(call);
          call.a += kMostThinRows * call.a_stride;
          call.c += kMostThinRows * call.c_stride;
        }
      };
      multiply({.a = DataOf(a.q, at_[kQ] + first * a.q.row_stride),
                .a_stride = a.q.row_stride,
                .b = DataOf(a.k, at_[kK]),
                .b_stride = a.k.column_stride,
                .transposed = true,
                .depth = a.k.rows,
                .columns = a.k.columns,
                .c = scores_,
                .c_stride = a.score_row});
      if (a.k.columns > 0) Soften(first, rows);
      float* y = run_.output<float>(0) + at_[kY] + first * a.y.row_stride;
      multiply({.a = scores_,
                .a_stride = a.score_row,
                .b = DataOf(a.v, at_[kV]),
                .b_stride = a.v.row_stride,
                .depth = a.v.rows,
                .columns = a.v.columns,
                .c = y,
                .c_stride = a.y.row_stride});
      for (int64_t r = 0; r < rows && a.k.columns > 0; ++r) {
        for (int64_t j = 0; j < a.v.columns; ++j) y[r * a.y.row_stride + j] *= inverses_[r];
      }
    }
  }

  // The exponentials, as the second product takes them.
  const T* Weights(int64_t rows) {
    if constexpr (std::is_same_v<T, float>) {
      return scores_;
    } else {
      conversions_.narrow(scores_, short_scores_, rows * attention_.score_row);
      return short_scores_;
    }
  }

  // Scores become exponentials, and what their sums divide by.
  void Soften(int64_t first, int64_t rows) {
    const Attention<T>& a = attention_;
    ScoresCall call{.y = scores_,
                    .rows = rows,
                    .n = a.k.columns,
                    .row_stride = a.score_row,
                    .scale = a.scale,
                    .blind_is_zero = a.blind_is_zero,
                    .nan_is_zero = a.nan_is_zero,
                    .inverses = inverses_};
    if (a.has_plain_mask()) {
      UsePlainMask(first, rows, call);
    } else if (!a.masks.empty() || a.has_window() || a.softcap != 0) {
      MaskStepByStep(first, rows);
      call.scale = 1;
    }
    a.exponentials(call);
  }

  void UsePlainMask(int64_t first, int64_t rows, ScoresCall& call) {
    const Mask& mask = attention_.masks[0];
    const int64_t from = at_[kMask] + first * mask.at.row_stride;
    call.mask_row_stride = mask.at.row_stride;
    call.one_mask = mask.at.column_stride == 0;
    if (!mask.shortened) {
      call.mask = run_.input<float>(mask.at.operand) + from;
      return;
    }
    const int64_t n = call.one_mask ? 1 : call.n;
    for (int64_t r = 0; r < (mask.at.row_stride == 0 ? 1 : rows); ++r) {
      const auto* row = run_.input<Bfloat16>(mask.at.operand) + from + r * mask.at.row_stride;
      conversions_.widen(row, mask_ + r * attention_.score_row, n);
    }
    call.mask = mask_;
    call.mask_row_stride = mask.at.row_stride == 0 ? 0 : attention_.score_row;
  }

  void MaskStepByStep(int64_t first, int64_t rows) {
    const Attention<T>& a = attention_;
    for (int64_t r = 0; r < rows; ++r) {
      const std::span row(scores_ + r * a.score_row, static_cast<size_t>(a.k.columns));
      for (float& score : row) score *= a.scale;
      if (a.softcap != 0) Cap(row);
      for (size_t m = 0; m < a.masks.size(); ++m) {
        const Matrix& at = a.masks[m].at;
        ApplyMask(a.masks[m], run_.in[at.operand], at_[kMask + m] + (first + r) * at.row_stride, row);
      }
      HideBeyondWindow(a.offset + (a.one_position ? 0 : first + r), row);
    }
  }

  void Cap(std::span<float> row) const {
    const Attention<T>& a = attention_;
    for (float& score : row) score /= a.softcap;
    for (size_t begin = 0; begin < row.size(); begin += static_cast<size_t>(kTileElements)) {
      float* const at = row.data() + begin;
      a.tanh({.in = {at, at, at}, .out = at, .n = std::min(kTileElements, static_cast<int64_t>(row.size() - begin))});
    }
    for (float& score : row) score *= a.softcap;
  }

  // Of a query that stands at key `at`.
  void HideBeyondWindow(int64_t at, std::span<float> row) const {
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    const Attention<T>& a = attention_;
    const auto keys = static_cast<int64_t>(row.size());
    const auto begin = static_cast<size_t>(a.left < 0 ? 0 : std::clamp<int64_t>(at - std::min(a.left, at), 0, keys));
    const auto end =
        static_cast<size_t>(a.right < 0 || a.right >= keys ? keys : std::clamp<int64_t>(at + a.right + 1, 0, keys));
    std::ranges::fill(row.first(begin), kHidden);
    std::ranges::fill(row.subspan(end), kHidden);
  }

  const Attention<T>& attention_;
  const struct HostCall& run_;
  const Bfloat16Conversions conversions_ = FindBfloat16Conversions();
  float* memory_;
  T *k_panels_, *v_panels_;
  float* scores_;
  Bfloat16* short_scores_;
  float *mask_, *inverses_;
  Walk<kTensors>::Offsets at_{};
  bool entered_ = false;
};

template <typename T>
void Attend(const Attention<T>& a, const HostCall& run) {
  const auto keys = static_cast<double>(a.k.columns);
  const double products = keys * static_cast<double>(a.k.rows + a.v.columns) * 0.0025 * sizeof(T) *
                          (a.thin != nullptr ? 3 : 1);  // nanoseconds of a row
  const double work = static_cast<double>(std::min(a.block, a.q.rows)) * (products + keys * 0.3 + 5);
  const int64_t most = run.team == nullptr ? 1 : run.team->width();
  ParallelParts(run.team, a.batches.count * a.blocks, work, most,
                [&](int64_t part, int64_t begin, int64_t end) { AttentionWorker<T>(a, run, part).Run(begin, end); });
}

// Strides under the result's dims, which it broadcasts to; nullopt where it does not.
std::optional<std::vector<int64_t>> BroadcastStrides(std::span<const int64_t> from, std::span<const int64_t> strides,
                                                     std::span<const int64_t> to) {
  if (from.size() > to.size()) return std::nullopt;
  const size_t lead = to.size() - from.size();
  std::vector<int64_t> broadcast(to.size(), 0);
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1 && from[d] != to[lead + d]) return std::nullopt;
    if (from[d] != 1) broadcast[lead + d] = strides[d];
  }
  return broadcast;
}

template <typename T>
class AttentionMaker {
 public:
  AttentionMaker(const HostSite& site, const AttentionOperands& operands) : site_(site), operands_(operands) {}

  Result<HostRoutine> Make() {
    PT_ASSIGN(Attention<T> attention, Read());
    PT_CHECK_OK(Size(attention));
    HostRoutine routine;
    routine.scratch_bytes = bytes_;
    routine.pack = [products = attention.products](CompileContext&) { return products.CheckProcessor(); };
    routine.run = [a = std::move(attention)](const HostCall& run) -> Status {
      WriteCaches(a.caches, run);
      if (a.batches.count * a.q.rows * a.v.columns != 0) Attend(a, run);
      return {};
    };
    return routine;
  }

 private:
  Result<Attention<T>> Read() {
    Attention<T> a;
    const AttentionOperands& o = operands_;
    if (o.masks.size() > kMostAttentionMasks) return Refuse();
    batch_dims_.assign(o.y.dims.begin(), o.y.dims.end() - 2);
    PT_ASSIGN(a.q, ReadMatrix(o.q, kQ));
    PT_ASSIGN(a.k, ReadMatrix(o.k, kK));
    PT_ASSIGN(a.v, ReadMatrix(o.v, kV));
    PT_ASSIGN(a.y, ReadMatrix(o.y, kY));
    const bool fits = a.q.columns == a.k.rows && a.k.columns == a.v.rows && a.y.rows == a.q.rows &&
                      a.y.columns == a.v.columns && site_.is_float32(site_.out[0]);
    if (!fits) return Refuse();
    a.short_y = site_.is_shortened(site_.out[0]);
    if (std::is_same_v<T, float> ? a.short_y : a.q.column_stride != 1) return Refuse();
    for (size_t m = 0; m < o.masks.size(); ++m) {
      PT_ASSIGN(Mask mask, ReadMask(o.masks[m], a, kMask + m));
      a.masks.push_back(mask);
    }
    for (size_t d = batch_dims_.size(); d-- > 0;) {
      Walk<kTensors>::Offsets offsets{};
      for (size_t t = 0; t < kTensors; ++t) offsets[t] = batch_strides_[t].empty() ? 0 : batch_strides_[t][d];
      a.batches.Push(batch_dims_[d], offsets);
    }
    a.scale = static_cast<float>(o.scale);
    a.softcap = static_cast<float>(o.softcap);
    a.offset = o.offset;
    a.left = o.left;
    a.right = o.right;
    a.one_position = o.one_position;
    a.caches = o.caches;
    if (!o.caches.empty() && !std::is_same_v<T, float>) return Refuse();
    for (const AttentionCache& cache : o.caches) PT_CHECK_OK(CheckCache(site_, cache));
    a.blind_is_zero = o.blind_is_zero;
    a.nan_is_zero = o.nan_is_zero;
    return a;
  }

  // The last two dims as a matrix; the others' strides are kept.
  Result<Matrix> ReadMatrix(const AttentionOperand& operand, size_t tensor) {
    if (tensor != kY && !IsStored(operand.is_output ? site_.out[operand.place] : site_.in[operand.place]))
      return Refuse();
    const std::span dims(operand.dims), strides(operand.strides);
    const size_t batch = dims.size() - 2;
    auto broadcast = BroadcastStrides(dims.first(batch), strides.first(batch), batch_dims_);
    if (!broadcast) return Refuse();
    batch_strides_[tensor] = *std::move(broadcast);
    return Matrix{operand.place, dims[batch], dims[batch + 1], strides[batch], strides[batch + 1], operand.is_output};
  }

  // Whether keys and values are read as they lie: queries are few, and rows lie together everywhere.
  bool IsThin(const Attention<T>& a) const {
    const auto together = [](int64_t stride, int64_t count) { return stride == 1 || count <= 1; };
    return std::is_same_v<T, float> && a.q.rows <= kFewQueries && together(a.q.column_stride, a.q.columns) &&
           together(a.k.row_stride, a.k.rows) && together(a.v.column_stride, a.v.columns) &&
           together(a.y.column_stride, a.y.columns);
  }

  bool IsStored(const HostOperand& operand) const {
    return std::is_same_v<T, float> ? operand.type() == DataType::kFloat32 : site_.is_shortened(operand);
  }

  Result<Mask> ReadMask(const AttentionMask& mask, const Attention<T>& a, size_t tensor) {
    const HostOperand& operand = site_.in[mask.place];
    if (mask.is_condition ? operand.type() != DataType::kBool : !site_.is_float32(operand)) return Refuse();
    std::vector<int64_t> scores = batch_dims_;
    scores.insert(scores.end(), {a.q.rows, a.k.columns});
    auto strides = mask.dims.empty() ? BroadcastStrides(operand.dims(), operand.strides(), scores)
                                     : BroadcastStrides(mask.dims, mask.strides, scores);
    if (!strides) return Refuse();
    const size_t batch = batch_dims_.size();
    const Matrix at{mask.place, a.q.rows, a.k.columns, (*strides)[batch], (*strides)[batch + 1]};
    strides->resize(batch);
    batch_strides_[tensor] = *std::move(strides);
    return Mask{at, mask, site_.is_shortened(operand)};
  }

  // Blocks of rows, and the memory of a part: as many scores at once as stay in the inner caches beside the panels.
  Status Size(Attention<T>& a) {
    constexpr int64_t kScores = 16384, kFewRows = 8, kAlign = 16;
    a.products = FindPanelProducts<T>();
    if (IsThin(a)) a.thin = FindThinProduct();
    a.exponentials = FindExponentials();
    a.tanh = FindTileFunction(Function::kTanh, DataType::kFloat32, DataType::kFloat32);
    const int64_t width = site_.width, keys = a.k.columns;
    // Long enough stretches for all cores: results do not depend on the block.
    const int64_t share = a.batches.count == 0 ? 0 : 2 * width / a.batches.count;
    const int64_t fair = share < 2 ? kMostScoreRows : (a.q.rows / share + kFewRows - 1) / kFewRows * kFewRows;
    a.block = std::clamp(std::min(fair, kScores / std::max<int64_t>(keys, 1) / kFewRows * kFewRows), kFewRows,
                         kMostScoreRows);
    a.blocks = a.q.rows / a.block + (a.q.rows % a.block != 0 ? 1 : 0);
    const auto padded = [](int64_t n, int64_t to) { return n / to * to + (n % to != 0 ? to : 0); };
    a.score_row = padded(keys, std::max(kAlign, a.products.columns));
    const auto k_panels = a.products.PackedCount(a.k.rows, keys), v_panels = a.products.PackedCount(keys, a.v.columns);
    const auto scores = CheckedMul(a.score_row, a.block);
    if (!k_panels || !v_panels || !scores) return Refuse();
    constexpr int64_t kOfFloat = sizeof(float) / sizeof(T);
    if (a.thin == nullptr) {
      a.k_panels = padded(*k_panels / kOfFloat, kAlign);
      a.v_panels = padded(*v_panels / kOfFloat, kAlign);
    }
    a.scores = padded(*scores, kAlign);
    if (kOfFloat > 1) a.short_scores = padded(*scores / kOfFloat, kAlign);
    if (a.has_plain_mask() && a.masks[0].shortened) {
      a.mask = a.masks[0].at.row_stride == 0 ? padded(a.score_row, kAlign) : a.scores;
    }
    const auto floats = CheckedMul(width * static_cast<int64_t>(sizeof(float)), a.part_floats());
    if (!floats) return Refuse();
    bytes_ = static_cast<uint64_t>(*floats);
    return {};
  }

  Error Refuse() const { return site_.Unsupported("this is not attention in float32 with dims that fit"); }

  const HostSite& site_;
  const AttentionOperands& operands_;
  std::vector<int64_t> batch_dims_;
  std::array<std::vector<int64_t>, kTensors> batch_strides_;
  uint64_t bytes_ = 0;
};

}  // namespace

Result<HostRoutine> MakeAttention(const HostSite& site, const AttentionOperands& operands) {
  const bool shortened = site.is_shortened(site.in[operands.q.place]);
  return shortened ? AttentionMaker<Bfloat16>(site, operands).Make() : AttentionMaker<float>(site, operands).Make();
}

}  // namespace pt::host
