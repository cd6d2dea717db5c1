// What the way through the library costs: a call of a trivial group by OpenVINO directly and by the library's kernel,
// on a host core and on OpenVINO's CPU device as a device of its own. Prints a table of nanoseconds a call.
//
//   bench_openvino_seam [ELEMENTS]
#include "bench/seam.h"

#include "partitiontuner/platform/discover.h"
#include "plugins/openvino/device.h"
#include "plugins/openvino/discover.h"
#include "plugins/openvino/library.h"

namespace {

using namespace pt;         // NOLINT: a program of its own
using namespace pt::bench;  // NOLINT

double Direct(const openvino::Runtime& runtime, TrivialGroup& group, const openvino::Target& target,
              bool asynchronous) {
  ov::CompiledModel model = Must(runtime.Compile(Must(runtime.Read(group.graph())), target));
  ov::InferRequest request = model.create_infer_request();
  request.set_input_tensor(ov::Tensor(ov::element::f32, {group.x().size()}, group.x().data()));
  request.set_output_tensor(ov::Tensor(ov::element::f32, {group.y().size()}, group.y().data()));
  if (!asynchronous) return NsPerCall([&] { request.infer(); });
  return NsPerCall([&] {
    request.start_async();
    request.wait();
  });
}

}  // namespace

int main(int argc, char** argv) {
  TrivialGroup group(ElementsOf(argc, argv, "bench_openvino_seam"));
  const std::shared_ptr<openvino::Runtime> runtime = Must(openvino::Runtime::Get());
  Platform platform = Must(DiscoverHost({}));
  DiscoverRequest request;
  request.described.push_back(
      {"here", Must(ParseJson(R"({"version": 1, "kind": "openvino", "device": "CPU"})", "here"))});
  Must(openvino::AddDevices(*runtime, request, platform));
  const DeviceId device = FindDevice(platform, "openvino:CPU");
  openvino::OvDriver driver(device, platform.device(device).name, runtime, openvino::kCpu);
  const openvino::OpenVinoLibrary library(runtime);
  group.PrintHead();
  Print("OpenVINO directly, one thread: infer()",
        Direct(*runtime, group, {openvino::kCpu, MathMode::kFp32, 1, 1}, false));
  Print("the library's kernel on one core", group.OnHost(library, platform));
  Print("OpenVINO directly, a device: start_async(), wait()",
        Direct(*runtime, group, {openvino::kCpu, MathMode::kFp32, 0, 1}, true));
  Print("the library's kernel on the device, polled", group.OnDevice(library, platform, driver));
  return 0;
}
