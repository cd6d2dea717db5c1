#include "lib/backend/run_time/specialisation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "lib/backend/node_sizes.h"
#include "partitiontuner/backend/nan.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt::run_time {
namespace {

// Numbers of an input that may decide a size: of a shape, of starts and ends, of repeats.
constexpr int64_t kMostNumbers = 256;

// Of a node's inputs and outputs together: fewer are moved in the time that a kernel takes to be prepared.
constexpr int64_t kSmallBytes = 8192;
// Operators that do much with few bytes.
constexpr std::array<std::string_view, 8> kBusy = {
    "Conv", "ConvTranspose", "DynamicQuantizeLSTM", "GRU", "Gemm", "LSTM", "MatMul", "RNN"};

// From here on the work of a group is worth a kernel that takes longer to prepare.
constexpr double kHeavyFlops = 4e6;
// Who is asked first, of the libraries there are: who prepares kernels at once, or who computes at the highest rate.
constexpr std::array<std::string_view, 3> kQuick = {"host", "recurrent", "onednn"};
constexpr std::array<std::string_view, 3> kFast = {"recurrent", "onednn", "host"};

bool LiesPlain(const TensorLayout& layout) { return layout.layout.is_row_major() && IsDense(layout); }

// Of a tensor that lies plain.
std::span<const std::byte> BytesAt(const TensorView& view) {
  return {static_cast<const std::byte*>(view.data), static_cast<size_t>(BytesOf(view.layout).value())};
}

bool Holds(const TensorView& view, const Tensor& content) {
  const std::span<const std::byte> bytes = BytesAt(view);
  return bytes.size() == content.bytes().size() &&
         (bytes.empty() || std::memcmp(bytes.data(), content.bytes().data(), bytes.size()) == 0);
}

Result<Tensor> CopyOf(const TensorView& view) {
  const std::span<const std::byte> bytes = BytesAt(view);
  return Tensor::FromBytes(view.layout.type, view.layout.dims,
                           std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

bool IsHeavy(const Graph& graph, std::span<const NodeId> nodes) {
  return WorkSizeOf(graph, nodes).flops >= kHeavyFlops;
}

bool Convolve(const Graph& graph, std::span<const NodeId> nodes) {
  return std::ranges::any_of(nodes, [&](NodeId node) { return graph.node(node).op == "Conv"; });
}

// The host library takes convolutions only where they have few filters or small groups, which others do badly.
std::span<const std::string_view> OrderOfAsking(const Graph& graph, std::span<const NodeId> nodes) {
  if (IsHeavy(graph, nodes) && !Convolve(graph, nodes)) return kFast;
  return kQuick;
}

// Between no reorders.
bool RunsPlain(const LibraryCandidate& way) {
  const auto is_plain = [](const Form& form) { return form.layout.is_row_major(); };
  return std::ranges::all_of(way.candidate.in, is_plain) && std::ranges::all_of(way.candidate.out, is_plain);
}

std::vector<NodeId> NodesOf(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < graph.nodes().size(); ++i) nodes.emplace_back(i);
  return nodes;
}

// What planners would see of the machine if it had this one unit class.
Platform PlatformOf(const Platform& platform, UnitClassId unit_class) {
  Platform narrowed;
  narrowed.devices = platform.devices;
  narrowed.unit_classes = {platform.unit_class(unit_class)};
  return narrowed;
}

}  // namespace

// What is known of the values of the group.
struct Specialiser::Facts {
  std::map<ValueId, KnownInput> values;
  std::vector<bool> read;  // by input: its content decides a size
};

bool Specialisation::IsFor(TensorSlots given) const {
  for (size_t i = 0; i < in.size(); ++i) {
    if (given[i]->layout != in[i] || (contents[i] && !Holds(*given[i], *contents[i]))) return false;
  }
  return true;
}

Specialiser::Specialiser(const Graph& graph, const Candidate& candidate, bool keep_nan, const CompileContext& context,
                         std::shared_ptr<const Libraries> libraries)
    : graph_(graph),
      nodes_(candidate.nodes),
      in_values_(GroupInputs(graph, candidate.nodes)),
      out_values_(GroupOutputs(graph, candidate.nodes)),
      keep_nan_(keep_nan),
      platform_(PlatformOf(context.platform, candidate.unit_class)),
      device_(context.device),
      weights_(context.weights),
      libraries_(std::move(libraries)) {}

Result<std::shared_ptr<const Specialisation>> Specialiser::Make(TensorSlots in, TensorSlots out, Team* team) const {
  Facts facts;
  PT_CHECK_OK(FindSizes(in, facts));
  auto made = std::make_shared<Specialisation>();
  for (size_t i = 0; i < in.size(); ++i) {
    made->in.push_back(in[i]->layout);
    made->contents.push_back(facts.read[i] ? facts.values.at(in_values_[i]).content : std::nullopt);
  }
  made->is_small = IsSmall(facts);
  if (made->is_small) return std::shared_ptr<const Specialisation>(std::move(made));
  std::vector<ValueId> inputs, outputs;  // of the graph with the sizes
  PT_ASSIGN(Graph graph, StaticGraph(facts, inputs, outputs));
  made->graph = std::make_unique<const Graph>(std::move(graph));
  std::map<ValueId, size_t> known;
  for (size_t i = 0; i < in.size(); ++i) {
    const size_t tensor = AddTensor(in[i]->layout, made->computation);
    if (inputs[i].valid()) known[inputs[i]] = tensor;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    TensorLayout layout = out[i]->layout;
    if (!graph_.value(out_values_[i]).type.is_static()) {
      const KnownInput& fact = facts.values.at(out_values_[i]);
      PT_ASSIGN(layout, DenseLayout(fact.type, fact.dims, RowMajor(fact.dims.size())));
    }
    made->out.push_back(layout);
    known[outputs[i]] = AddTensor(std::move(layout), made->computation);
  }
  made->computation.inputs = in.size();
  made->computation.outputs = out.size();
  PT_CHECK_OK(AddWays(*made->graph, std::move(known), team, made->computation));
  made->is_heavy = IsHeavy(*made->graph, NodesOf(*made->graph));
  PT_ASSIGN(made->memory_bytes, made->computation.memory_bytes());
  return std::shared_ptr<const Specialisation>(std::move(made));
}

Status Specialiser::FindSizes(TensorSlots in, Facts& facts) const {
  facts.read.resize(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    facts.values[in_values_[i]] = {in[i]->layout.type, in[i]->layout.dims, std::nullopt};
  }
  for (const NodeId node : nodes_) PT_CHECK_OK(FindSizesOf(node, in, facts));
  return {};
}

bool Specialiser::IsSmall(const Facts& facts) const {
  const Node& node = graph_.node(nodes_.front());
  if (nodes_.size() != 1 || std::ranges::find(kBusy, node.op) != kBusy.end()) return false;
  int64_t bytes = 0;
  const auto add = [&](ValueId id) {
    if (!id.valid() || bytes > kSmallBytes) return;
    const Value& value = graph_.value(id);
    const auto known = facts.values.find(id);
    int64_t size = BitsOf(value.type.type) / 8 + 1;
    if (known == facts.values.end() && !value.is_constant()) return;
    for (const int64_t dim : value.is_constant() ? value.constant->dims() : known->second.dims) {
      size = std::min(size * std::min(dim, kSmallBytes), kSmallBytes + 1);
    }
    bytes += size;
  };
  std::ranges::for_each(node.inputs, add);
  std::ranges::for_each(node.outputs, add);
  return bytes <= kSmallBytes;
}

// By the sizes of the inputs alone if that will do, so that whatever they contain is served alike; else by the contents
// of as few of them as possible: operators have what they work on before what says how.
Status Specialiser::FindSizesOf(NodeId id, TensorSlots in, Facts& facts) const {
  const Node& node = graph_.node(id);
  std::vector<KnownInput> inputs;
  for (const ValueId input : node.inputs) {
    KnownInput& known = inputs.emplace_back();
    if (!input.valid()) continue;
    const Value& value = graph_.value(input);
    if (value.is_constant()) {
      known = {value.constant->type(), value.constant->dims(), value.constant};
    } else {
      known = facts.values.at(input);
    }
  }
  Result<std::vector<ValueType>> types = OutputTypes(graph_, id, inputs);
  for (size_t i = inputs.size(); i-- > 0 && !types.ok() && types.error().code == ErrorCode::kUnsupported;) {
    const auto at = std::ranges::find(in_values_, node.inputs[i]);
    if (inputs[i].content || at == in_values_.end()) continue;
    const auto slot = static_cast<size_t>(at - in_values_.begin());
    const TensorLayout& layout = in[slot]->layout;
    int64_t count = 1;
    for (const int64_t dim : layout.dims) count = std::min(count * dim, kMostNumbers + 1);
    if (count > kMostNumbers || !LiesPlain(layout)) break;
    PT_ASSIGN(inputs[i].content, CopyOf(*in[slot]));
    facts.values[*at].content = inputs[i].content;
    facts.read[slot] = true;
    types = OutputTypes(graph_, id, inputs);
  }
  if (!types.ok()) return std::move(types).error();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueType& type = (*types)[i];
    if (node.outputs[i].valid() && type.is_static()) {
      facts.values[node.outputs[i]] = {type.type, *type.static_dims(), std::nullopt};
    }
  }
  return {};
}

// in, out: its values that stand for the group's; an input whose content is known is a constant, and none of them.
Result<Graph> Specialiser::StaticGraph(const Facts& facts, std::vector<ValueId>& in, std::vector<ValueId>& out) const {
  GraphBuilder builder;
  builder.set_opset(graph_.opset());
  for (const auto& [domain, version] : graph_.domains()) builder.set_domain(domain, version);
  std::map<ValueId, ValueId> moved;
  for (size_t i = 0; i < in_values_.size(); ++i) {
    const KnownInput& known = facts.values.at(in_values_[i]);
    const std::string& name = graph_.value(in_values_[i]).name;
    const ValueId id = facts.read[i] ? builder.AddConstant(name, *known.content)
                                     : builder.AddInput(name, StaticType(known.type, known.dims));
    moved[in_values_[i]] = id;
    in.push_back(facts.read[i] ? ValueId() : id);
  }
  const auto move = [&](ValueId& id) {
    if (!id.valid()) return;
    const auto [at, is_new] = moved.emplace(id, ValueId());
    if (is_new) {
      const Value& value = graph_.value(id);
      const auto known = facts.values.find(id);
      at->second = value.is_constant() ? builder.AddConstant(value.name, *value.constant)
                   : known != facts.values.end()
                       ? builder.AddValue(value.name, StaticType(known->second.type, known->second.dims))
                       : builder.AddValue(value.name);
    }
    id = at->second;
  };
  for (const NodeId id : nodes_) {
    Node node = graph_.node(id);
    for (ValueId& input : node.inputs) move(input);
    for (ValueId& output : node.outputs) move(output);
    builder.AddNode(std::move(node));
  }
  for (const ValueId id : out_values_) {
    out.push_back(moved.at(id));
    builder.AddOutput(out.back());
  }
  return builder.Build();
}

// The largest groups from the front that some library runs as one kernel.
Status Specialiser::AddWays(const Graph& graph, std::map<ValueId, size_t> known, Team* team,
                            Computation& computation) const {
  CompileContext context{platform_, device_, team, weights_, nullptr};
  const std::vector<NodeId> all = NodesOf(graph);
  for (std::span<const NodeId> left = all; !left.empty();) {
    size_t count = left.size();
    std::optional<LibraryCandidate> way;
    for (; count > 0 && !way; --count) {
      const std::span<const NodeId> nodes = left.first(count);
      if (count == 1 || IsConvex(graph, nodes)) way = FindWay(graph, nodes);
    }
    // What is behind a node costs less by itself than reorders around both.
    if (way && way->candidate.nodes.size() > 1 && !RunsPlain(*way)) {
      if (std::optional<LibraryCandidate> alone = FindWay(graph, left.first(1)); alone && RunsPlain(*alone))
        way = std::move(alone);
    }
    if (!way) {
      const std::optional<std::string> why = libraries_->back()->WhyUnsupported(graph, left.front());
      return MakeError(ErrorCode::kUnsupported, "run_time.node",
                       "no library runs " + NodeLabel(graph, left.front()) + " at the sizes of this run" +
                           (why ? ": " + *why : std::string()));
    }
    const auto tensors_of = [&](const std::vector<ValueId>& values) -> Result<std::vector<size_t>> {
      std::vector<size_t> tensors;
      for (const ValueId value : values) {
        PT_ASSIGN(const size_t tensor, TensorOf(graph, value, known, computation));
        tensors.push_back(tensor);
      }
      return tensors;
    };
    PT_ASSIGN(std::vector<size_t> in, tensors_of(GroupInputs(graph, way->candidate.nodes)));
    PT_ASSIGN(std::vector<size_t> out, tensors_of(GroupOutputs(graph, way->candidate.nodes)));
    left = left.subspan(way->candidate.nodes.size());
    PT_CHECK_OK(AddWay(graph, *way, std::move(in), std::move(out), context, computation));
  }
  return {};
}

// Kernels that lose a NaN only where none but plain loops keep it; of those that do not, one between reorders only
// where no library has another.
std::optional<LibraryCandidate> Specialiser::FindWay(const Graph& graph, std::span<const NodeId> nodes) const {
  const UnitClassId unit_class(0U);
  const auto ask = [&](const Library& library, bool keep_nan) -> std::optional<LibraryCandidate> {
    if (!library.Serves(platform_, platform_.unit_class(unit_class).device)) return std::nullopt;
    auto candidate = PlainestWay(graph, platform_, library, nodes, unit_class,
                                 [&](const Candidate& way) { return !keep_nan || KeepsNan(library, graph, way); });
    return candidate ? std::optional(LibraryCandidate{&library, *std::move(candidate)}) : std::nullopt;
  };
  for (const bool keep_nan : {true, false}) {
    if (!keep_nan && (keep_nan_ || nodes.size() > 1)) continue;
    std::optional<LibraryCandidate> reordered;
    for (const std::string_view name : OrderOfAsking(graph, nodes)) {
      const auto library = std::ranges::find(*libraries_, name, [](const auto& l) { return l->name(); });
      if (library == libraries_->end()) continue;
      std::optional<LibraryCandidate> way = ask(**library, keep_nan);
      if (way && RunsPlain(*way)) return way;
      if (!reordered) reordered = std::move(way);
    }
    if (reordered) return reordered;
  }
  return ask(*libraries_->back(), true);
}

}  // namespace pt::run_time
