// Loop and Scan that run a small body a few times, as often whatever a run brings: the bodies stand one behind the
// other in the loop's place, and are planned and fused with what is around them.
#include <algorithm>

#include "lib/transform/bodies.h"
#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/chance.h"
#include "partitiontuner/graph/operators/repetition.h"

namespace pt {
namespace {

// What an unrolled loop may add: plans and their search grow with it.
constexpr size_t kMostNodes = 400;
constexpr int64_t kMostTrips = 100;

size_t NodesIn(const Graph& graph) {
  size_t count = graph.nodes().size();
  for (const Node& node : graph.nodes()) {
    for (const Subgraph& subgraph : node.subgraphs) count += NodesIn(*subgraph.graph);
  }
  return count;
}

class Unroller {
 public:
  Unroller(GraphBuilder& builder, NodeId id, int64_t trips)
      : builder_(builder), id_(id), node_(builder.graph().node(id)), trips_(trips), is_loop_(node_.op == "Loop") {
    if (!is_loop_) scan_ = ReadScan(node_).value();  // its number of trips was read
    first_carried_ = is_loop_ ? 2 : 0;
    carried_ = is_loop_ ? node_.formal_inputs - first_carried_ : scan_.carried;
    first_result_ = is_loop_ ? 1 : 0;
  }

  bool MayUnroll() const {
    if (trips_ < 1 || trips_ > kMostTrips || DrawsAtRandom(builder_.graph(), node_)) return false;
    if (NodesIn(body()) > kMostNodes / static_cast<size_t>(trips_)) return false;
    if (body().inputs().size() != node_.formal_inputs) return false;
    if (body().outputs().size() != first_result_ + node_.outputs.size()) return false;
    for (size_t i = 0; i < carried_; ++i) {
      if (!node_.inputs[first_carried_ + i].valid()) return false;
    }
    for (size_t i = carried_; i < node_.outputs.size(); ++i) {
      const ValueType& type = ResultType(i);
      if (!type.is_static() || type.type == DataType::kString || !OutputAxis(i)) return false;
    }
    return true;
  }

  void Run() {
    const std::vector<ValueId> shared = OutsideOf(builder_, node_, node_.subgraphs[0]);
    std::vector<ValueId> state(node_.inputs.begin() + static_cast<std::ptrdiff_t>(first_carried_),
                               node_.inputs.begin() + static_cast<std::ptrdiff_t>(first_carried_ + carried_));
    std::vector<std::vector<ValueId>> collected(node_.outputs.size() - carried_);
    for (int64_t trip = 0; trip < trips_; ++trip) {
      std::vector<ValueId> outside = shared;
      for (size_t i = 0; i < body().inputs().size(); ++i) {
        outside[body().inputs()[i].index()] = InputOf(trip, i, state);
      }
      AddBody(builder_, body(), outside);
      const auto result = [&](size_t i) { return outside[body().outputs()[first_result_ + i].index()]; };
      for (size_t i = 0; i < carried_; ++i) state[i] = result(i);
      for (size_t i = 0; i < collected.size(); ++i) collected[i].push_back(result(carried_ + i));
    }
    builder_.RemoveNode(id_);
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      if (!node_.outputs[i].valid()) continue;
      if (i < carried_) {
        Add("Identity", {state[i]}, node_.outputs[i], {});
      } else {
        Join(std::move(collected[i - carried_]), i);
      }
    }
  }

 private:
  using Attributes = std::map<std::string, Attribute, std::less<>>;

  const Graph& body() const { return *node_.subgraphs[0].graph; }
  const ValueType& ResultType(size_t i) const { return body().value(body().outputs()[first_result_ + i]).type; }
  std::optional<size_t> OutputAxis(size_t i) const {
    return is_loop_ ? 0 : scan_.OutputSlicing(i - carried_).AxisIn(ResultType(i).dims.size() + 1);
  }

  ValueId Add(std::string op, std::vector<ValueId> inputs, ValueId output, Attributes attributes) {
    Node node;
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes = std::move(attributes);
    node.source = node_.source;
    builder_.AddNode(std::move(node));
    return output;
  }

  ValueId InputOf(int64_t trip, size_t i, const std::vector<ValueId>& state) {
    const ValueType& type = body().value(body().inputs()[i]).type;
    if (is_loop_ && i < 2) {  // trip number and condition: scalars, or lists of one
      const std::vector<int64_t> dims(type.ranked ? type.dims.size() : 0, 1);
      if (i == 0) return builder_.AddConstant("", Tensor::Int64(dims, {trip}));
      return builder_.AddConstant("", Tensor::FromBytes(DataType::kBool, dims, std::string(1, 1)).value());
    }
    if (i < first_carried_ + carried_) return state[i - first_carried_];
    return Slice(trip, i - carried_, node_.inputs[i]);
  }

  ValueId Slice(int64_t trip, size_t scanned, ValueId whole) {
    std::vector<int64_t> dims = *builder_.graph().value(whole).type.static_dims();
    const ScanSlicing slicing = scan_.InputSlicing(scanned);
    const auto axis = static_cast<int64_t>(slicing.AxisIn(dims.size()).value());
    dims.erase(dims.begin() + axis);
    const int64_t at = slicing.reversed ? trips_ - 1 - trip : trip;
    const ValueType type = StaticType(builder_.graph().value(whole).type.type, std::move(dims));
    return Add("Gather", {whole, builder_.AddConstant("", Tensor::Int64({}, {at}))}, builder_.AddValue("", type),
               {{"axis", axis}});
  }

  // What the trips gave, behind each other along a dim of its own.
  void Join(std::vector<ValueId> parts, size_t i) {
    std::vector<int64_t> dims = *ResultType(i).static_dims();
    const auto axis = static_cast<int64_t>(OutputAxis(i).value());
    dims.insert(dims.begin() + axis, 1);
    const ValueType type = StaticType(ResultType(i).type, dims);
    for (ValueId& part : parts) {
      const ValueId with_axis = builder_.AddValue("", type);
      AddReshape(builder_, part, with_axis);
      part = with_axis;
    }
    if (!is_loop_ && scan_.OutputSlicing(i - carried_).reversed) std::reverse(parts.begin(), parts.end());
    Add("Concat", std::move(parts), node_.outputs[i], {{"axis", axis}});
  }

  GraphBuilder& builder_;
  const NodeId id_;
  const Node node_;
  const int64_t trips_;
  const bool is_loop_;
  ScanNode scan_;  // nothing of a Loop
  size_t carried_ = 0, first_carried_ = 0, first_result_ = 0;
};

}  // namespace

Result<std::optional<Graph>> UnrollLoops(const Graph& graph, const PassContext&) {
  GraphBuilder builder(graph);
  bool changed = false;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const std::optional<int64_t> trips = ConstantTrips(graph, graph.nodes()[n]);
    if (!trips) continue;
    Unroller unroller(builder, NodeId(n), *trips);
    if (!unroller.MayUnroll()) continue;
    unroller.Run();
    changed = true;
  }
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
