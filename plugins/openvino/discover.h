// OpenVINO's devices beside the host: those it finds, and those that files describe.
#pragma once

#include "partitiontuner/backend/backends.h"
#include "plugins/openvino/runtime.h"

namespace pt::openvino {

// "openvino:NPU" is OpenVINO's NPU.
std::string OvNameOf(const Device& device);

// Adds GPUs and NPUs that OpenVINO finds, and any device of OpenVINO that a file describes: {"version": 1, "kind":
// "openvino", "device": "CPU", "requests": 2, "calls": RULES}; the last two may be absent, and what a file says of a
// device that was found holds. Streams are requests in flight. Errors: kInvalidInput for a file that is not one;
// kDeviceUnusable for a device that is not there or has no precision that is known.
Status AddDevices(const Runtime& runtime, const DiscoverRequest& request, Platform& platform);

}  // namespace pt::openvino
