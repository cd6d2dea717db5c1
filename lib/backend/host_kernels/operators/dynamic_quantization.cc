// DynamicQuantizeLinear: to uint8, with the range of the data, in two passes over them.
#include "lib/backend/host_kernels/operators/dynamic_quantization.h"

#include <algorithm>
#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/dynamic_bytes.h"
#include "lib/backend/host_kernels/kernels/walk.h"

namespace pt::host {
namespace {

// Data in pieces whose elements lie side by side, the data's as the result's.
struct Pieces {
  static constexpr int64_t kMost = 4096;  // elements

  Walk<2> rows;  // offsets in the data and the result
  int64_t row = 1, per_row = 1, count = 0;

  // f(offset in the data, offset in the result, elements) for pieces from `begin` to before `end`.
  template <typename F>
  void ForEach(int64_t begin, int64_t end, F&& f) const {
    Cursor<2> at(rows, begin / per_row);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % per_row * kMost;
      f(at.offsets()[0] + first, at.offsets()[1] + first, std::min(kMost, row - first));
      if (i % per_row == per_row - 1) at.Next();
    }
  }
};

Pieces PiecesOf(const HostOperand& x, const std::vector<int64_t>& result_strides) {
  Walk<2> all;
  for (size_t d = x.dims().size(); d-- > 0;) all.Push(x.dims()[d], {x.strides()[d], result_strides[d]});
  const bool side_by_side = all.rank > 0 && all.inner_stride() == Walk<2>::Offsets{1, 1};
  Pieces pieces;
  pieces.rows = side_by_side ? all.Without(0) : all;
  pieces.row = side_by_side ? all.inner_size() : 1;
  if (all.count == 0) return pieces;
  pieces.per_row = (pieces.row + Pieces::kMost - 1) / Pieces::kMost;
  pieces.count = pieces.rows.count * pieces.per_row;
  return pieces;
}

struct Quantisation {
  Pieces pieces;
  bool makes_result = false;
  double piece_elements = 1;

  ByteRange RangeOfData(const HostCall& run) const {
    const int64_t most = run.team == nullptr ? 1 : run.team->width();
    auto* ranges = reinterpret_cast<ByteRange*>(run.scratch);
    std::fill_n(ranges, most, ByteRange());
    ParallelParts(
        run.team, pieces.count, piece_elements * 0.04 + 5, most, [&](int64_t part, int64_t begin, int64_t end) {
          ByteRange range;
          pieces.ForEach(begin, end,
                         [&](int64_t from, int64_t, int64_t n) { Widen(run.input<float>(0) + from, n, range); });
          ranges[part] = range;
        });
    ByteRange range;
    for (int64_t part = 0; part < most; ++part) {
      range.low = std::min(range.low, ranges[part].low);
      range.high = std::max(range.high, ranges[part].high);
    }
    return range;
  }

  void Quantise(const HostCall& run, const ByteSteps& steps) const {
    ParallelRanges(run.team, pieces.count, piece_elements * 0.1 + 5, [&](int64_t begin, int64_t end) {
      pieces.ForEach(begin, end, [&](int64_t from, int64_t to, int64_t n) {
        QuantiseBytes(run.input<float>(0) + from, n, steps, run.output<uint8_t>(0) + to);
      });
    });
  }
};

Result<HostRoutine> DynamicQuantizeLinear(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const HostOperand& x = site.in[0];
  if (x.type() != DataType::kFloat32) return site.Unsupported("its input is not float32");
  PT_CHECK_OK(site.NeedOutput(0, DataType::kUint8, x.dims()));
  PT_CHECK_OK(site.NeedOutput(1, DataType::kFloat32, {}));
  PT_CHECK_OK(site.NeedOutput(2, DataType::kUint8, {}));
  Quantisation q;
  q.makes_result = site.out[0].present();
  q.pieces = PiecesOf(x, q.makes_result ? site.out[0].strides() : x.strides());
  q.piece_elements = static_cast<double>(std::min(q.pieces.row, Pieces::kMost));
  HostRoutine routine;
  routine.scratch_bytes = sizeof(ByteRange) * site.width;
  routine.run = [q](const HostCall& run) -> Status {
    const ByteSteps steps = StepsOf(q.RangeOfData(run));
    if (run.output<float>(1) != nullptr) *run.output<float>(1) = steps.scale;
    if (run.output<uint8_t>(2) != nullptr) *run.output<uint8_t>(2) = static_cast<uint8_t>(steps.zero);
    if (q.makes_result) q.Quantise(run, steps);
    return {};
  };
  return routine;
}

constexpr std::array kDynamicQuantizationOperators = {HostRow{"DynamicQuantizeLinear", DynamicQuantizeLinear}};

}  // namespace

std::span<const HostRow> DynamicQuantizationOperators() { return kDynamicQuantizationOperators; }

}  // namespace pt::host
