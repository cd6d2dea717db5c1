#include "lib/backend/onednn/proposals.h"

#include <algorithm>
#include <array>

#include "lib/backend/onednn/winograd.h"

namespace pt::onednn {
namespace {

struct WayName {
  Way way;
  std::string_view suffix;
};
constexpr std::array kWayNames = {WayName{Way::kSum, "+sum"}, WayName{Way::kNarrowWeights, "+narrow"},
                                  WayName{Way::kWinograd2, "+winograd2"}, WayName{Way::kWinograd4, "+winograd4"}};

LayoutRule RuleOf(const Graph& graph, const FusionGroup& group) {
  return group.anchor.valid() ? FindFamily(graph.node(group.anchor))->layouts : LayoutRule::kAgnostic;
}

size_t RankOf(const Graph& graph, ValueId value) { return graph.value(value).type.dims.size(); }

bool IsProduct(const Graph& graph, const FusionGroup& group) {
  if (!group.anchor.valid()) return false;
  const Node& node = graph.node(group.anchor);
  return node.op == "MatMul" || node.op == "Gemm";
}

// The values whose layout the group follows: main's, or every input of a concatenation.
std::vector<ValueId> MainInputs(const Graph& graph, const FusionGroup& group) {
  if (!group.anchor.valid()) return {group.main};
  if (IsProduct(graph, group)) return {};
  const Node& node = graph.node(group.anchor);
  if (node.op != "Concat") return {node.inputs[0]};
  std::vector<ValueId> inputs;
  for (ValueId input : node.inputs) {
    if (!graph.value(input).is_constant()) inputs.push_back(input);
  }
  return inputs;
}

bool HasResidual(const FusionGroup& group) {
  return group.anchor.valid() && std::any_of(group.ops.begin(), group.ops.end(), [](const Pointwise& op) {
           return op.algorithm == dnnl::algorithm::binary_add && !op.operand.constant;
         });
}

// The layout of a Transpose's result, or of its input, in which it moves nothing because the other one is row-major.
// `perm` of the operator: axis i of the result is axis perm[i] of the input.
Layout ResultLayoutOf(const std::vector<int64_t>& perm) {
  Layout layout{std::vector<uint8_t>(perm.size()), {}};
  for (size_t i = 0; i < perm.size(); ++i) layout.order[static_cast<size_t>(perm[i])] = static_cast<uint8_t>(i);
  return layout;
}
Layout InputLayoutOf(const std::vector<int64_t>& perm) {
  Layout layout;
  for (int64_t axis : perm) layout.order.push_back(static_cast<uint8_t>(axis));
  return layout;
}

// How a value lies where the Transpose that makes it is no step; row-major where none makes it.
Layout LayoutAsMade(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  const Layout row = RowMajor(RankOf(graph, value));
  if (!producer.valid() || !IsTranspose(graph.node(producer))) return row;
  const auto perm = PermutationOf(graph.node(producer), row.order.size());
  return perm ? ResultLayoutOf(*perm) : row;
}

// How a value may lie so that the Transpose that alone reads it is no step.
Layout LayoutAsTaken(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  const Layout row = RowMajor(RankOf(graph, id));
  if (value.is_graph_output || value.uses.size() != 1 || !IsTranspose(graph.node(value.uses[0].node))) return row;
  const auto perm = PermutationOf(graph.node(value.uses[0].node), row.order.size());
  return perm ? InputLayoutOf(*perm) : row;
}

// Few rows times constant weights beyond the caches: the time is that of reading the weights.
bool ReadsMostlyWeights(const Graph& graph, const FusionGroup& group) {
  constexpr int64_t kFewRows = 4, kManyWeights = int64_t{1} << 22;
  if (!IsProduct(graph, group)) return false;
  const Node& node = graph.node(group.anchor);
  const auto& weights = graph.value(node.inputs[1]).constant;
  if (!weights || weights->rank() != 2 || weights->element_count() < kManyWeights) return false;
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

bool IsOperand(const FusionGroup& group, ValueId value) {
  return std::any_of(group.ops.begin(), group.ops.end(),
                     [&](const Pointwise& op) { return op.operand.value == value; });
}

Layout OperandLayout(const Graph& graph, const FusionGroup& group, ValueId value, const Layout& result) {
  return FollowsResult(graph, value, group, result) ? result : RowMajor(RankOf(graph, value));
}

// Plain fp32 is what every group is offered in first.
bool IsPlain(const Form& form) { return form.layout.is_row_major() && form.storage == DataType::kFloat32; }

void AddFrom(const KnownForms& known, ValueId value, size_t rank, std::vector<Form>& forms) {
  const auto at = known.find(value);
  if (at == known.end()) return;
  for (const Form& form : at->second) {
    const bool new_form = std::find(forms.begin(), forms.end(), form) == forms.end();
    if (form.layout.order.size() == rank && !IsPlain(form) && new_form) forms.push_back(form);
  }
}

Form Plain(size_t rank, DataType storage = DataType::kFloat32) { return {RowMajor(rank), storage}; }

std::string StorageText(const Form& form) { return form.storage == DataType::kBfloat16 ? ":bf16" : ""; }

// In fp32, and, where allowed, in bf16; its results go to the graph's outputs as fp32, too, which saves a reorder.
struct Storages {
  DataType in, out;
};
std::vector<Storages> StoragesOf(const Graph& graph, const FusionGroup& group, const Precision& precision) {
  std::vector<Storages> storages{{DataType::kFloat32, DataType::kFloat32}};
  if (!precision.allows(MathMode::kBf16)) return storages;
  storages.push_back({DataType::kBfloat16, DataType::kBfloat16});
  if (graph.value(group.result).is_graph_output) storages.push_back({DataType::kBfloat16, DataType::kFloat32});
  return storages;
}

// Products whose sides lie as the Transposes before and after them leave and take them.
std::vector<Proposal> BetweenTransposes(const Graph& graph, const FusionGroup& group, const Storages& storages) {
  if (!group.anchor.valid() || graph.node(group.anchor).op != "MatMul") return {};
  const Node& node = graph.node(group.anchor);
  const Sides row{RowMajor(RankOf(graph, node.inputs[0])), RowMajor(RankOf(graph, node.inputs[1]))};
  const Sides made{LayoutAsMade(graph, node.inputs[0]), LayoutAsMade(graph, node.inputs[1])};
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
    if (input == node.inputs[0]) wanted.push_back(proposal.sides->a);
    if (input == node.inputs[1]) wanted.push_back(proposal.sides->b);
    if (IsOperand(group, input)) wanted.push_back(OperandLayout(graph, group, input, proposal.out.layout));
    if (std::adjacent_find(wanted.begin(), wanted.end(), std::not_equal_to()) != wanted.end()) return {};
    forms.push_back({wanted.front(), proposal.in.storage});
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
    if (HasResidual(group)) proposals.push_back({usual.in, usual.out, Way::kSum});
    if (usual.math() == MathMode::kFp32 && ReadsMostlyWeights(graph, group)) {
      proposals.push_back({usual.in, usual.out, Way::kNarrowWeights});
    }
  };
  if (rule == LayoutRule::kConvolution) {
    const Layout row = RowMajor(rank), last = ChannelsLast(rank), blocked = ChannelBlocked(rank, PreferredBlock());
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
  const Form row = Plain(RankOf(graph, group.result));
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
  if (rule == LayoutRule::kTranspose) {
    for (const Form& form : made) proposals.push_back({form, Plain(out_rank, form.storage)});
    for (const Form& form : taken) {
      const bool repeated =
          form.layout.is_row_major() && std::find(made.begin(), made.end(), Plain(in_rank, form.storage)) != made.end();
      if (!repeated) proposals.push_back({Plain(in_rank, form.storage), form});
    }
    return proposals;
  }
  if (rule == LayoutRule::kGlobalPool) {
    for (const Form& form : made) {
      if (!form.layout.is_row_major()) proposals.push_back({form, Plain(out_rank, form.storage)});
    }
  }
  if (in_rank != out_rank) return proposals;
  for (const Form& form : taken) {
    if (std::find(made.begin(), made.end(), form) == made.end()) made.push_back(form);
  }
  for (const Form& form : made) proposals.push_back({form, form});
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
    forms.push_back({main ? proposal.in.layout : as_operand, proposal.in.storage});
  }
  return forms;
}

Form OutputForm(const Graph& graph, const FusionGroup& group, ValueId output, const Proposal& proposal) {
  return output == group.result ? proposal.out : Plain(RankOf(graph, output), proposal.out.storage);
}

}  // namespace pt::onednn
