// Tile functions of float32 that are computed in double.
#pragma once

#include "lib/backend/host_kernels/elementwise/tiles.h"

namespace pt::host {

// Null where the function is not one of them.
TileFunction FindWideTileFunction(Function function);

}  // namespace pt::host
