// What a reader of operators gives, its error in the words of whoever asks: a site knows the operator and the library.
#pragma once

#include <utility>

#include "partitiontuner/support/result.h"

namespace pt {

// For nodes that are wrong: site.Invalid(message).
template <typename T, typename Site>
Result<T> OrInvalid(Result<T> read, const Site& site) {
  if (read.ok()) return read;
  return site.Invalid(std::move(read).error().message);
}

// For libraries that do not offer such nodes: site.Unsupported(message).
template <typename T, typename Site>
Result<T> OrUnsupported(Result<T> read, const Site& site) {
  if (read.ok()) return read;
  return site.Unsupported(std::move(read).error().message);
}

}  // namespace pt
