// docs/operator-table.md is what the libraries say: which of them has a kernel for which operator, on which element
// types. Asked with the published node cases, each in all types, with its parameters known before the run and not.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/onnx/load_onnx.h"
#include "partitiontuner/onnx/tensor_proto.h"
#include "partitiontuner/platform/discover.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/file.h"
#include "partitiontuner/transform/passes.h"
#include "test/testing/built_in.h"
#include "test/testing/host_lab.h"
#include "test/testing/test_machine.h"

namespace pt::testing::operator_table_test {
namespace {

constexpr std::string_view kDocument = "docs/operator-table.md";
constexpr std::array<std::string_view, 4> kColumns = {"reference", "onednn", "host", "recurrent"};

// ---- types ----

struct TypeName {
  DataType type;
  std::string_view name;
};
constexpr TypeName kTypes[] = {
    {DataType::kFloat16, "f16"},
    {DataType::kBfloat16, "bf16"},
    {DataType::kFloat32, "f32"},
    {DataType::kFloat64, "f64"},
    {DataType::kInt8, "i8"},
    {DataType::kInt16, "i16"},
    {DataType::kInt32, "i32"},
    {DataType::kInt64, "i64"},
    {DataType::kUint8, "u8"},
    {DataType::kUint16, "u16"},
    {DataType::kUint32, "u32"},
    {DataType::kUint64, "u64"},
    {DataType::kBool, "bool"},
    {DataType::kString, "str"},
    {DataType::kComplex64, "c64"},
    {DataType::kComplex128, "c128"},
    {DataType::kFloat8E4M3FN, "f8e4m3fn"},
    {DataType::kFloat8E4M3FNUZ, "f8e4m3fnuz"},
    {DataType::kFloat8E5M2, "f8e5m2"},
    {DataType::kFloat8E5M2FNUZ, "f8e5m2fnuz"},
    {DataType::kFloat8E8M0, "f8e8m0"},
    {DataType::kInt4, "i4"},
    {DataType::kUint4, "u4"},
    {DataType::kFloat4E2M1, "f4e2m1"},
    {DataType::kInt2, "i2"},
    {DataType::kUint2, "u2"},
};

// Types that mostly go together, under one name where all of them are there: `count` rows of kTypes from `first` on.
struct TypeGroup {
  std::string_view name;
  size_t first, count;
};
constexpr TypeGroup kGroups[] = {{"float", 0, 4}, {"int", 4, 8}, {"f8", 16, 4}, {"packed", 21, 5}};

using Types = std::set<DataType>;

std::string TextOf(const Types& types) {
  const auto has = [&](const TypeName& row) { return types.contains(row.type); };
  std::string text;
  const auto add = [&](std::string_view name) { text += (text.empty() ? "" : ", ") + std::string(name); };
  for (size_t i = 0; i < std::size(kTypes);) {
    const auto group = std::ranges::find(kGroups, i, &TypeGroup::first);
    if (group != std::end(kGroups) && std::all_of(kTypes + i, kTypes + i + group->count, has)) {
      add(group->name);
      i += group->count;
    } else {
      if (has(kTypes[i])) add(kTypes[i].name);
      ++i;
    }
  }
  return text;
}

// ---- what is asked ----

// Operators whose types are not those of their first input: the input that says it, or else the attribute; with
// neither, only the types of the cases are asked, which are those of the first output.
struct TypedBy {
  std::string_view op;
  int input;  // -1: the output's type is the row's
  std::string_view attribute;
};
constexpr TypedBy kTypedBy[] = {
    {"BlackmanWindow", -1, "output_datatype"},
    {"ConstantOfShape", -1, "value"},
    {"HammingWindow", -1, "output_datatype"},
    {"HannWindow", -1, "output_datatype"},
    {"If", -1, ""},
    {"Loop", -1, ""},
    {"MelWeightMatrix", -1, "output_datatype"},
    {"OneHot", 2, ""},
    {"RandomNormal", -1, "dtype"},
    {"RandomUniform", -1, "dtype"},
    {"SequenceEmpty", -1, "dtype"},
    {"Where", 1, ""},
};
TypedBy TypedByOf(const Node& node) {
  const auto row = std::ranges::find(kTypedBy, node.op, &TypedBy::op);
  if (row != std::end(kTypedBy) && node.domain.empty()) return *row;
  return {node.op, node.inputs.empty() || !node.inputs[0].valid() ? -1 : 0, ""};
}

// What no published case has, or only with more outputs or other parameters than a kernel takes. The row is the last
// node's.
constexpr const char* kMoreGraphs[] = {
    "opset 26\ninput x int4[4]\ny = BitCast(x) to=22\noutput y\n",
    "opset 26\ninput x int2[4]\ny = BitCast(x) to=26\noutput y\n",
    "opset 26\ninput x complex128[4]\ny = BitCast(x) to=15\noutput y\n",
    "input x float32[2,3,4]\ny = GlobalLpPool(x)\noutput y\n",
    "input x float32[2,6,5]\nconst s float32[6] ones\ny = GroupNormalization(x, s, s) num_groups=2\noutput y\n",
    "input x float32[5,1,3]\nconst w float32[1,12,3] ones\nconst r float32[1,12,4] ones\n"
    "y = GRU(x, w, r) hidden_size=4 linear_before_reset=1\noutput y\n",
    "input x float32[2,16]\nconst s float32[16] ones\ny = LayerNormalization(x, s)\noutput y\n",
    "input x float32[2,2,3,3]\nconst r float32[1,5] ones\ny = MaxRoiPool(x, r) pooled_shape=[1,1]\noutput y\n",
    "input x float32[2,3]\ny = Multinomial(x) sample_size=4 seed=1.0\noutput y\n",
    "input i int64[3]\nconst d int64[] ints 5\ninput v float32[2]\ny = OneHot(i, d, v)\noutput y\n",
    "input x float32[2]\ny = Optional(x)\noutput y\n",
    "input x uint8[1,8,6,6]\nconst s float32[] value 0.1\nconst z uint8[] ints 0\nconst w int8[8,8,3,3] ones\n"
    "const v int8[] ints 0\ny = QLinearConv(x, s, z, w, s, v, s, z)\noutput y\n",
    "y = RandomNormal() shape=[2,3] seed=1.0\noutput y\n",
    "input x float32[2,3]\ny = RandomNormalLike(x) dtype=1 seed=1.0\noutput y\n",
    "y = RandomUniform() shape=[2,3] seed=1.0\noutput y\n",
    "input x float32[2,3]\ny = RandomUniformLike(x) dtype=1 seed=1.0\noutput y\n",
    "opset 10\ninput x float32[2,3]\nconst i int64[1,1] ints 0\nconst u float32[1,1] ones\n"
    "y = Scatter(x, i, u)\noutput y\n",
    "opset 9\ninput x uint8[1,2,3,3]\nconst s float32[4] floats 1 1 2 2\ny = Upsample(x, s)\noutput y\n",
    "input x float32[2]\ny = SequenceConstruct(x, x)\noutput y\n",
    "y = SequenceEmpty()\noutput y\n",
    "input x float32[2]\nconst i int64[] ints 0\ns = SequenceConstruct(x, x)\ny = SequenceAt(s, i)\noutput y\n",
    "input x float32[2]\nconst i int64[] ints 0\ns = SequenceConstruct(x, x)\ny = SequenceErase(s, i)\noutput y\n",
    "input x float32[2]\ns = SequenceConstruct(x, x)\ny = SequenceLength(s)\noutput y\n",
    "input x float32[2]\ns = SequenceConstruct(x, x)\ny = ConcatFromSequence(s) axis=0\noutput y\n",
    "opset ai.onnx.ml 5\ninput x int64[2]\n"
    "y = ai.onnx.ml.CategoryMapper(x) cats_int64s=[1,2] cats_strings=[\"a\",\"b\"]\noutput y\n",
    "opset ai.onnx.ml 5\ninput x float32[2]\ny = ai.onnx.ml.CastMap(x)\noutput y\n",
    "opset ai.onnx.ml 5\ninput x float32[2]\ny = ai.onnx.ml.DictVectorizer(x)\noutput y\n",
    "opset ai.onnx.ml 5\ninput x int64[2]\n"
    "y = ai.onnx.ml.LabelEncoder(x) keys_int64s=[1,2] values_int64s=[3,4]\noutput y\n",
    "opset ai.onnx.ml 5\ninput x float32[2]\n"
    "y = ai.onnx.ml.LabelEncoder(x) keys_floats=[1.0,2.0] values_floats=[3.0,4.0]\noutput y\n",
    "opset ai.onnx.ml 5\ninput x float32[2]\ny = ai.onnx.ml.OneHotEncoder(x) cats_int64s=[1,2]\noutput y\n",
    "opset ai.onnx.ml 5\ninput x string[2]\ny = ai.onnx.ml.OneHotEncoder(x) cats_strings=[\"a\",\"b\"]\noutput y\n",
    "opset ai.onnx.ml 5\ninput x float32[2]\n"
    "y, z = ai.onnx.ml.SVMClassifier(x) classlabels_ints=[0,1] vectors_per_class=[1,1] "
    "support_vectors=[1.0,2.0,3.0,4.0] coefficients=[1.0,2.0] rho=[1.0]\noutput y\noutput z\n",
    "opset ai.onnx.ml 5\ninput x float32[2]\n"
    "y = ai.onnx.ml.SVMRegressor(x) coefficients=[1.0,2.0] rho=[1.0]\noutput y\n",
    "opset ai.onnx.ml 3\ninput x float32[2]\n"
    "y, z = ai.onnx.ml.TreeEnsembleClassifier(x) classlabels_int64s=[0,1] nodes_treeids=[0] nodes_nodeids=[0] "
    "nodes_featureids=[0] nodes_values=[0.0] nodes_modes=[\"LEAF\"] nodes_truenodeids=[0] nodes_falsenodeids=[0] "
    "class_treeids=[0] class_nodeids=[0] class_ids=[0] class_weights=[1.0]\noutput y\noutput z\n",
    "opset ai.onnx.ml 3\ninput x float32[2]\n"
    "y = ai.onnx.ml.TreeEnsembleRegressor(x) n_targets=1 nodes_treeids=[0] nodes_nodeids=[0] "
    "nodes_featureids=[0] nodes_values=[0.0] nodes_modes=[\"LEAF\"] nodes_truenodeids=[0] nodes_falsenodeids=[0] "
    "target_treeids=[0] target_nodeids=[0] target_ids=[0] target_weights=[1.0]\noutput y\n",
    "opset ai.onnx.ml 5\ninput x float32[2]\ny = ai.onnx.ml.ZipMap(x)\noutput y\n",
    "opset com.microsoft 1\ninput x float32[3,2,4]\nconst w int8[1,4,20] whole 1\nconst r int8[1,5,20] whole 2\n"
    "const s float32[1] value 0.01\nconst z int8[1] whole 3\n"
    "y = com.microsoft.DynamicQuantizeLSTM(x, w, r, _, _, _, _, _, s, z, s, z) hidden_size=5\noutput y\n",
    "opset com.microsoft 1\ninput x float32[2,2]\ny = com.microsoft.Inverse(x)\noutput y\n",
    "opset ai.onnx.preview.training 1\ninput x float32[2]\ny = ai.onnx.preview.training.Gradient(x)\noutput y\n",
};

// A graph that asks about its last node, and what is known of its inputs' contents.
struct Probe {
  Graph graph;
  std::map<ValueId, Datum> contents;

  const Node& node() const { return graph.nodes().back(); }
  // Some values have the row's types: of a chain of nodes, those of the first input.
  ValueId typed_value() const {
    const int input = TypedByOf(node()).input;
    if (input < 0) return node().outputs[0];
    return graph.nodes().size() > 1 ? graph.inputs()[0] : node().inputs[static_cast<size_t>(input)];
  }
  DataType type() const { return graph.value(typed_value()).type.type; }
};

// The tensor in another type; where its elements cannot be, ones or zeros.
Tensor Converted(const Tensor& tensor, DataType type) {
  if (tensor.type() == type) return tensor;
  const std::vector<int64_t>& dims = tensor.dims();
  if (type == DataType::kString) {
    return Tensor::FromStrings(dims, std::vector<std::string>(static_cast<size_t>(tensor.element_count()), "1"))
        .value();
  }
  GraphBuilder builder;
  builder.set_opset(kTargetOpset);
  const ValueId x = builder.AddInput("x", StaticType(tensor.type(), dims));
  builder.AddOutput(builder.AddOp("Cast", {x}, StaticType(type, dims), {{"to", static_cast<int64_t>(type)}}));
  Result<std::vector<Tensor>> cast = EvaluateNode(builder.Build().value(), NodeId(0U), {&tensor, 1});
  if (cast.ok()) return std::move(cast->front());
  const auto bytes = static_cast<size_t>(TensorByteCount(type, dims).value());
  return Tensor::FromBytes(type, dims, std::string(bytes, '\0')).value();
}

Datum Converted(const Datum& datum, DataType type) {
  if (datum.is_tensor()) return Converted(datum.tensor(), type);
  if (!datum.is_sequence()) return datum;
  std::vector<TensorPtr> elements;
  for (const TensorPtr& element : datum.elements()) {
    elements.push_back(std::make_shared<const Tensor>(Converted(*element, type)));
  }
  return Datum::Sequence(type, std::move(elements)).value();
}

void SetTypeAttribute(Node& node, std::string_view attribute, DataType type) {
  if (attribute == "value") {
    node.attributes = {{"value", Converted(Tensor::Float32({1}, {1}), type)}};
  } else if (!attribute.empty()) {
    node.attributes.insert_or_assign(std::string(attribute), static_cast<int64_t>(type));
  }
}

// The probe on operands of `type` where its own had the row's type; with `known`, everything but the operand that the
// row is about is constant, as far as its content is there.
Result<Probe> InType(const Probe& probe, DataType type, bool known) {
  const Graph& graph = probe.graph;
  const DataType own = probe.type();
  GraphBuilder builder;
  builder.set_opset(graph.opset());
  for (const auto& [domain, version] : graph.domains()) builder.set_domain(domain, version);
  std::map<ValueId, Datum> contents;
  std::vector<ValueId> ids;
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const ValueId id(i);
    const Value& value = graph.value(id);
    ValueType is = value.type;
    if (value.producer.valid()) {
      ids.push_back(builder.AddValue(value.name, type == own ? is : ValueType{}));  // inference says the other types
      continue;
    }
    if (is.type == own && TypedByOf(probe.node()).input >= 0) is.type = type;
    const auto content = probe.contents.find(id);
    const Datum datum = Converted(value.is_constant() ? Datum(*value.constant) : content->second, is.type);
    if (value.is_constant() || (known && id != probe.typed_value() && datum.is_tensor() && is.other.empty())) {
      ids.push_back(builder.AddConstant(value.name, datum.tensor()));
    } else {
      ids.push_back(builder.AddInput(value.name, is));
      contents.emplace(ids.back(), datum);
    }
  }
  for (const Node& node : graph.nodes()) {
    Node copy = node;
    for (std::vector<ValueId>* operands : {&copy.inputs, &copy.outputs}) {
      for (ValueId& id : *operands) id = id.valid() ? ids[id.index()] : id;
    }
    if (type != own) SetTypeAttribute(copy, TypedByOf(node).attribute, type);
    builder.AddNode(std::move(copy));
  }
  for (ValueId id : graph.outputs()) builder.AddOutput(ids[id.index()]);
  PT_ASSIGN(const Graph built, builder.Build());
  PT_ASSIGN(Graph typed, InferShapes(built));
  return Probe{std::move(typed), std::move(contents)};  // ids are as before: the order was topological
}

// ---- who answers ----

class Libraries {
 public:
  Libraries() {
    for (const LibraryRow& row : BuiltInLibraries()) {
      if (std::ranges::find(kColumns, row.name) != kColumns.end()) libraries_.push_back(row.make());
    }
  }

  // Those that run all nodes as one kernel, as the graph is or as the passes make it. The reference library where it
  // has done so: of what is prepared in the run alone it says no more before.
  std::set<std::string> Run(const Probe& probe) {
    std::set<std::string> names;
    Ask(probe.graph, names);
    PassContext context;
    context.evaluate = [](const Graph& g, NodeId node, std::span<const Tensor> in) {
      return EvaluateNode(g, node, in);
    };
    context.infer_types = [](const Graph& g) { return InferShapes(g); };
    const Result<Graph> simplified = Simplify(probe.graph, context);
    if (simplified.ok() && !simplified->nodes().empty()) Ask(*simplified, names);
    names.erase("reference");
    if (RunsOnReference(probe)) names.insert("reference");
    return names;
  }

  // The reference library's reason where no library has a kernel for the node.
  std::optional<std::string> WhyRefused(const Graph& graph, NodeId node) const {
    for (const auto& library : libraries_) {
      if (!library->CandidatesFor(graph, platform_, {&node, 1}, Precision()).empty()) return std::nullopt;
    }
    return reference().WhyUnsupported(graph, node).value_or("no library offers a way to run it");
  }

 private:
  const Library& reference() const { return **std::ranges::find(libraries_, "reference", &Library::name); }

  void Ask(const Graph& graph, std::set<std::string>& names) const {
    for (const Candidate& candidate : EnumerateCandidates(graph, platform_, libraries_)) {
      if (candidate.nodes.size() == graph.nodes().size()) names.insert(candidate.library);
    }
  }

  bool RunsOnReference(const Probe& probe) {
    for (uint32_t n = 0; n < probe.graph.nodes().size(); ++n) {
      const NodeId node(n);
      if (reference().CandidatesFor(probe.graph, platform_, {&node, 1}, Precision()).empty()) return false;
    }
    const auto graph = std::make_shared<const Graph>(probe.graph);
    const std::vector<UnitId> everywhere(graph->nodes().size(), FindUnit(lab_.machine().platform(), "cpu[0]"));
    const auto session = Session::Create(graph, MakeTestPlan(*graph, lab_.machine(), everywhere), lab_.machine());
    if (!session.ok()) return false;
    std::vector<Datum> inputs;
    for (ValueId id : graph->inputs()) inputs.push_back(probe.contents.at(id));
    return RunData(**session, inputs).ok();
  }

  std::vector<std::unique_ptr<Library>> libraries_;
  Platform platform_ = MakeTestPlatform(1, false);
  HostLab lab_;
};

// ---- the table ----

struct Table {
  std::map<std::string, std::map<std::string, Types>> rows;                          // operator → library → types
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> refusals;  // operator and reason → cases
};

std::string OperatorOf(const Node& node) { return (node.domain.empty() ? "" : node.domain + ".") + node.op; }

void AskInAllTypes(const Probe& probe, Libraries& libraries, Table& table) {
  auto& row = table.rows[OperatorOf(probe.node())];
  const TypedBy by = TypedByOf(probe.node());
  // What a body computes has types of its own.
  const bool own_type_only = !probe.node().subgraphs.empty() || (by.input < 0 && by.attribute.empty());
  for (const TypeName& type : kTypes) {
    INFO("of " << type.name);
    if (own_type_only && type.type != probe.type()) continue;
    for (const bool known : {false, true}) {
      const Result<Probe> typed = InType(probe, type.type, known);
      if (!typed.ok()) continue;
      for (const std::string& name : libraries.Run(*typed)) row[name].insert(type.type);
    }
  }
}

// False where a node is refused.
bool IsSupported(const Probe& probe, const std::string& name, const Libraries& libraries, Table& table) {
  bool supported = true;
  for (uint32_t n = 0; n < probe.graph.nodes().size(); ++n) {
    const std::optional<std::string> why = libraries.WhyRefused(probe.graph, NodeId(n));
    if (why) table.refusals[{OperatorOf(probe.graph.nodes()[n]), *why}].push_back(name);
    supported = supported && !why;
  }
  return supported;
}

// The case's graph, with the dims of its data where the model leaves them open, and the contents of its inputs.
Result<Probe> LoadProbe(const std::string& folder) {
  PT_ASSIGN(Graph graph, LoadOnnx(folder + "/model.onnx"));
  std::map<ValueId, Datum> contents;
  ShapeOverrides overrides;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    const std::string path = folder + "/test_data_set_0/input_" + std::to_string(i) + ".pb";
    PT_ASSIGN(Datum datum, LoadValueProto(path, value.type));
    if (value.type.other.empty() && !value.type.is_static()) overrides.inputs[value.name] = datum.tensor().dims();
    contents.emplace(graph.inputs()[i], std::move(datum));
  }
  PT_ASSIGN(graph, InferShapes(graph, overrides));
  return Probe{std::move(graph), std::move(contents)};
}

Probe ProbeOf(const char* text) {
  Graph graph = *TypedGraph(text);
  std::map<ValueId, Datum> contents;
  for (ValueId id : graph.inputs()) {
    const ValueType& type = graph.value(id).type;
    const std::vector<float> ones(static_cast<size_t>(*CheckedProduct(*type.static_dims())), 1);
    contents.emplace(id, Converted(Tensor::Float32(*type.static_dims(), ones), type.type));
  }
  return {std::move(graph), std::move(contents)};
}

Table AskAll(const std::string& folder) {
  Table table;
  Libraries libraries;
  std::set<std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) cases.insert(entry.path().filename());
  for (const std::string& name : cases) {
    INFO(name);
    const Result<Probe> probe = LoadProbe(folder + "/" + name);
    INFO((probe.ok() ? "" : ToString(probe.error())));
    REQUIRE(probe.ok());
    const bool supported = IsSupported(*probe, name, libraries, table);
    if (supported && probe->graph.nodes().size() == 1) AskInAllTypes(*probe, libraries, table);
  }
  for (const char* text : kMoreGraphs) {
    INFO(text);
    const Probe probe = ProbeOf(text);
    if (IsSupported(probe, "no published case", libraries, table)) AskInAllTypes(probe, libraries, table);
  }
  return table;
}

std::string TextOf(const Table& table) {
  std::string text = R"(# Operators by library

Which library has a kernel for which operator, and on which element types. A test writes this page: it asks the
libraries themselves, with the node cases that the ONNX project publishes and a few graphs more. After a change that it
notices, write it anew with `build/release/bin/test_conformance "[renew]"`. What the kernels are, and what else they ask
of a node, stands in [operators.md](operators.md).

- The types are those of the operator's first input; of Where and OneHot those of the values, of what has no such input
  those of the output, of sequences and optional values those of the elements. Every type is tried, those that no case
  has and those that the standard leaves out too: the reference library runs some of them.
- The reference library is named where it has run some case. Another one is named where it runs some case of the
  operator alone as one kernel, after the passes if need be: an operator on f16 as one kernel that computes in f32,
  QLinearConv as a convolution of integers. With other attributes, or sizes that are not known until run time, the node may be
  left to the reference library. The libraries are listed in fp32, on a processor that sums products of 8-bit integers
  (AVX512-VNNI, AVX-VNNI).
- Of If, Loop, Scan and SequenceMap only the types of their cases are asked: what a body holds has rows of its own.
  Constant is not a node any more once a model is loaded, and operators of ONNX Runtime (com.microsoft) have become those
  below ([operators.md](operators.md#operators-of-onnx-runtime)).
- `float` is f16, bf16, f32 and f64; `int` i8 to i64 and u8 to u64; `f8` f8e4m3fn, f8e4m3fnuz, f8e5m2 and f8e5m2fnuz;
  `packed` i4, u4, f4e2m1, i2 and u2; `c64` and `c128` are complex, `str` strings.

)";
  text += "| operator |";
  for (const std::string_view column : kColumns) text += " " + std::string(column) + " |";
  text += "\n|---|---|---|---|---|\n";
  for (const auto& [op, row] : table.rows) {
    text += "| " + op + " |";
    for (const std::string_view column : kColumns) {
      const auto types = row.find(std::string(column));
      text += (types == row.end() ? "" : " " + TextOf(types->second)) + " |";
    }
    text += "\n";
  }
  text += "\n## Refused\n\nNo library has a kernel for these; the reason is what the program says.\n\n";
  text += "| operator | reason | cases |\n|---|---|---|\n";
  for (const auto& [of, cases] : table.refusals) {
    text += "| " + of.first + " | " + of.second + " |";
    for (const std::string& name : cases) text += (name == cases.front() ? " " : ", ") + name;
    text += " |\n";
  }
  return text;
}

std::string MakeDocument() {
  const std::string folder = PT_NODE_CASES "/node";
  if (!std::filesystem::is_directory(folder)) SKIP("no published cases in " + folder + "; call ./setup");
  for (const std::string_view column : kColumns) {
    if (!HasLibrary(column)) SKIP("this build has no library " + std::string(column));
  }
  const std::string isa = HostInstructionSets();
  if (isa.find("avx512_vnni") == std::string::npos && isa.find("avx_vnni") == std::string::npos) {
    SKIP("this processor has no exact products of integers");
  }
  return TextOf(AskAll(folder));
}

std::string DocumentPath() { return std::string(PT_SOURCE_DIR) + "/" + std::string(kDocument); }

TEST_CASE("OperatorTable, TheDocumentIsWhatTheLibrariesSay", "[conformance][slow]") {
  const std::string made = MakeDocument();
  const Result<std::string> written = ReadFile(DocumentPath(), 1 << 20);
  REQUIRE(written.ok());
  std::istringstream is(*written), should(made);
  for (std::string old_line, new_line; is || should;) {
    old_line.clear(), new_line.clear();
    std::getline(is, old_line), std::getline(should, new_line);
    if (old_line != new_line) UNSCOPED_INFO("is        " << old_line << "\nshould be " << new_line);
  }
  INFO("write " << kDocument << R"( anew: build/release/bin/test_conformance "[renew]")");
  CHECK((*written == made));
}

TEST_CASE("OperatorTable, WriteTheDocumentAnew", "[.][renew]") {
  const Status status = WriteFileAtomically(DocumentPath(), MakeDocument());
  INFO((status.ok() ? "" : ToString(status.error())));
  CHECK(status.ok());
}

}  // namespace
}  // namespace pt::testing::operator_table_test
