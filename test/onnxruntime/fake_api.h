// ONNX Runtime's API with functions of a test in their places: a provider that is not there but computes as the host's
// does, and runs that fail.
#pragma once

#include <onnxruntime_c_api.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/onnxruntime/runtime.h"

namespace pt::onnxruntime {

// One at a time, since the API's functions are told nothing of a test.
class FakeApi {
 public:
  FakeApi();
  ~FakeApi();
  FakeApi(const FakeApi&) = delete;
  FakeApi& operator=(const FakeApi&) = delete;

  std::shared_ptr<const OrtRuntime> MakeRuntime() const;

  // What GetAvailableProviders lists.
  std::vector<std::string> providers = {"FakeExecutionProvider", "CPUExecutionProvider"};
  // A provider by the generic call or CUDA's is not added with these words; "" = it is.
  std::string refuses_provider;
  // Options of the provider that was added last.
  std::map<std::string, std::string> options;
  // How often sessions were made without falling back to the host's provider.
  std::atomic<int> without_fallback{0};
  // The run that fails, counted from 1 and from when this was set; 0 = none. With these words.
  std::atomic<int> fails_at{0};
  std::string fails_with;

 private:
  struct Functions;
  const OrtApi* real_ = nullptr;
  OrtApi api_;
  std::string version_;
};

}  // namespace pt::onnxruntime
