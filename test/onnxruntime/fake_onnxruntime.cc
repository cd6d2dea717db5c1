// A shared object that says that it is an ONNX Runtime older than any that the plugin takes; or, with
// PT_NO_ENTRY, something else altogether.
#include <onnxruntime_c_api.h>

#if !defined(PT_NO_ENTRY)
namespace {

const OrtApi* ORT_API_CALL NoApi(uint32_t) noexcept { return nullptr; }
const char* ORT_API_CALL Version() noexcept { return "1.17.3"; }
constexpr OrtApiBase kBase = {NoApi, Version};

}  // namespace

extern "C" __attribute__((visibility("default"))) const OrtApiBase* OrtGetApiBase() noexcept { return &kBase; }
#endif
