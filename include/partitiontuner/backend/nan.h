// What becomes of NaN in a library's kernels: a property of candidates, as their precision is.
#pragma once

#include "partitiontuner/backend/backend.h"

namespace pt {

// Implemented by libraries, beside Library, that can say it. A library around another one implements it by asking that
// one (KeepsNan below).
class TellsOfNan {
 public:
  virtual ~TellsOfNan() = default;
  // Whether the candidate, one of this library's, leaves NaN in its outputs wherever the definitions of its operators
  // make it of NaN in its inputs, and nowhere else.
  virtual bool KeepsNan(const Graph& graph, const Candidate& candidate) const = 0;
};

// For a library that cannot say it: it may not.
inline bool KeepsNan(const Library& library, const Graph& graph, const Candidate& candidate) {
  const auto* const teller = dynamic_cast<const TellsOfNan*>(&library);
  return teller != nullptr && teller->KeepsNan(graph, candidate);
}

}  // namespace pt
