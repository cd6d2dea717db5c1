#include "partitiontuner/support/dims_text.h"

namespace pt {

std::string DimsText(std::span<const int64_t> dims) {
  std::string text = "[";
  for (int64_t dim : dims) text += (text.size() == 1 ? "" : ",") + std::to_string(dim);
  return text + "]";
}

}  // namespace pt
