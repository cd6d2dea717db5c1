#include "lib/backend/host_kernels/products/product.h"

#include <algorithm>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/elementwise/rest.h"
#include "lib/backend/host_kernels/kernels/bfloat16.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "lib/backend/host_kernels/products/block_products.h"
#include "lib/backend/host_kernels/products/panels.h"
#include "lib/backend/host_kernels/products/thin_products.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

constexpr int64_t kMostRows = 64;
// In walks, behind the results.
constexpr size_t kInput = kMostProducts, kResidual = kMostProducts + 1;
using RowWalk = Walk<kMostProducts + 2>;

// A product's matrix, in panels or as it lies, and where its result goes.
struct PackedProduct {
  size_t out = 0;          // into the site's outputs
  bool short_out = false;  // which is stored as bfloat16
  int64_t columns = 0, column_stride = 1;
  std::optional<Bounds> bounds;
  std::vector<float> bias;               // filled up to whole panels; empty: none
  std::shared_ptr<DeviceBuffer> panels;  // once packed
  Tensor matrix;                         // of thin products: as it lies
  bool transposed = false;
  BlockMatrix blocks;  // of a few bits an element, once packed
};

// Some columns of one product, whole panels except for the last.
struct Chunk {
  size_t product = 0;
  int64_t first = 0, columns = 0;
};

// T: float or Bfloat16, in which factors are stored.
template <typename T>
struct Products {
  PanelProducts<T> math;
  ThinProduct thin = nullptr;              // unless null: matrices are read as they lie
  std::optional<BlockProducts> on_blocks;  // matrices stay of a few bits an element
  int64_t depth = 0, input_column_stride = 1;
  size_t input = 0;                // into the site's inputs
  std::optional<size_t> residual;  // of the only product, likewise
  RowWalk rows;
  std::vector<PackedProduct> products;
  std::vector<Chunk> chunks;
  int64_t block = 0, blocks = 0;  // of rows
  std::optional<ElementwiseRest> rest;
  int64_t stretch_floats = 0;  // of each part of the work: a block of rows of a chunk
  double work = 0;             // nanoseconds of one block of rows of one chunk

  int64_t packed_depth() const { return (depth + math.rows - 1) / math.rows * math.rows; }
  uint64_t part_bytes() const {
    const uint64_t stretch = static_cast<uint64_t>(stretch_floats) * sizeof(float);
    return rest ? stretch + rest->part.bytes : 0;
  }
};

// One part of the work: goes through blocks of rows, chunk by chunk.
template <typename T>
class ProductWorker {
 public:
  ProductWorker(const Products<T>& products, const HostCall& run, int64_t part)
      : p_(products), run_(run), scratch_(run.scratch + static_cast<uint64_t>(part) * products.part_bytes()) {
    if (p_.rest) rest_.emplace(*p_.rest, run, scratch_ + static_cast<uint64_t>(p_.stretch_floats) * sizeof(float));
  }

  void Run(int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const Chunk& chunk = p_.chunks[static_cast<size_t>(item / p_.blocks)];
      const int64_t first = item % p_.blocks * p_.block;
      const int64_t rows = std::min(p_.block, p_.rows.count - first);
      if (p_.rest) {
        ComputeWithRest(chunk, first, rows);
      } else {
        Compute(chunk, first, rows, nullptr);
      }
    }
  }

 private:
  // f(row, how many, where) for stretches of these rows that lie evenly, from each row on.
  template <typename F>
  void ForEvenRows(int64_t first, int64_t rows, const F& f) const {
    const int64_t whole = p_.rows.inner_size();
    for (int64_t row = first; row < first + rows;) {
      const int64_t together = std::min(first + rows - row, whole - row % whole);
      f(row, together, p_.rows.At(row));
      row += together;
    }
  }

  static const float* BiasOf(const PackedProduct& product, const Chunk& chunk) {
    return product.bias.empty() ? nullptr : product.bias.data() + chunk.first;
  }

  // Into the result, or dense into `stretch`.
  void Compute(const Chunk& chunk, int64_t first, int64_t rows, float* stretch) {
    if (p_.thin != nullptr) return ComputeThin(chunk, first, rows, stretch);
    if (p_.on_blocks) return ComputeOnBlocks(chunk, first, rows, stretch);
    const PackedProduct& product = p_.products[chunk.product];
    const auto* panels = static_cast<const T*>(product.panels->data());
    const auto strides = p_.rows.inner_stride();
    ForEvenRows(first, rows, [&](int64_t row, int64_t together, const RowWalk::Offsets& at) {
      ProductCall<T> call{.a = run_.input<T>(p_.input) + at[kInput],
                          .a_row_stride = strides[kInput],
                          .a_column_stride = p_.input_column_stride,
                          .panels = panels + chunk.first * p_.packed_depth(),
                          .bias = BiasOf(product, chunk),
                          .rows = together,
                          .depth = p_.depth,
                          .columns = chunk.columns,
                          .bounds = product.bounds};
      if (p_.residual) {
        call.residual = run_.input<float>(*p_.residual) + at[kResidual] + chunk.first;
        call.residual_row_stride = strides[kResidual];
      }
      if (stretch != nullptr) {
        call.c = stretch + (row - first) * chunk.columns;
        call.c_row_stride = chunk.columns;
      } else {
        const int64_t from = at[chunk.product] + chunk.first * product.column_stride;
        if (product.short_out) {
          call.short_c = run_.output<Bfloat16>(product.out) + from;
        } else {
          call.c = run_.output<float>(product.out) + from;
        }
        call.c_row_stride = strides[chunk.product];
        call.c_column_stride = product.column_stride;
      }
      p_.math.multiply(call);
    });
  }

  void ComputeThin(const Chunk& chunk, int64_t first, int64_t rows, float* stretch) {
    const PackedProduct& product = p_.products[chunk.product];
    const int64_t matrix_stride = product.matrix.dims()[1];
    const auto strides = p_.rows.inner_stride();
    ForEvenRows(first, rows, [&](int64_t row, int64_t together, const RowWalk::Offsets& at) {
      ThinCall call{.a = run_.input<float>(p_.input) + at[kInput],
                    .a_stride = strides[kInput],
                    .b = product.matrix.values<float>().data() + chunk.first * (product.transposed ? matrix_stride : 1),
                    .b_stride = matrix_stride,
                    .transposed = product.transposed,
                    .bias = BiasOf(product, chunk),
                    .rows = together,
                    .depth = p_.depth,
                    .columns = chunk.columns,
                    .bounds = product.bounds};
      std::tie(call.c, call.c_stride) = PlaceOf(chunk, row - first, at, stretch);
      p_.thin(call);
    });
  }

  void ComputeOnBlocks(const Chunk& chunk, int64_t first, int64_t rows, float* stretch) {
    const PackedProduct& product = p_.products[chunk.product];
    ForEvenRows(first, rows, [&](int64_t row, int64_t together, const RowWalk::Offsets& at) {
      BlockCall call{.a = run_.input<float>(p_.input) + at[kInput],
                     .a_stride = p_.rows.inner_stride()[kInput],
                     .b = product.blocks,
                     .first = chunk.first,
                     .columns = chunk.columns,
                     .bias = BiasOf(product, chunk),
                     .rows = together,
                     .bounds = product.bounds};
      std::tie(call.c, call.c_stride) = PlaceOf(chunk, row - first, at, stretch);
      p_.on_blocks->multiply(call);
    });
  }

  // Where a row of a chunk's result goes, and how far the next one is: into `stretch`, dense, unless that is null.
  std::pair<float*, int64_t> PlaceOf(const Chunk& chunk, int64_t row, const RowWalk::Offsets& at,
                                     float* stretch) const {
    if (stretch != nullptr) return {stretch + row * chunk.columns, chunk.columns};
    return {run_.output<float>(p_.products[chunk.product].out) + at[chunk.product] + chunk.first,
            p_.rows.inner_stride()[chunk.product]};
  }

  void ComputeWithRest(const Chunk& chunk, int64_t first, int64_t rows) {
    auto* stretch = reinterpret_cast<float*>(scratch_);
    Compute(chunk, first, rows, stretch);
    const int64_t columns = p_.products[0].columns;
    if (chunk.columns == columns) return rest_->Run(stretch, first * columns, rows * columns);
    for (int64_t r = 0; r < rows; ++r) {
      rest_->Run(stretch + r * chunk.columns, (first + r) * columns + chunk.first, chunk.columns);
    }
  }

  const Products<T>& p_;
  const struct HostCall& run_;
  std::byte* scratch_;
  std::optional<RestRunner> rest_;
};

// The matrix as the panels have its elements; `room` is for those that are not there yet.
void Narrow(const Tensor& matrix, std::vector<Bfloat16>& room) {
  const auto elements = matrix.values<float>();
  room.resize(elements.size());
  FindBfloat16Conversions().narrow(elements.data(), room.data(), static_cast<int64_t>(room.size()));
}

template <typename T>
class ProductMaker {
 public:
  ProductMaker(const HostSite& site, const ProductGroup& group) : site_(site), group_(group) {}

  Result<HostRoutine> Make() {
    Products<T> products;
    PT_CHECK_OK(ReadRows(products));
    PT_CHECK_OK(ReadMatrices(products));
    PT_CHECK_OK(ReadRest(products));
    Divide(products);
    HostRoutine routine;
    routine.scratch_bytes = products.part_bytes() * site_.width;
    routine.in_place = std::move(in_place_);
    const auto shared = std::make_shared<Products<T>>(std::move(products));
    if (shared->on_blocks) {
      routine.pack = [shared, group = group_](CompileContext& context) { return PackBlocks(group, context, *shared); };
    } else if (shared->thin == nullptr) {
      routine.pack = [shared, group = group_](CompileContext& context) { return Pack(group, context, *shared); };
    }
    routine.run = [shared](const HostCall& run) -> Status {
      const Products<T>& p = *shared;
      const int64_t most = run.team == nullptr ? 1 : run.team->width();
      ParallelParts(run.team, p.blocks * static_cast<int64_t>(p.chunks.size()), p.work, most,
                    [&](int64_t part, int64_t begin, int64_t end) { ProductWorker<T>(p, run, part).Run(begin, end); });
      return {};
    };
    return routine;
  }

 private:
  static Status Pack(const ProductGroup& group, CompileContext& context, Products<T>& products) {
    PT_CHECK_OK(products.math.CheckProcessor());
    for (size_t i = 0; i < group.products.size(); ++i) {
      const ConstantProduct& product = group.products[i];
      const auto elements = products.math.PackedCount(product.depth(), product.columns());
      const auto bytes = elements ? CheckedMul(*elements, static_cast<int64_t>(sizeof(T))) : std::nullopt;
      if (!bytes) return MakeError(ErrorCode::kInvalidInput, "host.size", "a packed matrix is too large");
      const auto fill = [&](DeviceBuffer& buffer) -> Status {
        const Tensor matrix = product.packed ? product.packed->Dequantised() : product.matrix;
        std::vector<Bfloat16> room;
        const T* elements = nullptr;
        if constexpr (std::is_same_v<T, float>) {
          elements = matrix.template values<float>().data();
        } else {
          Narrow(matrix, room);
          elements = room.data();
        }
        const int64_t stride = matrix.dims()[1];
        products.math.pack({.b = elements,
                            .row_stride = product.transposed ? 1 : stride,
                            .column_stride = product.transposed ? stride : 1,
                            .depth = product.depth(),
                            .columns = product.columns(),
                            .panels = static_cast<T*>(buffer.data())});
        return {};
      };
      const std::string format = "host " + std::string(sizeof(T) == sizeof(float) ? "" : "bf16 ") + "panels of " +
                                 std::to_string(products.math.columns) + (product.transposed ? ", transposed" : "");
      const Hash128 content = product.packed ? HashText(product.packed->content_key()) : product.matrix.content_hash();
      PT_ASSIGN(products.products[i].panels,
                context.weights.Get(content, format, context.device, static_cast<uint64_t>(*bytes), fill));
    }
    return {};
  }

  static Status PackBlocks(const ProductGroup& group, CompileContext& context, Products<T>& products) {
    for (size_t i = 0; i < group.products.size(); ++i) {
      const PackedMatrix& matrix = *group.products[i].packed;
      BlockMatrix blocks = products.on_blocks->describe(matrix);
      const auto bytes = products.on_blocks->bytes(blocks);
      if (!bytes) return MakeError(ErrorCode::kInvalidInput, "host.size", "a packed matrix is too large");
      const auto fill = [&](DeviceBuffer& buffer) -> Status {
        products.on_blocks->pack(matrix, static_cast<std::byte*>(buffer.data()));
        return {};
      };
      const std::string format = "host blocks for " + std::to_string(products.on_blocks->columns);
      PT_ASSIGN(products.products[i].panels,
                context.weights.Get(HashText(matrix.content_key()), format, context.device, *bytes, fill));
      blocks.tiles = static_cast<const std::byte*>(products.products[i].panels->data());
      products.products[i].blocks = blocks;
    }
    return {};
  }

  size_t PlaceOf(ValueId value) const {
    return static_cast<size_t>(std::ranges::find(site_.in, value, &HostOperand::value) - site_.in.begin());
  }

  Status ReadRows(Products<T>& products) {
    const ConstantProduct& first = group_.products[0];
    products.math = FindPanelProducts<T>();
    products.input = PlaceOf(first.input);
    const HostOperand& x = site_.in[products.input];
    if (!site_.is_float32(x) || x.rank() < 1) return Refuse();
    order_ = (first.pointwise ? ChannelsLast(x.dims().size()) : RowMajor(x.dims().size())).order;
    const size_t last = order_.back();
    if (site_.is_shortened(x) && x.strides()[last] != 1) return Refuse();
    products.depth = first.depth();
    products.input_column_stride = x.strides()[last];
    PT_CHECK_OK(ReadResidual(products));
    std::array<std::vector<int64_t>, kMostProducts> strides;
    for (size_t i = 0; i < group_.products.size(); ++i) {
      const ConstantProduct& product = group_.products[i];
      const auto dims = site_.graph.value(product.result).type.static_dims();
      const auto y = std::ranges::find(site_.out, product.result, &HostOperand::value);
      const bool direct = group_.rest.empty();
      if (product.depth() != products.depth || x.dims()[last] != products.depth) return Refuse();
      if (direct && (y == site_.out.end() || !site_.is_float32(*y) || y->dims() != dims)) return Refuse();
      const bool short_out = direct && site_.is_shortened(*y);
      if (short_out && std::is_same_v<T, float>) return Refuse();
      PackedProduct packed;
      packed.out = direct ? static_cast<size_t>(y - site_.out.begin()) : 0;
      packed.short_out = short_out;
      packed.columns = product.columns();
      packed.column_stride = direct ? y->strides()[last] : 1;
      packed.bounds = product.bounds;
      if (product.bias) {
        const auto width = static_cast<size_t>(products.math.columns);
        const auto row = product.bias->values<float>();
        packed.bias.assign(row.begin(), row.end());
        packed.bias.resize((row.size() + width - 1) / width * width);
      }
      if (direct) strides[i] = y->strides();
      products.products.push_back(std::move(packed));
    }
    const std::vector<int64_t> dims = *site_.graph.value(first.result).type.static_dims();
    std::vector<int64_t> steps(order_.size(), 1);
    if (first.pointwise) {
      steps[2] = first.row_step;
      steps[3] = first.column_step;
    }
    for (size_t i = order_.size() - 1; i-- > 0;) {
      const size_t d = order_[i];
      RowWalk::Offsets offsets{};
      for (size_t k = 0; k < group_.products.size(); ++k) offsets[k] = strides[k].empty() ? 0 : strides[k][d];
      offsets[kInput] = x.strides()[d] * steps[d];
      offsets[kResidual] = products.residual ? site_.in[*products.residual].strides()[d] : 0;
      products.rows.Push(dims[d], offsets);
    }
    return {};
  }

  Status ReadResidual(Products<T>& products) {
    const ConstantProduct& product = group_.products[0];
    if (!product.residual.valid()) return {};
    const size_t place = PlaceOf(product.residual);
    if (place == site_.in.size()) return Refuse();
    const HostOperand& residual = site_.in[place];
    const bool together = residual.strides()[order_.back()] == 1 || product.columns() == 1;
    if (residual.type() != DataType::kFloat32 || !together) return Refuse();
    products.residual = place;
    if (group_.rest.empty() && place != products.input) in_place_.push_back(static_cast<uint32_t>(place));
    return {};
  }

  // Large matrices are read as they lie where rows are few: in panels they would take as much memory again.
  Status ReadMatrices(Products<T>& products) const {
    const auto is_packed = [](const ConstantProduct& p) { return p.packed.has_value(); };
    if (std::ranges::any_of(group_.products, is_packed)) return ReadPackedMatrices(products);
    if (site_.dequantised) return Refuse();
    const auto large = [](const ConstantProduct& p) { return p.matrix.bytes().size() > kMostPackedBytes; };
    const auto is_thin = [&](const ConstantProduct& p) { return IsThin(site_.graph, p); };
    if (!std::ranges::all_of(group_.products, is_thin) || !LiesInRows(products))
      return std::ranges::any_of(group_.products, large) ? Refuse() : Status();
    products.thin = FindThinProduct();
    for (size_t i = 0; i < group_.products.size(); ++i) {
      products.products[i].matrix = group_.products[i].matrix;
      products.products[i].transposed = group_.products[i].transposed;
    }
    return {};
  }

  // All as they are, or all as real numbers.
  Status ReadPackedMatrices(Products<T>& products) const {
    const auto is_packed = [](const ConstantProduct& p) { return p.packed.has_value(); };
    if (!std::ranges::all_of(group_.products, is_packed)) return Refuse();
    if (site_.dequantised) {
      const auto large = [](const ConstantProduct& p) {
        return static_cast<size_t>(p.matrix.element_count()) > kMostPackedBytes / sizeof(float);
      };
      return std::ranges::any_of(group_.products, large) ? Refuse() : Status();
    }
    if (!LiesInRows(products)) return Refuse();
    products.on_blocks = FindBlockProducts();
    return {};
  }

  // In float32, neighbours along rows beside each other on both sides.
  bool LiesInRows(const Products<T>& products) const {
    const auto apart = [](const PackedProduct& p) { return p.column_stride != 1; };
    return std::is_same_v<T, float> && products.input_column_stride == 1 &&
           std::ranges::none_of(products.products, apart);
  }

  // The rest sees the product's result as one more input, dense.
  Status ReadRest(Products<T>& products) {
    if (group_.rest.empty()) return {};
    if (site_.out.size() != 1 || site_.out[0].count() == 1) return Refuse();
    const ValueId made = group_.products[0].result;
    const std::vector<int64_t> dims = *site_.graph.value(made).type.static_dims();
    if (dims != site_.out[0].dims()) return Refuse();
    PT_ASSIGN(const TensorLayout layout, DenseLayout(DataType::kFloat32, dims, Layout{order_, {}}));
    PT_ASSIGN(products.rest, ReadElementwiseRest(site_, group_.rest, made, layout));
    for (uint32_t i : products.rest->in_place()) {
      if (i != products.input) in_place_.push_back(i);
    }
    return {};
  }

  // Blocks of rows and chunks of columns: matrices of chunks stay in the inner caches while the rows go by, stretches
  // that the rest reads do so too, and there are enough of both for all cores.
  void Divide(Products<T>& products) const {
    constexpr int64_t kFewRows = 8, kMatrix = 65536, kStretch = 8192;
    const auto up = [](int64_t n, int64_t to) { return (n + to - 1) / to * to; };
    const int64_t rows = products.rows.count, cores = site_.width;
    const int64_t width = products.on_blocks ? products.on_blocks->columns : products.math.columns;
    const int64_t fitting = kStretch / products.products[0].columns / kFewRows * kFewRows;
    const int64_t most = products.rest ? std::clamp(fitting, kFewRows, kMostRows) : kMostRows;
    products.block = std::clamp(up((rows + cores - 1) / cores, kFewRows), kFewRows, most);
    products.blocks = (rows + products.block - 1) / products.block;
    int64_t widest = 0, columns = 0;
    for (size_t i = 0; i < products.products.size(); ++i) {
      const int64_t all = products.products[i].columns;
      // The rest runs along whole rows where it can.
      const bool whole = products.rest || products.thin != nullptr || (products.on_blocks && rows <= kFewRows);
      int64_t together = whole ? up(all, width) : std::max(kMatrix / products.depth / width, int64_t{1}) * width;
      if (products.blocks < cores) together = std::min(together, up((all + cores - 1) / cores, width));
      for (int64_t first = 0; first < all; first += together) {
        products.chunks.push_back({i, first, std::min(together, all - first)});
        widest = std::max(widest, products.chunks.back().columns);
      }
      columns += all;
    }
    if (products.rest) products.stretch_floats = up(products.block * widest, 16);
    const double step = products.on_blocks && rows == 1 ? 0.03 : 0.0025 * sizeof(T);
    const double element =
        static_cast<double>(products.depth) * step + 0.1 + (products.rest ? products.rest->part.work : 0);
    products.work = static_cast<double>(std::min(products.block, rows) * columns) /
                    static_cast<double>(products.chunks.size()) * element;
  }

  Error Refuse() const { return site_.Unsupported("this is not a product of float32 rows with a constant matrix"); }

  const HostSite& site_;
  const ProductGroup& group_;
  std::vector<uint8_t> order_;  // of the dims: rows are along the last
  std::vector<uint32_t> in_place_;
};

}  // namespace

Result<HostRoutine> MakeProducts(const HostSite& site, const ProductGroup& group) {
  const auto is_shortened = [&](ValueId value) {
    return site.is_shortened(*std::ranges::find(site.in, value, &HostOperand::value));
  };
  const bool shortened = is_shortened(group.products[0].input);
  const ValueId residual = group.products[0].residual;
  if (residual.valid() && (shortened || is_shortened(residual))) {
    return MakeProducts(site, *ReadProducts(site.graph, site.nodes, ResidualPlace::kInRest));
  }
  return shortened ? ProductMaker<Bfloat16>(site, group).Make() : ProductMaker<float>(site, group).Make();
}

}  // namespace pt::host
