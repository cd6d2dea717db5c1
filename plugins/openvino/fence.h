// Nothing that OpenVINO throws leaves this plugin.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "partitiontuner/support/result.h"

namespace pt::openvino {

inline constexpr const char* kName = "openvino";

inline Error OpenVinoError(ErrorCode code, std::string message) {
  Error error = MakeError(code, "openvino", std::move(message));
  error.device = kName;
  return error;
}

// What `work` returns, a Status or Result; an error of that code with OpenVINO's own words when it throws.
template <typename F>
auto Fenced(ErrorCode code, const char* what, F&& work) noexcept -> decltype(work()) {
  try {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      return OpenVinoError(ErrorCode::kOutOfMemory, std::string(what) + ": out of memory");
    } catch (const std::exception& e) {
      return OpenVinoError(code, std::string(what) + ": " + e.what());
    } catch (...) {
      return OpenVinoError(code, std::string(what) + ": unknown exception");
    }
  } catch (...) {  // no memory for the words
    return MakeError(ErrorCode::kOutOfMemory, {}, {});
  }
}

}  // namespace pt::openvino
