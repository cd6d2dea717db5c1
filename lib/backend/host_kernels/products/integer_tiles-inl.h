// Loops of integer_panels.cc, included there once for each set of instructions (kernels/foreach_integer_set-inl.h).

// Vectors of a row of a panel, which has a multiple of 16 columns, and rows of a tile: its sums and a row of the panel
// fill the registers.
constexpr int64_t kVectors = kLanes == 4 ? 4 : 2, kRows = kLanes / 2;

using Integers = int32_t __attribute__((vector_size(sizeof(Words))));
using Reals = float __attribute__((vector_size(sizeof(Words))));

constexpr int64_t kColumns = kVectors * kLanes;
constexpr uint32_t kFlip = 0x80808080, kOnes = 0x01010101;

// So few rows do not keep the arithmetic busy with one panel: sums that depend on each other would wait.
constexpr int64_t PanelsAtOnce(int64_t rows) {
  if (kRows < 8) return rows == 1 ? 2 : 1;
  return rows <= 2 ? 4 : (rows <= 4 ? 2 : 1);
}

template <typename V, typename T>
HWY_INLINE V LoadVector(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
// The first lanes of v, or all.
template <typename V, typename T>
HWY_INLINE void StoreVector(V v, T* to, int64_t lanes = kLanes) {
  if (lanes >= kLanes) {
    std::memcpy(to, &v, sizeof(v));
  } else {
    std::memcpy(to, &v, static_cast<size_t>(lanes) * sizeof(T));
  }
}
HWY_INLINE Words Broadcast(int32_t number) { return Words{} + static_cast<uint32_t>(number); }
HWY_INLINE Reals Broadcast(float number) { return Reals{} + number; }

constexpr int64_t QuadsOf(int64_t depth) { return depth / kQuad + (depth % kQuad == 0 ? 0 : 1); }

// ---- packing ----

// Four rows of 16 columns, byte by byte.
HWY_INLINE void Interleave(const uint8_t* const (&rows)[kQuad], int64_t column, int8_t* to) {
  using Chars = uint8_t __attribute__((vector_size(16)));
  using Pairs = uint16_t __attribute__((vector_size(16)));
  Chars r[kQuad];
  for (int64_t q = 0; q < kQuad; ++q) r[q] = LoadVector<Chars>(rows[q] + column);
  for (int64_t half = 0; half < 2; ++half) {
    Chars pairs[2];
    for (int64_t p = 0; p < 2; ++p) {
      const Chars &x = r[2 * p], &y = r[2 * p + 1];
      pairs[p] = half == 0
                     ? __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
                     : __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    const auto x = reinterpret_cast<Pairs>(pairs[0]), y = reinterpret_cast<Pairs>(pairs[1]);
    const Pairs low = __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11),
                high = __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15);
    std::memcpy(to + half * 32, &low, sizeof(low));
    std::memcpy(to + half * 32 + 16, &high, sizeof(high));
  }
}

void SumColumns(const int8_t* panel, int64_t depth, int32_t* sums) {
  Words totals[kVectors] = {};
  for (int64_t k = 0; k < depth; k += kQuad, panel += kQuad * kColumns) {
    for (int64_t v = 0; v < kVectors; ++v) {
      totals[v] = Dot(totals[v], Words{} + kOnes, LoadVector<Words>(panel + v * kLanes * kQuad));
    }
  }
  for (int64_t v = 0; v < kVectors; ++v) StoreVector(totals[v], sums + v * kLanes);
}

void PackPanel(const IntegerPackCall& call, int64_t first, int8_t* panel) {
  const int64_t columns = std::min(kColumns, call.columns - first);
  const uint32_t flip = call.flips ? kFlip : 0;
  alignas(64) uint8_t edge[kQuad][kColumns];
  const uint8_t* rows[kQuad];
  for (int64_t k = 0; k < call.depth; k += kQuad, panel += kQuad * kColumns) {
    const int64_t there = std::min(kQuad, call.depth - k);
    for (int64_t q = 0; q < kQuad; ++q) {
      const uint8_t* row = q < there ? call.b + (k + q) * call.row_stride + first : nullptr;
      rows[q] = row;
      if (row != nullptr && columns == kColumns) continue;
      // What is not there becomes zero.
      std::memset(edge[q], static_cast<int>(flip & 0xFF), kColumns);
      if (row != nullptr) std::memcpy(edge[q], row, static_cast<size_t>(columns));
      rows[q] = edge[q];
    }
    for (int64_t j = 0; j < kColumns; j += 16) Interleave(rows, j, panel + j * kQuad);
    if (!call.flips) continue;
    for (int64_t v = 0; v < kVectors; ++v) {
      StoreVector(LoadVector<Words>(panel + v * kLanes * kQuad) ^ flip, panel + v * kLanes * kQuad);
    }
  }
}

void Pack(const IntegerPackCall& call) {
  const int64_t panel_depth = QuadsOf(call.depth) * kQuad;
  for (int64_t j = 0; j < call.columns; j += kColumns) {
    int8_t* panel = call.panels + j * panel_depth;
    PackPanel(call, j, panel);
    SumColumns(panel, call.depth, call.column_sums + j);
  }
}

// ---- sums of rows ----

void SumRows(const IntegerRowCall& call) {
  constexpr int64_t kBytes = kLanes * kQuad;
  const uint32_t flip = call.flips ? kFlip : 0;
  for (int64_t r = 0; r < call.rows; ++r) {
    const uint8_t* a = call.a + r * call.a_row_stride;
    Words sums{};
    int64_t k = 0;
    for (; k + kBytes <= call.depth; k += kBytes) sums = Dot(sums, LoadVector<Words>(a + k) ^ flip, Words{} + kOnes);
    uint32_t sum = 0;
    for (int64_t i = 0; i < kLanes; ++i) sum += sums[i];
    for (; k < call.depth; ++k) sum += a[k] ^ (flip & 0xFF);
    call.sums[r] = static_cast<int32_t>(sum);
  }
}

// ---- windows ----

using Bytes = uint8_t __attribute__((vector_size(kLanes)));
using Halves = uint16_t __attribute__((vector_size(2 * kLanes)));

// As many pixels as a vector has lanes, or `count`.
HWY_INLINE void LoadPixels(const uint8_t* from, int64_t step, int64_t count, Words& pixels) {
  if (step == 1) {
    // By way of 16 bits, which GCC 12 does in vectors.
    pixels = __builtin_convertvector(__builtin_convertvector(LoadVector<Bytes>(from), Halves), Words);
  } else if (step == 2) {
    pixels = __builtin_convertvector(LoadVector<Halves>(from), Words) & 0xFF;  // the lower half comes first
  } else {
    for (int64_t i = 0; i < count; ++i) pixels[i] = from[i * step];
  }
}

void SumWindows(const IntegerWindowCall& call) {
  const uint32_t flip = call.flips ? kFlip & 0xFF : 0;
  for (int64_t j = 0; j < call.columns; j += kLanes) {
    const int64_t count = std::min(kLanes, call.columns - j);
    const uint8_t* from = call.pixels + j * call.step;
    Words sums = Broadcast(call.start), pixels{};
    for (int64_t k = 0; k < call.depth; ++k) {
      LoadPixels(from + call.offsets[k], call.step, count, pixels);
      sums += (pixels ^ flip) * static_cast<uint32_t>(call.numbers[k]);
    }
    StoreVector(sums, call.sums + j);
  }
}

// ---- products ----

// Where a tile begins, and its columns that are there.
struct Corner {
  int64_t row, column, columns;
};

template <int64_t R, int64_t N>
HWY_INLINE void Begin(const IntegerCall& call, const Corner& corner, Words (&sums)[R][N]) {
  for (int64_t v = 0; v < N; ++v) {
    const Words terms = LoadVector<Words>(call.column_terms + corner.column + v * kLanes);
    for (int64_t r = 0; r < R; ++r) sums[r][v] = -(Broadcast(call.row_zeros[corner.row + r]) * terms);
  }
  for (int64_t v = 0; v < N && call.row_sums != nullptr; ++v) {
    const Words zeros = LoadVector<Words>(call.column_zeros + corner.column + v * kLanes);
    for (int64_t r = 0; r < R; ++r) sums[r][v] -= Broadcast(call.row_sums[corner.row + r]) * zeros;
  }
}

// The sums of vector v are C, or become real numbers.
template <int64_t R, int64_t N>
HWY_INLINE void Leave(const IntegerCall& call, const Corner& corner, const Words (&sums)[R][N], int64_t v) {
  const int64_t column = corner.column + v * kLanes, left = corner.columns - v * kLanes;
  if (left <= 0) return;
  for (int64_t r = 0; r < R; ++r) {
    const int64_t row = corner.row + r, at = row * call.c_row_stride + column;
    if (call.reals == nullptr) {
      StoreVector(sums[r][v], call.integers + at, left);
      continue;
    }
    Reals real = __builtin_convertvector(reinterpret_cast<Integers>(sums[r][v]), Reals);
    real *= call.column_scales != nullptr ? LoadVector<Reals>(call.column_scales + column)
                                          : Broadcast(call.row_scales[row]);
    if (call.column_bias != nullptr) real += LoadVector<Reals>(call.column_bias + column);
    if (call.row_bias != nullptr) real += Broadcast(call.row_bias[row]);
    if (call.bounds) {
      const Reals low = Broadcast(call.bounds->low), high = Broadcast(call.bounds->high);
      real = real < low ? low : real;
      real = real > high ? high : real;
    }
    StoreVector(real, call.reals + at, left);
  }
}

// Four steps of depth, or `count` that are left.
template <int64_t R, int64_t N>
HWY_INLINE void AddQuad(const IntegerCall& call, const uint8_t* a, const int8_t* panel, int64_t next_panel,
                        size_t count, Words (&sums)[R][N]) {
  const uint32_t flip = call.flips ? kFlip : 0;
  Words b[N];
  for (int64_t v = 0; v < N; ++v) {
    b[v] = LoadVector<Words>(panel + v / kVectors * next_panel + v % kVectors * kLanes * kQuad);
  }
  for (int64_t r = 0; r < R; ++r) {
    uint32_t quad = 0;
    std::memcpy(&quad, a + r * call.a_row_stride, count);
    const Words x = Words{} + (quad ^ flip);
    for (int64_t v = 0; v < N; ++v) sums[r][v] = Dot(sums[r][v], x, b[v]);
  }
}

// R rows and the columns of P panels, of the first vector of one panel where `vectors` is 1.
template <int64_t R, int64_t P, int64_t vectors>
HWY_INLINE void Tile(const IntegerCall& call, const Corner& corner) {
  const int64_t panel_bytes = QuadsOf(call.depth) * kQuad * kColumns;
  const int8_t* panel = call.panels + corner.column / kColumns * panel_bytes;
  const uint8_t* a = call.a + corner.row * call.a_row_stride;
  Words sums[R][P * vectors];
  Begin(call, corner, sums);
  int64_t k = 0;
  for (; k + kQuad <= call.depth; k += kQuad, a += kQuad, panel += kQuad * kColumns) {
    AddQuad(call, a, panel, panel_bytes, kQuad, sums);
  }
  if (k < call.depth) AddQuad(call, a, panel, panel_bytes, static_cast<size_t>(call.depth - k), sums);
  for (int64_t v = 0; v < P * vectors; ++v) Leave(call, corner, sums, v);
}

// The columns from `column` on, as many as a tile of R rows takes; how many these are.
template <int64_t R>
int64_t TileAt(const IntegerCall& call, int64_t row, int64_t column) {
  constexpr int64_t kPanels = PanelsAtOnce(R);
  const int64_t left = call.columns - column;
  if (kPanels > 1 && left > (kPanels - 1) * kColumns) {
    const Corner corner{row, column, std::min(kPanels * kColumns, left)};
    Tile<R, kPanels, kVectors>(call, corner);
    return corner.columns;
  }
  const Corner corner{row, column, std::min(kColumns, left)};
  if (corner.columns <= kLanes) {
    Tile<R, 1, 1>(call, corner);
  } else {
    Tile<R, 1, kVectors>(call, corner);
  }
  return corner.columns;
}

// All columns of the rows that are left, fewer than a tile has.
template <int64_t R>
void Rest(const IntegerCall& call, int64_t row) {
  if constexpr (R > 1) {
    if (call.rows - row < R) return Rest<R - 1>(call, row);
  }
  for (int64_t j = 0; j < call.columns;) j += TileAt<R>(call, row, j);
}

void Multiply(const IntegerCall& call) {
  const int64_t whole = call.rows / kRows * kRows;
  for (int64_t j = 0; j < call.columns && whole > 0; j += kColumns) {
    for (int64_t i = 0; i < whole; i += kRows) TileAt<kRows>(call, i, j);
  }
  if (whole < call.rows) Rest<kRows - 1>(call, whole);
}

constexpr IntegerPanels kFound{kColumns, Pack, Multiply, SumRows, SumWindows};
