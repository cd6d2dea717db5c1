#include "plugins/cuda/tiles.h"

#include <algorithm>
#include <array>

#include "plugins/cuda/element_kernel.h"

namespace pt::cuda {
namespace {

constexpr int64_t kDepth = 16;  // words of a slice
constexpr int64_t kLanes = 4;   // 8-bit integers of a word

// Rows and columns of the result; each thread makes this many of both.
struct Tile {
  std::string_view name;
  int64_t rows, columns, thread_rows, thread_columns;
  int64_t threads() const { return rows / thread_rows * (columns / thread_columns); }
};
constexpr std::array kTiles = {Tile{"128x128", 128, 128, 8, 8}, Tile{"128x64", 128, 64, 8, 4},
                               Tile{"64x64", 64, 64, 4, 4}, Tile{"32x64", 32, 64, 2, 4}, Tile{"32x32", 32, 32, 2, 2}};

std::string N(int64_t n) { return std::to_string(n); }
int64_t Pieces(int64_t all, int64_t each) { return (all + each - 1) / each; }

// An 8-bit integer as the low bits of a number, those of uint8 128 less.
std::string ByteText(const std::string& element, DataType type) {
  return "((int)" + element + (type == DataType::kUint8 ? " ^ 128)" : " & 255)");
}

// Writes the kernel of one tile size.
class TileText {
 public:
  TileText(const CudaSite& site, const TiledProduct& product, const Tile& tile, const TiledBytes* bytes)
      : site_(site),
        p_(product),
        tile_(tile),
        bytes_(bytes),
        slice_(bytes == nullptr ? kDepth : std::clamp<int64_t>(Pieces(product.depth, kLanes), 1, kDepth)) {}

  KernelText Make() const {
    IndexSpace blocks = IndexSpace::Whole(
        std::vector<int64_t>{p_.batches, Pieces(p_.rows, tile_.rows), Pieces(p_.columns, tile_.columns)}, {});
    if (p_.wide) blocks.Widen();
    KernelText kernel;
    kernel.elements = blocks.count();
    kernel.threads_an_element = static_cast<uint32_t>(tile_.threads());
    kernel.text = "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n  typedef " +
                  std::string(p_.wide ? "long long" : "int") + " Index;\n" + OperandTexts(site_) + "  __shared__ " +
                  word() + " left[" + N(slice_) + "][" + N(tile_.rows + 1) + "];\n  __shared__ " + word() + " right[" +
                  N(slice_) + "][" + N(tile_.columns) + "];\n  const int row = threadIdx.x / " + N(across()) +
                  ", column = threadIdx.x % " + N(across()) + ";\n  for (Index block = blockIdx.x; block < " +
                  N(blocks.count()) + "; block += gridDim.x) {\n" + blocks.CoordinatesText("block", 'b') + Begin() +
                  "    for (Index start = 0; start < " + N(p_.depth) + "; start += " + N(slice_ * lanes()) + ") {\n" +
                  LoadLeft() + LoadRight() + "      __syncthreads();\n" + Multiply() +
                  "      __syncthreads();\n    }\n" + Store() + "  }\n}\n";
    return kernel;
  }

 private:
  int64_t across() const { return tile_.columns / tile_.thread_columns; }  // threads along a row of the tile
  int64_t lanes() const { return bytes_ == nullptr ? 1 : kLanes; }         // depths of a word
  std::string word() const { return bytes_ == nullptr ? "float" : "int"; }
  // Whose elements must be summed as well: what the other matrix's zero point is multiplied with.
  bool sums_left() const { return bytes_ != nullptr && !bytes_->right_zero.empty(); }
  bool sums_right() const { return bytes_ != nullptr && !bytes_->left_zero.empty(); }

  static std::string For(const std::string& i, int64_t count, const std::string& body) {
    return "for (int " + i + " = 0; " + i + " < " + N(count) + "; ++" + i + ") " + body;
  }
  std::string ForRows(const std::string& body) const { return For("i", tile_.thread_rows, body); }
  std::string ForColumns(const std::string& body) const { return For("j", tile_.thread_columns, body); }

  // No sums yet; and the column that this thread gathers.
  std::string Begin() const {
    std::string text = "    " + word() + " sums[" + N(tile_.thread_rows) + "][" + N(tile_.thread_columns) + "];\n    " +
                       ForRows("{\n      " + ForColumns("sums[i][j] = 0;\n    }\n"));
    if (sums_left()) text += "    int left_sums[" + N(tile_.thread_rows) + "];\n    " + ForRows("left_sums[i] = 0;\n");
    if (sums_right()) {
      text += "    int right_sums[" + N(tile_.thread_columns) + "];\n    " + ForColumns("right_sums[j] = 0;\n");
    }
    return text + "    Index gathered = b2 * " + N(tile_.columns) + " + threadIdx.x % " + N(tile_.columns) +
           ";\n    const bool exists = gathered < " + N(p_.columns) + ";\n    if (!exists) gathered = 0;\n" + p_.column;
  }

  // Statements for each lane of the word at `k` of a slice, where the depth `at` exists.
  std::string ForLanes(const std::string& statements) const {
    return "        int word = 0;\n        for (int lane = 0; lane < " + N(kLanes) +
           "; ++lane) {\n        const Index at = start + k * " + N(kLanes) + " + lane;\n        if (at < " +
           N(p_.depth) + ") {\n" + statements + "        }\n        }\n";
  }

  std::string LoadLeft() const {
    const std::string known = "output < " + N(p_.rows);
    std::string loaded;
    if (bytes_ == nullptr) {
      loaded = "        const Index at = start + k;\n        left[k][m] = at < " + N(p_.depth) + " && " + known +
               " ? (float)" + p_.left + " : 0.0f;\n";
    } else if (bytes_->left_by_words) {
      loaded = "        const Index at = start + k * " + N(kLanes) + ";\n        left[k][m] = at < " + N(p_.depth) +
               " && " + known + " ? *(const int*)&" + p_.left +
               (bytes_->left == DataType::kUint8 ? " ^ 0x80808080" : "") + " : 0;\n";
    } else {
      loaded = ForLanes("        if (" + known + ") word |= " + ByteText(p_.left, bytes_->left) + " << (8 * lane);\n") +
               "        left[k][m] = word;\n";
    }
    return "      for (int i = threadIdx.x; i < " + N(slice_ * tile_.rows) + "; i += " + N(tile_.threads()) +
           ") {\n        const int k = i % " + N(slice_) + ", m = i / " + N(slice_) +
           ";\n        const Index output = b1 * " + N(tile_.rows) + " + m;\n" + p_.row + loaded + "      }\n";
  }

  std::string LoadRight() const {
    const std::string there = "threadIdx.x % " + N(tile_.columns), inside = p_.inside.empty() ? "" : " && " + p_.inside;
    std::string loaded;
    if (bytes_ == nullptr) {
      loaded = "        const Index at = start + k;\n" + p_.deep + "        right[k][" + there + "] = exists && at < " +
               N(p_.depth) + inside + " ? (float)" + p_.right + " : 0.0f;\n";
    } else {
      const std::string element = ByteText(p_.right, bytes_->right);
      const std::string outside = bytes_->outside.empty() ? "0" : "((" + bytes_->outside + ") & 255)";
      loaded = ForLanes(p_.deep + "        word |= (" +
                        (p_.inside.empty() ? element : p_.inside + " ? " + element + " : " + outside) +
                        ") << (8 * lane);\n") +
               "        right[k][" + there + "] = word;\n";
    }
    return "      for (int k = threadIdx.x / " + N(tile_.columns) + "; k < " + N(slice_) +
           "; k += " + N(tile_.threads() / tile_.columns) + ") {\n" + loaded + "      }\n";
  }

  std::string Multiply() const {
    const bool real = bytes_ == nullptr;
    const std::string ones = ", 0x01010101, ";
    std::string sums;
    if (sums_left()) sums += "        " + ForRows("left_sums[i] = __dp4a(a[i]" + ones + "left_sums[i]);\n");
    if (sums_right()) sums += "        " + ForColumns("right_sums[j] = __dp4a(b[j]" + ones + "right_sums[j]);\n");
    return "      for (int k = 0; k < " + N(slice_) + "; ++k) {\n        " + word() + " a[" + N(tile_.thread_rows) +
           "], b[" + N(tile_.thread_columns) + "];\n        " +
           ForRows("a[i] = left[k][row * " + N(tile_.thread_rows) + " + i];\n        ") +
           ForColumns("b[j] = right[k][column + j * " + N(across()) + "];\n        ") +
           ForRows("{\n          " + ForColumns("sums[i][j] = " + std::string(real ? "fmaf" : "__dp4a") +
                                                "(a[i], b[j], sums[i][j]);\n        }\n")) +
           sums + "      }\n";
  }

  // Integers without their zero points: (l - z)(r - y) = lr - yl - zr + zy.
  std::string Total() const {
    if (bytes_ == nullptr) return "        const float sum = sums[i][j];\n";
    std::string text = "        const int total = sums[i][j]";
    if (sums_left()) text += " - (" + bytes_->right_zero + ") * left_sums[i]";
    if (sums_right()) text += " - (" + bytes_->left_zero + ") * right_sums[j]";
    if (sums_left() && sums_right()) {
      text += " + " + N(p_.depth) + " * (" + bytes_->left_zero + ") * (" + bytes_->right_zero + ")";
    }
    return text + ";\n";
  }

  std::string Store() const {
    return "    " + ForRows("{\n      ") + ForColumns("{\n        const Index m = b1 * ") + N(tile_.rows) +
           " + row * " + N(tile_.thread_rows) + " + i, place = b2 * " + N(tile_.columns) + " + column + j * " +
           N(across()) + ";\n        if (m >= " + N(p_.rows) + " || place >= " + N(p_.columns) + ") continue;\n" +
           p_.place + Total() + p_.written + "      }\n    }\n";
  }

  const CudaSite& site_;
  const TiledProduct& p_;
  const Tile& tile_;
  const TiledBytes* const bytes_;
  const int64_t slice_;  // words of a slice: fewer where there is no more
};

}  // namespace

std::vector<std::string> FittingTiles(int64_t rows, int64_t columns) {
  // Where less than half of a tile would be used a smaller one does the same with less.
  std::vector<std::string> names;
  for (const Tile& tile : kTiles) {
    const bool smallest = &tile == &kTiles.back();
    if (smallest || (rows * 2 > tile.rows && columns * 2 > tile.columns)) names.emplace_back(tile.name);
  }
  return names;
}

Result<KernelText> TileKernel(const CudaSite& site, const TiledProduct& product, std::string_view tile,
                              const TiledBytes* bytes) {
  const auto found = std::ranges::find(kTiles, tile, &Tile::name);
  if (found == kTiles.end()) return site.Unsupported("there is no variant \"" + std::string(tile) + "\" of it");
  return TileText(site, product, *found, bytes).Make();
}

}  // namespace pt::cuda
