// The operators that run on a CUDA device through kernels of our own.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "plugins/cuda/programs.h"
#include "plugins/cuda/site.h"

namespace pt::cuda {

// How a site runs: its kernels, one behind the other.
struct CudaRoutine {
  std::vector<KernelText> kernels;
  std::vector<uint32_t> in_place = {};  // inputs (indices into CudaSite::in) that output 0 may lie on
  Elision elision = Elision::kNone;
  std::string fault = {};  // what it means when a kernel says that it met bad data
  // Behind the outputs among the arguments: numbers that kernels look up, then memory for what lies between them.
  std::vector<Tensor> tables = {};
  uint64_t scratch_bytes = 0;
};

struct CudaRow {
  std::string_view op;
  // Looks at types, attributes and constants; kUnsupported with the reason where they do not fit.
  Result<CudaRoutine> (*make)(const CudaSite&);
};

// One table a family; operators.cc lists them.
std::span<const CudaRow> RowOperators();
std::span<const CudaRow> MovementOperators();
std::span<const CudaRow> PoolingOperators();
std::span<const CudaRow> IndexedOperators();
std::span<const CudaRow> PadOperators();
std::span<const CudaRow> ResizeOperators();
std::span<const CudaRow> NormalizationOperators();
std::span<const CudaRow> LineOperators();
std::span<const CudaRow> RecurrentOperators();
std::span<const CudaRow> QuantisationOperators();

// The ways to run the nodes, a single one by its row, a group of elementwise ones, a convolution with what is behind
// it, or attention: names, "" where there is but one, the most promising first. kUnsupported with the reason where
// there is none.
Result<std::vector<std::string>> KernelVariants(const CudaSite& site);
Result<CudaRoutine> MakeRoutine(const CudaSite& site, std::string_view variant = "");

}  // namespace pt::cuda
