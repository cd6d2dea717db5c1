#include "test/testing/generated/unsizing.h"

#include <algorithm>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/support/random.h"

namespace pt::testing {
namespace {

using NodeAttributes = std::map<std::string, Attribute, std::less<>>;

ValueType Unknown(DataType type, size_t rank) {
  ValueType unknown = StaticType(type, std::vector<int64_t>(rank, 1));
  for (Dim& dim : unknown.dims) dim = Dim{-1, {}};
  return unknown;
}
ValueType Counts(int64_t count) { return StaticType(DataType::kInt64, {count}); }
ValueType ScalarCount() { return StaticType(DataType::kInt64, {}); }
Tensor ListOf(const std::vector<int64_t>& numbers) {
  return Tensor::Int64({static_cast<int64_t>(numbers.size())}, numbers);
}

class Unsizer {
 public:
  Unsizer(const Graph& graph, Random& random) : graph_(graph), random_(random), builder_(graph) {}

  Result<Graph> Run() {
    const std::vector<ValueId> choices = Choices();
    const ValueId given = GivenFloats();
    if (choices.empty() || !given.valid()) return graph_;
    from_ = choices[random_.Below(choices.size())];
    type_ = graph_.value(from_).type;
    dims_ = *type_.static_dims();
    FindZero(given);
    const ValueId same = Same();
    // Whoever read the value reads what is the same, but for those that make it.
    for (const Use& use : graph_.value(from_).uses) {
      for (ValueId& input : builder_.node(use.node).inputs) {
        if (input == from_) input = same;
      }
    }
    for (size_t v = 0; v < graph_.values().size(); ++v) {
      const Value& value = graph_.values()[v];
      if (value.producer.valid() && ValueId(v) != from_) builder_.value(ValueId(v)).type = {};
    }
    return builder_.Build();
  }

 private:
  // Floats and integers with dims, that somebody reads.
  std::vector<ValueId> Choices() const {
    std::vector<ValueId> choices;
    for (size_t v = 0; v < graph_.values().size(); ++v) {
      const Value& value = graph_.values()[v];
      const auto dims = value.type.static_dims();
      const bool fits = dims && !dims->empty() && std::ranges::find(*dims, 0) == dims->end() && !value.is_constant() &&
                        value.type.type == DataType::kFloat32;
      if (fits && !value.uses.empty()) choices.push_back(ValueId(v));
    }
    return choices;
  }

  ValueId GivenFloats() const {
    for (const ValueId id : graph_.inputs()) {
      const auto dims = graph_.value(id).type.static_dims();
      const bool some = dims && std::ranges::find(*dims, 0) == dims->end();
      if (some && graph_.value(id).type.type == DataType::kFloat32) return id;
    }
    return {};
  }

  ValueId Op(std::string op, std::vector<ValueId> inputs, ValueType type, NodeAttributes attributes = {}) {
    return builder_.AddOp(std::move(op), std::move(inputs), std::move(type), std::move(attributes));
  }
  ValueId Constant(const std::vector<int64_t>& numbers) { return builder_.AddConstant("", ListOf(numbers)); }

  // 0 of int64[], since no magnitude is below 0; only a run knows.
  void FindZero(ValueId given) {
    const ValueId magnitudes = Op("Abs", {given}, graph_.value(given).type);
    const ValueId least = Op("ReduceMin", {magnitudes}, StaticType(DataType::kFloat32, {}), {{"keepdims", int64_t{0}}});
    const ValueId below =
        Op("Less", {least, builder_.AddConstant("", Tensor::Float32({}, {0}))}, StaticType(DataType::kBool, {}));
    zero_ = Op("Cast", {below}, ScalarCount(), {{"to", int64_t{7}}});
  }
  // The numbers, as only a run knows them.
  ValueId Hidden(const std::vector<int64_t>& numbers) {
    return Op("Add", {Constant(numbers), zero_}, Counts(static_cast<int64_t>(numbers.size())));
  }
  ValueId HiddenNumber(int64_t number) {
    return Op("Add", {builder_.AddConstant("", Tensor::Int64({}, {number})), zero_}, ScalarCount());
  }

  size_t AnyAxis() { return random_.Below(dims_.size()); }

  ValueId Same() {
    const ValueType unknown = Unknown(type_.type, dims_.size());
    const size_t axis = AnyAxis();
    const int64_t size = dims_[axis];
    const NodeAttributes along = {{"axis", static_cast<int64_t>(axis)}};
    switch (random_.Below(9)) {
      case 0: {  // by arithmetic on its own shape
        const ValueId shape = Op("Shape", {from_}, Counts(static_cast<int64_t>(dims_.size())));
        return Op("Reshape", {from_, Op("Add", {shape, zero_}, Counts(static_cast<int64_t>(dims_.size())))}, unknown);
      }
      case 1:
        return Op("Expand", {from_, Hidden(dims_)}, unknown);
      case 2:
        return Op("Slice", {from_, Constant({0}), Hidden({size}), Constant({static_cast<int64_t>(axis)})}, unknown);
      case 3:
        return Op("Tile", {from_, Hidden(std::vector<int64_t>(dims_.size(), 1))}, unknown);
      case 4: {
        const ValueId range =
            Op("Range", {HiddenNumber(0), HiddenNumber(size), HiddenNumber(1)}, Unknown(DataType::kInt64, 1));
        return Op("Gather", {from_, range}, unknown, along);
      }
      case 5: {  // all of them
        const ValueId kept = Op("GreaterOrEqual", {Hidden(std::vector<int64_t>(static_cast<size_t>(size), 1)), zero_},
                                StaticType(DataType::kBool, {size}));
        return Op("Compress", {from_, kept}, unknown, along);
      }
      case 6: {  // the places of what is not zero
        const ValueId places =
            Op("NonZero", {Hidden(std::vector<int64_t>(static_cast<size_t>(size), 1))}, Unknown(DataType::kInt64, 2));
        const ValueId flat = Op("Reshape", {places, Constant({-1})}, Unknown(DataType::kInt64, 1));
        return Op("Gather", {from_, flat}, unknown, along);
      }
      case 7: {  // broadcast with a condition of a size that is not known
        const ValueId truth = Op("GreaterOrEqual", {zero_, zero_}, StaticType(DataType::kBool, {}));
        const ValueId condition = Op("Expand", {truth, Hidden(dims_)}, Unknown(DataType::kBool, dims_.size()));
        return Op("Where", {condition, from_, builder_.AddConstant("", Tensor::Float32({}, {0}))}, unknown);
      }
      default:
        return Collected(unknown);
    }
  }

  // In as many trips as a run knows, one; each collects the value.
  ValueId Collected(const ValueType& unknown) {
    GraphBuilder body;
    body.set_opset(graph_.opset());
    body.AddInput("", ScalarCount());
    const ValueId goes_on = body.AddInput("", StaticType(DataType::kBool, {}));
    const ValueId value = body.AddCaptured("", type_);
    body.AddOutput(body.AddOp("Identity", {goes_on}, StaticType(DataType::kBool, {})));
    body.AddOutput(body.AddOp("Identity", {value}, type_));
    Result<Graph> built = body.Build();
    Node node;
    node.op = "Loop";
    node.inputs = {HiddenNumber(1), ValueId(), from_};
    node.formal_inputs = 2;
    node.subgraphs = {{"body", std::make_shared<const Graph>(std::move(built).value()), {2}}};
    ValueType all = type_;
    all.dims.insert(all.dims.begin(), Dim{-1, {}});
    const ValueId collected = builder_.AddValue("", all);
    node.outputs = {collected};
    builder_.AddNode(std::move(node));
    // Away with the trips, and one more size that only a run knows.
    std::vector<int64_t> dims = dims_;
    return Op("Reshape", {collected, Hidden(dims)}, unknown);
  }

  const Graph& graph_;
  Random& random_;
  GraphBuilder builder_;
  ValueId from_, zero_;
  ValueType type_;
  std::vector<int64_t> dims_;
};

}  // namespace

Result<Graph> UnsizeAtRandom(const Graph& graph, uint64_t seed) {
  Random random(SplitMix(seed ^ 0x756e73));
  return Unsizer(graph, random).Run();
}

}  // namespace pt::testing
