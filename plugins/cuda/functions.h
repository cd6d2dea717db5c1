// The functions of NVIDIA's libraries that this backend calls, as data: looked up when a machine is made, so that the
// plugin loads where there is no driver, and replaced by a recording fake in tests.
#pragma once

#include <cublasLt.h>
#include <cuda.h>
#include <nvrtc.h>

#include <functional>
#include <memory>
#include <string>

#include "partitiontuner/support/result.h"
#include "plugins/cuda/nvml.h"

// X(name) once for each function. The driver's headers rename some to their newest version (cuMemcpyHtoDAsync_v2): the
// members are called by those names as well, since the same macros apply.
#define PT_CUDA_DRIVER(X)        \
  X(cuInit)                      \
  X(cuDriverGetVersion)          \
  X(cuGetErrorName)              \
  X(cuGetErrorString)            \
  X(cuDeviceGetCount)            \
  X(cuDeviceGet)                 \
  X(cuDeviceGetName)             \
  X(cuDeviceTotalMem)            \
  X(cuDeviceGetAttribute)        \
  X(cuDeviceGetPCIBusId)         \
  X(cuDeviceCanAccessPeer)       \
  X(cuDevicePrimaryCtxRetain)    \
  X(cuCtxPushCurrent)            \
  X(cuCtxPopCurrent)             \
  X(cuMemPoolCreate)             \
  X(cuMemPoolDestroy)            \
  X(cuMemPoolSetAttribute)       \
  X(cuMemPoolSetAccess)          \
  X(cuMemAllocFromPoolAsync)     \
  X(cuMemFreeAsync)              \
  X(cuMemHostAlloc)              \
  X(cuMemFreeHost)               \
  X(cuMemcpyHtoDAsync)           \
  X(cuMemcpyDtoHAsync)           \
  X(cuMemcpyDtoDAsync)           \
  X(cuStreamCreate)              \
  X(cuStreamDestroy)             \
  X(cuStreamQuery)               \
  X(cuStreamSynchronize)         \
  X(cuStreamWaitEvent)           \
  X(cuStreamBeginCapture)        \
  X(cuStreamEndCapture)          \
  X(cuEventCreate)               \
  X(cuEventDestroy)              \
  X(cuEventRecord)               \
  X(cuEventQuery)                \
  X(cuEventElapsedTime)          \
  X(cuGraphInstantiateWithFlags) \
  X(cuGraphLaunch)               \
  X(cuGraphDestroy)              \
  X(cuGraphExecDestroy)          \
  X(cuModuleLoadData)            \
  X(cuModuleUnload)              \
  X(cuModuleGetFunction)         \
  X(cuLaunchKernel)

#define PT_CUDA_COMPILER(X)    \
  X(nvrtcVersion)              \
  X(nvrtcGetNumSupportedArchs) \
  X(nvrtcGetSupportedArchs)    \
  X(nvrtcGetErrorString)       \
  X(nvrtcCreateProgram)        \
  X(nvrtcDestroyProgram)       \
  X(nvrtcCompileProgram)       \
  X(nvrtcGetProgramLogSize)    \
  X(nvrtcGetProgramLog)        \
  X(nvrtcGetCUBINSize)         \
  X(nvrtcGetCUBIN)             \
  X(nvrtcGetPTXSize)           \
  X(nvrtcGetPTX)

#define PT_CUDA_BLAS(X)                   \
  X(cublasLtGetVersion)                   \
  X(cublasLtGetStatusString)              \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtMatmul)                       \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatrixLayoutSetAttribute)     \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatmulAlgoGetHeuristic)

#define PT_CUDA_MANAGEMENT(X)         \
  X(nvmlInit_v2)                      \
  X(nvmlDeviceGetHandleByPciBusId_v2) \
  X(nvmlDeviceGetClockInfo)           \
  X(nvmlDeviceGetTemperature)         \
  X(nvmlDeviceGetCurrentClocksThrottleReasons)

#define PT_CUDA_MEMBER(name) std::function<decltype(::name)> name;

namespace pt::cuda {

class Dnn;  // dnn.h

struct DriverFunctions {
  PT_CUDA_DRIVER(PT_CUDA_MEMBER)
};
struct CompilerFunctions {
  PT_CUDA_COMPILER(PT_CUDA_MEMBER)
};
struct BlasFunctions {
  PT_CUDA_BLAS(PT_CUDA_MEMBER)
};
struct ManagementFunctions {
  PT_CUDA_MANAGEMENT(PT_CUDA_MEMBER)
};

struct Functions {
  DriverFunctions driver;
  CompilerFunctions compiler;                // NVRTC
  BlasFunctions blas;                        // cuBLASLt
  std::string kernel_folder = {};            // where compiled kernels are kept from process to process; empty: nowhere
  std::shared_ptr<const Dnn> dnn = nullptr;  // cuDNN; null where there is none
  std::string no_dnn = {};                   // why there is none
  std::shared_ptr<const ManagementFunctions> management = nullptr;  // NVML; null where there is none
};

// The names under which the system's loader looks for the libraries.
struct LibraryNames {
  std::string driver, compiler, blas, dnn, management;
};
// Those of the toolkit that this was built with: "libcuda.so.1", "libnvrtc.so.13", "libcublasLt.so.13",
// "libcudnn.so.9", "libnvidia-ml.so.1". With their folder where they lie in one of $PARTITIONTUNER_CUDA_LIBRARIES
// (folders separated by
// ':'), in the folder "cuda" beside that of the plugins, or where ./setup --cuda put them; Python's wheels may lie in
// these as pip lays them out.
LibraryNames InstalledLibraries();

// All functions of the libraries, which then stay loaded to the end of the process. cuDNN and NVML may be missing.
// Errors (kDeviceUnusable): "cuda.no_driver" and "cuda.no_library" where one cannot be opened, with the loader's
// reason; "cuda.old_library" where one lacks a function.
Result<std::shared_ptr<const Functions>> LoadFunctions(const LibraryNames& names = InstalledLibraries());
// The run-time compiler alone, which needs no device. Errors as above.
Result<CompilerFunctions> LoadCompiler(const LibraryNames& names = InstalledLibraries());

// "cuMemAllocFromPoolAsync: CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
std::string DescribeFailure(const DriverFunctions& driver, const char* call, CUresult code);
// What to do about it, where the code alone tells; else empty.
std::string HintFor(CUresult code);

}  // namespace pt::cuda
