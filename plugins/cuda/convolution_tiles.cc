#include "plugins/cuda/convolution_tiles.h"

#include "plugins/cuda/index_space.h"

namespace pt::cuda {
namespace {

std::string N(int64_t n) { return std::to_string(n); }

// Writes what a tile kernel is to multiply: of each group channels out by positions, summed over channels in and taps.
class Matrices {
 public:
  Matrices(const CudaSite& site, const CudaConvolution& c) : site_(site), c_(c), spatial_(c.window.kernel.size()) {
    product_.batches = c.groups;
    product_.rows = c.y_dims[1] / c.groups;
    product_.columns = c.y_dims[0];
    for (size_t d = 2; d < c.y_dims.size(); ++d) product_.columns *= c.y_dims[d];
    product_.depth = c.products();
    product_.wide = IsWide(c.x->layout) || IsWide(site.out[0].layout) || IsWide(c.w->layout);
  }

  TiledProduct Make() {
    product_.left = site_.NameOf(*c_.w) + "[(b0 * " + N(product_.rows) + " + output) * " + N(product_.depth) + " + at]";
    AddColumn();
    AddDepth();
    AddPlace();
    product_.written = c_.epilogue;
    return std::move(product_);
  }

 private:
  std::string Coordinates(const std::vector<int64_t>& dims, const std::string& element, char letter) const {
    IndexSpace space = IndexSpace::Whole(dims, {});
    if (product_.wide) space.Widen();
    return space.CoordinatesText(element, letter);
  }
  // Batch and positions of a column.
  std::vector<int64_t> ColumnDims() const {
    std::vector<int64_t> dims = {c_.y_dims[0]};
    dims.insert(dims.end(), c_.y_dims.begin() + 2, c_.y_dims.end());
    return dims;
  }

  // Where the window of the column begins.
  void AddColumn() {
    product_.column = Coordinates(ColumnDims(), "gathered", 'g') + "    const Index base = g0 * " +
                      N(c_.x->strides()[0]) + " + b0 * " + N(c_.in_each() * c_.x->strides()[1]) + ";\n";
    for (size_t d = 0; d < spatial_; ++d) {
      const std::string n = std::to_string(d);
      product_.column += "    const Index s" + n + " = g" + std::to_string(d + 1) + " * " + N(c_.window.strides[d]) +
                         " - " + N(c_.window.pads_begin[d]) + ";\n";
    }
  }

  void AddDepth() {
    std::vector<int64_t> depth = {c_.in_each()};
    depth.insert(depth.end(), c_.window.kernel.begin(), c_.window.kernel.end());
    product_.deep = Coordinates(depth, "at", 'q');
    std::string offset = "base + q0 * " + N(c_.x->strides()[1]);
    for (size_t d = 0; d < spatial_; ++d) {
      const std::string n = std::to_string(d), p = "p" + n;
      product_.deep += "        const Index " + p + " = s" + n + " + q" + std::to_string(d + 1) + " * " +
                       N(c_.window.dilations[d]) + ";\n";
      product_.inside += std::string(d == 0 ? "" : " && ") + p + " >= 0 && " + p + " < " + N(c_.x->dims()[d + 2]);
      offset += " + " + p + " * " + N(c_.x->strides()[d + 2]);
    }
    product_.right = site_.NameOf(*c_.x) + "[" + offset + "]";
  }

  void AddPlace() {
    product_.place =
        Coordinates(ColumnDims(), "place", 'o') + "        const Index c0 = o0, c1 = b0 * " + N(product_.rows) + " + m";
    for (size_t d = 0; d < spatial_; ++d) {
      product_.place += ", c" + std::to_string(d + 2) + " = o" + std::to_string(d + 1);
    }
    product_.place += ";\n";
  }

  const CudaSite& site_;
  const CudaConvolution& c_;
  const size_t spatial_;
  TiledProduct product_;
};

}  // namespace

int64_t CudaConvolution::products() const {
  int64_t products = in_each();
  for (const int64_t k : window.kernel) products *= k;
  return products;
}

std::vector<std::string> TileVariants(const CudaConvolution& convolution) {
  int64_t columns = convolution.y_dims[0];
  for (size_t d = 2; d < convolution.y_dims.size(); ++d) columns *= convolution.y_dims[d];
  return FittingTiles(convolution.y_dims[1] / convolution.groups, columns);
}

Result<CudaRoutine> MakeTiles(const CudaSite& site, const CudaConvolution& convolution, std::string_view variant) {
  const TiledProduct product = Matrices(site, convolution).Make();
  const TiledBytes* const bytes = convolution.bytes ? &*convolution.bytes : nullptr;
  PT_ASSIGN(KernelText kernel, TileKernel(site, product, variant, bytes));
  return CudaRoutine{{std::move(kernel)}};
}

}  // namespace pt::cuda
