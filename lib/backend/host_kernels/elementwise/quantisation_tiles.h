// Tile functions between float32 and 8-bit integers: TileCall::p is the scale, q the zero point.
#pragma once

#include "lib/backend/host_kernels/elementwise/tiles.h"

namespace pt::host {

// Of kDequantise and kQuantise; null for other functions and types.
TileFunction FindQuantisationTileFunction(Function function, DataType from, DataType to);

}  // namespace pt::host
