#include "lib/backend/onednn/proposals.h"

#include <algorithm>
#include <array>

#include "lib/backend/onednn/winograd.h"
#include "partitiontuner/graph/operators/movements.h"

namespace pt::onednn {
namespace {

struct WayName {
  Way way;
  std::string_view suffix;
};
constexpr std::array kWayNames = {WayName{Way::kSum, "+sum"}, WayName{Way::kNarrowWeights, "+narrow"},
                                  WayName{Way::kWinograd2, "+winograd2"}, WayName{Way::kWinograd4, "+winograd4"},
                                  WayName{Way::kPhases, "+phases"}};

LayoutRule RuleOf(const Graph& graph, const FusionGroup& group) {
  if (group.is_conversion()) return LayoutRule::kConversion;
  return group.anchor.valid() ? FindFamily(graph.node(group.anchor))->layouts : LayoutRule::kAgnostic;
}

size_t RankOf(const Graph& graph, ValueId value) { return graph.value(value).type.dims.size(); }

bool IsMatrixProduct(const Graph& graph, const FusionGroup& group) {
  if (!group.anchor.valid()) return false;
  const Node& node = graph.node(group.anchor);
  return node.op == "MatMul" || node.op == "MatMulInteger" || node.op == "Gemm";
}

// The inputs whose layout the group follows: main's, or every input of a concatenation.
std::vector<ValueId> MainInputs(const Graph& graph, const FusionGroup& group) {
  if (!group.anchor.valid()) return {group.input_of(group.main)};
  if (IsMatrixProduct(graph, group)) return {};
  const Node& node = graph.node(group.anchor);
  if (node.op != "Concat") return {group.input_of(node.inputs[0])};
  std::vector<ValueId> inputs;
  for (ValueId input : node.inputs) {
    if (!graph.value(input).is_constant()) inputs.push_back(input);
  }
  return inputs;
}

bool IsTransposedConvolution(const Graph& graph, const FusionGroup& group) {
  return group.anchor.valid() && graph.node(group.anchor).op == "ConvTranspose";
}

bool HasResidual(const FusionGroup& group) {
  return group.anchor.valid() && std::any_of(group.ops.begin(), group.ops.end(), [](const Pointwise& op) {
           return op.algorithm == dnnl::algorithm::binary_add && !op.operand.constant;
         });
}

// The layout of a Transpose's result, or of its input, in which it moves nothing because the other one is row-major.
// `perm` of the operator: axis i of the result is axis perm[i] of the input.
Layout ResultLayoutOf(const std::vector<size_t>& perm) {
  Layout layout{std::vector<uint8_t>(perm.size()), {}};
  for (size_t i = 0; i < perm.size(); ++i) layout.order[perm[i]] = static_cast<uint8_t>(i);
  return layout;
}
Layout InputLayoutOf(const std::vector<size_t>& perm) {
  Layout layout;
  for (const size_t axis : perm) layout.order.push_back(static_cast<uint8_t>(axis));
  return layout;
}

// How a value lies where the Transpose that makes it is not a step; row-major where none makes it.
Layout LayoutAsMade(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  const Layout row = RowMajor(RankOf(graph, value));
  if (!producer.valid() || !IsTranspose(graph.node(producer))) return row;
  const auto perm = ReadPermutation(graph.node(producer), row.order.size());
  return perm.ok() ? ResultLayoutOf(*perm) : row;
}

// How a value may lie so that the Transpose that alone reads it is not a step.
Layout LayoutAsTaken(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  const Layout row = RowMajor(RankOf(graph, id));
  if (value.is_graph_output || value.uses.size() != 1 || !IsTranspose(graph.node(value.uses[0].node))) return row;
  const auto perm = ReadPermutation(graph.node(value.uses[0].node), row.order.size());
  return perm.ok() ? InputLayoutOf(*perm) : row;
}

// Few rows times constant weights beyond the caches: the time is that of reading the weights.
bool ReadsMostlyWeights(const Graph& graph, const FusionGroup& group) {
  constexpr int64_t kFewRows = 4, kManyWeights = int64_t{1} << 22;
  if (!IsMatrixProduct(graph, group)) return false;
  const Node& node = graph.node(group.anchor);
  const auto& weights = graph.value(node.inputs[1]).constant;
  if (!weights || weights->type() != DataType::kFloat32 || weights->rank() != 2) return false;
  if (weights->element_count() < kManyWeights) return false;
  const Dims result = DimsOf(graph, node.outputs[0]);
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < result.size(); ++i) rows *= result[i];
  return rows <= kFewRows;
}

// An operand follows the result's layout unless a blocked dim of it broadcasts: padding would then
// be read.
bool FollowsResult(const Graph& graph, ValueId value, const FusionGroup& group, const Layout& layout) {
  const Dims dims = DimsOf(graph, value), result = DimsOf(graph, group.result);
  return dims.size() == result.size() &&
         std::all_of(layout.blocks.begin(), layout.blocks.end(),
                     [&](const Layout::Block& block) { return dims[block.dim] == result[block.dim]; });
}

// Whether an operation after the first reads this input of the group.
bool IsOperand(const FusionGroup& group, ValueId value) {
  return std::any_of(group.ops.begin(), group.ops.end(), [&](const Pointwise& op) {
    return op.operand.value.valid() && group.input_of(op.operand.value) == value;
  });
}

Layout OperandLayout(const Graph& graph, const FusionGroup& group, ValueId value, const Layout& result) {
  return FollowsResult(graph, value, group, result) ? result : RowMajor(RankOf(graph, value));
}

// Row-major and as it is: what every group is offered in first.
bool IsPlain(const Form& form) { return form.layout.is_row_major() && form.storage != DataType::kBfloat16; }

void AddFrom(const KnownForms& known, ValueId value, size_t rank, std::vector<Form>& forms) {
  const auto at = known.find(value);
  if (at == known.end()) return;
  for (const Form& form : at->second) {
    const bool new_form = std::find(forms.begin(), forms.end(), form) == forms.end();
    if (form.layout.order.size() == rank && !IsPlain(form) && new_form) forms.push_back(form);
  }
}

Form Plain(size_t rank, DataType storage) { return {RowMajor(rank), storage}; }

// In which type an input is stored where the main one is stored in `main`: real numbers follow it.
DataType StoredBeside(const Graph& graph, ValueId input, DataType main) {
  const DataType type = graph.value(input).type.type;
  return type == DataType::kFloat32 && main == DataType::kBfloat16 ? main : type;
}
// The result's storage where the main input is stored in `main`.
DataType StoredBehind(const Graph& graph, const FusionGroup& group, DataType main) {
  return StoredBeside(graph, group.result, main);
}

// Type of the first of these, or float32 where there are none: products.
DataType MainType(const Graph& graph, std::span<const ValueId> mains) {
  return mains.empty() ? DataType::kFloat32 : graph.value(mains[0]).type.type;
}

std::string StorageText(const Form& form) { return form.storage == DataType::kBfloat16 ? ":bf16" : ""; }

// In fp32, and, where allowed, in bf16; its results go to the graph's outputs as fp32, too, which saves a reorder.
struct Storages {
  DataType in, out;
};
std::vector<Storages> StoragesOf(const Graph& graph, const FusionGroup& group, const Precision& precision) {
  const std::vector<ValueId> mains = MainInputs(graph, group);
  std::vector<Storages> storages{{MainType(graph, mains), graph.value(group.result).type.type}};
  const bool real = storages[0].in == DataType::kFloat32 && storages[0].out == DataType::kFloat32;
  if (!precision.allows(MathMode::kBf16) || !real || group.has_integers()) return storages;
  storages.push_back({DataType::kBfloat16, DataType::kBfloat16});
  if (graph.value(group.result).is_graph_output) storages.push_back({DataType::kBfloat16, DataType::kFloat32});
  return storages;
}

// Products whose sides lie as the Transposes before and after them leave and take them.
std::vector<Proposal> BetweenTransposes(const Graph& graph, const FusionGroup& group, const Storages& storages) {
  if (!group.anchor.valid() || graph.node(group.anchor).op != "MatMul") return {};
  const Node& node = graph.node(group.anchor);
  const ValueId a = group.input_of(node.inputs[0]), b = group.input_of(node.inputs[1]);
  const Sides row{RowMajor(RankOf(graph, a)), RowMajor(RankOf(graph, b))};
  const Sides made{LayoutAsMade(graph, a), LayoutAsMade(graph, b)};
  const Layout plain = RowMajor(RankOf(graph, group.result)), taken = LayoutAsTaken(graph, group.result);
  const bool in = !made.a.is_row_major() || !made.b.is_row_major(), out = !taken.is_row_major();
  std::vector<Proposal> proposals;
  const auto add = [&](const Sides& sides, const Layout& result) {
    proposals.push_back({{plain, storages.in}, {result, storages.out}, Way::kUsual, sides});
  };
  if (in) add(made, plain);
  if (out) add(row, taken);
  if (in && out) add(made, taken);
  return proposals;
}

// Forms of the inputs of a product whose sides are given; operands of what follows lie like the result where they can.
std::vector<Form> ProductForms(const Graph& graph, const FusionGroup& group, std::span<const ValueId> inputs,
                               const Proposal& proposal) {
  const Node& node = graph.node(group.anchor);
  std::vector<Form> forms;
  for (ValueId input : inputs) {
    std::vector<Layout> wanted;
    if (input == group.input_of(node.inputs[0])) wanted.push_back(proposal.sides->a);
    if (input == group.input_of(node.inputs[1])) wanted.push_back(proposal.sides->b);
    if (IsOperand(group, input)) wanted.push_back(OperandLayout(graph, group, input, proposal.out.layout));
    if (wanted.empty()) wanted.push_back(RowMajor(RankOf(graph, input)));
    if (std::adjacent_find(wanted.begin(), wanted.end(), std::not_equal_to()) != wanted.end()) return {};
    forms.push_back({wanted.front(), StoredBeside(graph, input, proposal.in.storage)});
  }
  return forms;
}

}  // namespace

MathMode Proposal::math() const {
  const bool narrow = in.storage == DataType::kBfloat16 || out.storage == DataType::kBfloat16;
  return narrow ? MathMode::kBf16 : MathMode::kFp32;
}

std::string Proposal::variant() const {
  std::string text = sides ? ToString(sides->a) + "," + ToString(sides->b) : ToString(in.layout);
  text += StorageText(in) + ">" + ToString(out.layout) + StorageText(out);
  for (const WayName& name : kWayNames) {
    if (name.way == way) text += name.suffix;
  }
  return text;
}

Way WayOf(std::string_view variant) {
  for (const WayName& name : kWayNames) {
    if (variant.ends_with(name.suffix)) return name.way;
  }
  return Way::kUsual;
}

std::vector<Proposal> FirstProposals(const Graph& graph, const FusionGroup& group, const Precision& precision) {
  const size_t rank = RankOf(graph, group.result);
  const LayoutRule rule = RuleOf(graph, group);
  std::vector<Proposal> proposals;
  auto add = [&](const Layout& in, const Layout& out, const Storages& storages) {
    const Proposal usual{{in, storages.in}, {out, storages.out}, Way::kUsual};
    proposals.push_back(usual);
    if (IsTransposedConvolution(graph, group)) proposals.push_back({usual.in, usual.out, Way::kPhases});
    if (HasResidual(group)) proposals.push_back({usual.in, usual.out, Way::kSum});
    if (usual.math() == MathMode::kFp32 && ReadsMostlyWeights(graph, group)) {
      proposals.push_back({usual.in, usual.out, Way::kNarrowWeights});
    }
  };
  if (rule == LayoutRule::kConvolution) {
    const Layout row = RowMajor(rank), last = ChannelsLast(rank), blocked = ChannelBlocked(rank, PreferredBlock());
    // oneDNN's kernels of integers are channels-last.
    if (group.has_integers()) {
      for (const Storages& storages : StoragesOf(graph, group, Precision())) add(last, last, storages);
      return proposals;
    }
    if (IsWinogradShape(graph, group)) {
      for (const Layout& layout : {blocked, last}) {
        for (const Way way : {Way::kWinograd2, Way::kWinograd4}) {
          proposals.push_back({{layout, DataType::kFloat32}, {layout, DataType::kFloat32}, way});
        }
      }
    }
    for (const Storages& storages : StoragesOf(graph, group, precision)) {
      add(blocked, blocked, storages);
      // oneDNN 3.7.2 reads wrong elements of a single channel, channels-last, where a stride makes one column of it.
      if (DimsOf(graph, graph.node(group.anchor).inputs[0])[1] != 1) add(last, last, storages);
      add(row, blocked, storages);
      // oneDNN 3.7.2 leaves the result unwritten where a row-major image becomes a single channel, channels-last.
      if (DimsOf(graph, group.result)[1] != 1) add(row, last, storages);
    }
    return proposals;
  }
  if (rule == LayoutRule::kConversion && rank >= 3 && rank <= 5) {
    const Storages storages = StoragesOf(graph, group, Precision())[0];
    const bool reads = !group.reads.empty(), writes = group.writes.has_value();
    if (writes && !reads) add(RowMajor(rank), ChannelsLast(rank), storages);
    if (reads && !writes) add(ChannelsLast(rank), RowMajor(rank), storages);
  }
  // Agnostic operators follow their neighbours into bf16 in the second round.
  const Precision own = rule == LayoutRule::kRowMajor ? precision : Precision();
  const std::vector<ValueId> mains = MainInputs(graph, group);
  for (const Storages& storages : StoragesOf(graph, group, own)) {
    add(RowMajor(mains.empty() ? rank : RankOf(graph, mains[0])), RowMajor(rank), storages);
    for (Proposal& proposal : BetweenTransposes(graph, group, storages)) proposals.push_back(std::move(proposal));
  }
  return proposals;
}

std::vector<Proposal> LastResorts(const Graph& graph, const FusionGroup& group) {
  if (RuleOf(graph, group) != LayoutRule::kConvolution || group.nodes.size() != 1) return {};
  if (group.has_integers()) return {};
  const Form row = Plain(RankOf(graph, group.result), DataType::kFloat32);
  return {{row, row}};
}

std::vector<Proposal> AgnosticProposals(const Graph& graph, const FusionGroup& group, const KnownForms& known) {
  const LayoutRule rule = RuleOf(graph, group);
  if (rule == LayoutRule::kConvolution || rule == LayoutRule::kRowMajor) return {};
  const std::vector<ValueId> mains = MainInputs(graph, group);
  if (mains.empty()) return {};
  const size_t in_rank = RankOf(graph, mains[0]), out_rank = RankOf(graph, group.result);
  std::vector<Form> made, taken;
  for (ValueId main : mains) AddFrom(known, main, in_rank, made);
  AddFrom(known, group.result, out_rank, taken);

  std::vector<Proposal> proposals;
  const DataType in_type = MainType(graph, mains);
  // A form of the main input that goes with one of the result, and the other way round.
  const auto before = [&](const Form& out, const Layout& layout) -> Form {
    return {layout, out.storage == DataType::kBfloat16 ? out.storage : in_type};
  };
  const auto behind = [&](const Form& in, const Layout& layout) -> Form {
    return {layout, StoredBehind(graph, group, in.storage)};
  };
  const bool conversion = rule == LayoutRule::kConversion;
  if (rule == LayoutRule::kTranspose || conversion) {
    for (const Form& form : made) proposals.push_back({form, behind(form, RowMajor(out_rank))});
    for (const Form& form : taken) {
      const Form plain = before(form, RowMajor(in_rank));
      const bool repeated = form.layout.is_row_major() && std::find(made.begin(), made.end(), plain) != made.end();
      if (!repeated) proposals.push_back({plain, form});
    }
    if (!conversion) return proposals;
  }
  if (rule == LayoutRule::kGlobalPool) {
    for (const Form& form : made) {
      if (!form.layout.is_row_major()) proposals.push_back({form, behind(form, RowMajor(out_rank))});
    }
  }
  if (in_rank != out_rank) return proposals;
  for (const Form& form : taken) {
    const Form same = before(form, form.layout);
    if (std::find(made.begin(), made.end(), same) == made.end()) made.push_back(same);
  }
  for (const Form& form : made) proposals.push_back({form, behind(form, form.layout)});
  return proposals;
}

std::vector<Form> InputForms(const Graph& graph, const FusionGroup& group, std::span<const ValueId> inputs,
                             const Proposal& proposal) {
  if (proposal.sides) return ProductForms(graph, group, inputs, proposal);
  const std::vector<ValueId> mains = MainInputs(graph, group);
  std::vector<Form> forms;
  for (ValueId input : inputs) {
    const bool main = std::find(mains.begin(), mains.end(), input) != mains.end();
    const bool operand = IsOperand(group, input);
    const Layout as_operand =
        operand ? OperandLayout(graph, group, input, proposal.out.layout) : RowMajor(RankOf(graph, input));
    if (main && operand && proposal.in.layout != as_operand) return {};
    if (main && proposal.in.layout.order.size() != RankOf(graph, input)) return {};
    const DataType storage = StoredBeside(graph, input, proposal.in.storage);
    if (main && storage != proposal.in.storage) return {};
    forms.push_back({main ? proposal.in.layout : as_operand, storage});
  }
  return forms;
}

Form OutputForm(const Graph& graph, const FusionGroup& group, ValueId output, const Proposal& proposal) {
  return output == group.result ? proposal.out : Plain(RankOf(graph, output), proposal.out.storage);
}

}  // namespace pt::onednn
