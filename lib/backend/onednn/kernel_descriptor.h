// KernelDescriptor: what a candidate's kernel does, as oneDNN primitives over numbered tensors. Plain data
// made by the families, looked at when candidates are proposed and turned into a kernel when one is
// compiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/backend/onednn/memory_desc.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "partitiontuner/graph/tensor.h"

namespace pt::onednn {

// A constant argument: the tensor's elements seen as `plain`, reordered once to `packed`.
struct ConstantOperand {
  Tensor tensor;
  Desc plain, packed;
};

struct Argument {
  enum class Source : uint8_t { kInput, kOutput, kConstant, kScratch };
  int key = 0;  // DNNL_ARG_…
  Source source = Source::kInput;
  uint32_t index = 0;  // into the candidate's inputs or outputs, or KernelDescriptor::constants
  Desc desc;
};

struct Call {
  dnnl::primitive_desc_base description;
  std::vector<Argument> arguments;
};

struct KernelDescriptor {
  Call call;
  std::vector<ConstantOperand> constants;
  // The output must lie in this input's buffer (sum post-operation); -1 = none.
  int32_t accumulates_into = -1;
  // Inputs whose buffer the output may share.
  std::vector<uint32_t> in_place;
  // The output's bytes equal the inputs' where they lie at the same address: with equal addresses
  // nothing is done.
  bool moves_only = false;

  uint64_t scratch_bytes() const;
  uint64_t constant_bytes() const;
  // An implementation meant as reference: right, and many times slower than it could be.
  bool is_slow() const;
};

}  // namespace pt::onednn
