// Kernels compiled while the program runs: from the text of one to a function of the device. The same text is compiled
// once for all that use it at the same time.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "plugins/cuda/kernel_files.h"
#include "plugins/cuda/stream.h"

namespace pt::cuda {

// What every kernel takes: the addresses of its tensors. Kernels begin with Arguments' definition and are called
// pt_kernel: extern "C" __global__ void pt_kernel(const Arguments arguments).
inline constexpr size_t kMostArguments = 24;
struct Arguments {
  std::array<CUdeviceptr, kMostArguments> at = {};
  CUdeviceptr fault = 0;    // where a kernel writes that it met bad data
  uint64_t fault_code = 0;  // what it writes there
};
static_assert(sizeof(Arguments) == (kMostArguments + 2) * sizeof(void*));
inline constexpr const char* kKernelName = "pt_kernel";
// Stands before the text of every kernel: the type of its argument, and types of elements.
std::string KernelPrelude();

// A kernel in the device's memory.
class DeviceProgram {
 public:
  DeviceProgram(std::shared_ptr<Context> context, CUmodule module, CUfunction function)
      : context_(std::move(context)), module_(module), function_(function) {}
  ~DeviceProgram();
  DeviceProgram(const DeviceProgram&) = delete;
  DeviceProgram& operator=(const DeviceProgram&) = delete;

  // Enqueues it on this many blocks of this many threads. The stream is of the same context.
  Status Launch(CudaStream& stream, uint32_t blocks, uint32_t threads, const Arguments& arguments) const;

 private:
  const std::shared_ptr<Context> context_;
  const CUmodule module_;
  const CUfunction function_;
};

// Thread-safe.
class Programs {
 public:
  explicit Programs(std::shared_ptr<Context> context);

  // text: what follows the prelude. Errors: kInternal ("cuda.compile", with the compiler's log) when it is not a
  // kernel.
  Result<std::shared_ptr<const DeviceProgram>> Get(const std::string& text);

 private:
  struct Slot {
    std::mutex mutex;
    std::weak_ptr<const DeviceProgram> program;
  };
  Result<std::shared_ptr<const DeviceProgram>> Load(const std::string& image) const;

  // From a file, or compiled and then kept in one.
  Result<std::shared_ptr<const DeviceProgram>> Make(const std::string& text) const;

  const std::shared_ptr<Context> context_;
  const KernelFiles files_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Slot>> slots_;  // by text
};

// The text compiled for an architecture ("sm_90"): an image for the driver, PTX of an older architecture where NVRTC
// does not know that one. Errors as Programs::Get.
Result<std::string> CompileKernel(const CompilerFunctions& compiler, const std::string& text,
                                  const std::string& architecture);

}  // namespace pt::cuda
