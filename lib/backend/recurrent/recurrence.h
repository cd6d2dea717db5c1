// A recurrent node as a kernel: weights packed, memory laid out, and the time steps spread over the cores of a team.
#pragma once

#include <memory>
#include <span>

#include "lib/backend/recurrent/steps.h"
#include "partitiontuner/backend/backend.h"

namespace pt::recurrent {

// How a team shares the work. Cores always own their part for all time steps, so its weights stay in their caches.
enum class Sharing : uint8_t {
  kUnits,      // each core some units of the hidden state: the team meets after every time step
  kSequences,  // each core some directions and entries of the batch, from the first time step to the last
};

// Whether that many cores can share the node's work that way, and no other way is at least as good in every case.
bool IsOffered(const RecurrentNode& node, Sharing sharing, uint32_t width);

// The node's tensors by their place among the candidate's inputs and outputs.
struct Place {
  std::optional<uint32_t> slot;    // of an input or output
  std::optional<Tensor> constant;  // of an input
  std::vector<int64_t> strides;    // in elements
};
struct Places {
  Place x, lengths, initial_h, initial_c, y, y_h, y_c;  // neither slot nor constant: absent
};

struct Sizes {
  uint64_t scratch_bytes = 0, constant_bytes = 0;
};
// kUnsupported when they do not fit 64 bits.
Result<Sizes> SizesOf(const RecurrentNode& node);

Result<std::unique_ptr<Kernel>> MakeRecurrence(RecurrentNode node, Sharing sharing, Places places,
                                               CompileContext& context);

}  // namespace pt::recurrent
