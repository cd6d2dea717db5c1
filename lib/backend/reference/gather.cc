// Elements read at given indices: Gather, GatherElements, GatherND, and what is built on positions: OneHot, Compress.
#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/strided_read.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

Error OutOfRange(std::string_view op, int64_t index, int64_t dim) {
  return MakeError(
      ErrorCode::kInvalidInput, "reference.index",
      std::string(op) + ": index " + std::to_string(index) + " is outside a dim of " + std::to_string(dim));
}

// All indices lie in -dim..dim-1.
Status CheckIndices(std::string_view op, const Indices& indices, int64_t count, int64_t dim) {
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < -dim || indices[i] >= dim) return OutOfRange(op, indices[i], dim);
  }
  return {};
}

Result<ReferenceRoutine> Gather(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const std::vector<int64_t>& in = site.in[0].dims;
  PT_ASSIGN(const int64_t axis, OrInvalid(ReadAxis(site.node, site.opset, site.in[0].dims.size()), site));
  if (!IsIndexType(site.in[1].type)) return site.Invalid("the indices are not integers");
  const auto at = static_cast<size_t>(axis);
  std::vector<int64_t> out(in.begin(), in.begin() + axis);
  out.insert(out.end(), site.in[1].dims.begin(), site.in[1].dims.end());
  out.insert(out.end(), in.begin() + axis + 1, in.end());
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < in.size(); ++d) (d < at ? outer : inner) *= d == at ? 1 : in[d];
  const int64_t dim = in[at], count = site.in[1].count();
  const bool wide = site.in[1].type == DataType::kInt64;
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      const Indices indices{run.in<void>(1), wide};
      PT_CHECK_OK(CheckIndices("Gather", indices, count, dim));
      ParallelRanges(run.team, outer * count, static_cast<double>(inner) * 0.3 + 3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t given = indices[i % count], index = given < 0 ? given + dim : given;
          const T* from = run.in<T>(0) + (i / count * dim + index) * inner;
          std::copy(from, from + inner, run.out<T>() + i * inner);
        }
      });
      return {};
    }};
  });
}

Result<ReferenceRoutine> GatherElements(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const std::vector<int64_t>& in = site.in[0].dims;
  const std::vector<int64_t>& out = site.in[1].dims;
  PT_ASSIGN(const int64_t axis, OrInvalid(ReadAxis(site.node, site.opset, site.in[0].dims.size()), site));
  if (!IsIndexType(site.in[1].type) || out.size() != in.size())
    return site.Invalid("the indices are not integers of the input's rank");
  for (size_t d = 0; d < in.size(); ++d) {
    if (d != static_cast<size_t>(axis) && out[d] > in[d]) return site.Invalid("the indices are larger than the input");
  }
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  const bool wide = site.in[1].type == DataType::kInt64;
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, count = site.in[1].count(), strides = DenseStrides(in),
                             dim = in[static_cast<size_t>(axis)]](const TensorCall& run) -> Status {
      const Indices indices{run.in<void>(1), wide};
      PT_CHECK_OK(CheckIndices("GatherElements", indices, count, dim));
      for (int64_t i = 0; i < count; ++i) {
        const int64_t index = indices[i] < 0 ? indices[i] + dim : indices[i];
        int64_t rest = i, offset = index * strides[static_cast<size_t>(axis)];
        for (size_t d = out.size(); d-- > 0;) {
          if (static_cast<int64_t>(d) != axis) offset += rest % out[d] * strides[d];
          rest /= out[d];
        }
        run.out<T>()[i] = run.in<T>(0)[offset];
      }
      return {};
    }};
  });
}

Result<ReferenceRoutine> GatherNd(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const std::vector<int64_t>& in = site.in[0].dims;
  const std::vector<int64_t>& where = site.in[1].dims;
  const int64_t batch_dims = ReadBatchDims(site.node);
  if (site.in[1].type != DataType::kInt64 || where.empty())
    return site.Invalid("the indices are not int64 of rank 1 or more");
  const int64_t depth = where.back();
  if (batch_dims < 0 || batch_dims >= site.in[1].rank() || depth < 0 || batch_dims + depth > site.in[0].rank()) {
    return site.Invalid("the indices do not fit the input");
  }
  for (size_t d = 0; d < static_cast<size_t>(batch_dims); ++d) {
    if (in[d] != where[d]) return site.Invalid("batch dims differ");
  }
  std::vector<int64_t> out(where.begin(), where.end() - 1);
  out.insert(out.end(), in.begin() + batch_dims + depth, in.end());
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  int64_t batches = 1, inner = 1;
  for (int64_t d = 0; d < batch_dims; ++d) batches *= in[static_cast<size_t>(d)];
  for (size_t d = static_cast<size_t>(batch_dims + depth); d < in.size(); ++d) inner *= in[d];
  int64_t tuples = 1;
  for (size_t d = 0; d + 1 < where.size(); ++d) tuples *= where[d];
  const std::vector<int64_t> dims(in.begin() + batch_dims, in.begin() + batch_dims + depth);
  int64_t in_batch = inner;
  for (int64_t d : dims) in_batch *= d;
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      for (int64_t t = 0; t < tuples; ++t) {
        int64_t offset = 0;
        for (size_t k = 0; k < dims.size(); ++k) {
          const int64_t given = run.in<int64_t>(1)[t * depth + static_cast<int64_t>(k)];
          if (given < -dims[k] || given >= dims[k]) return OutOfRange("GatherND", given, dims[k]);
          offset = offset * dims[k] + (given < 0 ? given + dims[k] : given);
        }
        const T* from = run.in<T>(0) + t / (tuples / batches) * in_batch + offset * inner;
        std::copy(from, from + inner, run.out<T>() + t * inner);
      }
      return {};
    }};
  });
}

// Indices out of range give all-off vectors.
Result<ReferenceRoutine> OneHot(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  const std::vector<int64_t>& in = site.in[0].dims;
  const int64_t rank = site.in[0].rank();
  PT_ASSIGN(const int64_t axis, OrInvalid(ReadAxis(site.node, site.opset, in.size() + 1), site));
  if (site.in[2].count() != 2 || site.in[1].count() != 1) return site.Invalid("depth or values have the wrong size");
  PT_CHECK_OK(NeedLoadable(site, 0));
  PT_CHECK_OK(NeedLoadable(site, 1));
  int64_t depth = 0;
  if (site.is_constant(1)) {
    PT_ASSIGN(const std::optional<double> given, site.Scalar(1));
    if (!(*given >= 1 && *given < 1e15)) return site.Invalid("the depth is not positive");
    depth = static_cast<int64_t>(*given);
  } else {
    PT_CHECK_OK(site.OutFromGraph(0, site.in[2].type, rank + 1));
    depth = site.out[0].dims[static_cast<size_t>(axis)];
  }
  std::vector<int64_t> out = in;
  out.insert(out.begin() + axis, depth);
  PT_CHECK_OK(site.Out(0, site.in[2].type, out));
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(axis); d < in.size(); ++d) inner *= in[d];
  const DataType index_type = site.in[0].type, depth_type = site.in[1].type;
  return VisitSizes(site, site.in[2].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, count = site.in[0].count()](const TensorCall& run) -> Status {
      if (LoadAs<int64_t>(depth_type, run.in<void>(1), 0) != depth) {
        return MakeError(ErrorCode::kInvalidInput, "reference.shape", "OneHot: the depth is not the one planned for");
      }
      const T off = run.in<T>(2)[0], on = run.in<T>(2)[1];
      for (int64_t i = 0; i < count; ++i) {
        const double raw = LoadAs<double>(index_type, run.in<void>(0), i);
        const double hot = raw < 0 ? raw + static_cast<double>(depth) : raw;
        T* to = run.out<T>() + i / inner * inner * depth + i % inner;
        for (int64_t k = 0; k < depth; ++k) to[k * inner] = static_cast<double>(k) == hot ? on : off;
      }
      return {};
    }};
  });
}

constexpr std::array kGatherOperators = {
    ReferenceRow{.op = "Gather", .make = Gather},
    ReferenceRow{.op = "GatherElements", .make = GatherElements},
    ReferenceRow{.op = "GatherND", .make = GatherNd},
    ReferenceRow{.op = "OneHot", .make = OneHot},
};

}  // namespace

std::span<const ReferenceRow> GatherOperators() { return kGatherOperators; }

}  // namespace pt::reference
