// What is known of a node before it runs, and the routine that its operator's row makes of it.
#include <algorithm>

#include "lib/backend/reference/element_copy.h"
#include "lib/backend/reference/feeding.h"
#include "lib/backend/reference/kernel.h"
#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {
namespace {

bool IsNarrowFloat(DataType type) { return type == DataType::kFloat16 || type == DataType::kBfloat16; }

DataType FedType(DataType stored, Feeding feeding) {
  return feeding == Feeding::kWidened && IsNarrowFloat(stored) ? DataType::kFloat32 : stored;
}

// The constant as makers see it.
Result<Tensor> FedConstant(const Tensor& stored, DataType fed) {
  // Packed constants are shown to makers as they are; routines are fed the unpacked bytes.
  if (stored.type() == fed) return stored;
  std::string bytes(FedSize(fed, stored.element_count()), '\0');
  const ElementCopy copy(Dense(stored.type(), stored.dims()), Dense(fed, stored.dims()));
  copy.Run(stored.bytes().data(), bytes.data(), nullptr);
  return Tensor::FromBytes(fed, stored.dims(), std::move(bytes));
}

Status DescribeInput(const ReferenceSite& site, const ValueType& type, size_t i, Feeding feeding, TensorFacts& operand,
                     DataType& stored) {
  const std::string label = "input " + std::to_string(i);
  if (!type.other.empty()) return site.Unsupported("takes a " + type.other + " as " + label);
  if (!type.is_static()) return site.Unsupported("has an " + label + " of unknown size (" + ToString(type) + ")");
  if (type.type == DataType::kString) return site.Unsupported("is not supported for strings");
  if (BitsOf(type.type) == 0) return site.Unsupported("has an " + label + " of unknown type");
  if (type.dims.size() > kMaxRank)
    return site.Unsupported("has an " + label + " of rank " + std::to_string(type.dims.size()));
  operand.dims = *type.static_dims();
  if (!CheckedProduct(operand.dims)) return site.Invalid("the size of " + label + " does not fit 63 bits");
  stored = type.type;
  operand.type = FedType(stored, feeding);
  operand.settled = true;
  return {};
}

Status DescribeOutput(const ReferenceSite& site, const ValueType& type, Feeding feeding, TensorFacts& operand,
                      DataType& stored) {
  if (!type.other.empty()) return site.Unsupported("makes a " + type.other);
  if (type.type == DataType::kString) return site.Unsupported("is not supported for strings");
  stored = type.type;
  if (!type.is_static()) return {};
  operand.type = FedType(stored, feeding);
  operand.dims = *type.static_dims();
  operand.settled = true;
  return {};
}

// Folding meets values that inference has not typed yet: a widened routine's output is as narrow as its inputs.
DataType StorageOf(const TensorFacts& out, DataType known, const std::vector<DataType>& in_storage) {
  if (known != DataType::kUndefined) return known;
  const auto narrow = std::find_if(in_storage.begin(), in_storage.end(), IsNarrowFloat);
  return out.type == DataType::kFloat32 && narrow != in_storage.end() ? *narrow : out.type;
}

Status DescribeOperands(const Graph& graph, const Given* given, Feeding feeding, ReferenceSite& site,
                        PreparedNode& prepared) {
  const Node& node = site.node;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    const Value& value = graph.value(node.inputs[i]);
    const GivenInput* now = given != nullptr ? &given->inputs[i] : nullptr;
    const std::optional<Tensor>& content = now != nullptr ? now->content : value.constant;
    const Tensor* constant = content ? &*content : nullptr;
    const ValueType type = constant != nullptr ? StaticType(constant->type(), constant->dims())
                           : now != nullptr    ? StaticType(now->type, now->dims)
                                               : value.type;
    PT_CHECK_OK(DescribeInput(site, type, i, feeding, site.in[i], prepared.in_storage[i]));
    if (constant != nullptr) {
      PT_ASSIGN(site.in[i].constant, FedConstant(*constant, site.in[i].type));
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) {
      site.out[i].settled = true;
      continue;
    }
    const ValueType& type = graph.value(node.outputs[i]).type;
    ValueType held = type;
    if (given != nullptr && !given->holds_outputs) {  // it settles itself; strings are moved as numbers
      held = ValueType{type.type == DataType::kString ? DataType::kUndefined : type.type, false, {}, type.other};
    }
    PT_CHECK_OK(DescribeOutput(site, held, feeding, site.out[i], prepared.out_storage[i]));
  }
  return {};
}

}  // namespace

Result<PreparedNode> Prepare(const Graph& graph, NodeId id, CompileContext* context, const Given* given) {
  const Node& node = graph.node(id);
  PreparedNode prepared;
  prepared.in_storage.resize(node.inputs.size());
  prepared.out_storage.resize(node.outputs.size());
  ReferenceSite site{node, OpsetOf(graph, node), {}, {}, context, 1, {}};
  site.in.resize(node.inputs.size());
  site.out.resize(node.outputs.size());
  if (context != nullptr && context->team != nullptr) site.width = context->team->width();
  if (given != nullptr) site.width = given->width;
  prepared.row = FindOperator(node, site.opset);
  if (prepared.row == nullptr) {
    const std::string name = node.domain.empty() ? node.op : node.domain + "." + node.op;
    return Named(MakeError(ErrorCode::kUnsupported, "reference.operator",
                           "operator " + name + " (opset " + std::to_string(site.opset) + ") is not supported"),
                 graph, id);
  }
  if (Status status = DescribeOperands(graph, given, prepared.row->feeding, site, prepared); !status.ok()) {
    return Named(std::move(status).error(), graph, id);
  }
  Result<ReferenceRoutine> routine = prepared.row->make(site);
  if (!routine.ok()) return Named(std::move(routine).error(), graph, id);
  for (size_t i = 0; i < site.out.size(); ++i) {
    if (!site.out[i].settled) return Named(site.Unsupported("has an output of unknown size"), graph, id);
    prepared.out_storage[i] = StorageOf(site.out[i], prepared.out_storage[i], prepared.in_storage);
  }
  prepared.routine = std::move(routine).value();
  prepared.in = std::move(site.in);
  prepared.out = std::move(site.out);
  return prepared;
}

uint64_t DenseScratchBytes(const PreparedNode& prepared) {
  uint64_t bytes = prepared.routine.scratch_bytes;
  const auto add = [&](const TensorFacts& operand, DataType storage) {
    if (operand.present() && !operand.constant && (operand.type != storage || IsSubByte(storage))) {
      bytes += FedSize(operand.type, operand.count()) + kTensorAlignment;
    }
  };
  for (size_t i = 0; i < prepared.in.size(); ++i) add(prepared.in[i], prepared.in_storage[i]);
  for (size_t i = 0; i < prepared.out.size(); ++i) add(prepared.out[i], prepared.out_storage[i]);
  return bytes;
}

}  // namespace pt::reference
