// DynamicQuantizeLinear: the rows of its file.
#pragma once

#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

std::span<const HostRow> DynamicQuantizationOperators();

}  // namespace pt::host
