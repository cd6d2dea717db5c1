#include "lib/engine/load_model.h"

#include <algorithm>
#include <set>

#include "lib/engine/candidate_filters.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/graph/disjoint_union.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/support/caught.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/transform/passes.h"

namespace pt {
namespace {

constexpr size_t kMostNamed = 8;  // faults listed in one message

Error InFile(Error error, const std::string& path) {
  if (error.file.empty()) error.file = path;
  return error;
}

std::string ShapeText(std::span<const int64_t> dims) {
  std::string text;
  for (int64_t dim : dims) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text.empty() ? "(scalar)" : text;
}

// For inputs whose dims the file leaves open and nothing else says, as far as they fit what is said.
void AddDefaultDims(const Graph& graph, const ModelOptions& options, ShapeOverrides& overrides) {
  std::map<std::string, int64_t> bound = overrides.dims;
  const auto visit_named = [&](const ValueType& type, const std::vector<int64_t>& dims, const auto& visit) {
    for (size_t axis = 0; axis < std::min(type.dims.size(), dims.size()); ++axis) {
      if (!type.dims[axis].known() && !type.dims[axis].name.empty()) visit(type.dims[axis].name, dims[axis]);
    }
  };
  const auto bind = [&](const std::string& name, int64_t dim) { bound.emplace(name, dim); };
  for (const ValueId input : graph.inputs()) {
    const auto given = overrides.inputs.find(graph.value(input).name);
    if (given != overrides.inputs.end()) visit_named(graph.value(input).type, given->second, bind);
  }
  for (const ValueId input : graph.inputs()) {
    const Value& value = graph.value(input);
    const ValueType& type = value.type;
    const auto usual = options.default_dims.find(value.name);
    if (usual == options.default_dims.end() || type.is_static() || !type.other.empty()) continue;
    if (type.ranked && type.dims.size() != usual->second.size()) continue;
    bool fits = std::ranges::none_of(usual->second, [](int64_t dim) { return dim < 0; });
    for (size_t axis = 0; axis < type.dims.size(); ++axis) {
      fits = fits && (!type.dims[axis].known() || type.dims[axis].value == usual->second[axis]);
    }
    visit_named(type, usual->second, [&](const std::string& name, int64_t dim) {
      const auto at = bound.find(name);
      fits = fits && (at == bound.end() || at->second == dim);
    });
    if (!fits || !overrides.inputs.emplace(value.name, usual->second).second) continue;
    visit_named(type, usual->second, bind);
  }
}

Result<ShapeOverrides> OverridesOf(const Graph& graph, const LoadReport& report, const ModelOptions& options) {
  ShapeOverrides overrides{options.dims, options.shapes};
  if (options.input_dims.size() > graph.inputs().size()) {
    return MakeError(ErrorCode::kInvalidInput, "engine.inputs",
                     "data for " + std::to_string(options.input_dims.size()) + " inputs, but the model has " +
                         std::to_string(graph.inputs().size()));
  }
  const std::vector<size_t> by_position = InputsByPosition(graph, report, options.input_dims.size());
  for (size_t i = 0; i < options.input_dims.size(); ++i) {
    const Value& value = graph.value(graph.inputs()[by_position[i]]);
    if (!value.type.other.empty()) continue;  // no tensor: its file says nothing of dims
    // A scalar is often saved as one element of rank 1: the data fits, and the model's rank stays.
    const bool scalar = value.type.ranked && value.type.dims.empty();
    if (scalar && CheckedProduct(options.input_dims[i]) == 1) continue;
    overrides.inputs.emplace(value.name, options.input_dims[i]);
  }
  AddDefaultDims(graph, options, overrides);
  return overrides;
}

// Dims that come with the data are the data's fault, not the command line's.
Error BlameData(Error error, const Graph& graph, const LoadReport& report, const ModelOptions& options) {
  if (error.code != ErrorCode::kUsage || options.input_dims.empty()) return error;
  const std::vector<size_t> by_position = InputsByPosition(graph, report, options.input_dims.size());
  error.code = ErrorCode::kInvalidInput;
  error.message += "; dims of the given data:";
  for (size_t i = 0; i < options.input_dims.size(); ++i) {
    error.message += " " + graph.value(graph.inputs()[by_position[i]]).name + "=" + ShapeText(options.input_dims[i]);
  }
  return error;
}

Result<Graph> Specialise(Graph graph, const LoadReport& report, const ModelOptions& options) {
  PT_ASSIGN(const ShapeOverrides overrides, OverridesOf(graph, report, options));
  if (!overrides.dims.empty() || !overrides.inputs.empty()) {
    Result<Graph> specialised = InferShapes(graph, overrides);
    if (!specialised.ok()) return BlameData(std::move(specialised).error(), graph, report, options);
    graph = std::move(specialised).value();
  }
  const std::vector<UnresolvedDim> unresolved = UnresolvedDims(graph);
  if (unresolved.empty()) return graph;
  std::string message = "unknown dims:";
  std::string flags;
  for (size_t i = 0; i < unresolved.size(); ++i) {
    const UnresolvedDim& dim = unresolved[i];
    message += (i == 0 ? " input " : ", input ") + dim.input;
    message += dim.axis < 0 ? " (even its rank)" : " dim " + std::to_string(dim.axis);
    if (!dim.name.empty()) message += " (" + dim.name + ")";
    // One flag for an input says all of its dims.
    if (flags.find(dim.flag) == std::string::npos) flags += (flags.empty() ? "" : " ") + dim.flag;
  }
  return MakeError(ErrorCode::kUsage, "engine.unknown_dims", std::move(message), "give " + flags);
}

// Operators whose result has as many dims as an input has numbers, or more: that input.
std::optional<size_t> ShapeInput(const Node& node) {
  if (!node.domain.empty()) return std::nullopt;
  if (node.op == "ConstantOfShape") return 0;
  if (node.op == "Expand" || node.op == "Reshape" || node.op == "Unsqueeze") return 1;
  return std::nullopt;
}

// A file of a few bytes may fold to a list of a billion dims.
Status CheckRank(const Graph& graph, NodeId id, int64_t dims, const Limits& limits) {
  if (limits.rank == 0 || dims <= static_cast<int64_t>(limits.rank)) return {};
  const Node& node = graph.node(id);
  Error error = MakeError(ErrorCode::kInvalidInput, "engine.limit",
                          node.op + ": the result has " + std::to_string(dims) + " dims or more, over the limit of " +
                              std::to_string(limits.rank));
  error.node = NodeLabel(graph, id);
  return error;
}

Status CheckRanks(const Graph& graph, const Limits& limits) {
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const std::optional<size_t> at = ShapeInput(node);
    if (!at || *at >= node.inputs.size() || !node.inputs[*at].valid()) continue;
    const Value& shape = graph.value(node.inputs[*at]);
    if (shape.is_constant()) PT_CHECK_OK(CheckRank(graph, NodeId(i), shape.constant->element_count(), limits));
  }
  return {};
}

// What is computed while a model is loaded: of any model, and for each byte of the constants that its file has, each of
// which may be cast, scaled and turned around. Nodes beyond it stay, and are computed in every run, which has a
// deadline and a limit of memory.
struct FoldingBudget {
  double work;     // operations and bytes, all together
  uint64_t bytes;  // that constants may grow by
};

FoldingBudget BudgetFor(const Graph& graph, const Limits& limits) {
  constexpr double kWork = 2e9, kWorkOfAByte = 256;
  constexpr uint64_t kBytes = 256 << 20, kBytesOfAByte = 8;
  uint64_t given = 0;
  for (const Value& value : graph.values()) {
    if (value.is_constant()) given += value.constant->bytes().size();
  }
  const uint64_t bytes = kBytes + kBytesOfAByte * given;
  return {kWork + kWorkOfAByte * static_cast<double>(given),
          limits.folded_bytes == 0 ? 0 : std::min(bytes, limits.folded_bytes)};
}

Result<Graph> SimplifyForPlanning(Graph graph, const ModelOptions& options) {
  PT_CHECK_OK(CheckRanks(graph, options.load.limits));
  PassContext context;
  const FoldingBudget budget = BudgetFor(graph, options.load.limits);
  double left = budget.work;
  context.evaluate = [&options, &left](const Graph& g, NodeId id,
                                       std::span<const Tensor> inputs) -> Result<std::vector<Tensor>> {
    if (options.cancel != nullptr && options.cancel->cancelled()) {
      return MakeError(ErrorCode::kRunFailed, "engine.cancelled", "loading was cancelled");
    }
    const std::optional<size_t> shape = ShapeInput(g.node(id));
    if (shape && *shape < inputs.size())
      PT_CHECK_OK(CheckRank(g, id, inputs[*shape].element_count(), options.load.limits));
    const WorkSize work = WorkSizeOf(g, {&id, 1});
    if (work.flops + work.bytes > left)
      return MakeError(ErrorCode::kUnsupported, "engine.folded_work", "takes too long to be computed while loading");
    left -= work.flops + work.bytes;
    return EvaluateNode(g, id, inputs);
  };
  context.infer_types = [](const Graph& g) { return InferShapes(g); };
  context.limits = options.load.limits;
  context.limits.folded_bytes = budget.bytes;
  PT_ASSIGN(Graph simplified, Simplify(std::move(graph), context));
  PT_CHECK_OK(CheckRanks(simplified, options.load.limits));
  return simplified;
}

std::string WhyUnsupported(const Graph& graph, NodeId node, const Machine& machine) {
  std::string why;
  for (const auto& library : machine.libraries()) {
    const std::optional<std::string> reason = library->WhyUnsupported(graph, node);
    if (reason) why += (why.empty() ? "" : "; ") + std::string(library->name()) + ": " + *reason;
  }
  return why.empty() ? "no library offers a way to run it" : why;
}

// Operators that contradict their definitions: libraries count on what the definitions promise.
Status CheckDefinitions(const Graph& graph) {
  Status status = CheckOperators(graph);
  if (status.ok()) return status;
  Error error = std::move(status).error();
  if (error.hint.empty()) error.hint = "check the model's weights, and any --shape or --dim";
  return error;
}

// A node that cannot run because its shapes contradict each other is the model's fault (or that of the given shapes),
// not an operator to be added.
Status CheckShapes(const Graph& graph, const std::vector<bool>& served) {
  for (const auto& [node, fault] : ShapeFaults(graph)) {
    if (served[node.index()]) continue;
    Error error = MakeError(ErrorCode::kInvalidInput, "engine.shapes",
                            "the shapes at node " + NodeLabel(graph, node) + " contradict each other: " + fault,
                            "check the model's weights, and any --shape or --dim");
    error.node = NodeLabel(graph, node);
    return error;
  }
  return {};
}

std::vector<bool> ServedNodes(const Graph& graph, std::span<const Candidate> candidates) {
  std::vector<bool> served(graph.nodes().size(), false);
  for (const Candidate& candidate : candidates) {
    for (NodeId node : candidate.nodes) served[node.index()] = true;
  }
  return served;
}

// Every node needs some candidate. All that have none are named, each operator once. losing_nan: the nodes that have
// some which may lose NaN, and so were left out; empty where none was.
Status CheckSupported(const Graph& graph, std::span<const Candidate> candidates, const Machine& machine,
                      const std::vector<bool>& losing_nan) {
  const std::vector<bool> served = ServedNodes(graph, candidates);
  std::set<std::string> operators;
  std::string message, first;
  for (size_t n = 0; n < served.size(); ++n) {
    const Node& node = graph.nodes()[n];
    const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
    if (served[n] || !operators.insert(op).second || operators.size() > kMostNamed) continue;
    if (first.empty()) first = NodeLabel(graph, NodeId(n));
    message += (message.empty() ? "operator " : "; operator ") + op + " of node " + NodeLabel(graph, NodeId(n)) +
               " is not supported (" +
               (!losing_nan.empty() && losing_nan[n] ? "what the libraries offer for it may lose NaN"
                                                     : WhyUnsupported(graph, NodeId(n), machine)) +
               ")";
  }
  if (operators.empty()) return {};
  PT_CHECK_OK(CheckShapes(graph, served));
  if (operators.size() > kMostNamed)
    message += "; and " + std::to_string(operators.size() - kMostNamed) + " more operators";
  Error error = MakeError(ErrorCode::kUnsupported, "engine.unsupported", std::move(message));
  error.node = first;
  return error;
}

}  // namespace

namespace {

Result<std::shared_ptr<const Graph>> PlannedGraph(Graph loaded, const ModelOptions& options) {
  if (options.simplify) {
    PT_ASSIGN(loaded, SimplifyForPlanning(std::move(loaded), options));
    PT_CHECK_OK(CheckDefinitions(loaded));  // again: folding makes more types known
  }
  if (!options.rewrites.empty()) {
    PT_ASSIGN(loaded, Rewrite(loaded, options.rewrites));
  }
  return std::make_shared<const Graph>(std::move(loaded));
}

// Values of the inputs that are constant, and the graph that reads them instead.
Result<Graph> WithConstants(Graph graph, const ModelOptions& options, Model& model) {
  model.constants = options.constants;
  PT_ASSIGN(model.constant_inputs, ConstantTensors(graph, options.constants));
  if (options.constants.empty()) return graph;
  PT_ASSIGN(graph, ReadConstantInputs(graph, model.constant_inputs));
  return InferShapes(graph);
}

// The inputs of the file come once for each request.
void RepeatConstantInputs(Model& model) {
  const size_t of_one = model.constant_inputs.size();
  model.constant_inputs.reserve(of_one * model.rewrites.requests);
  while (model.constant_inputs.size() < of_one * model.rewrites.requests) {
    model.constant_inputs.push_back(model.constant_inputs[model.constant_inputs.size() - of_one]);
  }
}

Status FindCandidates(Model& model, const Machine& machine, bool keep_reference) {
  model.candidates = EnumerateCandidates(*model.graph, machine.platform(), machine.libraries(), model.precision);
  std::vector<bool> losing_nan;
  if (model.keep_nan) {
    losing_nan = ServedNodes(*model.graph, model.candidates);
    DropLosingNan(*model.graph, machine, model.candidates);
  }
  PT_CHECK_OK(machine.CheckPlugins());
  if (!keep_reference) DropNeedlessReference(model.candidates);
  return CheckSupported(*model.graph, model.candidates, machine, losing_nan);
}

void SetHashes(Model& model) {
  model.model_hash = ToHex(ModelHash(*model.graph));
  model.graph_hash = ToHex(GraphHash(*model.graph));
}

// `read` is the graph of the file; that of `file` is not looked at.
Result<std::shared_ptr<const Model>> MakeModel(ModelFile file, Graph read, const ModelOptions& options,
                                               const Machine& machine, bool keep_reference) {
  auto model = std::make_shared<Model>();
  model->path = std::move(file.path);
  model->models = std::move(file.models);
  model->load_report = std::move(file.load_report);
  const auto steps = [&]() -> Status {
    PT_ASSIGN(Graph specialised, Specialise(std::move(read), model->load_report, options));
    PT_ASSIGN(specialised, WithConstants(std::move(specialised), options, *model));
    PT_CHECK_OK(CheckDefinitions(specialised));
    if (options.keep_loaded) model->loaded = std::make_shared<const Graph>(specialised);
    PT_ASSIGN(model->graph, PlannedGraph(std::move(specialised), options));
    model->precision = options.precision;
    model->keep_nan = options.keep_nan;
    model->rewrites = options.rewrites;
    RepeatConstantInputs(*model);
    if (options.to_plan) PT_CHECK_OK(FindCandidates(*model, machine, keep_reference));
    SetHashes(*model);
    return {};
  };
  if (Status status = steps(); !status.ok()) return InFile(std::move(status).error(), model->path);
  return std::shared_ptr<const Model>(std::move(model));
}

}  // namespace

std::vector<size_t> InputsByPosition(const Graph& graph, const LoadReport& report, size_t count, size_t requests,
                                     const std::string& model) {
  const std::string front = model.empty() ? "" : model + kModelSeparator;
  std::vector<size_t> all, without_default;
  for (size_t i = 0; i < graph.inputs().size() / requests; ++i) {
    const std::string& name = graph.value(graph.inputs()[i]).name;
    if (!name.starts_with(front)) continue;
    all.push_back(i);
    if (!report.defaults.contains(name)) without_default.push_back(i);
  }
  return count <= without_default.size() ? without_default : all;
}

Result<std::shared_ptr<const ModelFile>> OpenModel(const std::string& path, const LoadOptions& options) try {
  auto file = std::make_shared<ModelFile>();
  file->path = path;
  Result<Graph> read = LoadOnnx(path, options, &file->load_report);
  if (!read.ok()) return InFile(std::move(read).error(), path);
  file->graph = std::make_shared<const Graph>(std::move(read).value());
  return std::shared_ptr<const ModelFile>(std::move(file));
} catch (...) {
  return Caught("model", "read a model");
}

Result<std::vector<std::vector<int64_t>>> InputDimsOf(const ModelFile& file, const ModelOptions& options) try {
  Result<Graph> specialised = Specialise(*file.graph, file.load_report, options);
  if (!specialised.ok()) return InFile(std::move(specialised).error(), file.path);
  std::vector<std::vector<int64_t>> dims;
  for (const ValueId id : specialised->inputs()) {
    dims.push_back(specialised->value(id).type.static_dims().value_or(std::vector<int64_t>()));
  }
  return dims;
} catch (...) {
  return Caught("model", "find the dims of inputs");
}

Result<std::shared_ptr<const Model>> LoadModel(const std::string& path, const ModelOptions& options,
                                               const Machine& machine, bool keep_reference) {
  ModelFile file;
  file.path = path;
  Result<Graph> read = LoadOnnx(path, options.load, &file.load_report);
  if (!read.ok()) return InFile(std::move(read).error(), path);
  return MakeModel(std::move(file), std::move(read).value(), options, machine, keep_reference);
}

Result<std::shared_ptr<const Model>> LoadModel(const ModelFile& file, const ModelOptions& options,
                                               const Machine& machine, bool keep_reference) {
  return MakeModel(file, *file.graph, options, machine, keep_reference);
}

Result<std::shared_ptr<const Model>> SplitModel(const Model& model, const NodeSplit& split, const Machine& machine,
                                                bool keep_reference) {
  if (!model.rewrites.may_split_more()) {
    return MakeError(ErrorCode::kUsage, "engine.split", "splits come before time slices and requests",
                     "load the model with the split among its rewrites");
  }
  auto rewritten = std::make_shared<Model>(model);
  PT_ASSIGN(Graph graph, SplitNodes(*model.graph, split));
  rewritten->graph = std::make_shared<const Graph>(std::move(graph));
  rewritten->rewrites.splits.push_back(split);
  PT_CHECK_OK(FindCandidates(*rewritten, machine, keep_reference));
  SetHashes(*rewritten);
  return std::shared_ptr<const Model>(std::move(rewritten));
}

}  // namespace pt
