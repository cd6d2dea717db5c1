#include "test/testing/generated/nesting.h"

#include <algorithm>
#include <map>
#include <optional>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/support/random.h"

namespace pt::testing {
namespace {

using NodeAttributes = std::map<std::string, Attribute, std::less<>>;

constexpr int kMostDepth = 3;

ValueType FloatScalar() { return StaticType(DataType::kFloat32, {}); }
ValueType Truth() { return StaticType(DataType::kBool, {}); }
ValueType TripNumber() { return StaticType(DataType::kInt64, {}); }

Tensor Zeros(const ValueType& type) {
  const std::vector<int64_t> dims = *type.static_dims();
  const auto bytes = static_cast<size_t>(TensorByteCount(type.type, dims).value());
  return Tensor::FromBytes(type.type, dims, std::string(bytes, '\0')).value();
}
Tensor TruthOf(bool truth) { return Tensor::FromBytes(DataType::kBool, {}, std::string(1, truth ? 1 : 0)).value(); }

ValueType WithAxis(ValueType type, size_t axis, std::optional<int64_t> length) {
  type.dims.insert(type.dims.begin() + static_cast<std::ptrdiff_t>(axis), Dim{length.value_or(-1), {}});
  return type;
}

bool IsWholeBytes(const ValueType& type) { return type.is_static() && BitsOf(type.type) >= 8; }

// Nodes first to last of the graph, which are convex since its order is topological.
struct Part {
  size_t first = 0, last = 0;
  std::vector<ValueId> reads, constants, gives;  // from outside; what others need
};

std::optional<Part> PartOf(const Graph& graph, size_t first, size_t last) {
  Part part{first, last, {}, {}, {}};
  const auto inside = [&](NodeId id) { return id.valid() && id.index() >= first && id.index() <= last; };
  for (size_t n = first; n <= last; ++n) {
    const Node& node = graph.nodes()[n];
    for (const ValueId input : node.inputs) {
      if (!input.valid() || inside(graph.value(input).producer)) continue;
      std::vector<ValueId>& list = graph.value(input).is_constant() ? part.constants : part.reads;
      if (std::ranges::find(list, input) == list.end()) list.push_back(input);
    }
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      const Value& value = graph.value(output);
      const bool needed =
          value.is_graph_output || std::ranges::any_of(value.uses, [&](const Use& use) { return !inside(use.node); });
      if (!needed) continue;
      if (!IsWholeBytes(value.type)) return std::nullopt;
      part.gives.push_back(output);
    }
  }
  if (part.gives.empty()) return std::nullopt;
  return part;
}

class Nester {
 public:
  Nester(const Graph& graph, Random& random, int depth) : graph_(graph), random_(random), depth_(depth) {}

  Result<Graph> Run() {
    const size_t nodes = graph_.nodes().size();
    if (nodes == 0) return graph_;
    const size_t first = random_.Below(nodes), last = first + random_.Below(nodes - first);
    const std::optional<Part> part = PartOf(graph_, first, last);
    if (!part) return graph_;
    part_ = *part;
    builder_ = GraphBuilder(graph_);
    for (size_t n = first; n <= last; ++n) builder_.RemoveNode(NodeId(n));
    FindCondition();
    const uint64_t kind = random_.Below(4);
    if (kind == 0 && condition_.valid())
      PT_CHECK_OK(MakeIf());
    else if (kind == 1)
      PT_CHECK_OK(MakeScan());
    else
      PT_CHECK_OK(MakeLoop());
    return builder_.Build();
  }

 private:
  bool Chance(uint64_t in) { return random_.Below(in) == 0; }

  ValueId Op(GraphBuilder& builder, std::string op, std::vector<ValueId> inputs, ValueType type,
             NodeAttributes attributes = {}) {
    return builder.AddOp(std::move(op), std::move(inputs), std::move(type), std::move(attributes));
  }
  void Make(std::string op, std::vector<ValueId> inputs, ValueId output, NodeAttributes attributes = {}) {
    Node node;
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.attributes = std::move(attributes);
    builder_.AddNode(std::move(node));
  }

  // True, which only a run knows: the largest magnitude of something given is above -1.
  void FindCondition() {
    for (const std::span<const ValueId> given : {graph_.inputs(), graph_.captured()}) {
      for (const ValueId id : given) {
        const auto dims = graph_.value(id).type.static_dims();
        const bool is_float = graph_.value(id).type.type == DataType::kFloat32;
        if (!is_float || !dims || std::ranges::find(*dims, 0) != dims->end()) continue;
        const ValueId magnitudes = Op(builder_, "Abs", {id}, graph_.value(id).type);
        const ValueId largest = Op(builder_, "ReduceMax", {magnitudes}, FloatScalar(), {{"keepdims", int64_t{0}}});
        condition_ = Op(builder_, "Greater", {largest, builder_.AddConstant("", Tensor::Float32({}, {-1}))}, Truth());
        return;
      }
    }
  }

  // The part as a graph, on the values that `given` has for it already; what else it reads is captured. Constants are
  // captured or copied.
  struct Body {
    GraphBuilder builder;
    std::map<ValueId, ValueId> values;
    std::vector<ValueId> captured;  // outside
  };
  void Fill(Body& body) {
    body.builder.set_opset(graph_.opset());
    for (const auto& [domain, version] : graph_.domains()) body.builder.set_domain(domain, version);
    for (const ValueId constant : part_.constants) {
      if (Chance(2)) body.values.emplace(constant, body.builder.AddConstant("", *graph_.value(constant).constant));
    }
    const auto capture = [&](ValueId outside) {
      if (body.values.contains(outside)) return;
      body.values[outside] = body.builder.AddCaptured("", graph_.value(outside).type);
      body.captured.push_back(outside);
    };
    std::ranges::for_each(part_.reads, capture);
    std::ranges::for_each(part_.constants, capture);
    for (size_t n = part_.first; n <= part_.last; ++n) {
      Node node = graph_.nodes()[n];
      for (ValueId& output : node.outputs) {
        if (!output.valid()) continue;
        output = body.values[output] = body.builder.AddValue("", graph_.value(output).type);
      }
      for (ValueId& input : node.inputs) {
        if (input.valid()) input = body.values.at(input);
      }
      body.builder.AddNode(std::move(node));
    }
  }

  Result<std::shared_ptr<const Graph>> Built(Body& body) {
    PT_ASSIGN(Graph graph, body.builder.Build());
    if (depth_ + 1 < kMostDepth && Chance(2)) {
      PT_ASSIGN(graph, Nester(graph, random_, depth_ + 1).Run());
    }
    return std::make_shared<const Graph>(std::move(graph));
  }

  void Hold(Node node, const std::vector<ValueId>& captured) {
    node.formal_inputs = static_cast<uint32_t>(node.inputs.size());
    std::vector<uint32_t> captures;
    for (const ValueId value : captured) {
      captures.push_back(static_cast<uint32_t>(node.inputs.size()));
      node.inputs.push_back(value);
    }
    node.subgraphs.front().captures = std::move(captures);
    builder_.AddNode(std::move(node));
  }

  // The other branch gives zeros.
  Status MakeIf() {
    Body taken;
    Fill(taken);
    GraphBuilder other;
    other.set_opset(graph_.opset());
    for (const ValueId given : part_.gives) {
      taken.builder.AddOutput(taken.values.at(given));
      other.AddOutput(other.AddConstant("", Zeros(graph_.value(given).type)));
    }
    PT_ASSIGN(const auto body, Built(taken));
    PT_ASSIGN(Graph zeros, other.Build());
    const bool is_then = Chance(2);
    Node node;
    node.op = "If";
    node.inputs = {is_then ? condition_ : Op(builder_, "Not", {condition_}, Truth())};
    node.outputs = part_.gives;
    node.subgraphs = {{is_then ? "then_branch" : "else_branch", body, {}},
                      {is_then ? "else_branch" : "then_branch", std::make_shared<const Graph>(std::move(zeros)), {}}};
    Hold(std::move(node), taken.captured);
    return {};
  }

  // How often: one to three times, as a constant or as only a run knows.
  ValueId Trips(int64_t trips) {
    if (!condition_.valid() || Chance(2)) return builder_.AddConstant("", Tensor::Int64({}, {trips}));
    const ValueId one = Op(builder_, "Cast", {condition_}, TripNumber(), {{"to", int64_t{7}}});
    return Op(builder_, "Mul", {one, builder_.AddConstant("", Tensor::Int64({}, {trips}))}, TripNumber());
  }

  // Each trip gives the same. What is read may be carried, so that it comes in by a state; results are carried or
  // collected.
  Status MakeLoop() {
    const int64_t trips = 1 + static_cast<int64_t>(random_.Below(3));
    Body body;
    Node node;
    node.op = "Loop";
    node.inputs = {Trips(trips), Chance(2) ? condition_ : ValueId()};
    body.builder.AddInput("", TripNumber());
    const ValueId goes_on = body.builder.AddInput("", Truth());
    std::vector<ValueId> states;
    for (const ValueId read : part_.reads) {
      if (!IsWholeBytes(graph_.value(read).type) || !Chance(3)) continue;
      states.push_back(body.values[read] = body.builder.AddInput("", graph_.value(read).type));
      node.inputs.push_back(read);
      node.outputs.push_back(builder_.AddValue(""));
    }
    std::vector<bool> carried;
    for (const ValueId given : part_.gives) {
      if (!carried.emplace_back(Chance(2))) continue;
      body.builder.AddInput("", graph_.value(given).type);
      node.inputs.push_back(builder_.AddConstant("", Zeros(graph_.value(given).type)));
      node.outputs.push_back(given);
    }
    Fill(body);
    body.builder.AddOutput(Chance(2) ? goes_on : body.builder.AddConstant("", TruthOf(true)));
    std::ranges::for_each(states, [&](ValueId state) { body.builder.AddOutput(state); });
    for (const bool of_carried : {true, false}) {
      for (size_t i = 0; i < carried.size(); ++i) {
        if (carried[i] == of_carried) body.builder.AddOutput(body.values.at(part_.gives[i]));
      }
    }
    for (size_t i = 0; i < carried.size(); ++i) {
      if (!carried[i]) node.outputs.push_back(PickedFrom(part_.gives[i], 0, std::nullopt, trips));
    }
    PT_ASSIGN(const auto built, Built(body));
    node.subgraphs = {{"body", built, {}}};
    Hold(std::move(node), body.captured);
    return {};
  }

  // What some trip gave of a value, picked from all of them; returns all.
  ValueId PickedFrom(ValueId given, size_t axis, std::optional<int64_t> length, int64_t trips) {
    const ValueId all = builder_.AddValue("", WithAxis(graph_.value(given).type, axis, length));
    const auto trip = static_cast<int64_t>(random_.Below(static_cast<uint64_t>(trips)));
    Make("Gather", {all, builder_.AddConstant("", Tensor::Int64({}, {trip}))}, given,
         {{"axis", static_cast<int64_t>(axis)}});
    return all;
  }

  // Of one to three equal slices of one value that is read; the others are captured.
  Status MakeScan() {
    const auto read =
        std::ranges::find_if(part_.reads, [&](ValueId id) { return IsWholeBytes(graph_.value(id).type); });
    if (read == part_.reads.end()) return MakeLoop();
    const ValueType& type = graph_.value(*read).type;
    const auto trips = static_cast<int64_t>(1 + random_.Below(3));
    const size_t axis = random_.Below(type.dims.size() + 1);
    Body body;
    body.values[*read] = body.builder.AddInput("", type);
    Fill(body);
    Node node;
    node.op = "Scan";
    node.inputs = {Repeated(*read, axis, trips)};
    std::vector<int64_t> axes, directions;
    for (const ValueId given : part_.gives) {
      body.builder.AddOutput(body.values.at(given));
      axes.push_back(static_cast<int64_t>(random_.Below(graph_.value(given).type.dims.size() + 1)));
      directions.push_back(static_cast<int64_t>(random_.Below(2)));
      node.outputs.push_back(PickedFrom(given, static_cast<size_t>(axes.back()), trips, trips));
    }
    node.attributes = {{"num_scan_inputs", int64_t{1}},
                       {"scan_input_axes", std::vector<int64_t>{static_cast<int64_t>(axis)}},
                       {"scan_input_directions", std::vector<int64_t>{static_cast<int64_t>(random_.Below(2))}},
                       {"scan_output_axes", axes},
                       {"scan_output_directions", directions}};
    PT_ASSIGN(const auto built, Built(body));
    node.subgraphs = {{"body", built, {}}};
    Hold(std::move(node), body.captured);
    return {};
  }

  ValueId Repeated(ValueId value, size_t axis, int64_t times) {
    const ValueType& type = graph_.value(value).type;
    const ValueId axes = builder_.AddConstant("", Tensor::Int64({1}, {static_cast<int64_t>(axis)}));
    const ValueId one = Op(builder_, "Unsqueeze", {value, axes}, WithAxis(type, axis, 1));
    return Op(builder_, "Concat", std::vector<ValueId>(static_cast<size_t>(times), one), WithAxis(type, axis, times),
              {{"axis", static_cast<int64_t>(axis)}});
  }

  const Graph& graph_;
  Random& random_;
  const int depth_;
  Part part_;
  GraphBuilder builder_;
  ValueId condition_;
};

}  // namespace

Result<Graph> NestAtRandom(const Graph& graph, uint64_t seed) {
  Random random(SplitMix(seed ^ 0x6e657374));
  return Nester(graph, random, 0).Run();
}

}  // namespace pt::testing
