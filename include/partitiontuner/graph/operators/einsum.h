// What Einsum says: which dims of its inputs are one, and which of them its result keeps.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// A character for each dim: the equation's letter, or for dims that "..." stands for '0' for the last, '1' for the one
// before it and so on. A label may come twice in a term (a diagonal).
struct EinsumNode {
  std::vector<std::string> inputs;
  std::string output;  // spelled out where the equation leaves it out

  friend bool operator==(const EinsumNode&, const EinsumNode&) = default;
};
// ranks: of the inputs. Errors: kInvalidInput for a malformed equation, and for terms that do not fit the inputs.
Result<EinsumNode> ReadEinsum(const Node& node, std::span<const size_t> ranks);

}  // namespace pt
