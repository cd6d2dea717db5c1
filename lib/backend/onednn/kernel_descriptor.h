// KernelDescriptor: what a candidate's kernel does, as oneDNN primitives over numbered tensors. Plain data
// made by the families, looked at when candidates are proposed and turned into a kernel when one is
// compiled.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/backend/onednn/memory_desc.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "partitiontuner/graph/tensor.h"

namespace pt::onednn {

// A change of a constant's elements that no reorder expresses. What it makes has the bytes of ConstantOperand::plain.
struct Rearrangement {
  std::string name;  // tells packed constants apart
  std::function<Result<Tensor>(const Tensor&)> apply = nullptr;
};

// A constant argument: the tensor's elements, rearranged where that is asked for, seen as `plain`, reordered once to
// `packed`.
struct ConstantOperand {
  Tensor tensor;
  Desc plain, packed;
  Rearrangement rearrangement = {};
};

struct Argument {
  enum class Source : uint8_t { kInput, kOutput, kConstant, kTemporary, kScratch };
  int key = 0;  // DNNL_ARG_…
  Source source = Source::kInput;
  uint32_t index = 0;  // into the candidate's inputs or outputs, or KernelDescriptor::constants or temporaries
  Desc desc;
  uint64_t offset = 0;  // bytes from the source's beginning
};

struct Call {
  dnnl::primitive_desc_base description;
  std::vector<Argument> arguments;
};

struct KernelDescriptor {
  Call call;
  // What is done before and after `call`, in the order of execution: moving data to and from it where it cannot read or
  // write it in place; other parts of the result.
  std::vector<Call> before, after;
  std::vector<ConstantOperand> constants;
  std::vector<Desc> temporaries;  // between the calls; in scratch
  // The output must lie in this input's buffer (sum post-operation); -1 = none.
  int32_t accumulates_into = -1;
  // Inputs whose buffer the output may share.
  std::vector<uint32_t> in_place;
  // The output's bytes equal the inputs' where they lie at the same address: with equal addresses
  // nothing is done.
  bool moves_only = false;

  // One scratchpad that the calls use in turn, then the temporaries.
  uint64_t scratch_bytes() const;
  uint64_t temporary_offset(size_t index) const;
  uint64_t constant_bytes() const;
  // Some implementation is one meant as reference: right, and many times slower than it could be.
  bool is_slow() const;
};

// By its name in oneDNN: "ref:any", "gemm:ref", "conv:any+ref:any", …
bool IsReferenceImplementation(std::string_view name);

}  // namespace pt::onednn
