// The functions of NVIDIA's libraries: every name exists, and what is missing is told.
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "plugins/cuda/device.h"
#include "test/cuda/cuda_lab.h"

namespace pt::testing::functions_test {
namespace {

namespace fs = std::filesystem;

// The toolkit's stand-in for the driver: all its functions, each of which refuses.
std::string StubDriver() {
  for (const char* folder : {"../lib64/stubs/", "../lib/stubs/", "../targets/x86_64-linux/lib/stubs/"}) {
    const fs::path path = fs::path(PT_CUDA_INCLUDE) / folder / "libcuda.so";
    if (fs::exists(path)) return path.string();
  }
  return "";
}

}  // namespace

TEST_CASE("CudaFunctions, WithoutADriverTheReasonIsTold", "[cuda]") {
  cuda::LibraryNames names = cuda::InstalledLibraries();
  names.driver = "libcuda-of-nowhere.so.1";
  const auto functions = cuda::LoadFunctions(names);
  REQUIRE_FALSE(functions.ok());
  CHECK(functions.error().code == ErrorCode::kDeviceUnusable);
  CHECK(functions.error().id == "cuda.no_driver");
  CHECK(functions.error().message.find("libcuda-of-nowhere.so.1") != std::string::npos);
}

TEST_CASE("CudaFunctions, ALibraryThatLacksAFunctionIsNamedWithIt", "[cuda]") {
  cuda::LibraryNames names = cuda::InstalledLibraries();
  names.driver = "libc.so.6";
  const auto functions = cuda::LoadFunctions(names);
  REQUIRE_FALSE(functions.ok());
  CHECK(functions.error().id == "cuda.old_library");
  CHECK(functions.error().message.find("libc.so.6 has no function cuInit") != std::string::npos);
}

TEST_CASE("CudaFunctions, AllOfThemAreInTheInstalledLibraries", "[cuda]") {
  auto functions = cuda::LoadFunctions();
  // The stub takes the driver's name: loaded first, it would stand in for the driver in all cases that follow.
  const bool has_driver = functions.ok() || functions.error().id != "cuda.no_driver";
  if (!has_driver) {
    cuda::LibraryNames names = cuda::InstalledLibraries();
    names.driver = StubDriver();
    if (names.driver.empty()) SKIP("no CUDA driver, and no stub of it beside " PT_CUDA_INCLUDE);
    functions = cuda::LoadFunctions(names);
  }
  if (!functions.ok() && functions.error().id == "cuda.no_library") SKIP(functions.error().message);
  if (!functions.ok()) FAIL(ToString(functions.error()));
  // NVML may be missing, or be something else.
  for (const char* name : {"libnvidia-ml-of-nowhere.so.1", "libc.so.6"}) {
    cuda::LibraryNames names = cuda::InstalledLibraries();
    if (!has_driver) names.driver = StubDriver();
    names.management = name;
    const auto without = cuda::LoadFunctions(names);
    REQUIRE(without.ok());
    CHECK((*without)->management == nullptr);
  }
  if (has_driver) return;
  // The stub answers, and what it answers is an unusable driver.
  Platform platform = MakeTestPlatform(1, false);
  const Status added = cuda::AddDevices(**functions, platform);
  REQUIRE_FALSE(added.ok());
  CHECK(added.error().code == ErrorCode::kDeviceUnusable);
  CHECK(added.error().id == "cuda.init");
  CHECK(platform.devices.size() == 1);
}

TEST_CASE("CudaFunctions, LibrariesAreFoundInFoldersThatTheEnvironmentNames", "[cuda]") {
  const fs::path root = fs::temp_directory_path() / ("pt-cuda-libraries-" + std::to_string(getpid()));
  const std::string dnn = (root / "nvidia/cudnn/lib/libcudnn.so.9").string(),
                    blas = (root / "flat/libcublasLt.so.13").string();
  for (const std::string& file : {dnn, blas}) {
    fs::create_directories(fs::path(file).parent_path());
    std::ofstream(file) << "no library";
  }
  const char* const before = std::getenv("PARTITIONTUNER_CUDA_LIBRARIES");
  const std::string kept = before == nullptr ? "" : before;
  setenv("PARTITIONTUNER_CUDA_LIBRARIES", ("/nowhere::" + root.string() + ":" + root.string() + "/flat").c_str(), 1);
  const cuda::LibraryNames names = cuda::InstalledLibraries();
  before == nullptr ? unsetenv("PARTITIONTUNER_CUDA_LIBRARIES")
                    : setenv("PARTITIONTUNER_CUDA_LIBRARIES", kept.c_str(), 1);
  fs::remove_all(root);
  CHECK(names.driver == "libcuda.so.1");
  CHECK(names.dnn == dnn);
  CHECK(names.blas == blas);
  CHECK(names.compiler.ends_with("libnvrtc.so.13"));
}

TEST_CASE("CudaDiscovery, DescribesWhatCostsDependOn", "[cuda]") {
  const CudaLab lab({.devices = 2});
  REQUIRE(lab.platform.devices.size() == 3);
  const Device& device = lab.platform.device(lab.device);
  CHECK(device.kind == "cuda");
  CHECK(device.memory_bytes == uint64_t{1} << 30);
  CHECK_FALSE(device.simulated);
  for (const char* part : {"Fake GPU", "sm_90", "132 multiprocessors at 1980 MHz", "6144 bits at 2619 MHz",
                           "driver 13.", "NVRTC 13.", "cuBLASLt 13"}) {
    CHECK(device.fingerprint.find(part) != std::string::npos);
  }
  CHECK(CheckPlatform(lab.platform).ok());
}

TEST_CASE("CudaDiscovery, StreamsShareTheDeviceAndEachWayHasItsCopyEngine", "[cuda]") {
  const CudaLab lab;
  const std::vector<UnitId> streams = UnitsOf(lab.platform, FindUnitClass(lab.platform, "cuda:0"));
  REQUIRE(streams.size() == 4);
  double used = 0;
  for (const UnitId stream : streams) {
    const Unit& unit = lab.platform.unit(stream);
    REQUIRE(unit.uses.size() == 1);
    CHECK(unit.uses[0].first == lab.platform.unit(streams[0]).uses[0].first);
    used += unit.uses[0].second;
    if (stream != streams[0]) CHECK_FALSE(UnitsConflict(lab.platform, stream, streams[0]));
    CHECK(lab.platform.resources[unit.driver.value().index()].core == 1u);
  }
  CHECK(used == 1.0);
  for (const auto& [from, to] : {std::pair(kHostDevice, lab.device), std::pair(lab.device, kHostDevice)}) {
    const LinkId link = FindLink(lab.platform, from, to);
    REQUIRE(link.valid());
    CHECK(FindCopyUnit(lab.platform, link).valid());
    CHECK(lab.platform.link(link).bytes_per_ns == 0);  // measured, not told
  }
}

TEST_CASE("CudaDiscovery, RefusesWhatItCannotUseWithTheReason", "[cuda]") {
  const auto refused = [](const FakeGpuOptions& options, const char* failing, CUresult code) {
    FakeGpu gpu(options);
    if (failing != nullptr) gpu.FailNext(failing, code);
    Platform platform = MakeTestPlatform(1, false);
    const Status added = cuda::AddDevices(*gpu.functions(), platform);
    REQUIRE_FALSE(added.ok());
    CHECK(added.error().code == ErrorCode::kDeviceUnusable);
    CHECK(platform.devices.size() == 1);
    return added.error();
  };
  for (const auto& [code, hint] : {std::pair(CUDA_ERROR_SYSTEM_NOT_READY, "fabric manager"),
                                   std::pair(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "reload"),
                                   std::pair(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "LD_LIBRARY_PATH"),
                                   std::pair(CUDA_ERROR_NOT_INITIALIZED, "forked")}) {
    const Error error = refused({}, "cuInit", code);
    CHECK(error.id == "cuda.init");
    CHECK(error.hint.find(hint) != std::string::npos);
  }
  const Error old = refused({.driver_version = 12040}, nullptr, CUDA_SUCCESS);
  CHECK(old.id == "cuda.old_driver");
  CHECK(old.message.find("12.4") != std::string::npos);
  const Error ancient = refused({.architecture = 61}, nullptr, CUDA_SUCCESS);
  CHECK(ancient.id == "cuda.device");
  CHECK(ancient.message.find("6.1") != std::string::npos);
}

TEST_CASE("CudaDiscovery, NoDeviceIsNoError", "[cuda]") {
  const FakeGpu gpu({.devices = 0});
  Platform platform = MakeTestPlatform(1, false);
  CHECK(cuda::AddDevices(*gpu.functions(), platform).ok());
  CHECK(platform.devices.size() == 1);
}

}  // namespace pt::testing::functions_test
