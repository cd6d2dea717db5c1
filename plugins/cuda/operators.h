// The operators that run on a CUDA device through kernels of our own.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "plugins/cuda/programs.h"
#include "plugins/cuda/site.h"

namespace pt::cuda {

// How a site runs: its kernels, one behind the other.
struct Routine {
  std::vector<KernelText> kernels;
  std::vector<uint32_t> in_place = {};  // inputs (indices into Site::in) that output 0 may lie on
  Elision elision = Elision::kNone;
  std::string fault = {};  // what it means when a kernel says that it met bad data
  // Behind the outputs among the arguments: numbers that kernels look up, then memory for what lies between them.
  std::vector<Tensor> tables = {};
  uint64_t scratch_bytes = 0;
};

struct OperatorRow {
  std::string_view op;
  // Looks at types, attributes and constants; kUnsupported with the reason where they do not fit.
  Result<Routine> (*make)(const Site&);
};

// One table a family; operators.cc lists them.
std::span<const OperatorRow> RowOperators();
std::span<const OperatorRow> MovementOperators();
std::span<const OperatorRow> PoolingOperators();
std::span<const OperatorRow> IndexedOperators();
std::span<const OperatorRow> PadOperators();
std::span<const OperatorRow> ResizeOperators();
std::span<const OperatorRow> NormalizationOperators();
std::span<const OperatorRow> LineOperators();
std::span<const OperatorRow> RecurrentOperators();
std::span<const OperatorRow> QuantisationOperators();

// The ways to run the nodes, a single one by its row, a group of elementwise ones, a convolution with what is behind
// it, or attention: names, "" where there is but one, the most promising first. kUnsupported with the reason where
// there is none.
Result<std::vector<std::string>> KernelVariants(const Site& site);
Result<Routine> MakeRoutine(const Site& site, std::string_view variant = "");

}  // namespace pt::cuda
