// Rows of the drivers of plugins that this build has, each in a file of its own.
#pragma once

#include "test/devices/device_lab.h"

namespace pt::testing {

DeviceRow CudaRow();
DeviceRow OpenVinoRow();

}  // namespace pt::testing
