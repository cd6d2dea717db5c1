// A shared object that says that it is an ONNX Runtime of another version: older than any that the plugin takes; with
// PT_FAKE_API, the oldest that it takes, which has no newer API; or, with PT_NO_ENTRY, something else altogether.
#include <onnxruntime_c_api.h>

#include <cstdint>

#if !defined(PT_NO_ENTRY)
namespace {

#if defined(PT_FAKE_API)
// Never called.
const OrtApi* ORT_API_CALL Api(uint32_t version) noexcept {
  static const OrtApi api = {};
  return version == PT_FAKE_API ? &api : nullptr;
}
const char* ORT_API_CALL Version() noexcept { return "1.18.0"; }
#else
const OrtApi* ORT_API_CALL Api(uint32_t) noexcept { return nullptr; }
const char* ORT_API_CALL Version() noexcept { return "1.17.3"; }
#endif
constexpr OrtApiBase kBase = {Api, Version};

}  // namespace

extern "C" __attribute__((visibility("default"))) const OrtApiBase* OrtGetApiBase() noexcept { return &kBase; }
#endif
