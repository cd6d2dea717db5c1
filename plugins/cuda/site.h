// Nodes that are to become kernels, with what is known of them before the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/backend/backend.h"
#include "plugins/cuda/element_types.h"

namespace pt::cuda {

// A tensor that kernels read or write, with strides of its own.
struct CudaOperand {
  ValueId value;
  TensorLayout layout;
  const Tensor* constant = nullptr;            // its content, where it is known before the run
  DataType value_type = DataType::kUndefined;  // what it is in the graph; stored otherwise where the math mode allows

  DataType type() const { return layout.type; }
  const std::vector<int64_t>& dims() const { return layout.dims; }
  const std::vector<int64_t>& strides() const { return layout.strides; }
  int64_t elements() const;
};

struct CudaSite {
  const Graph& graph;
  std::vector<NodeId> nodes;  // ascending
  // What the group reads, constants behind the others; what it makes.
  std::vector<CudaOperand> in, out;

  const Node& node() const { return graph.node(nodes.front()); }
  // An operand's place among the arguments of a kernel: inputs first, then outputs.
  uint32_t out_argument(size_t i) const { return static_cast<uint32_t>(in.size() + i); }
  // Index into `in`; nullopt for what is made within the group, or absent.
  std::optional<uint32_t> FindInput(ValueId value) const;
  // Input i of the first node, or of another one; null where it is absent or made within the group.
  const CudaOperand* Input(size_t i) const { return InputOf(node(), i); }
  const CudaOperand* InputOf(const Node& node, size_t i) const;
  // Output i of the first node; null where it is absent or nothing outside the group reads it.
  const CudaOperand* Output(size_t i) const;
  // Its array in the kernel: "in2", "out0".
  std::string NameOf(const CudaOperand& operand) const;
  // The list of integers at input i or, without one, of the attribute; nullopt where there is neither. kUnsupported
  // where it is not known until run time.
  Result<std::optional<std::vector<int64_t>>> Ints(size_t i, std::string_view attribute) const;
  // From 0 on; kUnsupported where there is no such axis.
  Result<size_t> Axis(int64_t axis, size_t rank) const;

  // in, out: layouts of the group's inputs and outputs, as Library::Compile has them. Errors: kUnsupported where there
  // are more operands than a kernel takes.
  static Result<CudaSite> Make(const Graph& graph, std::span<const NodeId> nodes, std::span<const TensorLayout> in,
                               std::span<const TensorLayout> out);
  // On dense tensors; values of float32 stored as those types, but for what feeds exponents. channels_last: so lie
  // images of as many places as the first output; what is less than an image lies row-major. kUnsupported where sizes
  // are not known until run time, nothing but constants is read, or there are no images.
  static Result<CudaSite> MakeDense(const Graph& graph, std::span<const NodeId> nodes,
                                    DataType real_in = DataType::kFloat32, DataType real_out = DataType::kFloat32,
                                    bool channels_last = false);

  Error Unsupported(std::string why) const;
};

// What a value of float32 is stored as where `real` is allowed: that, but for what feeds exponents. Others: as they
// are.
DataType StorageOf(const Graph& graph, ValueId value, DataType real);

// One kernel of what runs a site.
struct KernelText {
  std::string text;      // behind the prelude
  int64_t elements = 0;  // that its threads divide among themselves; 0: nothing is to be done
  // Threads that work on one element together, a block of its own for each; 0: a thread works on each element alone.
  uint32_t threads_an_element = 0;
};

// "  const float* const in2 = (const float*)arguments.at[2];" for each of the site's operands.
std::string OperandTexts(const CudaSite& site);

}  // namespace pt::cuda
