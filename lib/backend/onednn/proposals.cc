#include "lib/backend/onednn/proposals.h"

#include <algorithm>

namespace pt::onednn {
namespace {

constexpr std::string_view kSum = "+sum", kNarrow = "+narrow";

LayoutRule RuleOf(const Graph& graph, const Group& group) {
  return group.anchor.valid() ? FindFamily(graph.node(group.anchor))->layouts : LayoutRule::kAgnostic;
}

// The values whose layout the group follows: main's, or every input of a concatenation.
std::vector<ValueId> MainInputs(const Graph& graph, const Group& group) {
  if (!group.anchor.valid()) return {group.main};
  const Node& node = graph.node(group.anchor);
  if (node.op == "MatMul" || node.op == "Gemm") return {};
  if (node.op != "Concat") return {node.inputs[0]};
  std::vector<ValueId> inputs;
  for (ValueId input : node.inputs) {
    if (!graph.value(input).is_constant()) inputs.push_back(input);
  }
  return inputs;
}

size_t RankOf(const Graph& graph, ValueId value) { return graph.value(value).type.dims.size(); }

bool HasResidual(const Group& group) {
  return group.anchor.valid() && std::any_of(group.ops.begin(), group.ops.end(), [](const Pointwise& op) {
           return op.algorithm == dnnl::algorithm::binary_add && !op.operand.constant;
         });
}

// Few rows times constant weights beyond the caches: the time is that of reading the weights.
bool ReadsMostlyWeights(const Graph& graph, const Group& group) {
  constexpr int64_t kFewRows = 4, kManyWeights = int64_t{1} << 22;
  if (!group.anchor.valid()) return false;
  const Node& node = graph.node(group.anchor);
  if (node.op != "MatMul" && node.op != "Gemm") return false;
  const auto& weights = graph.value(node.inputs[1]).constant;
  if (!weights || weights->rank() != 2 || weights->element_count() < kManyWeights) return false;
  const Dims result = DimsOf(graph, node.outputs[0]);
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < result.size(); ++i) rows *= result[i];
  return rows <= kFewRows;
}

// An operand follows the result's layout unless a blocked dim of it broadcasts: padding would then
// be read.
bool FollowsResult(const Graph& graph, ValueId value, const Group& group, const Layout& layout) {
  const Dims dims = DimsOf(graph, value), result = DimsOf(graph, group.result);
  return dims.size() == result.size() &&
         std::all_of(layout.blocks.begin(), layout.blocks.end(),
                     [&](const Layout::Block& block) { return dims[block.dim] == result[block.dim]; });
}

std::vector<Layout> LayoutsOf(const KnownLayouts& known, ValueId value, size_t rank) {
  std::vector<Layout> layouts;
  const auto at = known.find(value);
  if (at == known.end()) return layouts;
  for (const Layout& layout : at->second) {
    if (layout.order.size() == rank && !layout.is_row_major()) layouts.push_back(layout);
  }
  return layouts;
}

void AddFrom(const KnownLayouts& known, ValueId value, size_t rank, std::vector<Layout>& layouts) {
  for (const Layout& layout : LayoutsOf(known, value, rank)) {
    if (std::find(layouts.begin(), layouts.end(), layout) == layouts.end()) layouts.push_back(layout);
  }
}

}  // namespace

std::string Proposal::variant() const {
  std::string text = ToString(in) + ">" + ToString(out);
  if (way == Way::kSum) text += kSum;
  if (way == Way::kNarrowWeights) text += kNarrow;
  return text;
}

Way WayOf(std::string_view variant) {
  if (variant.ends_with(kSum)) return Way::kSum;
  if (variant.ends_with(kNarrow)) return Way::kNarrowWeights;
  return Way::kUsual;
}

std::vector<Proposal> FirstProposals(const Graph& graph, const Group& group) {
  const size_t rank = RankOf(graph, group.result);
  std::vector<Proposal> proposals;
  auto add = [&](const Layout& in, const Layout& out) {
    proposals.push_back({in, out, Way::kUsual});
    if (HasResidual(group)) proposals.push_back({in, out, Way::kSum});
    if (ReadsMostlyWeights(graph, group)) proposals.push_back({in, out, Way::kNarrowWeights});
  };
  if (RuleOf(graph, group) == LayoutRule::kConvolution) {
    const Layout row = RowMajor(rank), last = ChannelsLast(rank), blocked = ChannelBlocked(rank, PreferredBlock());
    add(blocked, blocked);
    add(last, last);
    add(row, blocked);
    // oneDNN 3.7.2 leaves the result unwritten where a row-major image becomes a single channel, channels-last.
    if (DimsOf(graph, group.result)[1] != 1) add(row, last);
    return proposals;
  }
  const std::vector<ValueId> mains = MainInputs(graph, group);
  add(RowMajor(mains.empty() ? rank : RankOf(graph, mains[0])), RowMajor(rank));
  return proposals;
}

std::vector<Proposal> LastResorts(const Graph& graph, const Group& group) {
  if (RuleOf(graph, group) != LayoutRule::kConvolution || group.nodes.size() != 1) return {};
  const Layout row = RowMajor(RankOf(graph, group.result));
  return {{row, row}};
}

std::vector<Proposal> AgnosticProposals(const Graph& graph, const Group& group, const KnownLayouts& known) {
  const LayoutRule rule = RuleOf(graph, group);
  if (rule == LayoutRule::kConvolution || rule == LayoutRule::kRowMajor) return {};
  const std::vector<ValueId> mains = MainInputs(graph, group);
  if (mains.empty()) return {};
  const size_t in_rank = RankOf(graph, mains[0]), out_rank = RankOf(graph, group.result);
  std::vector<Layout> made, taken;
  for (ValueId main : mains) AddFrom(known, main, in_rank, made);
  AddFrom(known, group.result, out_rank, taken);

  std::vector<Proposal> proposals;
  if (rule == LayoutRule::kTranspose) {
    for (const Layout& layout : made) proposals.push_back({layout, RowMajor(out_rank)});
    for (const Layout& layout : taken) proposals.push_back({RowMajor(in_rank), layout});
    return proposals;
  }
  if (rule == LayoutRule::kGlobalPool) {
    for (const Layout& layout : made) proposals.push_back({layout, RowMajor(out_rank)});
  }
  if (in_rank != out_rank) return proposals;
  for (const Layout& layout : taken) {
    if (std::find(made.begin(), made.end(), layout) == made.end()) made.push_back(layout);
  }
  for (const Layout& layout : made) proposals.push_back({layout, layout});
  return proposals;
}

std::vector<Layout> InputLayouts(const Graph& graph, const Group& group, std::span<const ValueId> inputs,
                                 const Proposal& proposal) {
  const std::vector<ValueId> mains = MainInputs(graph, group);
  std::vector<Layout> layouts;
  for (ValueId input : inputs) {
    const bool main = std::find(mains.begin(), mains.end(), input) != mains.end();
    const bool operand =
        std::any_of(group.ops.begin(), group.ops.end(), [&](const Pointwise& op) { return op.operand.value == input; });
    const Layout as_operand =
        operand && FollowsResult(graph, input, group, proposal.out) ? proposal.out : RowMajor(RankOf(graph, input));
    if (main && operand && proposal.in != as_operand) return {};
    if (main && proposal.in.order.size() != RankOf(graph, input)) return {};
    layouts.push_back(main ? proposal.in : as_operand);
  }
  return layouts;
}

}  // namespace pt::onednn
