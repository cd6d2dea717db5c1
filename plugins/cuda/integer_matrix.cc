// MatMul, Gemm, MatMulInteger and QLinearMatMul on 8-bit integers, by tiles.
#include <cmath>

#include "partitiontuner/graph/operators/gemm.h"
#include "plugins/cuda/index_space.h"
#include "plugins/cuda/integer_product.h"

namespace pt::cuda {
namespace {

std::string N(int64_t n) { return std::to_string(n); }

// One side: its strides along the rows, the columns and whatever stands before them, in elements.
struct Side {
  const CudaOperand* operand = nullptr;
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
  std::vector<int64_t> batch;  // strides by the result's leading dims; zeros where it has one matrix for all

  bool is_one() const {
    for (const int64_t stride : batch) {
      if (stride != 0) return false;
    }
    return true;
  }
};

Result<Side> ReadSide(const CudaSite& site, const CudaOperand& operand, bool transposed,
                      std::span<const int64_t> leading) {
  const size_t rank = operand.dims().size();
  if (rank < 2) return site.Unsupported("it multiplies a vector");
  TensorLayout outer = operand.layout;
  outer.dims.resize(rank - 2);
  outer.strides.resize(rank - 2);
  const auto batch = BroadcastStrides(outer, leading);
  if (!batch) return site.Unsupported("its sides do not broadcast");
  Side side{&operand,
            operand.dims()[rank - 2],
            operand.dims()[rank - 1],
            operand.strides()[rank - 2],
            operand.strides()[rank - 1],
            *batch};
  if (transposed) {
    std::swap(side.rows, side.columns);
    std::swap(side.row_stride, side.column_stride);
  }
  return side;
}

// The product of a site.
struct Matrices {
  QuantizedProduct product;
  Side a, b;
  std::vector<int64_t> leading;  // dims of the result before its rows
  GemmNode gemm;                 // of other products: the default

  bool is_gemm() const { return product.node->op == "Gemm"; }
  // Where one matrix is multiplied with all of a's, a's rows are those of one tall matrix.
  bool is_tall() const { return b.is_one(); }
};

Result<Matrices> Read(const CudaSite& site) {
  Matrices m;
  PT_ASSIGN(m.product, ReadIntegerProduct(site));
  const std::vector<int64_t>& y = m.product.y_dims;
  if (y.size() < 2) return site.Unsupported("it multiplies a vector");
  m.leading.assign(y.begin(), y.end() - 2);
  if (m.is_gemm()) m.gemm = ReadGemm(*m.product.node);
  PT_ASSIGN(m.a, ReadSide(site, *m.product.a.integers, m.gemm.transpose_a, m.leading));
  PT_ASSIGN(m.b, ReadSide(site, *m.product.b.integers, m.gemm.transpose_b, m.leading));
  if (m.a.columns != m.b.rows || m.a.rows != y[y.size() - 2] || m.b.columns != y.back()) {
    return site.Unsupported("its sides do not fit its result");
  }
  if (m.a.columns > kMostProducts) return site.Unsupported("its sums do not fit 32 bits");
  return m;
}

// What is multiplied, as text; without what is done with it.
TiledProduct TiledOf(const CudaSite& site, const Matrices& m) {
  std::vector<int64_t> rows = {m.a.rows}, strides = {m.a.row_stride};
  if (m.is_tall()) {
    rows.insert(rows.begin(), m.leading.begin(), m.leading.end());
    strides.insert(strides.begin(), m.a.batch.begin(), m.a.batch.end());
  }
  IndexSpace row(rows, {strides}), batch(m.leading, {m.a.batch, m.b.batch});
  IndexSpace place = IndexSpace::Whole(m.is_tall() ? rows : m.leading, {});
  TiledProduct p;
  p.wide = IsWide(m.a.operand->layout) || IsWide(m.b.operand->layout) || IsWide(site.out[0].layout);
  if (p.wide) {
    row.Widen();
    batch.Widen();
    place.Widen();
  }
  p.batches = m.is_tall() ? 1 : batch.count();
  p.rows = row.count();
  p.columns = m.b.columns;
  p.depth = m.a.columns;
  const std::string a_begin = m.is_tall() ? "" : batch.OffsetText(0, 'h') + " + ";
  const std::string b_begin = m.is_tall() ? "" : batch.OffsetText(1, 'h') + " + ";
  if (!m.is_tall()) p.column = batch.CoordinatesText("b0", 'h');
  p.row = row.CoordinatesText("output", 'r');
  p.left = site.NameOf(*m.a.operand) + "[" + a_begin + row.OffsetText(0, 'r') + " + at * " + N(m.a.column_stride) + "]";
  p.right = site.NameOf(*m.b.operand) + "[" + b_begin + "at * " + N(m.b.row_stride) + " + gathered * " +
            N(m.b.column_stride) + "]";
  p.place = place.CoordinatesText(m.is_tall() ? "m" : "b0");
  if (!m.is_tall()) p.place += "        const Index c" + N(static_cast<int64_t>(m.leading.size())) + " = m;\n";
  p.place += "        const Index c" + N(static_cast<int64_t>(m.leading.size()) + 1) + " = place;\n";
  return p;
}

struct Finish {
  std::string alpha, bias;  // empty: 1, none
};

// What a Gemm multiplies with and adds.
Result<Finish> GemmFinish(const CudaSite& site, const Matrices& m) {
  const float alpha = m.gemm.alpha, beta = m.gemm.beta;
  if (!std::isfinite(alpha) || !std::isfinite(beta)) return site.Unsupported("alpha or beta is not finite");
  Finish finish{alpha == 1.0F ? "" : FloatLiteral(alpha), ""};
  if (m.product.bias == nullptr) return finish;
  const auto strides = BroadcastStrides(m.product.bias->layout, m.product.y_dims);
  if (!strides) return site.Unsupported("its bias does not broadcast to the result");
  const IndexSpace space = IndexSpace::Whole(m.product.y_dims, {*strides});
  finish.bias = (beta == 1.0F ? "" : FloatLiteral(beta) + " * ") + "(float)" + site.NameOf(*m.product.bias) + "[" +
                space.OffsetText(0) + "]";
  return finish;
}

}  // namespace

Result<std::vector<std::string>> MatrixVariants(const CudaSite& site) {
  PT_ASSIGN(const Matrices m, Read(site));
  const TiledProduct product = TiledOf(site, m);
  return FittingTiles(product.rows, product.columns);
}

Result<CudaRoutine> MakeMatrixProduct(const CudaSite& site, std::string_view variant) {
  PT_ASSIGN(const Matrices m, Read(site));
  const QuantizedProduct& p = m.product;
  const auto a_last = static_cast<int64_t>(p.a.integers->dims().size()) - 1;
  const auto b_last = static_cast<int64_t>(p.b.integers->dims().size()) - 1;
  // Along rows of the left side and columns of the right one, whichever dims these are.
  const int64_t a_axis = m.gemm.transpose_a ? a_last : a_last - 1;
  const int64_t b_axis = m.gemm.transpose_b ? b_last - 1 : b_last;
  const std::string row = "c" + N(static_cast<int64_t>(m.leading.size()));
  const std::string column = "c" + N(static_cast<int64_t>(m.leading.size()) + 1);
  TiledBytes bytes{p.a.integers->type(), p.b.integers->type()};
  PT_ASSIGN(bytes.left_zero, ZeroText(site, p.a, a_axis, row));
  PT_ASSIGN(bytes.right_zero, ZeroText(site, p.b, b_axis, column));
  std::array<std::string, 2> scales;
  if (p.a.scale != nullptr) {
    PT_ASSIGN(scales[0], ParameterText(site, p.a, *p.a.scale, a_axis, row));
    PT_ASSIGN(scales[1], ParameterText(site, p.b, *p.b.scale, b_axis, column));
  }
  Finish finish;
  if (m.is_gemm()) {
    PT_ASSIGN(finish, GemmFinish(site, m));
  }
  TiledProduct product = TiledOf(site, m);
  PT_ASSIGN(product.written, WrittenText(site, p, scales, finish.bias, finish.alpha));
  PT_ASSIGN(KernelText kernel, TileKernel(site, product, variant, &bytes));
  return CudaRoutine{{std::move(kernel)}};
}

}  // namespace pt::cuda
