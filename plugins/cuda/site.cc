#include "plugins/cuda/site.h"

#include <algorithm>

#include "partitiontuner/candidate/run_time_sizes.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/attribute_lists.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "plugins/cuda/index_space.h"
#include "plugins/cuda/programs.h"

namespace pt::cuda {

namespace {

// Exponents are not to be rounded, and what masks them may be beyond the range of 16 bits. adds: how many sums there
// may be on the way.
bool FeedsExponents(const Graph& graph, ValueId value, int adds = 2) {
  return std::ranges::any_of(graph.value(value).uses, [&](const Use& use) {
    const Node& node = graph.node(use.node);
    if (!node.domain.empty()) return false;
    if (node.op == "Add" && adds > 0) return FeedsExponents(graph, node.outputs[0], adds - 1);
    constexpr uint32_t kMask = 3;
    return node.op == "Softmax" || node.op == "LogSoftmax" || (node.op == "Attention" && use.input == kMask);
  });
}

// Whether they are dims of images that have a pixel for each of the other's.
bool AreOfSamePlaces(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return a.size() == b.size() && a.size() > 2 && a[0] == b[0] && std::equal(a.begin() + 2, a.end(), b.begin() + 2);
}

}  // namespace

int64_t CudaOperand::elements() const { return IndexSpace(dims(), {}).count(); }

std::optional<uint32_t> CudaSite::FindInput(ValueId value) const {
  for (uint32_t i = 0; i < in.size(); ++i) {
    if (in[i].value == value) return i;
  }
  return std::nullopt;
}

const CudaOperand* CudaSite::InputOf(const Node& node, size_t i) const {
  if (i >= node.inputs.size() || !node.inputs[i].valid()) return nullptr;
  const std::optional<uint32_t> at = FindInput(node.inputs[i]);
  return at ? &in[*at] : nullptr;
}

const CudaOperand* CudaSite::Output(size_t i) const {
  if (i >= node().outputs.size() || !node().outputs[i].valid()) return nullptr;
  const auto at = std::ranges::find(out, node().outputs[i], &CudaOperand::value);
  return at == out.end() ? nullptr : &*at;
}

std::string CudaSite::NameOf(const CudaOperand& operand) const {
  const bool is_input = &operand >= in.data() && &operand < in.data() + in.size();
  return is_input ? "in" + std::to_string(&operand - in.data()) : "out" + std::to_string(&operand - out.data());
}

Result<std::optional<std::vector<int64_t>>> CudaSite::Ints(size_t i, std::string_view attribute) const {
  if (i < node().inputs.size() && node().inputs[i].valid()) {
    const std::optional<Tensor>& constant = graph.value(node().inputs[i]).constant;
    if (!constant) return Unsupported("its " + std::string(attribute) + " are not known until run time");
    return std::optional(constant->ToInts());
  }
  return OrUnsupported(ReadInts(node(), attribute), *this);
}

Result<size_t> CudaSite::Axis(int64_t axis, size_t rank) const {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return Unsupported("an axis does not exist");
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

Error CudaSite::Unsupported(std::string why) const {
  return MakeError(ErrorCode::kUnsupported, "cuda.unsupported", node().op + ": " + std::move(why));
}

Result<CudaSite> CudaSite::Make(const Graph& graph, std::span<const NodeId> nodes, std::span<const TensorLayout> in,
                                std::span<const TensorLayout> out) {
  CudaSite site{graph, {nodes.begin(), nodes.end()}, {}, {}};
  const std::vector<ValueId> read = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  const auto type_of = [&](ValueId value) { return graph.value(value).type.type; };
  for (size_t i = 0; i < read.size(); ++i) site.in.push_back({read[i], in[i], nullptr, type_of(read[i])});
  for (const NodeId id : nodes) {
    for (const ValueId input : graph.node(id).inputs) {
      if (!input.valid() || !graph.value(input).is_constant() || site.FindInput(input)) continue;
      const Tensor& constant = *graph.value(input).constant;
      PT_ASSIGN(TensorLayout layout, DenseLayout(constant.type(), constant.dims(), RowMajor(constant.dims().size())));
      site.in.push_back({input, std::move(layout), &constant, constant.type()});
    }
  }
  for (size_t i = 0; i < made.size(); ++i) site.out.push_back({made[i], out[i], nullptr, type_of(made[i])});
  if (site.in.size() + site.out.size() <= kMostArguments) return site;
  return site.Unsupported("it has " + std::to_string(site.in.size() + site.out.size()) +
                          " tensors, and a kernel takes " + std::to_string(kMostArguments));
}

Result<CudaSite> CudaSite::MakeDense(const Graph& graph, std::span<const NodeId> nodes, DataType real_in,
                                     DataType real_out, bool channels_last) {
  const auto unsupported = [&](const char* why) {
    return MakeError(ErrorCode::kUnsupported, "cuda.unsupported", graph.node(nodes.front()).op + ": " + why);
  };
  if (!IsSizedBeforeRun(graph, nodes)) return unsupported("it has tensors whose size is not known until run time");
  const std::vector<ValueId> read = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  const auto dense = [&](const std::vector<ValueId>& values, DataType real) -> Result<std::vector<TensorLayout>> {
    std::vector<TensorLayout> layouts;
    for (const ValueId value : values) {
      const std::vector<int64_t> dims = *graph.value(value).type.static_dims();
      const bool turned = channels_last && AreOfSamePlaces(dims, *graph.value(made[0]).type.static_dims());
      PT_ASSIGN(TensorLayout layout, DenseLayout(StorageOf(graph, value, real), dims,
                                                 turned ? ChannelsLast(dims.size()) : RowMajor(dims.size())));
      layouts.push_back(std::move(layout));
    }
    return layouts;
  };
  // What is constant is folded before, but for integers that a product is to be computed on.
  const bool constant = read.empty() && !IsDequantisation(graph.node(nodes.front()));
  if (constant || made.empty()) return unsupported("all its inputs are constant, or its output is unused");
  if (channels_last && graph.value(made[0]).type.dims.size() < 3) return unsupported("it has no channels");
  PT_ASSIGN(const std::vector<TensorLayout> in, dense(read, real_in));
  PT_ASSIGN(const std::vector<TensorLayout> out, dense(made, real_out));
  return Make(graph, nodes, in, out);
}

DataType StorageOf(const Graph& graph, ValueId value, DataType real) {
  const DataType type = graph.value(value).type.type;
  return type == DataType::kFloat32 && !FeedsExponents(graph, value) ? real : type;
}

std::string OperandTexts(const CudaSite& site) {
  std::string text;
  const auto add = [&](const CudaOperand& operand, const char* kind, size_t i, size_t argument) {
    const std::string type = std::string(*kind == 'i' ? "const " : "") + std::string(CTypeOf(operand.type())) + "*";
    text += "  " + type + " const " + kind + std::to_string(i) + " = (" + type + ")arguments.at[" +
            std::to_string(argument) + "];\n";
  };
  for (size_t i = 0; i < site.in.size(); ++i) add(site.in[i], "in", i, i);
  for (size_t i = 0; i < site.out.size(); ++i) add(site.out[i], "out", i, site.out_argument(i));
  return text;
}

}  // namespace pt::cuda
