// What the way through the library costs: a call of a trivial group by ONNX Runtime's C API directly and by the
// library's kernel, on a host core and on the host's provider as a device of its own. Prints a table of nanoseconds a
// call.
//
//   bench_onnxruntime_seam [ELEMENTS]
#include "bench/seam.h"

#include "partitiontuner/platform/discover.h"
#include "plugins/onnxruntime/discover.h"
#include "plugins/onnxruntime/library.h"
#include "plugins/shared/call_stream.h"

namespace {

using namespace pt;         // NOLINT: a program of its own
using namespace pt::bench;  // NOLINT
using onnxruntime::Owned;

// The group as a session with tensors over its memory.
class Direct {
 public:
  Direct(const onnxruntime::OrtRuntime& runtime, TrivialGroup& group)
      : api_(runtime.api()),
        session_(Must(runtime.Compile(group.graph(), onnxruntime::OrtTarget()))),
        x_(Tensor(group.x())),
        y_(Tensor(group.y())) {}

  double ByRun() const {
    const char *const in = session_.inputs[0].c_str(), *const out = session_.outputs[0].c_str();
    const OrtValue* const x = x_.get();
    OrtValue* y = y_.get();
    return NsPerCall([&] { Judge(api_.Run(session_.session.get(), nullptr, &in, &x, 1, &out, 1, &y)); });
  }

  double ByBinding() const {
    OrtIoBinding* made = nullptr;
    Judge(api_.CreateIoBinding(session_.session.get(), &made));
    const Owned<OrtIoBinding> binding(made, api_.ReleaseIoBinding);
    Judge(api_.BindInput(made, session_.inputs[0].c_str(), x_.get()));
    Judge(api_.BindOutput(made, session_.outputs[0].c_str(), y_.get()));
    return NsPerCall([&] { Judge(api_.RunWithBinding(session_.session.get(), nullptr, made)); });
  }

 private:
  void Judge(OrtStatus* status) const {
    Must(onnxruntime::Checked(api_, status, ErrorCode::kRunFailed, "the benchmark"));
  }

  Owned<OrtValue> Tensor(std::vector<float>& data) const {
    OrtMemoryInfo* where = nullptr;
    Judge(api_.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &where));
    const Owned<OrtMemoryInfo> memory(where, api_.ReleaseMemoryInfo);
    const auto dim = static_cast<int64_t>(data.size());
    OrtValue* made = nullptr;
    Judge(api_.CreateTensorWithDataAsOrtValue(where, data.data(), data.size() * sizeof(float), &dim, 1,
                                              ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &made));
    return {made, api_.ReleaseValue};
  }

  const OrtApi& api_;
  const onnxruntime::GroupSession session_;
  const Owned<OrtValue> x_, y_;
};

}  // namespace

int main(int argc, char** argv) {
  TrivialGroup group(ElementsOf(argc, argv, "bench_onnxruntime_seam"));
  const auto runtime = Must(onnxruntime::OrtRuntime::Get());
  Platform platform = Must(DiscoverHost({}));
  DiscoverRequest request;
  request.described.push_back(
      {"here", Must(ParseJson(R"({"version": 1, "kind": "onnxruntime", "provider": "CPU"})", "here"))});
  Must(onnxruntime::AddDevices(*runtime, request, platform));
  const DeviceId device = FindDevice(platform, "onnxruntime:CPU");
  plugins::CallDriver driver(device, onnxruntime::kName, platform.device(device).name, {});
  const onnxruntime::OnnxRuntimeLibrary library(runtime);
  const Direct direct(*runtime, group);
  group.PrintHead();
  Print("ONNX Runtime directly, one thread: RunWithBinding()", direct.ByBinding());
  Print("the library's kernel on one core", group.OnHost(library, platform));
  Print("ONNX Runtime directly, one thread: Run()", direct.ByRun());
  Print("the library's kernel on the device, polled", group.OnDevice(library, platform, driver));
  return 0;
}
