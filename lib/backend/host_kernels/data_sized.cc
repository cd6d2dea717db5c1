#include "lib/backend/host_kernels/data_sized.h"

#include <algorithm>
#include <new>

#include "lib/backend/host_kernels/kernels/strided_copy.h"
#include "partitiontuner/graph/visit_type.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

bool LiesPlain(const TensorLayout& layout) { return layout.layout.is_row_major() && IsDense(layout); }

Result<TensorLayout> PlainLayout(DataType type, const std::vector<int64_t>& dims) {
  return DenseLayout(type, dims, RowMajor(dims.size()));
}

void CopyTensor(const void* from, const TensorLayout& from_layout, void* to, const TensorLayout& to_layout,
                Team* team) {
  std::vector<CopyDim> dims;
  for (size_t d = 0; d < from_layout.dims.size(); ++d) {
    dims.push_back({from_layout.dims[d], from_layout.strides[d], to_layout.strides[d]});
  }
  StridedCopy(std::move(dims), BitsOf(from_layout.type) / 8).Run(from, to, team);
}

const DataSizedRow* FindDataSizedRow(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  for (const auto table : {SelectionOperators(), UniqueOperators(), NonMaxSuppressionOperators()}) {
    for (const DataSizedRow& row : table) {
      if (row.op == node.op) return &row;
    }
  }
  return nullptr;
}

class BoundDataSized final : public BoundKernel {
 public:
  BoundDataSized(const Graph& graph, NodeId node, TensorSlots in, TensorSlots out)
      : node_(graph, node, in, out), operator_(FindDataSizedRow(graph.node(node))->make()) {}

  Status Enqueue(const RunContext& context) noexcept override try {
    DataSizedRun run(node_, context);
    PT_CHECK_OK(run.TakeInputs());
    PT_CHECK_OK(operator_->Run(run));
    run.PutOutputs();
    return {};
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorCode::kOutOfMemory, "host.memory", "no memory for what a node selects");
  }

 private:
  const DataSizedNode node_;
  const std::unique_ptr<DataSized> operator_;
};

class DataSizedKernel final : public Kernel {
 public:
  DataSizedKernel(const Graph& graph, NodeId node) : graph_(graph), node_(node) {}
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    return std::unique_ptr<BoundKernel>(std::make_unique<BoundDataSized>(graph_, node_, in, out));
  }

 private:
  const Graph& graph_;
  const NodeId node_;
};

}  // namespace

bool IsNumber(DataType type) {
  return VisitType(type, []<typename T>() { return kIsNumber<T>; });
}

DataSizedNode::DataSizedNode(const Graph& of, NodeId id, TensorSlots in, TensorSlots slots)
    : graph(of),
      node(of.node(id)),
      constants(node.inputs.size()),
      out_values(GroupOutputs(of, {&id, 1})),
      out(slots.begin(), slots.end()) {
  const std::vector<ValueId> in_values = GroupInputs(graph, {&id, 1});
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId value = node.inputs[i];
    const TensorView*& input = inputs.emplace_back();
    if (!value.valid()) continue;
    if (const std::optional<Tensor>& constant = graph.value(value).constant) {
      constants[i] = {const_cast<std::byte*>(constant->bytes().data()),  // NOLINT: it is only read
                      PlainLayout(constant->type(), constant->dims()).value()};
      input = &constants[i];
    } else {
      input = in[static_cast<size_t>(std::ranges::find(in_values, value) - in_values.begin())];
    }
  }
}

DataSizedRun::~DataSizedRun() {
  for (void* memory : taken_) run_.memory.GiveBack(memory);
}

Result<void*> DataSizedRun::Take(uint64_t bytes) {
  taken_.reserve(taken_.size() + 1);
  PT_ASSIGN(void* const memory, run_.memory.Take(bytes));
  taken_.push_back(memory);
  return memory;
}

Status DataSizedRun::TakeInputs() {
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    if (!has(i)) continue;
    const TensorView& given = *node_.inputs[i];
    in_[i] = given.data;
    if (LiesPlain(given.layout)) continue;
    PT_ASSIGN(const TensorLayout plain, PlainLayout(given.layout.type, given.layout.dims));
    PT_ASSIGN(const uint64_t bytes, BytesOf(plain));
    PT_ASSIGN(void* const copy, Take(bytes));
    CopyTensor(given.data, given.layout, copy, plain, team());
    in_[i] = copy;
  }
  return {};
}

int64_t DataSizedRun::count(size_t input) const { return CheckedProduct(dims(input)).value_or(0); }

Result<void*> DataSizedRun::Output(size_t i, DataType type, std::span<const int64_t> dims) {
  if (i >= node().outputs.size() || !node().outputs[i].valid()) return nullptr;
  const auto at = std::ranges::find(node_.out_values, node().outputs[i]);
  if (at == node_.out_values.end()) return nullptr;
  const auto index = static_cast<uint32_t>(at - node_.out_values.begin());
  if (!node_.graph.value(*at).type.is_static()) {
    PT_ASSIGN(const TensorView made, run_.outputs.Allocate(index, type, dims));
    return made.data;
  }
  const TensorView& slot = *node_.out[index];
  if (slot.layout.type != type || !std::ranges::equal(slot.layout.dims, dims)) {
    return Invalid("output " + std::to_string(i) + " came out as " +
                   ToString(StaticType(type, {dims.begin(), dims.end()})) + ", the graph says " +
                   ToString(StaticType(slot.layout.type, slot.layout.dims)));
  }
  if (LiesPlain(slot.layout)) return slot.data;
  PT_ASSIGN(const TensorLayout plain, PlainLayout(type, slot.layout.dims));
  PT_ASSIGN(const uint64_t bytes, BytesOf(plain));
  PT_ASSIGN(void* const memory, Take(bytes));
  put_.emplace_back(memory, &slot);
  return memory;
}

void DataSizedRun::PutOutputs() {
  for (const auto& [from, slot] : put_) {
    const TensorLayout plain = PlainLayout(slot->layout.type, slot->layout.dims).value();
    CopyTensor(from, plain, slot->data, slot->layout, team());
  }
}

Error DataSizedRun::Invalid(std::string why) const {
  return MakeError(ErrorCode::kInvalidInput, "host.input", node().op + ": " + std::move(why));
}

Result<size_t> DataSizedRun::Axis(int64_t axis, size_t rank) const {
  const auto dims = static_cast<int64_t>(rank);
  if (axis < -dims || axis >= dims) {
    return Invalid("axis " + std::to_string(axis) + " is outside a tensor of rank " + std::to_string(rank));
  }
  return static_cast<size_t>(axis < 0 ? axis + dims : axis);
}

bool IsDataSized(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const DataSizedRow* row = FindDataSizedRow(node);
  if (row == nullptr || node.inputs.empty() || !node.inputs[0].valid()) return false;
  if (node.inputs.size() > kMostDataSizedInputs) return false;
  if (!row->takes(graph.value(node.inputs[0]).type.type)) return false;
  const auto is_number = [&](ValueId value) {
    return !value.valid() || (graph.value(value).type.other.empty() && BitsOf(graph.value(value).type.type) >= 8);
  };
  return std::ranges::all_of(node.inputs, is_number) && std::ranges::all_of(node.outputs, is_number);
}

std::unique_ptr<Kernel> MakeDataSized(const Graph& graph, NodeId node) {
  return std::make_unique<DataSizedKernel>(graph, node);
}

}  // namespace pt::host
