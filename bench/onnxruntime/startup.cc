// ONNX Runtime's way from nothing to a first result, beside bench_startup: the same stages and line of JSON, by the C
// API alone, so that no other language's start takes part.
//
//   bench_onnxruntime_startup MODEL [DIM=VALUE]...
//
// machine  making the environment, where operators are registered
// load     making the session with two threads
// first    the first run on zeros; second the next one
#include <onnxruntime_c_api.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/startup_report.h"

namespace {

const OrtApi& api = *OrtGetApiBase()->GetApi(21);

void Judge(OrtStatus* status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", api.GetErrorMessage(status));
  std::exit(1);
}

// Names as the session says them, with zeros of their dims for what goes in. All of it lives as long as the program.
struct Boundary {
  std::vector<const char*> inputs, outputs;
  std::vector<OrtValue*> values;
};

// Over memory that is never given back.
OrtValue* Zeros(const OrtMemoryInfo* host, const OrtTypeInfo* info) {
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Judge(api.CastTypeInfoToTensorInfo(info, &tensor));
  if (tensor == nullptr) std::fprintf(stderr, "an input is not a tensor\n"), std::exit(1);
  size_t rank = 0;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Judge(api.GetTensorElementType(tensor, &type));
  Judge(api.GetDimensionsCount(tensor, &rank));
  std::vector<int64_t> dims(rank);
  Judge(api.GetDimensions(tensor, dims.data(), rank));
  size_t bytes = 8;  // of the widest element: ONNX Runtime takes a buffer that is too large
  for (int64_t& dim : dims) {
    dim = dim < 0 ? 1 : dim;
    bytes *= static_cast<size_t>(dim);
  }
  OrtValue* value = nullptr;
  Judge(api.CreateTensorWithDataAsOrtValue(host, std::calloc(bytes + 1, 1), bytes, dims.data(), rank, type, &value));
  return value;
}

Boundary BoundaryOf(const OrtSession* session) {
  Boundary boundary;
  OrtAllocator* allocator = nullptr;
  Judge(api.GetAllocatorWithDefaultOptions(&allocator));
  size_t inputs = 0, outputs = 0;
  Judge(api.SessionGetInputCount(session, &inputs));
  Judge(api.SessionGetOutputCount(session, &outputs));
  OrtMemoryInfo* host = nullptr;
  Judge(api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  char* name = nullptr;
  for (size_t i = 0; i < inputs; ++i) {
    Judge(api.SessionGetInputName(session, i, allocator, &name));
    boundary.inputs.push_back(name);
    OrtTypeInfo* info = nullptr;
    Judge(api.SessionGetInputTypeInfo(session, i, &info));
    boundary.values.push_back(Zeros(host, info));
  }
  for (size_t i = 0; i < outputs; ++i) {
    Judge(api.SessionGetOutputName(session, i, allocator, &name));
    boundary.outputs.push_back(name);
  }
  return boundary;
}

void Run(OrtSession* session, const Boundary& boundary) {
  std::vector<OrtValue*> results(boundary.outputs.size());
  Judge(api.Run(session, nullptr, boundary.inputs.data(), boundary.values.data(), boundary.inputs.size(),
                boundary.outputs.data(), boundary.outputs.size(), results.data()));
  for (OrtValue* result : results) api.ReleaseValue(result);
}

}  // namespace

int main(int argc, char** argv) {
  pt::bench::StartupReport report(pt::bench::StartupReport::Clock::now());
  if (argc < 2) return std::fprintf(stderr, "usage: bench_onnxruntime_startup MODEL [DIM=VALUE]...\n"), 2;
  report.Add("bare_own", pt::bench::StatusMib("RssAnon:"));
  report.Skip();
  OrtEnv* environment = nullptr;
  Judge(api.CreateEnv(ORT_LOGGING_LEVEL_ERROR, "startup", &environment));
  report.Stage("machine");
  OrtSessionOptions* options = nullptr;
  Judge(api.CreateSessionOptions(&options));
  Judge(api.SetIntraOpNumThreads(options, 2));
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = text.find('=');
    if (equals == std::string::npos) return std::fprintf(stderr, "'%s' is not DIM=VALUE\n", argv[i]), 2;
    Judge(api.AddFreeDimensionOverrideByName(options, text.substr(0, equals).c_str(),
                                             std::atoll(text.c_str() + equals + 1)));
  }
  OrtSession* session = nullptr;
  Judge(api.CreateSession(environment, argv[1], options, &session));
  report.Stage("load");
  const Boundary boundary = BoundaryOf(session);
  report.Skip();
  for (const char* name : {"first", "second"}) {
    Run(session, boundary);
    report.Stage(name);
  }
  report.Add("peak", pt::bench::StatusMib("VmHWM:"));
  report.Add("own", pt::bench::StatusMib("RssAnon:"));
  report.Print();
  return 0;
}
