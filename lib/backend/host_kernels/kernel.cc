#include "lib/backend/host_kernels/kernel.h"

#include <algorithm>

#include "lib/backend/host_kernels/arrangement.h"
#include "lib/backend/host_kernels/attention/attention.h"
#include "lib/backend/host_kernels/convolutions/convolution.h"
#include "lib/backend/host_kernels/convolutions/quantised_depthwise.h"
#include "lib/backend/host_kernels/elementwise/byte_function.h"
#include "lib/backend/host_kernels/elementwise/expression.h"
#include "lib/backend/host_kernels/operators/gather_joined.h"
#include "lib/backend/host_kernels/operators/plane_normalization.h"
#include "lib/backend/host_kernels/products/experts.h"
#include "lib/backend/host_kernels/products/integer_product.h"
#include "lib/backend/host_kernels/products/product.h"
#include "partitiontuner/candidate/precision.h"

namespace pt::host {
namespace {

uint32_t PlaceOf(std::span<const ValueId> values, ValueId value) {
  return static_cast<uint32_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

Result<HostOperand> InputOperand(const Graph& graph, ValueId id, std::span<const ValueId> outside,
                                 std::span<const TensorLayout> in) {
  HostOperand operand;
  operand.value = id;
  if (!id.valid()) return operand;
  const Value& value = graph.value(id);
  if (value.constant) {
    operand.constant = value.constant;
    PT_ASSIGN(operand.layout,
              DenseLayout(value.constant->type(), value.constant->dims(), RowMajor(value.constant->dims().size())));
    return operand;
  }
  operand.slot = PlaceOf(outside, id);
  operand.layout = in[operand.slot];
  return operand;
}

// The values that the nodes read from outside, constants too, without repeats.
std::vector<ValueId> ReadBy(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<ValueId> values;
  for (NodeId id : nodes) {
    for (ValueId input : graph.node(id).inputs) {
      if (!input.valid() || PlaceOf(values, input) < values.size()) continue;
      const NodeId producer = graph.value(input).producer;
      if (producer.valid() && std::find(nodes.begin(), nodes.end(), producer) != nodes.end()) continue;
      values.push_back(input);
    }
  }
  return values;
}

bool LieIn(Arrangement arrangement, const Graph& graph, std::span<const ValueId> values,
           std::span<const TensorLayout> layouts) {
  bool right = values.size() == layouts.size();
  for (size_t i = 0; i < values.size() && right; ++i) {
    const ValueType& type = graph.value(values[i]).type;
    right = MayStore(MathMode::kBf16, type.type, layouts[i].type) && layouts[i].dims == type.static_dims() &&
            layouts[i].layout == LayoutIn(arrangement, layouts[i].dims) && layouts[i].dims.size() <= kMaxRank &&
            BitsOf(type.type) >= 8;
  }
  return right;
}

Status CheckLayouts(const Graph& graph, std::span<const NodeId> nodes, std::span<const TensorLayout> in,
                    std::span<const TensorLayout> out) {
  const std::vector<ValueId> read = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  for (Arrangement arrangement : ArrangementsOf(graph, nodes)) {
    if (LieIn(arrangement, graph, read, in) && LieIn(arrangement, graph, made, out)) return {};
  }
  return MakeError(
      ErrorCode::kUnsupported, "host.layout",
      "a tensor does not lie as it should, with whole bytes an element, stored as what it is or as bfloat16");
}

Result<HostRoutine> MakeGroup(const HostSite& site) {
  if (const auto attention = ReadAttention(site.graph, site.nodes)) return MakeAttention(site, *attention);
  if (const auto grouped = ReadGroupedAttention(site.graph, site.nodes)) return MakeAttention(site, *grouped);
  if (const auto experts = ReadExperts(site.graph, site.nodes)) return MakeExperts(site, *experts);
  if (const auto group = ReadConvolution(site.graph, site.nodes)) return MakeConvolution(site, *group);
  if (const auto group = ReadQuantisedDepthwise(site.graph, site.nodes)) return MakeQuantisedDepthwise(site, *group);
  if (const auto products = ReadProducts(site.graph, site.nodes)) return MakeProducts(site, *products);
  if (const auto product = ReadIntegerProduct(site.graph, site.nodes)) return MakeIntegerProduct(site, *product);
  if (const auto planes = ReadPlaneNormalization(site.graph, site.nodes)) return MakePlaneNormalization(site, *planes);
  if (const auto rows = ReadGatherJoined(site.graph, site.nodes)) return MakeGatherJoined(site, *rows);
  if (const auto function = ReadByteFunction(site.graph, site.nodes)) return MakeByteFunction(site, *function);
  return MakeElementwise(site);
}

// What a kernel shares with its bound ones.
struct Parts {
  HostRoutine routine;
  std::vector<HostOperand> in, out;
};

class BoundRoutine final : public BoundKernel {
 public:
  BoundRoutine(std::shared_ptr<const Parts> parts, TensorSlots in, TensorSlots out, std::byte* scratch)
      : parts_(std::move(parts)), scratch_(scratch) {
    for (const HostOperand& operand : parts_->in) {
      const void* data = operand.constant ? operand.constant->bytes().data() : nullptr;
      in_.push_back(operand.present() && !operand.constant ? in[operand.slot]->data : data);
    }
    for (const HostOperand& operand : parts_->out)
      out_.push_back(operand.present() ? out[operand.slot]->data : nullptr);
  }
  Status Enqueue(const RunContext& context) noexcept override {
    return parts_->routine.run({in_, out_, scratch_, context.stream.team()});
  }

 private:
  std::shared_ptr<const Parts> parts_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  std::byte* scratch_;
};

class HostKernel final : public Kernel {
 public:
  explicit HostKernel(PreparedSite prepared)
      : parts_(std::make_shared<Parts>(
            Parts{std::move(prepared.routine), std::move(prepared.site.in), std::move(prepared.site.out)})) {}
  uint64_t scratch_bytes() const override { return parts_->routine.scratch_bytes; }
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    if (scratch.size() < scratch_bytes()) {
      return MakeError(ErrorCode::kInternal, "host.scratch", "a kernel was bound to too little scratch memory");
    }
    return std::unique_ptr<BoundKernel>(std::make_unique<BoundRoutine>(parts_, in, out, scratch.data()));
  }

 private:
  std::shared_ptr<const Parts> parts_;
};

}  // namespace

Result<PreparedSite> Prepare(const Graph& graph, std::span<const NodeId> nodes, std::span<const TensorLayout> in,
                             std::span<const TensorLayout> out, Setting setting) {
  const std::vector<ValueId> outside = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  PT_CHECK_OK(CheckLayouts(graph, nodes, in, out));
  PreparedSite prepared{{graph, {nodes.begin(), nodes.end()}, {}, {}, setting.width, setting.dequantised}, {}};
  HostSite& site = prepared.site;
  const HostRow* row = nodes.size() == 1 ? FindOperator(site.node()) : nullptr;
  for (ValueId input : row == nullptr ? ReadBy(graph, nodes) : site.node().inputs) {
    PT_ASSIGN(HostOperand operand, InputOperand(graph, input, outside, in));
    site.in.push_back(std::move(operand));
  }
  for (ValueId output : row == nullptr ? made : site.node().outputs) {
    HostOperand operand;
    operand.value = output;
    operand.slot = PlaceOf(made, output);
    if (operand.slot < made.size()) operand.layout = out[operand.slot];
    site.out.push_back(std::move(operand));
  }
  PT_ASSIGN(prepared.routine, row == nullptr ? MakeGroup(site) : row->make(site));
  return prepared;
}

std::unique_ptr<Kernel> MakeKernel(PreparedSite prepared) { return std::make_unique<HostKernel>(std::move(prepared)); }

}  // namespace pt::host
