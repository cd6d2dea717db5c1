#include "lib/backend/host_kernels/operators/gather_joined.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/operators/indices.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/uses.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

constexpr size_t kMostParts = 4;

Result<size_t> AxisOf(const Graph& graph, const Node& node) {
  return ReadAxis(node, graph.opset(), graph.value(node.inputs[0]).type.dims.size());
}

// One of the tensors that are joined.
struct Part {
  size_t place = 0;                             // into the site's inputs
  int64_t first = 0, rows = 0, row_stride = 0;  // along the axis
};

struct Joined {
  Walk<kMostParts + 1> outer;  // dims before the axis: offsets in the parts, then in the result
  std::vector<Part> parts;
  int64_t dim = 0, count = 0;         // of the axis, joined and in the result
  int64_t inner = 0, row_stride = 0;  // elements of a row; from one of the result's to the next
  int64_t bytes = 0;                  // of an element
  size_t indices = 0;                 // into the site's inputs
  int64_t index_stride = 0;
  DataType index_type = DataType::kInt64;
  Walk<1> order;
};

// One position of the outer dims. False where an index does not exist.
template <typename Index>
bool GatherOne(const Joined& j, const HostCall& run, const Walk<kMostParts + 1>::Offsets& at) {
  const auto* indices = run.input<Index>(j.indices);
  const auto place_of = [&](int64_t i) { return PlaceOf(indices[i * j.index_stride], j.dim); };
  std::byte* to = run.output<std::byte>(0) + at[kMostParts] * j.bytes;
  const int64_t row_bytes = j.inner * j.bytes;
  for (int64_t i = 0; i < j.count;) {
    const int64_t place = place_of(i);
    if (!IsPlace(place, j.dim)) return false;
    size_t p = j.parts.size() - 1;
    while (j.parts[p].first > place) --p;
    const Part& part = j.parts[p];
    // Neighbours that follow each other on both sides.
    int64_t together = 1;
    if (part.row_stride == j.inner && j.row_stride == j.inner) {
      const int64_t most = std::min(j.count - i, part.first + part.rows - place);
      while (together < most && place_of(i + together) == place + together) ++together;
    }
    const std::byte* from =
        run.input<std::byte>(part.place) + (at[p] + (place - part.first) * part.row_stride) * j.bytes;
    std::memcpy(to + i * j.row_stride * j.bytes, from, static_cast<size_t>(together * row_bytes));
    i += together;
  }
  return true;
}

Status RunJoined(const Joined& j, const HostCall& run) {
  const auto check = [&] { return CheckIndices("Gather", run.in[j.indices], j.index_type, j.order, {&j.dim, 1}); };
  if (j.outer.count == 0 || j.inner == 0 || j.count == 0) return check();
  std::atomic<bool> exist = true;
  const double work = static_cast<double>(j.count) * (static_cast<double>(j.inner * j.bytes) * 0.06 + 2);
  VisitIndexType(j.index_type, [&]<typename Index>() {
    ParallelShares(run.team, j.outer.count, work, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        if (!GatherOne<Index>(j, run, j.outer.At(item))) exist = false;
      }
    });
  });
  return exist ? Status() : check();
}

// Elements of a row behind the axis; nullopt where they do not lie side by side.
std::optional<int64_t> RowOf(const HostOperand& operand, size_t axis) {
  int64_t inner = 1;
  for (size_t d = operand.dims().size(); d-- > axis + 1;) {
    if (operand.dims()[d] > 1 && operand.strides()[d] != inner) return std::nullopt;
    inner *= operand.dims()[d];
  }
  return inner;
}

class JoinedMaker {
 public:
  JoinedMaker(const HostSite& site, const GatherJoined& group) : site_(site), group_(group) {}

  Result<HostRoutine> Make() {
    Joined j;
    const Node &concat = site_.graph.node(group_.concat), &gather = site_.graph.node(group_.gather);
    const HostOperand& y = site_.out[0];
    const size_t axis = group_.axis;
    const auto row = RowOf(y, axis);
    if (concat.inputs.size() > kMostParts || !row || site_.out.size() != 1) return Refuse();
    j.bytes = BytesOf(y.type());
    j.inner = *row;
    j.count = y.dims()[axis];
    j.row_stride = y.strides()[axis];
    PT_CHECK_OK(ReadParts(concat, y, j));
    for (size_t d = axis; d-- > 0;) {
      Walk<kMostParts + 1>::Offsets offsets{};
      for (size_t p = 0; p < j.parts.size(); ++p) offsets[p] = site_.in[j.parts[p].place].strides()[d];
      offsets[kMostParts] = y.strides()[d];
      j.outer.Push(y.dims()[d], offsets);
    }
    j.indices = PlaceIn(gather.inputs[1]);
    const HostOperand& indices = site_.in[j.indices];
    if (!IsIndexType(indices.type()) || indices.rank() != 1 || indices.dims()[0] != j.count) return Refuse();
    j.index_stride = indices.strides()[0];
    j.index_type = indices.type();
    j.order = InOrder(indices);
    return HostRoutine{[j = std::move(j)](const HostCall& run) { return RunJoined(j, run); }};
  }

 private:
  size_t PlaceIn(ValueId value) const {
    return static_cast<size_t>(std::ranges::find(site_.in, value, &HostOperand::value) - site_.in.begin());
  }

  // Parts without rows hold no place.
  Status ReadParts(const Node& concat, const HostOperand& y, Joined& j) const {
    for (ValueId input : concat.inputs) {
      const size_t place = PlaceIn(input);
      const HostOperand& x = site_.in[place];
      const auto row = RowOf(x, group_.axis);
      if (x.type() != y.type() || x.rank() != y.rank() || row != j.inner) return Refuse();
      for (size_t d = 0; d < group_.axis; ++d) {
        if (x.dims()[d] != y.dims()[d]) return Refuse();
      }
      const int64_t rows = x.dims()[group_.axis];
      if (rows > 0) j.parts.push_back({place, j.dim, rows, x.strides()[group_.axis]});
      j.dim += rows;
    }
    if (j.parts.empty()) return Refuse();
    return {};
  }

  Error Refuse() const { return site_.Unsupported("these are no rows of tensors that are joined"); }

  const HostSite& site_;
  const GatherJoined& group_;
};

}  // namespace

std::optional<GatherJoined> ReadGatherJoined(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.size() != 2) return std::nullopt;
  const Node &concat = graph.node(nodes[0]), &gather = graph.node(nodes[1]);
  if (!concat.domain.empty() || concat.op != "Concat" || !gather.domain.empty() || gather.op != "Gather")
    return std::nullopt;
  if (OnlyReader(graph, concat.outputs[0]) != nodes[1] || gather.inputs[0] != concat.outputs[0]) return std::nullopt;
  const auto joined = AxisOf(graph, concat), axis = AxisOf(graph, gather);
  if (!joined.ok() || !axis.ok() || *joined != *axis || graph.value(gather.inputs[1]).type.dims.size() != 1)
    return std::nullopt;
  return GatherJoined{nodes[0], nodes[1], *axis};
}

std::vector<std::vector<NodeId>> GatherJoinedGroups(const Graph& graph) {
  std::vector<std::vector<NodeId>> groups;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& gather = graph.node(NodeId(n));
    if (gather.op != "Gather" || !gather.domain.empty() || !graph.value(gather.inputs[0]).producer.valid()) continue;
    std::vector<NodeId> nodes{graph.value(gather.inputs[0]).producer, NodeId(n)};
    if (ReadGatherJoined(graph, nodes)) groups.push_back(std::move(nodes));
  }
  return groups;
}

Result<HostRoutine> MakeGatherJoined(const HostSite& site, const GatherJoined& group) {
  return JoinedMaker(site, group).Make();
}

}  // namespace pt::host
