// Objects and statuses of ONNX Runtime's C API as ours.
#pragma once

#include <onnxruntime_c_api.h>

#include <memory>
#include <string>

#include "partitiontuner/support/result.h"
#include "plugins/onnxruntime/loading.h"

namespace pt::onnxruntime {

// Released by the function of the API that it was made with.
template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

inline Error OrtError(ErrorCode code, std::string message) {
  Error error = MakeError(code, "onnxruntime", std::move(message));
  error.device = kName;
  return error;
}

// What the call returned: an error of that code with ONNX Runtime's own words. Releases it.
inline Status Checked(const OrtApi& api, OrtStatus* status, ErrorCode code, const char* what) {
  if (status == nullptr) return {};
  const Owned<OrtStatus> owned(status, api.ReleaseStatus);
  return OrtError(code, std::string(what) + ": " + api.GetErrorMessage(status));
}

}  // namespace pt::onnxruntime
