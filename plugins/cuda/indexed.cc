// Operators whose elements come from where indices say, constant or of the run: Gather, GatherElements, GatherND. An
// index out of range, which only the kernel sees, makes the run fail.
#include <array>

#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/movement.h"

namespace pt::cuda {
namespace {

constexpr const char* kFault = "an index is out of range";

struct Indexed {
  const CudaOperand &x, &indices;
  size_t axis = 0;
};

Result<Indexed> Read(const CudaSite& site) {
  PT_ASSIGN(const CudaOperand* const x, MovedInput(site));
  const CudaOperand* const indices = site.Input(1);
  if (indices == nullptr) return site.Unsupported("it has no indices");
  if (indices->type() != DataType::kInt32 && indices->type() != DataType::kInt64) {
    return site.Unsupported("its indices are neither int32 nor int64");
  }
  PT_ASSIGN(const size_t axis, OrUnsupported(ReadAxis(site.node(), site.graph.opset(), x->dims().size()), site));
  return Indexed{*x, *indices, axis};
}

// Defines `name`, the index at `place` within a dim, from 0 on.
std::string IndexText(const std::string& name, const std::string& place, int64_t dim) {
  const std::string size = std::to_string(dim) + "ll";
  return "    long long " + name + " = " + place + ";\n    if (" + name + " < 0) " + name + " += " + size +
         ";\n    if (" + name + " < 0 || " + name + " >= " + size + ") {\n      " + FaultText() +
         ";\n      continue;\n" + "    }\n";
}

std::string Term(const std::string& coordinate, int64_t stride) {
  return " + " + coordinate + " * (" + std::to_string(stride) + ")";
}
std::string C(size_t d) { return "c" + std::to_string(d); }

Result<CudaRoutine> Gather(const CudaSite& site) {
  PT_ASSIGN(const Indexed g, Read(site));
  const CudaOperand& y = site.out[0];
  const std::vector<int64_t>& in = g.x.dims();
  const size_t indices = g.indices.dims().size();
  std::vector<int64_t> expected(in.begin(), in.begin() + static_cast<ptrdiff_t>(g.axis));
  expected.insert(expected.end(), g.indices.dims().begin(), g.indices.dims().end());
  expected.insert(expected.end(), in.begin() + static_cast<ptrdiff_t>(g.axis) + 1, in.end());
  if (y.dims() != expected) return site.Unsupported("its result has other dims");
  // As strides over the result's dims, so that dims which stay together merge.
  std::vector<int64_t> from(y.dims().size(), 0), where(y.dims().size(), 0);
  for (size_t d = 0; d < y.dims().size(); ++d) {
    if (d < g.axis) {
      from[d] = g.x.strides()[d];
    } else if (d < g.axis + indices) {
      where[d] = g.indices.strides()[d - g.axis];
    } else {
      from[d] = g.x.strides()[d - indices + 1];
    }
  }
  const IndexSpace space(y.dims(), {from, where, y.strides()});
  const std::string body = IndexText("at", site.NameOf(g.indices) + "[" + space.OffsetText(1) + "]", in[g.axis]) +
                           "    out0[" + space.OffsetText(2) + "] = " + site.NameOf(g.x) + "[" + space.OffsetText(0) +
                           " + (Index)at * " + std::to_string(g.x.strides()[g.axis]) + "];\n";
  return CudaRoutine{.kernels = {ElementKernel(site, space, body)}, .fault = kFault};
}

Result<CudaRoutine> GatherElements(const CudaSite& site) {
  PT_ASSIGN(const Indexed g, Read(site));
  const CudaOperand& y = site.out[0];
  if (y.dims() != g.indices.dims() || y.dims().size() != g.x.dims().size()) {
    return site.Unsupported("its indices have other dims");
  }
  std::vector<int64_t> from = g.x.strides();
  for (size_t d = 0; d < from.size(); ++d) {
    if (d != g.axis && y.dims()[d] > g.x.dims()[d]) return site.Unsupported("its indices are larger than its input");
  }
  from[g.axis] = 0;
  const IndexSpace space(y.dims(), {from, g.indices.strides(), y.strides()});
  const std::string body =
      IndexText("at", site.NameOf(g.indices) + "[" + space.OffsetText(1) + "]", g.x.dims()[g.axis]) + "    out0[" +
      space.OffsetText(2) + "] = " + site.NameOf(g.x) + "[" + space.OffsetText(0) + " + (Index)at * " +
      std::to_string(g.x.strides()[g.axis]) + "];\n";
  return CudaRoutine{.kernels = {ElementKernel(site, space, body)}, .fault = kFault};
}

Result<CudaRoutine> GatherNd(const CudaSite& site) {
  PT_ASSIGN(const CudaOperand* const x, MovedInput(site));
  const CudaOperand* const tuples = site.Input(1);
  const CudaOperand& y = site.out[0];
  if (tuples == nullptr || tuples->type() != DataType::kInt64 || tuples->dims().empty()) {
    return site.Unsupported("its indices are not int64 of one dim or more");
  }
  const size_t rank = x->dims().size(), lead = tuples->dims().size() - 1;
  const int64_t depth = tuples->dims().back(), batch_dims = ReadBatchDims(site.node());
  if (batch_dims < 0 || batch_dims > static_cast<int64_t>(lead) || depth > static_cast<int64_t>(rank) - batch_dims) {
    return site.Unsupported("its indices do not fit its input");
  }
  const auto batch = static_cast<size_t>(batch_dims), after = batch + static_cast<size_t>(depth);
  std::vector<int64_t> expected(tuples->dims().begin(), tuples->dims().end() - 1);
  expected.insert(expected.end(), x->dims().begin() + static_cast<ptrdiff_t>(after), x->dims().end());
  if (y.dims() != expected) return site.Unsupported("its result has other dims");
  const IndexSpace space = IndexSpace::Whole(y.dims(), {y.strides()});
  std::string tuple = site.NameOf(*tuples) + "[0", offset = "0", body;
  for (size_t d = 0; d < lead; ++d) tuple += Term(C(d), tuples->strides()[d]);
  for (size_t d = 0; d < batch; ++d) {
    if (x->dims()[d] != tuples->dims()[d]) return site.Unsupported("batch dims differ");
    offset += Term(C(d), x->strides()[d]);
  }
  for (size_t k = 0; k < static_cast<size_t>(depth); ++k) {
    const std::string name = "at" + std::to_string(k);
    body += IndexText(name, tuple + " + " + std::to_string(static_cast<int64_t>(k) * tuples->strides()[lead]) + "]",
                      x->dims()[batch + k]);
    offset += Term("(Index)" + name, x->strides()[batch + k]);
  }
  for (size_t d = after; d < rank; ++d) offset += Term(C(lead + d - after), x->strides()[d]);
  body += "    out0[" + space.OffsetText(0) + "] = " + site.NameOf(*x) + "[" + offset + "];\n";
  return CudaRoutine{.kernels = {ElementKernel(site, space, body)}, .fault = kFault};
}

constexpr std::array kRows = {CudaRow{"Gather", Gather}, CudaRow{"GatherElements", GatherElements},
                              CudaRow{"GatherND", GatherNd}};

}  // namespace

std::span<const CudaRow> IndexedOperators() { return kRows; }

}  // namespace pt::cuda
