#include "test/onnxruntime/fake_api.h"

#include <cstdlib>
#include <cstring>

namespace pt::onnxruntime {
namespace {

FakeApi* g_fake = nullptr;

}  // namespace

struct FakeApi::Functions {
  static OrtStatus* Refuse(const std::string& words) { return g_fake->real_->CreateStatus(ORT_FAIL, words.c_str()); }

  static OrtStatus* ORT_API_CALL List(char*** out, int* count) noexcept {
    const auto& names = g_fake->providers;
    *out = new char*[names.size()];
    for (size_t i = 0; i < names.size(); ++i) (*out)[i] = strdup(names[i].c_str());
    *count = static_cast<int>(names.size());
    return nullptr;
  }
  static OrtStatus* ORT_API_CALL Unlist(char** names, int count) noexcept {
    for (int i = 0; i < count; ++i) std::free(names[i]);
    delete[] names;
    return nullptr;
  }

  // Adds nothing: the host's provider computes.
  static OrtStatus* ORT_API_CALL Append(OrtSessionOptions*, const char*, const char* const* keys,
                                        const char* const* values, size_t count) noexcept {
    g_fake->options.clear();
    for (size_t i = 0; i < count; ++i) g_fake->options[keys[i]] = values[i];
    return g_fake->refuses_provider.empty() ? nullptr : Refuse(g_fake->refuses_provider);
  }
  static OrtStatus* ORT_API_CALL MakeCuda(OrtCUDAProviderOptionsV2** out) noexcept {
    *out = reinterpret_cast<OrtCUDAProviderOptionsV2*>(g_fake);  // never looked into
    return nullptr;
  }
  static OrtStatus* ORT_API_CALL UpdateCuda(OrtCUDAProviderOptionsV2*, const char* const* keys,
                                            const char* const* values, size_t count) noexcept {
    return Append(nullptr, nullptr, keys, values, count);
  }
  static OrtStatus* ORT_API_CALL AppendCuda(OrtSessionOptions*, const OrtCUDAProviderOptionsV2*) noexcept {
    return nullptr;
  }
  static void ORT_API_CALL ReleaseCuda(OrtCUDAProviderOptionsV2*) noexcept {}

  // The host's provider, which stands in, would be what must not compute.
  static OrtStatus* ORT_API_CALL Configure(OrtSessionOptions* options, const char* key, const char* value) noexcept {
    if (std::string_view(key) != "session.disable_cpu_ep_fallback") {
      return g_fake->real_->AddSessionConfigEntry(options, key, value);
    }
    if (std::string_view(value) == "1") ++g_fake->without_fallback;
    return nullptr;
  }

  static OrtStatus* ORT_API_CALL Run(OrtSession* session, const OrtRunOptions* options, const char* const* in_names,
                                     const OrtValue* const* in, size_t ins, const char* const* out_names, size_t outs,
                                     OrtValue** out) noexcept {
    if (g_fake->fails_at > 0 && --g_fake->fails_at == 0) return Refuse(g_fake->fails_with);
    return g_fake->real_->Run(session, options, in_names, in, ins, out_names, outs, out);
  }
};

FakeApi::FakeApi() {
  auto loaded = LoadRuntime(PT_ONNXRUNTIME_LIBRARY);
  REQUIRE(loaded.ok());
  REQUIRE(g_fake == nullptr);
  g_fake = this;
  real_ = loaded->api;
  version_ = loaded->version;
  api_ = *real_;
  api_.GetAvailableProviders = Functions::List;
  api_.ReleaseAvailableProviders = Functions::Unlist;
  api_.SessionOptionsAppendExecutionProvider = Functions::Append;
  api_.CreateCUDAProviderOptions = Functions::MakeCuda;
  api_.UpdateCUDAProviderOptions = Functions::UpdateCuda;
  api_.SessionOptionsAppendExecutionProvider_CUDA_V2 = Functions::AppendCuda;
  api_.ReleaseCUDAProviderOptions = Functions::ReleaseCuda;
  api_.AddSessionConfigEntry = Functions::Configure;
  api_.Run = Functions::Run;
}

FakeApi::~FakeApi() { g_fake = nullptr; }

std::shared_ptr<const OrtRuntime> FakeApi::MakeRuntime() const {
  return std::make_shared<const OrtRuntime>(LoadedRuntime{&api_, ORT_API_VERSION, version_});
}

}  // namespace pt::onnxruntime
