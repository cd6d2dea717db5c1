// LSTM cells spelled out step by step in elementwise operators become one LSTM over all steps. The steps must be linked
// by both states and share their weights:
//
//   gates = Gemm(Concat(x, h), w, b)      or Add(MatMul(Concat(x, h), w), b)
//   i, f, o, g = Split(gates)             in any order
//   c' = Sigmoid(f) · c + Sigmoid(i) · Tanh(g)
//   h' = Sigmoid(o) · Tanh(c')
//
// Everything is matched by structure. The operator can multiply the inputs of all steps at once and keep its weights in
// the caches from step to step; step by step they are read from memory every time.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/gemm.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

// The order of ONNX's LSTM.
enum Gate : size_t { kInput, kOutput, kForget, kFresh, kGates };

// The gates' sums of a cell: [first | second] · w + b.
struct Product {
  std::array<ValueId, 2> parts;  // x and h, in the order of the Concat
  ValueId w, b;                  // constants; b may be invalid
  bool transposed = false;       // w is [gates, parts]
  std::vector<NodeId> nodes;

  bool HasWeightsOf(const Product& other) const {
    return w == other.w && b == other.b && transposed == other.transposed;
  }
};

struct Cell {
  Product product;
  std::array<size_t, kGates> places{};  // of each gate among the Split's outputs
  ValueId c_before, c, h;
  std::vector<NodeId> nodes;  // all that is needed for nothing else
};

struct Chain {
  std::vector<const Cell*> cells;
  size_t h_part = 0;  // which part of the product is h

  ValueId x(size_t t) const { return cells[t]->product.parts[1 - h_part]; }
};

// Whether a Concat or Split is along that axis.
bool IsAlong(const Graph& graph, const Node& node, size_t axis) {
  const Result<size_t> own = ReadAxis(node, graph.opset(), graph.value(node.inputs[0]).type.dims.size());
  return own.ok() && *own == axis;
}

class CellMatcher {
 public:
  explicit CellMatcher(const Graph& graph) : graph_(graph) {}

  std::vector<Cell> Cells() const {
    std::vector<Cell> cells;
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (std::optional<Cell> cell = CellOf(NodeId(i))) cells.push_back(std::move(*cell));
    }
    return cells;
  }

 private:
  ValueId ResultOf(NodeId id) const { return graph_.node(id).outputs[0]; }
  // Of a node with two inputs, the one that is not `known`; invalid when both are.
  ValueId OtherInput(NodeId id, ValueId known) const {
    const Node& node = graph_.node(id);
    if (node.inputs.size() != 2) return ValueId();
    return node.inputs[0] == known ? (node.inputs[1] == known ? ValueId() : node.inputs[1]) : node.inputs[0];
  }
  std::optional<Dims> DimsOf(ValueId id) const {
    const Value& value = graph_.value(id);
    return value.type.type == DataType::kFloat32 ? value.type.static_dims() : std::nullopt;
  }

  std::optional<Cell> CellOf(NodeId split) const {
    const Node& node = graph_.node(split);
    if (!IsOp(node, "Split") || node.outputs.size() != kGates) return std::nullopt;
    const std::optional<Dims> dims = DimsOf(node.inputs[0]);
    if (!dims || dims->size() != 2 || !IsAlong(graph_, node, 1)) return std::nullopt;
    const Dims gate{(*dims)[0], (*dims)[1] / static_cast<int64_t>(kGates)};
    for (const ValueId output : node.outputs) {
      if (!output.valid() || DimsOf(output) != gate) return std::nullopt;
    }
    Cell cell;
    cell.nodes = {split};
    if (!MatchGates(node, cell) || !MatchProduct(node.inputs[0], cell.product)) return std::nullopt;
    if (DimsOf(cell.c_before) != gate || DimsOf(cell.h) != gate) return std::nullopt;
    cell.nodes.insert(cell.nodes.end(), cell.product.nodes.begin(), cell.product.nodes.end());
    return cell;
  }

  // From the Split down to both new states.
  bool MatchGates(const Node& split, Cell& cell) const {
    std::map<ValueId, size_t> sigmoids;  // results, by place
    ValueId fresh;
    for (size_t i = 0; i < kGates; ++i) {
      const NodeId reader = OnlyReader(graph_, split.outputs[i]);
      if (!reader.valid()) return false;
      cell.nodes.push_back(reader);
      if (IsOp(graph_.node(reader), "Sigmoid")) {
        sigmoids[ResultOf(reader)] = i;
      } else if (IsOp(graph_.node(reader), "Tanh") && !fresh.valid()) {
        fresh = ResultOf(reader);
        cell.places[kFresh] = i;
      } else {
        return false;
      }
    }
    if (sigmoids.size() != 3 || !fresh.valid()) return false;
    const auto take = [&](ValueId sigmoid, Gate gate) {
      const auto at = sigmoids.find(sigmoid);
      if (at == sigmoids.end() || !OnlyReader(graph_, sigmoid).valid()) return false;
      cell.places[gate] = at->second;
      sigmoids.erase(at);
      return true;
    };

    const NodeId added = OnlyReader(graph_, fresh, "Mul");  // Sigmoid(i) · Tanh(g)
    if (!added.valid() || !take(OtherInput(added, fresh), kInput)) return false;
    const NodeId sum = OnlyReader(graph_, ResultOf(added), "Add");
    if (!sum.valid()) return false;
    const ValueId kept_value = OtherInput(sum, ResultOf(added));  // Sigmoid(f) · c
    if (!kept_value.valid() || !graph_.value(kept_value).producer.valid()) return false;
    const NodeId kept = graph_.value(kept_value).producer;
    if (OnlyReader(graph_, kept_value) != sum || !IsOp(graph_.node(kept), "Mul")) return false;
    const Node& keep = graph_.node(kept);
    const size_t forget = sigmoids.contains(keep.inputs[0]) ? 0 : 1;
    if (!take(keep.inputs[forget], kForget)) return false;
    cell.c_before = keep.inputs[1 - forget];
    cell.c = ResultOf(sum);
    return MatchOutput(sigmoids.begin()->first, sigmoids.begin()->second, {added, sum, kept}, cell);
  }

  // h' = Sigmoid(o) · Tanh(c').
  bool MatchOutput(ValueId sigmoid, size_t place, std::initializer_list<NodeId> so_far, Cell& cell) const {
    const NodeId shown = OnlyReader(graph_, sigmoid, "Mul");
    if (!shown.valid()) return false;
    const ValueId tanh = OtherInput(shown, sigmoid);
    if (!tanh.valid() || !graph_.value(tanh).producer.valid() || OnlyReader(graph_, tanh) != shown) return false;
    const NodeId squashed = graph_.value(tanh).producer;
    if (!IsOp(graph_.node(squashed), "Tanh") || graph_.node(squashed).inputs[0] != cell.c) return false;
    cell.places[kOutput] = place;
    cell.h = ResultOf(shown);
    cell.nodes.insert(cell.nodes.end(), so_far);
    cell.nodes.insert(cell.nodes.end(), {squashed, shown});
    return true;
  }

  bool IsConstantOf(ValueId id, size_t rank) const {
    const Value& value = graph_.value(id);
    return value.is_constant() && value.type.type == DataType::kFloat32 && value.type.dims.size() == rank;
  }
  // One number a column.
  bool IsRow(ValueId id, int64_t columns) const {
    const std::optional<Tensor>& constant = graph_.value(id).constant;
    return constant && constant->type() == DataType::kFloat32 && constant->rank() <= 2 &&
           constant->element_count() == columns && !constant->dims().empty() && constant->dims().back() == columns;
  }

  bool MatchProduct(ValueId gates, Product& product) const {
    NodeId id = graph_.value(gates).producer;
    if (!id.valid() || !OnlyReader(graph_, gates).valid()) return false;
    product.nodes.push_back(id);
    const int64_t columns = (*DimsOf(gates))[1];
    if (IsOp(graph_.node(id), "Add")) {
      const Node& add = graph_.node(id);
      const size_t bias = IsRow(add.inputs[1], columns) ? 1 : 0;
      if (!IsRow(add.inputs[bias], columns)) return false;
      product.b = add.inputs[bias];
      const ValueId rest = add.inputs[1 - bias];
      id = graph_.value(rest).producer;
      if (!id.valid() || !OnlyReader(graph_, rest).valid() || !IsOp(graph_.node(id), "MatMul")) return false;
      product.nodes.push_back(id);
    }
    const Node& node = graph_.node(id);
    if (IsOp(node, "Gemm")) {
      const GemmNode gemm = ReadGemm(node);
      if (gemm.is_scaled() || gemm.transpose_a) return false;
      product.transposed = gemm.transpose_b;
      if (node.inputs.size() > 2 && node.inputs[2].valid()) {
        if (!IsRow(node.inputs[2], columns)) return false;
        product.b = node.inputs[2];
      }
    } else if (!IsOp(node, "MatMul")) {
      return false;
    }
    product.w = node.inputs[1];
    return IsConstantOf(product.w, 2) && MatchParts(node.inputs[0], product);
  }

  bool MatchParts(ValueId joined, Product& product) const {
    const NodeId id = graph_.value(joined).producer;
    if (!id.valid() || !IsOp(graph_.node(id), "Concat") || graph_.node(id).inputs.size() != 2) return false;
    const Node& concat = graph_.node(id);
    if (!IsAlong(graph_, concat, 1)) return false;
    for (size_t i = 0; i < 2; ++i) {
      const std::optional<Dims> dims = DimsOf(concat.inputs[i]);
      if (!dims || dims->size() != 2 || (*dims)[0] < 1 || (*dims)[1] < 1) return false;
      product.parts[i] = concat.inputs[i];
    }
    if (OnlyReader(graph_, joined).valid()) product.nodes.push_back(id);
    return true;
  }

  const Graph& graph_;
};

// ---- Chains ----

// Whether `later` goes on where `cell` ends, taking h as that part.
bool GoesOn(const Cell& cell, const Cell& later, size_t h_part) {
  return later.c_before == cell.c && later.product.parts[h_part] == cell.h && later.places == cell.places &&
         later.product.HasWeightsOf(cell.product);
}

// c between two cells is read by these two alone: the operator gives out the last one only.
bool IsHidden(const Graph& graph, ValueId c) {
  return graph.value(c).uses.size() == 2 && !graph.value(c).is_graph_output;
}

// The chain that begins with a cell, as long as it goes; nullopt when that is one cell.
std::optional<Chain> ChainFrom(const Graph& graph, const Cell& first, const std::map<ValueId, const Cell*>& readers) {
  for (const size_t h_part : {size_t{1}, size_t{0}}) {
    Chain chain{{&first}, h_part};
    for (const Cell* last = &first; IsHidden(graph, last->c);) {
      const auto next = readers.find(last->c);
      if (next == readers.end() || !GoesOn(*last, *next->second, h_part)) break;
      last = next->second;
      chain.cells.push_back(last);
    }
    const std::optional<Dims> x = graph.value(chain.x(0)).type.static_dims();
    const auto same_x = [&](size_t t) { return graph.value(chain.x(t)).type.static_dims() == x; };
    size_t steps = 1;
    while (steps < chain.cells.size() && same_x(steps)) ++steps;
    if (steps == chain.cells.size() && steps > 1) return chain;
  }
  return std::nullopt;
}

// All inputs of the chain must be there before it begins: none may depend on what it gives out.
bool FeedsItself(const Graph& graph, const Chain& chain) {
  std::set<NodeId> own, seen;
  std::set<ValueId> inputs;
  std::vector<ValueId> pending;
  for (size_t t = 0; t < chain.cells.size(); ++t) {
    own.insert(chain.cells[t]->nodes.begin(), chain.cells[t]->nodes.end());
    inputs.insert(chain.x(t));
    pending.push_back(chain.cells[t]->h);
  }
  pending.push_back(chain.cells.back()->c);
  while (!pending.empty()) {
    const ValueId value = pending.back();
    pending.pop_back();
    if (inputs.contains(value)) return true;
    for (const Use& use : graph.value(value).uses) {
      if (own.contains(use.node) || !seen.insert(use.node).second) continue;
      for (const ValueId output : graph.node(use.node).outputs) {
        if (output.valid()) pending.push_back(output);
      }
    }
  }
  return false;
}

// ---- Rewriting ----

class Roller {
 public:
  Roller(const Graph& graph, const Chain& chain)
      : graph_(graph), chain_(chain), builder_(graph), first_(*chain.cells.front()), last_(*chain.cells.back()) {
    const Dims x = *graph.value(chain.x(0)).type.static_dims(), h = *graph.value(first_.h).type.static_dims();
    time_ = static_cast<int64_t>(chain.cells.size());
    batch_ = x[0];
    input_ = x[1];
    hidden_ = h[1];
  }

  Result<Graph> Run() {
    const ValueId x = Reshape(JoinedInputs(), {time_, batch_, input_});
    const Dims state{1, batch_, hidden_};
    const ValueId h_before = Reshape(first_.product.parts[chain_.h_part], state);
    const ValueId c_before = Reshape(first_.c_before, state);
    Node lstm;
    lstm.op = "LSTM";
    lstm.attributes["hidden_size"] = hidden_;
    lstm.inputs = {x, Weights(1 - chain_.h_part), Weights(chain_.h_part), Bias(), ValueId(), h_before, c_before};
    const ValueId y = Value({time_, 1, batch_, hidden_}), y_h = Value(state), y_c = Value(state);
    lstm.outputs = {y, y_h, y_c};
    for (const Cell* cell : chain_.cells) {
      for (const NodeId node : cell->nodes) {
        const std::vector<Source>& source = graph_.node(node).source;
        lstm.source.insert(lstm.source.end(), source.begin(), source.end());
      }
    }
    builder_.AddNode(std::move(lstm));
    for (const Cell* cell : chain_.cells) {
      for (const NodeId node : cell->nodes) builder_.RemoveNode(node);
    }
    GiveStates(y, y_h);
    AddReshape(builder_, y_c, last_.c);
    return builder_.Build(false);
  }

 private:
  ValueId Value(Dims dims) { return builder_.AddValue("", StaticType(DataType::kFloat32, std::move(dims))); }
  ValueId Ints(const Dims& ints) {
    return builder_.AddConstant("", Tensor::Int64({static_cast<int64_t>(ints.size())}, ints));
  }
  ValueId Reshape(ValueId from, Dims dims) {
    const ValueId to = Value(std::move(dims));
    AddReshape(builder_, from, to);
    return to;
  }

  // [time · batch, input]; where a Split has made the inputs, what it has split.
  ValueId JoinedInputs() {
    const NodeId maker = graph_.value(chain_.x(0)).producer;
    if (maker.valid() && IsOp(graph_.node(maker), "Split") && IsAlong(graph_, graph_.node(maker), 0)) {
      const Node& split = graph_.node(maker);
      bool whole = split.outputs.size() == chain_.cells.size();
      for (size_t t = 0; t < chain_.cells.size() && whole; ++t) whole = split.outputs[t] == chain_.x(t);
      if (whole) return split.inputs[0];
    }
    Node concat;
    concat.op = "Concat";
    concat.attributes["axis"] = int64_t{0};
    for (size_t t = 0; t < chain_.cells.size(); ++t) concat.inputs.push_back(chain_.x(t));
    const ValueId joined = Value({time_ * batch_, input_});
    concat.outputs = {joined};
    builder_.AddNode(std::move(concat));
    return joined;
  }

  // h of every step from Y where one before the last is needed outside, else the last one alone.
  void GiveStates(ValueId y, ValueId y_h) {
    std::set<NodeId> own;
    for (const Cell* cell : chain_.cells) own.insert(cell->nodes.begin(), cell->nodes.end());
    const auto needed = [&](const Cell* cell) {
      const pt::Value& h = graph_.value(cell->h);
      return h.is_graph_output || std::ranges::any_of(h.uses, [&](const Use& use) { return !own.contains(use.node); });
    };
    if (std::none_of(chain_.cells.begin(), chain_.cells.end() - 1, needed)) {
      AddReshape(builder_, y_h, last_.h);
      return;
    }
    Node split;
    split.op = "Split";
    split.attributes["axis"] = int64_t{0};
    split.inputs = {Reshape(y, {time_ * batch_, hidden_}), Ints(Dims(chain_.cells.size(), batch_))};
    for (const Cell* cell : chain_.cells) split.outputs.push_back(cell->h);
    builder_.AddNode(std::move(split));
  }

  int64_t columns() const { return static_cast<int64_t>(kGates) * hidden_; }

  // The rows of w that a part of the product meets, as [1, gates · hidden, rows] in the order of ONNX.
  ValueId Weights(size_t part) {
    const Product& product = first_.product;
    const std::span<const float> w = graph_.value(product.w).constant->values<float>();
    const int64_t rows = part == chain_.h_part ? hidden_ : input_, all = input_ + hidden_;
    const int64_t from = part == 0 ? 0 : all - rows;
    std::vector<float> own;
    own.reserve(static_cast<size_t>(columns() * rows));
    for (size_t gate = 0; gate < kGates; ++gate) {
      const int64_t first = static_cast<int64_t>(first_.places[gate]) * hidden_;
      for (int64_t column = first; column < first + hidden_; ++column) {
        for (int64_t row = from; row < from + rows; ++row) {
          const int64_t at = product.transposed ? column * all + row : row * columns() + column;
          own.push_back(w[static_cast<size_t>(at)]);
        }
      }
    }
    return builder_.AddConstant("", Tensor::Float32({1, columns(), rows}, own));
  }

  ValueId Bias() {
    if (!first_.product.b.valid()) return ValueId();
    const std::span<const float> b = graph_.value(first_.product.b).constant->values<float>();
    std::vector<float> own(2 * static_cast<size_t>(columns()), 0.0F);
    for (size_t gate = 0; gate < kGates; ++gate) {
      const auto n = static_cast<size_t>(hidden_);
      std::copy_n(b.begin() + static_cast<std::ptrdiff_t>(first_.places[gate] * n), n,
                  own.begin() + static_cast<std::ptrdiff_t>(gate * n));
    }
    return builder_.AddConstant("", Tensor::Float32({1, 2 * columns()}, own));
  }

  const Graph& graph_;
  const Chain& chain_;
  GraphBuilder builder_;
  const Cell& first_;
  const Cell& last_;
  int64_t time_ = 0, batch_ = 0, input_ = 0, hidden_ = 0;
};

bool FitsWeights(const Graph& graph, const Chain& chain) {
  const Product& product = chain.cells.front()->product;
  const Dims w = graph.value(product.w).constant->dims();
  const int64_t rows =
      (*graph.value(product.parts[0]).type.static_dims())[1] + (*graph.value(product.parts[1]).type.static_dims())[1];
  const Dims h = *graph.value(chain.cells.front()->h).type.static_dims();
  const int64_t columns = static_cast<int64_t>(kGates) * h[1];
  const Dims before = *graph.value(product.parts[chain.h_part]).type.static_dims();
  return w == (product.transposed ? Dims{columns, rows} : Dims{rows, columns}) && before == h;
}

// One chain at a time: two may be joined each, yet not both, when they feed each other.
Result<std::optional<Graph>> RollOne(const Graph& graph) {
  const std::vector<Cell> cells = CellMatcher(graph).Cells();
  std::map<ValueId, const Cell*> readers, makers;  // by c; of one that is hidden, there is one reader
  for (const Cell& cell : cells) {
    readers[cell.c_before] = &cell;
    makers[cell.c] = &cell;
  }
  for (const Cell& cell : cells) {
    const auto before = makers.find(cell.c_before);
    const bool begins = before == makers.end() || !IsHidden(graph, cell.c_before) ||
                        (!GoesOn(*before->second, cell, 0) && !GoesOn(*before->second, cell, 1));
    if (!begins) continue;
    const std::optional<Chain> chain = ChainFrom(graph, cell, readers);
    if (!chain || !FitsWeights(graph, *chain) || FeedsItself(graph, *chain)) continue;
    PT_ASSIGN(Graph rolled, Roller(graph, *chain).Run());
    return {std::optional<Graph>(std::move(rolled))};
  }
  return {std::nullopt};
}

}  // namespace

Result<std::optional<Graph>> RollLstmCells(const Graph& graph, const PassContext&) {
  std::optional<Graph> result;
  while (true) {
    PT_ASSIGN(std::optional<Graph> next, RollOne(result ? *result : graph));
    if (!next) return result;
    result = std::move(next);
  }
}

}  // namespace pt
