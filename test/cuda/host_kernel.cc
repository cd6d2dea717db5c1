#include "test/cuda/host_kernel.h"

#include <dlfcn.h>

#include <fstream>
#include <map>
#include <mutex>

#include "test/testing/command.h"
#include "test/testing/test_data.h"

namespace pt::testing {
namespace {

// What NVRTC knows without being told.
constexpr const char* kBefore = R"(
#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
struct PtIndex { unsigned x, y, z; };
static PtIndex blockIdx, threadIdx, blockDim, gridDim;
static void __syncthreads();
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
)";

// Without barriers: a loop. With them: each thread is a fiber that leaves at a barrier, and goes on once all are there.
constexpr const char* kAfter = R"(
static void pt_call() { pt_kernel(*pt_arguments); }
static const unsigned kMostThreads = 1024;
static const unsigned long kStack = 64 * 1024;
static ucontext_t pt_block, pt_fibers[kMostThreads];
static bool pt_over[kMostThreads];
static char pt_stacks[kMostThreads][kStack];
static void __syncthreads() {
  const unsigned self = threadIdx.x;
  swapcontext(&pt_fibers[self], &pt_block);
}
static void pt_fiber() {
  pt_call();
  pt_over[threadIdx.x] = true;
}
static void pt_run_fibers(unsigned threads) {
  for (unsigned t = 0; t < threads; ++t) {
    pt_over[t] = false;
    getcontext(&pt_fibers[t]);
    pt_fibers[t].uc_stack.ss_sp = pt_stacks[t];
    pt_fibers[t].uc_stack.ss_size = kStack;
    pt_fibers[t].uc_link = &pt_block;
    makecontext(&pt_fibers[t], pt_fiber, 0);
  }
  for (bool any = true; any;) {
    any = false;
    for (unsigned t = 0; t < threads; ++t) {
      if (pt_over[t]) continue;
      threadIdx.x = t;
      swapcontext(&pt_block, &pt_fibers[t]);
      any = true;
    }
  }
}
extern "C" void pt_run(unsigned blocks, unsigned threads, const Arguments* arguments) {
  pt_arguments = arguments;
  gridDim = {blocks, 1, 1};
  blockDim = {threads, 1, 1};
  for (unsigned b = 0; b < blocks; ++b) {
    blockIdx = {b, 0, 0};
    if (pt_has_barriers) {
      pt_run_fibers(threads);
      continue;
    }
    for (unsigned t = 0; t < threads; ++t) {
      threadIdx = {t, 0, 0};
      pt_call();
    }
  }
}
)";

Error Fault(std::string message) { return MakeError(ErrorCode::kInternal, "test.host_kernel", std::move(message)); }

}  // namespace

Result<std::shared_ptr<const HostKernel>> HostKernel::Compile(const std::string& text) {
  // Kept for the whole process: the same kernels come up in many cases, and the compiler is what takes time.
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const HostKernel>> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const HostKernel>& kernel = known[text];
  if (kernel == nullptr) {
    PT_ASSIGN(kernel, CompileAnew(text));
  }
  return kernel;
}

Result<std::shared_ptr<const HostKernel>> HostKernel::CompileAnew(const std::string& text) {
  const TemporaryFolder folder;
  const std::string source = folder.path() + "/kernel.cc", object = folder.path() + "/kernel.so";
  const bool barriers = text.find("__syncthreads") != std::string::npos;
  std::ofstream(source) << kBefore << text
                        << "static const Arguments* pt_arguments;\nstatic const bool pt_has_barriers = "
                        << (barriers ? "true" : "false") << ";\n"
                        << kAfter;
  CommandOptions options;
  options.limit = std::chrono::hours(1);  // machines are stopped now and then
  const CommandResult made =
      RunCommand({PT_CXX, "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-fPIC", "-shared",
                  "-include", "math.h", "-include", "ucontext.h", source, "-o", object},
                 options);
  if (made.exit_code != 0) return Fault("a kernel does not compile on the host:\n" + made.err + "\n" + text);
  void* const handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Fault(std::string("a kernel compiled for the host cannot be loaded: ") + dlerror());
  const auto run = reinterpret_cast<Function>(dlsym(handle, "pt_run"));
  if (run == nullptr) {
    dlclose(handle);
    return Fault("a kernel compiled for the host has no entry");
  }
  return std::shared_ptr<const HostKernel>(new HostKernel(handle, run));
}

HostKernel::~HostKernel() { dlclose(handle_); }

void HostKernel::Run(uint32_t blocks, uint32_t threads, const cuda::Arguments& arguments) const {
  run_(blocks, threads, &arguments);
}

}  // namespace pt::testing
