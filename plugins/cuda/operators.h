// The operators that run on a CUDA device through kernels of our own.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "plugins/cuda/site.h"

namespace pt::cuda {

// How a site runs: its kernels, one behind the other.
struct Routine {
  std::vector<KernelText> kernels;
  std::vector<uint32_t> in_place = {};  // inputs (indices into Site::in) that output 0 may lie on
  Elision elision = Elision::kNone;
};

struct OperatorRow {
  std::string_view op;
  // Looks at types, attributes and constants; kUnsupported with the reason where they do not fit.
  Result<Routine> (*make)(const Site&);
};

// One table a family; operators.cc lists them.
std::span<const OperatorRow> RowOperators();
std::span<const OperatorRow> MovementOperators();

// How the nodes run, a single one by its row or a group of elementwise ones; kUnsupported with the reason.
Result<Routine> MakeRoutine(const Site& site);

}  // namespace pt::cuda
