#include "lib/backend/host_kernels/products/integer_product.h"

#include <algorithm>
#include <cstring>

#include "lib/backend/host_kernels/products/integer_products.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

using Dims = std::vector<int64_t>;

// An operand's dims and strides as a stack of matrices; the batch dims of both sides meet those of the result.
struct Stack {
  Dims dims, strides;

  // Of the dim counted from the end of `rank`; 0 where it repeats.
  int64_t StrideAt(size_t d, size_t rank) const {
    const size_t lead = rank - dims.size();
    return d < lead || dims[d - lead] == 1 ? 0 : strides[d - lead];
  }
  int64_t batches() const { return CheckedProduct(std::span(dims).first(dims.size() - 2)).value_or(0); }
};

Dims DenseStrides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

class Maker {
 public:
  Maker(const HostSite& site, const IntegerProduct& product) : site_(site), product_(product) {}

  Result<HostRoutine> Make() {
    p_.math = FindIntegerPanels();
    PT_CHECK_OK(ReadSides());
    PT_CHECK_OK(product_.convolution ? ReadConvolution() : ReadMatrices());
    PT_CHECK_OK(ReadResult());
    Divide();
    HostRoutine routine;
    routine.scratch_bytes = ScratchBytes(p_, site_.width);
    if (p_.rest) {
      for (uint32_t i : p_.rest->in_place()) {
        if (i != p_.a && i != p_.b) routine.in_place.push_back(i);
      }
    }
    const auto shared = std::make_shared<IntegerProducts>(std::move(p_));
    if (shared->constant) routine.pack = [shared](CompileContext& context) { return Pack(context, *shared); };
    routine.run = [shared](const HostCall& run) -> Status {
      RunIntegerProducts(*shared, run);
      return {};
    };
    return routine;
  }

 private:
  static Status Pack(CompileContext& context, IntegerProducts& p) {
    const int64_t elements = p.depth * p.columns, count = p.constant->element_count() / elements;
    const auto panels = CheckedMul(count, p.matrix_bytes());
    const auto sums = CheckedMul(count, p.padded(p.columns) * static_cast<int64_t>(sizeof(int32_t)));
    const auto bytes = panels && sums ? CheckedAdd(*panels, *sums) : std::nullopt;
    if (!bytes) return MakeError(ErrorCode::kInvalidInput, "host.size", "a packed matrix is too large");
    const auto fill = [&](DeviceBuffer& buffer) -> Status {
      auto* to = static_cast<int8_t*>(buffer.data());
      for (int64_t m = 0; m < count; ++m) {
        p.math.pack({.b = reinterpret_cast<const uint8_t*>(p.constant->bytes().data()) + m * elements,
                     .row_stride = p.columns,
                     .depth = p.depth,
                     .columns = p.columns,
                     .flips = p.b_flips,
                     .panels = to + m * p.matrix_bytes(),
                     .column_sums = reinterpret_cast<int32_t*>(to + *panels) + m * p.padded(p.columns)});
      }
      return {};
    };
    const std::string format = "host int8 panels of " + std::to_string(p.math.columns);
    PT_ASSIGN(p.packed, context.weights.Get(p.constant->content_hash(), format, context.device,
                                            static_cast<uint64_t>(*bytes), fill));
    return {};
  }

  size_t PlaceOf(ValueId value) const {
    return static_cast<size_t>(std::ranges::find(site_.in, value, &HostOperand::value) - site_.in.begin());
  }
  const HostOperand& OperandOf(ValueId value) const { return site_.in[PlaceOf(value)]; }

  Status ReadSides() {
    for (ValueId value : {product_.a, product_.b}) {
      if (!value.valid() || !IsByte(OperandOf(value).type())) return Refuse("a factor is not of int8 or uint8");
    }
    p_.a = PlaceOf(product_.a);
    p_.b = PlaceOf(product_.b);
    p_.a_flips = site_.in[p_.a].type() == DataType::kInt8;
    p_.b_flips = site_.in[p_.b].type() == DataType::kUint8;
    PT_ASSIGN(p_.a_zero, ReadZeros(product_.a_zero, p_.a_flips ? 128 : 0));
    PT_ASSIGN(p_.b_zero, ReadZeros(product_.b_zero, p_.b_flips ? -128 : 0));
    p_.may_have_column_zeros = true;
    if (!product_.b_zero.valid()) p_.may_have_column_zeros = p_.b_flips;
    if (const auto place = p_.b_zero.place; place && site_.in[*place].constant) {
      const auto zeros = site_.in[*place].constant->ToInts();
      p_.may_have_column_zeros = std::ranges::any_of(zeros, [&](int64_t zero) { return zero + p_.b_zero.moved != 0; });
    }
    return {};
  }

  Result<IntegerZeros> ReadZeros(ValueId value, int32_t moved) const {
    IntegerZeros zeros{std::nullopt, DataType::kUint8, moved};
    if (!value.valid()) return zeros;
    zeros.place = PlaceOf(value);
    zeros.type = site_.in[*zeros.place].type();
    if (!IsByte(zeros.type)) return Refuse("a zero point is not of int8 or uint8");
    return zeros;
  }

  // Where the zero points of a side lie in their tensor, as dims of the side; a list runs along `axis`, counted from
  // the end.
  Result<Stack> StackOfZeros(ValueId value, const Stack& side, size_t axis) const {
    const size_t rank = side.dims.size();
    Stack zeros{Dims(rank, 1), Dims(rank, 0)};
    if (!value.valid()) return zeros;
    const HostOperand& operand = OperandOf(value);
    if (operand.count() == 1) return zeros;
    if (operand.rank() == 1) {
      zeros.dims[rank - axis] = operand.dims()[0];
      zeros.strides[rank - axis] = operand.strides()[0];
    } else {
      zeros = {operand.dims(), operand.strides()};
    }
    Dims expected = side.dims;
    expected[rank - (axis == 1 ? 2 : 1)] = 1;
    const bool list = operand.rank() == 1 && zeros.dims[rank - axis] == side.dims[rank - axis];
    if (!list && zeros.dims != expected) return Refuse("its zero points do not fit");
    return zeros;
  }

  Status ReadMatrices() {
    Stack a{site_.in[p_.a].dims(), site_.in[p_.a].strides()}, b{site_.in[p_.b].dims(), site_.in[p_.b].strides()};
    const bool row = a.dims.size() == 1, column = b.dims.size() == 1;
    if (a.dims.empty() || b.dims.empty()) return Refuse("a factor is a scalar");
    if (row) a = {{1, a.dims[0]}, {0, a.strides[0]}};
    if (column) b = {{b.dims[0], 1}, {b.strides[0], 1}};
    const size_t rank = std::max(a.dims.size(), b.dims.size()), a_rank = a.dims.size(), b_rank = b.dims.size();
    p_.depth = a.dims[a_rank - 1];
    p_.columns = b.dims[b_rank - 1];
    const int64_t height = a.dims[a_rank - 2];
    if (p_.depth == 0 || b.dims[b_rank - 2] != p_.depth) return Refuse("its depth");
    if (p_.depth > 1 && a.strides[a_rank - 1] != 1) return Refuse("the rows of its left side are not contiguous");
    if (p_.columns > 1 && b.strides[b_rank - 1] != 1) return Refuse("the rows of its right side are not contiguous");
    PT_ASSIGN(const Stack a_zeros, StackOfZeros(product_.a_zero, a, 2));
    PT_ASSIGN(const Stack b_zeros, StackOfZeros(product_.b_zero, b, 1));
    p_.b_row_stride = b.strides[b_rank - 2];
    p_.b_zero_stride = b_zeros.StrideAt(rank - 1, rank);
    const auto& constant = site_.in[p_.b].constant;
    if (constant && constant->element_count() > 0) p_.constant = constant;
    Stack c = ResultStack(row, column);
    if (c.dims.size() != rank || c.dims[rank - 1] != p_.columns || c.dims[rank - 2] != height)
      return Refuse("its dims");
    p_.column_walk.Push(p_.columns, {c.strides[rank - 1]});
    const auto offsets = [&](size_t d) {
      return IntegerOffsets{a.StrideAt(d, rank), a_zeros.StrideAt(d, rank), b.StrideAt(d, rank),
                            b_zeros.StrideAt(d, rank), c.strides[d]};
    };
    IntegerOffsets rows = offsets(rank - 2);
    rows[kB] = rows[kBZero] = 0;
    p_.rows.Push(height, rows);
    // A stack times one matrix is one product of more rows.
    const bool one = b.batches() == 1 && b_zeros.batches() == 1;
    for (size_t d = rank - 2; d-- > 0;) (one ? p_.rows : p_.matrices).Push(c.dims[d], offsets(d));
    return {};
  }

  // The result with the dims that a vector leaves out.
  Stack ResultStack(bool row, bool column) const {
    const Dims dims = *site_.graph.value(site_.graph.node(product_.node).outputs[0]).type.static_dims();
    Stack c{dims, site_.out[0].dims() == dims ? site_.out[0].strides() : DenseStrides(dims)};
    if (row) {
      const auto at = static_cast<ptrdiff_t>(c.dims.size()) - (column ? 0 : 1);
      c.dims.insert(c.dims.begin() + at, 1);
      c.strides.insert(c.strides.begin() + at, 0);
    }
    if (column) {
      c.dims.push_back(1);
      c.strides.push_back(1);
    }
    return c;
  }

  Status ReadConvolution() {
    const HostOperand &x = site_.in[p_.b], &w = site_.in[p_.a], &y = site_.out[0];
    PT_ASSIGN(p_.images, IntegerImages::Read(site_, site_.graph.node(product_.node), x, w, y));
    p_.depth = p_.images->depth();
    p_.columns = p_.images->pixels();
    if (p_.depth == 0) return Refuse("its filters are empty");
    for (size_t d = w.dims().size(), step = 1; d-- > 1; step *= static_cast<size_t>(w.dims()[d])) {
      if (w.dims()[d] > 1 && w.strides()[d] != static_cast<int64_t>(step))
        return Refuse("its filters are not contiguous");
    }
    if (product_.b_zero.valid() && OperandOf(product_.b_zero).count() != 1)
      return Refuse("its zero points are several");
    int64_t zero_step = 0;
    if (product_.a_zero.valid() && OperandOf(product_.a_zero).count() != 1) {
      const HostOperand& zeros = OperandOf(product_.a_zero);
      if (zeros.rank() != 1 || zeros.dims()[0] != w.dims()[0]) return Refuse("its zero points do not fit");
      zero_step = zeros.strides()[0];
    }
    const int64_t groups = p_.images->groups(), height = w.dims()[0] / groups;
    p_.a_channels = w.dims()[0];
    p_.by_row = true;
    const std::vector<int64_t>& strides = y.strides();
    p_.rows.Push(height, {w.strides()[0], zero_step, 0, 0, strides[1]});
    p_.matrices.Push(groups, {height * w.strides()[0], height * zero_step, 1, 0, height * strides[1]});
    p_.matrices.Push(y.dims()[0], {0, 0, groups, 0, strides[0]});
    for (size_t d = y.dims().size(); d-- > 2;) p_.column_walk.Push(y.dims()[d], {strides[d]});
    return {};
  }

  // Scales, bias and what follows.
  Status ReadResult() {
    if (site_.out.size() != 1) return Refuse("it makes several values");
    const auto type = site_.graph.value(product_.result).type;
    const auto sums = site_.graph.value(site_.graph.node(product_.node).outputs[0]).type;
    p_.is_real = product_.is_real;
    p_.bounds = product_.bounds;
    if (type.dims != sums.dims || type.type != (p_.is_real ? DataType::kFloat32 : DataType::kInt32)) {
      return Refuse("its result has other dims or another type");
    }
    for (const auto& [value, spread] : product_.scales) {
      const HostOperand& scale = OperandOf(value);
      if (scale.type() != DataType::kFloat32) return Refuse("its scales are not of float32");
      IntegerFactor factor{PlaceOf(value), spread == Spread::kOne, 0};
      for (size_t d = 0; d < scale.dims().size(); ++d) {
        if (scale.dims()[d] != 1) factor.stride = scale.strides()[d];
      }
      p_.scales.push_back(factor);
    }
    if (product_.bias) {
      const auto bias = product_.bias->values<float>();
      const auto count = static_cast<size_t>(p_.by_row ? p_.a_channels : p_.padded(p_.columns));
      if (product_.bias_spread == Spread::kOne) {
        p_.bias.assign(count, bias[0]);
      } else {
        p_.bias.assign(bias.begin(), bias.end());
        p_.bias.resize(count);
      }
    }
    if (product_.rest.empty()) {
      if (site_.out[0].type() != type.type || site_.out[0].dims() != type.static_dims()) return Refuse("its result");
      return {};
    }
    if (site_.out[0].count() == 1 || site_.out[0].dims() != type.static_dims()) return Refuse("what follows it");
    const Dims dims = *type.static_dims();
    PT_ASSIGN(const TensorLayout layout, DenseLayout(type.type, dims, RowMajor(dims.size())));
    PT_ASSIGN(p_.rest, ReadElementwiseRest(site_, product_.rest, product_.result, layout));
    return {};
  }

  // Panels of an item stay in the inner caches while the rows go by, stretches that the rest reads do so too, and there
  // are enough items for all cores. Where B is packed in the run, an item has all rows of its columns.
  void Divide() {
    constexpr int64_t kFewRows = 8, kMostRows = 64, kPanelBytes = 65536, kStretch = 8192;
    const auto parts = [](int64_t n, int64_t of) { return (n + of - 1) / of; };
    IntegerDivision& division = p_.division;
    const int64_t rows = std::max<int64_t>(p_.rows.count, 1), cores = site_.width, width = p_.math.columns;
    const int64_t even = parts(parts(rows, cores), kFewRows) * kFewRows;
    division.rows = p_.constant ? std::clamp(even, kFewRows, kMostRows) : rows;
    division.blocks = parts(p_.rows.count, division.rows);
    // The rest runs along whole rows where it can.
    const bool whole = p_.rest && p_.constant;
    division.columns =
        whole ? p_.padded(p_.columns) : std::max(kPanelBytes / p_.packed_depth() / width, int64_t{1}) * width;
    const int64_t others = p_.matrices.count * division.blocks;
    if (others < cores) {
      const int64_t share = parts(p_.columns * std::max<int64_t>(others, 1), cores);
      division.columns = std::min(division.columns, p_.padded(std::max<int64_t>(share, 1)));
    }
    division.columns = std::max(std::min(division.columns, p_.padded(p_.columns)), width);
    division.chunks = parts(p_.columns, division.columns);
    const int64_t fitting = kStretch / division.columns / kFewRows * kFewRows;
    division.rows_at_once =
        std::min(division.rows, p_.is_direct() ? kMostRows : std::clamp(fitting, kFewRows, kMostRows));
    const double element = static_cast<double>(p_.depth) * 0.007 + 0.1 + (p_.rest ? p_.rest->part.work : 0);
    const double packing = p_.constant ? 0 : static_cast<double>(p_.depth) * 0.05;
    p_.work = static_cast<double>(std::min(division.columns, p_.columns)) *
              (static_cast<double>(std::min(division.rows, rows)) * element + packing);
  }

  Error Refuse(std::string why) const { return site_.Unsupported(std::move(why)); }

  const HostSite& site_;
  const IntegerProduct& product_;
  IntegerProducts p_;
};

}  // namespace

Result<HostRoutine> MakeIntegerProduct(const HostSite& site, const IntegerProduct& product) {
  return Maker(site, product).Make();
}

}  // namespace pt::host
