#include "plugins/cuda/convolution_tiles.h"

#include <algorithm>
#include <array>

#include "plugins/cuda/element_kernel.h"

namespace pt::cuda {
namespace {

constexpr int64_t kDepth = 16;  // of a slice

// Rows are channels of the result, columns its positions; each thread makes so many of both.
struct Tile {
  std::string_view name;
  int64_t rows, columns, thread_rows, thread_columns;
  int64_t threads() const { return rows / thread_rows * (columns / thread_columns); }
};
constexpr std::array kTiles = {Tile{"128x128", 128, 128, 8, 8}, Tile{"128x64", 128, 64, 8, 4},
                               Tile{"64x64", 64, 64, 4, 4}, Tile{"32x64", 32, 64, 2, 4}, Tile{"32x32", 32, 32, 2, 2}};
constexpr int64_t kThreads = 256;  // of every tile

std::string N(int64_t n) { return std::to_string(n); }

// The matrices of one group.
struct Sizes {
  int64_t rows = 0, columns = 0, depth = 0;  // channels out, batch times positions, channels in times taps
};

Sizes SizesOf(const Convolution& c) {
  Sizes sizes{c.y_dims[1] / c.groups, c.y_dims[0], c.x->dims()[1] / c.groups};
  for (size_t d = 2; d < c.y_dims.size(); ++d) sizes.columns *= c.y_dims[d];
  for (const int64_t k : c.window.kernel) sizes.depth *= k;
  return sizes;
}

// Writes the kernel of one tile size.
class TileKernel {
 public:
  TileKernel(const Site& site, const Convolution& c, const Tile& tile)
      : site_(site), c_(c), tile_(tile), sizes_(SizesOf(c)), spatial_(c.window.kernel.size()) {}

  KernelText Make() const {
    const auto tiles = [](int64_t all, int64_t each) { return (all + each - 1) / each; };
    IndexSpace blocks = IndexSpace::Whole(
        std::vector<int64_t>{c_.groups, tiles(sizes_.rows, tile_.rows), tiles(sizes_.columns, tile_.columns)}, {});
    const bool wide = IsWide(c_.x->layout) || IsWide(site_.out[0].layout) || IsWide(c_.w->layout);
    const std::string index = wide ? "long long" : "int";
    if (wide) blocks.Widen();
    KernelText kernel;
    kernel.elements = blocks.count();
    kernel.threads_an_element = static_cast<uint32_t>(tile_.threads());
    kernel.text = "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n  typedef " + index +
                  " Index;\n" + OperandTexts(site_) + "  __shared__ float left[" + N(kDepth) + "][" +
                  N(tile_.rows + 1) + "];\n  __shared__ float right[" + N(kDepth) + "][" + N(tile_.columns) + "];\n" +
                  "  const int row = threadIdx.x / " + N(across()) + ", column = threadIdx.x % " + N(across()) +
                  ";\n  for (Index block = blockIdx.x; block < " + N(blocks.count()) + "; block += gridDim.x) {\n" +
                  blocks.CoordinatesText("block", 'b') + Begin(wide) + "    for (Index start = 0; start < " +
                  N(sizes_.depth) + "; start += " + N(kDepth) + ") {\n" + LoadLeft() + LoadRight(wide) +
                  "      __syncthreads();\n" + Multiply() + "      __syncthreads();\n    }\n" + Store(wide) +
                  "  }\n}\n";
    return kernel;
  }

 private:
  int64_t across() const { return tile_.columns / tile_.thread_columns; }  // threads along a row of the tile

  IndexSpace Space(const std::vector<int64_t>& dims, bool wide) const {
    IndexSpace space = IndexSpace::Whole(dims, {});
    if (wide) space.Widen();
    return space;
  }
  // Batch and positions of a column.
  std::vector<int64_t> ColumnDims() const {
    std::vector<int64_t> dims = {c_.y_dims[0]};
    dims.insert(dims.end(), c_.y_dims.begin() + 2, c_.y_dims.end());
    return dims;
  }

  // No sums yet; and where the windows of the column begin that this thread gathers.
  std::string Begin(bool wide) const {
    std::string text = "    float sums[" + N(tile_.thread_rows) + "][" + N(tile_.thread_columns) +
                       "];\n    for (int i = 0; i < " + N(tile_.thread_rows) + "; ++i) {\n      for (int j = 0; j < " +
                       N(tile_.thread_columns) + "; ++j) sums[i][j] = 0.0f;\n    }\n    Index gathered = b2 * " +
                       N(tile_.columns) + " + threadIdx.x % " + N(tile_.columns) +
                       ";\n    const bool exists = gathered < " + N(sizes_.columns) +
                       ";\n    if (!exists) gathered = 0;\n" +
                       Space(ColumnDims(), wide).CoordinatesText("gathered", 'g') + "    const Index base = g0 * " +
                       N(c_.x->strides()[0]) + " + b0 * " + N(c_.x->dims()[1] / c_.groups * c_.x->strides()[1]) + ";\n";
    for (size_t d = 0; d < spatial_; ++d) {
      const std::string n = std::to_string(d);
      text += "    const Index s" + n + " = g" + std::to_string(d + 1) + " * " + N(c_.window.strides[d]) + " - " +
              N(c_.window.pads_begin[d]) + ";\n";
    }
    return text;
  }

  std::string LoadLeft() const {
    return "      for (int i = threadIdx.x; i < " + N(kDepth * tile_.rows) + "; i += " + N(tile_.threads()) +
           ") {\n        const int k = i % " + N(kDepth) + ", m = i / " + N(kDepth) +
           ";\n        const Index output = b1 * " + N(tile_.rows) + " + m;\n        left[k][m] = start + k < " +
           N(sizes_.depth) + " && output < " + N(sizes_.rows) + " ? (float)" + site_.NameOf(*c_.w) + "[(b0 * " +
           N(sizes_.rows) + " + output) * " + N(sizes_.depth) + " + start + k] : 0.0f;\n      }\n";
  }

  std::string LoadRight(bool wide) const {
    std::vector<int64_t> depth = {c_.x->dims()[1] / c_.groups};
    depth.insert(depth.end(), c_.window.kernel.begin(), c_.window.kernel.end());
    std::string positions, inside = "exists && at < " + N(sizes_.depth);
    std::string offset = "base + q0 * " + N(c_.x->strides()[1]);
    for (size_t d = 0; d < spatial_; ++d) {
      const std::string n = std::to_string(d), p = "p" + n;
      positions += "        const Index " + p + " = s" + n + " + q" + std::to_string(d + 1) + " * " +
                   N(c_.window.dilations[d]) + ";\n";
      inside += " && " + p + " >= 0 && " + p + " < " + N(c_.x->dims()[d + 2]);
      offset += " + " + p + " * " + N(c_.x->strides()[d + 2]);
    }
    return "      for (int k = threadIdx.x / " + N(tile_.columns) + "; k < " + N(kDepth) +
           "; k += " + N(tile_.threads() / tile_.columns) + ") {\n        const Index at = start + k;\n" +
           Space(depth, wide).CoordinatesText("at", 'q') + positions + "        right[k][threadIdx.x % " +
           N(tile_.columns) + "] = " + inside + " ? (float)" + site_.NameOf(*c_.x) + "[" + offset +
           "] : 0.0f;\n      }\n";
  }

  std::string Multiply() const {
    const std::string rows = N(tile_.thread_rows), columns = N(tile_.thread_columns);
    return "      for (int k = 0; k < " + N(kDepth) + "; ++k) {\n        float a[" + rows + "], b[" + columns +
           "];\n        for (int i = 0; i < " + rows + "; ++i) a[i] = left[k][row * " + rows +
           " + i];\n        for (int j = 0; j < " + columns + "; ++j) b[j] = right[k][column + j * " + N(across()) +
           "];\n        for (int i = 0; i < " + rows + "; ++i) {\n          for (int j = 0; j < " + columns +
           "; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);\n        }\n      }\n";
  }

  std::string Store(bool wide) const {
    std::string coordinates = "        const Index c0 = o0, c1 = b0 * " + N(sizes_.rows) + " + m";
    for (size_t d = 0; d < spatial_; ++d) {
      coordinates += ", c" + std::to_string(d + 2) + " = o" + std::to_string(d + 1);
    }
    return "    for (int i = 0; i < " + N(tile_.thread_rows) + "; ++i) {\n      for (int j = 0; j < " +
           N(tile_.thread_columns) + "; ++j) {\n        const Index m = b1 * " + N(tile_.rows) + " + row * " +
           N(tile_.thread_rows) + " + i, place = b2 * " + N(tile_.columns) + " + column + j * " + N(across()) +
           ";\n        if (m >= " + N(sizes_.rows) + " || place >= " + N(sizes_.columns) + ") continue;\n" +
           Space(ColumnDims(), wide).CoordinatesText("place", 'o') + coordinates +
           ";\n        const float sum = sums[i][j];\n" + c_.epilogue + "      }\n    }\n";
  }

  const Site& site_;
  const Convolution& c_;
  const Tile& tile_;
  const Sizes sizes_;
  const size_t spatial_;
};

}  // namespace

std::vector<std::string> TileVariants(const Convolution& convolution) {
  const Sizes sizes = SizesOf(convolution);
  // Where less than half of a tile would be used a smaller one does the same with less.
  std::vector<std::string> variants;
  for (const Tile& tile : kTiles) {
    const bool smallest = &tile == &kTiles.back();
    if (smallest || (sizes.rows * 2 > tile.rows && sizes.columns * 2 > tile.columns)) variants.emplace_back(tile.name);
  }
  return variants;
}

Result<Routine> MakeTiles(const Site& site, const Convolution& convolution, std::string_view variant) {
  const auto tile = std::ranges::find(kTiles, variant, &Tile::name);
  if (tile == kTiles.end()) return site.Unsupported("there is no variant \"" + std::string(variant) + "\" of it");
  return Routine{{TileKernel(site, convolution, *tile).Make()}};
}

}  // namespace pt::cuda
