// Loops that go on while a counter is below a constant, as TensorFlow writes every loop: what the condition depends on
// is computed trip by trip, and where that is constants only, the number of trips is known.
#include <algorithm>

#include "lib/transform/bodies.h"
#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/chance.h"

namespace pt {
namespace {

// What counting may cost: trips times nodes, and bytes of any value.
constexpr size_t kMostEvaluations = 20'000;
constexpr uint64_t kMostBytes = 4096;

class TripCounter {
 public:
  TripCounter(const Graph& graph, const Node& node, const PassContext& context)
      : graph_(graph), node_(node), context_(context), body_(*node.subgraphs[0].graph) {}

  // Empty where a run alone can tell, or where it would take too long.
  std::optional<int64_t> Run() {
    carried_ = node_.formal_inputs - 2;
    if (body_.inputs().size() != carried_ + 2 || body_.outputs().size() < carried_ + 1) return std::nullopt;
    const ValueId most = node_.inputs[0], first = node_.inputs[1];
    std::optional<int64_t> limit;
    if (most.valid() && !(limit = OneConstant(graph_, most))) return std::nullopt;
    if (first.valid() && !OneConstant(graph_, first)) return std::nullopt;
    if (!Collect()) return std::nullopt;
    values_.resize(body_.values().size());
    bool goes_on = !first.valid() || *OneConstant(graph_, first) != 0;
    int64_t trips = 0;
    for (size_t spent = 0; goes_on && (!limit || trips < *limit); ++trips) {
      spent += nodes_.size() + 1;
      if (spent > kMostEvaluations) return std::nullopt;
      const std::optional<bool> answer = Trip(trips);
      if (!answer) return std::nullopt;
      goes_on = *answer;
    }
    return trips;
  }

 private:
  // What the condition depends on, from trip to trip: nodes of the body in their order, and carried values. False where
  // something else is among it.
  bool Collect() {
    std::vector<ValueId> open = {body_.outputs()[0]};
    std::vector<bool> seen(body_.values().size());
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (!id.valid() || seen[id.index()]) continue;
      seen[id.index()] = true;
      const Value& value = body_.value(id);
      if (value.is_constant()) continue;
      if (value.producer.valid()) {
        const Node& maker = body_.node(value.producer);
        if (!IsCountable(maker)) return false;
        nodes_.push_back(value.producer);
        open.insert(open.end(), maker.inputs.begin(), maker.inputs.end());
        continue;
      }
      const auto at = std::ranges::find(body_.inputs(), id);
      if (at == body_.inputs().end()) return false;  // captured
      const auto place = static_cast<size_t>(at - body_.inputs().begin());
      if (place < 2) continue;
      const ValueId initial = node_.inputs[place];
      if (!initial.valid() || !graph_.value(initial).is_constant()) return false;
      if (graph_.value(initial).constant->bytes().size() > kMostBytes) return false;
      state_.emplace_back(place, *graph_.value(initial).constant);
      open.push_back(body_.outputs()[place - 1]);
    }
    std::ranges::sort(nodes_, {}, [](NodeId node) { return node.index(); });
    nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
    return true;
  }

  bool IsCountable(const Node& node) const {
    if (!node.subgraphs.empty() || DrawsAtRandom(body_, node)) return false;
    const std::optional<uint64_t> bytes = ResultBytes(body_, node);
    return bytes && *bytes <= kMostBytes;
  }

  // Whether there is another trip behind this one.
  std::optional<bool> Trip(int64_t trip) {
    const auto give = [&](size_t input, const Tensor& tensor) { values_[body_.inputs()[input].index()] = tensor; };
    give(0, Tensor::Int64(DimsOf(0), {trip}));
    give(1, Tensor::FromBytes(DataType::kBool, DimsOf(1), std::string(1, 1)).value());
    for (const auto& [place, tensor] : state_) give(place, tensor);
    const auto known = [&](ValueId id) -> Tensor {
      if (!id.valid()) return {};
      return body_.value(id).is_constant() ? *body_.value(id).constant : values_[id.index()].value();
    };
    for (const NodeId id : nodes_) {
      const Node& node = body_.node(id);
      std::vector<Tensor> inputs;
      std::ranges::transform(node.inputs, std::back_inserter(inputs), known);
      Result<std::vector<Tensor>> results = context_.evaluate(body_, id, inputs);
      if (!results.ok()) return std::nullopt;  // a run that comes here says what is wrong
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].valid()) values_[node.outputs[i].index()] = std::move((*results)[i]);
      }
    }
    for (auto& [place, tensor] : state_) tensor = known(body_.outputs()[place - 1]);
    const Tensor answer = known(body_.outputs()[0]);
    if (answer.type() != DataType::kBool || answer.element_count() != 1) return std::nullopt;
    return answer.ToInts()[0] != 0;
  }

  // Trip number and condition are scalars, or lists of one.
  std::vector<int64_t> DimsOf(size_t input) const {
    const ValueType& type = body_.value(body_.inputs()[input]).type;
    return std::vector<int64_t>(type.ranked ? type.dims.size() : 0, 1);
  }

  const Graph& graph_;
  const Node& node_;
  const PassContext& context_;
  const Graph& body_;
  size_t carried_ = 0;
  std::vector<NodeId> nodes_;
  std::vector<std::optional<Tensor>> values_;  // by value of the body, of what the condition depends on, in this trip
  std::vector<std::pair<size_t, Tensor>> state_;  // by input of the body, as of the trip to come
};

Status SetTrips(GraphBuilder& builder, NodeId id, int64_t trips) {
  GraphBuilder body(*builder.graph().node(id).subgraphs[0].graph);
  body.SetOutput(0, body.AddConstant("", Tensor::FromBytes(DataType::kBool, {}, std::string(1, 1)).value()));
  PT_ASSIGN(Graph built, body.Build());
  const ValueId count = builder.AddConstant("", Tensor::Int64({}, {trips}));
  Node& node = builder.node(id);
  node.inputs[0] = count;
  node.inputs[1] = ValueId();
  node.subgraphs[0].graph = std::make_shared<const Graph>(std::move(built));
  return {};
}

}  // namespace

Result<std::optional<Graph>> CountTrips(const Graph& graph, const PassContext& context) {
  GraphBuilder builder(graph);
  bool changed = false;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!IsOp(node, "Loop") || node.formal_inputs < 2 || node.subgraphs.size() != 1) continue;
    if (ConstantTrips(graph, node)) continue;
    const std::optional<int64_t> trips = TripCounter(graph, node, context).Run();
    if (!trips) continue;
    PT_CHECK_OK(SetTrips(builder, NodeId(n), *trips));
    changed = true;
  }
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
