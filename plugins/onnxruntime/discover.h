// ONNX Runtime's execution providers as devices beside the host.
#pragma once

#include "partitiontuner/backend/backends.h"
#include "plugins/onnxruntime/runtime.h"

namespace pt::onnxruntime {

// "onnxruntime:CUDA.1" is CUDA's device 1.
ProviderName ProviderOf(const Device& device);

// Adds the providers that become devices of themselves and run a node here, and any provider of the shared object that
// a file describes: {"version": 1, "kind": "onnxruntime", "provider": "CPU", "streams": 2, "calls": RULES}; the last
// two may be absent. Errors: kInvalidInput for a file that is not one; kDeviceUnusable for a provider that a file
// describes and that is not there, does not compute in the file's mode or, in ONNX Runtime's words, runs nothing here.
Status AddDevices(const OrtRuntime& runtime, const DiscoverRequest& request, Platform& platform);

}  // namespace pt::onnxruntime
