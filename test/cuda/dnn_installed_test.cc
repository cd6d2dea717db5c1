// The graphs that the library "cudnn" makes, before the installed cuDNN: it says which of its engines run them on
// devices that are not here. And the same graphs run, where there is a device.
#include <dlfcn.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>

#include "plugins/cuda/dnn_graph.h"
#include "plugins/cuda/dnn_kernel.h"
#include "test/cuda/dnn_cases.h"

namespace pt::testing::dnn_installed_test {
namespace {

// A device as cuDNN describes one.
std::string Described(int architecture, int multiprocessors, int shared_memory, int64_t memory_mib) {
  return R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"deviceVer":)" +
         std::to_string(architecture * 10) + R"(,"driverVer":13000,"multiProcessorCount":)" +
         std::to_string(multiprocessors) +
         R"(,"regsPerBlock":65536,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":)" +
         std::to_string(shared_memory) +
         R"(,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)" +
         R"("maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"totalGlobalMem":)" +
         std::to_string(memory_mib << 20) +
         R"(,"smClockRateKHz":1700000,"memClockRateKHz":2600000,"l2CacheSize":52428800,"cudaDeviceId":0,"deviceName":"a GPU"})";
}

std::shared_ptr<const cuda::Dnn> InstalledDnn() {
  auto dnn = cuda::LoadDnn(cuda::InstalledLibraries().dnn);
  if (!dnn.ok()) SKIP(ToString(dnn.error()));
  // cuDNN wants to know the driver by name before it offers what it compiles while the program runs: where there is
  // none, the toolkit's stub of it will do, which answers nothing.
  if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr) {
    const std::filesystem::path stub = std::filesystem::path(PT_CUDA_INCLUDE) / "../lib64/stubs/libcuda.so";
    if (dlopen(stub.c_str(), RTLD_NOW) == nullptr) SKIP("no CUDA driver, and no stub of it beside " PT_CUDA_INCLUDE);
  }
  return std::move(dnn).value();
}

// How many engines cuDNN has for the nodes as one group.
size_t EnginesOf(const cuda::Dnn& dnn, const std::string& device, const std::string& text, bool channels_last,
                 MathMode math) {
  INFO(text);
  const Graph graph = ParseInferred(text);
  const auto site = cuda::DnnDenseSite(graph, AllNodes(graph), channels_last, math);
  if (!site.ok()) return 0;
  const auto made = cuda::MakeDnnSite(*site, math);
  if (!made.ok()) return 0;
  const auto engines = dnn.Engines(made->graph, device, cuda::kMostDnnWorkspace);
  if (!engines.ok()) {
    CHECK(engines.error().id == "cuda.dnn");
    return 0;
  }
  for (const cuda::DnnEngine& engine : *engines) {
    CHECK(engine.workspace_bytes <= cuda::kMostDnnWorkspace);
    CHECK(cuda::DnnEngineFromText(ToString(engine)).has_value());
  }
  return engines->size();
}

// The number of cases that some engine runs.
size_t RunnableOf(const cuda::Dnn& dnn, const std::string& device, const std::vector<std::string>& cases,
                  bool channels_last, MathMode math, size_t& engines) {
  size_t runnable = 0;
  for (const std::string& text : cases) {
    const size_t some = EnginesOf(dnn, device, text, channels_last, math);
    engines += some;
    runnable += some > 0 ? 1 : 0;
  }
  return runnable;
}

const std::map<std::string, std::string>& Devices() {
  static const std::map<std::string, std::string> devices = {{"sm_80", Described(80, 108, 166912, 40 << 10)},
                                                             {"sm_90", Described(90, 132, 232448, 80 << 10)},
                                                             {"sm_100", Described(100, 148, 232448, 180 << 10)}};
  return devices;
}

// Checks that engines run so many of ten cases on each architecture.
void CheckRunnable(const std::string& what, const std::vector<std::string>& cases, bool channels_last, MathMode math,
                   size_t of_ten) {
  const auto dnn = InstalledDnn();
  for (const auto& [name, device] : Devices()) {
    size_t engines = 0;
    const size_t runnable = RunnableOf(*dnn, device, cases, channels_last, math, engines);
    WARN(name << (channels_last ? ", channels-last, " : ", row-major, ") << MathModeName(math) << ": " << runnable
              << " of " << cases.size() << " " << what << ", " << engines << " engines");
    CHECK(runnable * 10 >= cases.size() * of_ten);
  }
}

constexpr std::array kModes = {MathMode::kFp32, MathMode::kTf32, MathMode::kBf16, MathMode::kFp16};

}  // namespace

TEST_CASE("CudaDnnInstalled, TakesConvolutionsForEveryArchitecture", "[cuda][slow]") {
  for (const bool channels_last : {false, true}) {
    for (const MathMode math : kModes) {
      // Row-major images of 16 bits have few kernels for what follows a convolution.
      const bool few = !channels_last && (math == MathMode::kBf16 || math == MathMode::kFp16);
      CheckRunnable("convolutions", DnnConvolutionCases(), channels_last, math, few ? 4 : 7);
    }
  }
}

TEST_CASE("CudaDnnInstalled, TakesPoolingAndNormalisationsForEveryArchitecture", "[cuda][slow]") {
  for (const bool channels_last : {false, true}) {
    for (const MathMode math : {MathMode::kFp32, MathMode::kBf16, MathMode::kFp16}) {
      CheckRunnable("poolings and normalisations", DnnOtherCases(), channels_last, math, 5);
    }
  }
}

TEST_CASE("CudaDnnInstalled, TakesAttentionForEveryArchitecture", "[cuda][slow]") {
  for (const MathMode math : {MathMode::kBf16, MathMode::kFp16}) {
    CheckRunnable("attentions", DnnAttentionCases(), false, math, 7);
  }
}

TEST_CASE("CudaDnnInstalled, ProposesTheSameEnginesEachTime", "[cuda]") {
  const auto dnn = InstalledDnn();
  const Graph graph = ParseInferred(
      "input x float32[1,64,28,28]\nconst w float32[64,64,3,3] random 3\ny = Conv(x, w) pads=[1,1,1,1]\noutput y\n");
  const auto site = cuda::DnnDenseSite(graph, AllNodes(graph), false, MathMode::kFp32);
  REQUIRE(site.ok());
  const cuda::DnnGraph made = cuda::MakeDnnSite(*site, MathMode::kFp32).value().graph;
  const std::string device = Described(90, 132, 232448, 80 << 10);
  const auto first = dnn->Engines(made, device, cuda::kMostDnnWorkspace),
             second = dnn->Engines(made, device, cuda::kMostDnnWorkspace);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  REQUIRE(first->size() >= 2);
  REQUIRE(first->size() == second->size());
  for (size_t i = 0; i < first->size(); ++i) CHECK(ToString((*first)[i]) == ToString((*second)[i]));
}

TEST_CASE("CudaDnnInstalled, RefusesWhatIsNoDeviceAndWhatIsNoLibrary", "[cuda]") {
  const auto dnn = InstalledDnn();
  cuda::DnnGraph nothing;
  CHECK(dnn->Engines(nothing, "{}", 0).error().code == ErrorCode::kInvalidInput);
  CHECK_FALSE(dnn->Engines(nothing, Described(90, 132, 232448, 1024), 0).ok());
  CHECK(cuda::LoadDnn("libcudnn-of-nowhere.so.9").error().id == "cuda.no_cudnn");
  CHECK(cuda::LoadDnn("libc.so.6").error().id == "cuda.old_library");
}

TEST_CASE("CudaReal, CuDnnAgreesWithTheReference", "[cuda]") {
  auto functions = cuda::LoadFunctions();
  if (!functions.ok()) SKIP(ToString(functions.error()));
  Platform found = MakeTestPlatform(2, false);
  if (const Status status = cuda::AddDevices(**functions, found); !status.ok()) SKIP(ToString(status.error()));
  if (found.devices.size() == 1) SKIP("the CUDA driver knows no device");
  if ((*functions)->dnn == nullptr) SKIP((*functions)->no_dnn);
  const GpuLab lab(std::move(functions).value(), MakeTestPlatform(2, false));
  size_t candidates = 0;
  for (const auto& cases : {DnnConvolutionCases(), DnnOtherCases(), DnnAttentionCases()}) {
    for (const std::string& text : cases) {
      candidates += CheckDnnGroup(lab, text, Precision({MathMode::kTf32}));
      candidates += CheckDnnGroup(lab, text, Precision({MathMode::kBf16, MathMode::kFp16}));
      candidates += CheckDnnGroup(lab, text, {}, {3, 1});
    }
  }
  WARN(candidates << " candidates of cuDNN ran");
  CHECK(candidates > 100);
}

}  // namespace pt::testing::dnn_installed_test
