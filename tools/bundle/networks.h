// Networks to measure with, made from nothing: the shapes of well-known ones, weights that are random but always the
// same.
#pragma once

#include <span>
#include <string_view>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

struct NetworkRow {
  std::string_view name;
  Result<Graph> (*make)(int64_t batch);
};
std::span<const NetworkRow> Networks();

}  // namespace pt
