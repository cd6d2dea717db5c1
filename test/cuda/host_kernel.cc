#include "test/cuda/host_kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>

#include "test/testing/command.h"
#include "test/testing/test_data.h"

namespace pt::testing {
namespace {

// What NVRTC knows without being told. No header: reading those takes longer than compiling a kernel.
constexpr const char* kBefore = R"(
#define __global__
#define __device__
#define __shared__ static
struct PtIndex { unsigned x, y, z; };
struct PtState {
  PtIndex block, thread, block_dim, grid_dim;
  void (*barrier)();
};
extern "C" {
PtState pt_state;
float fabsf(float); float ceilf(float); float expm1f(float); float cosf(float); float erff(float); float expf(float);
float floorf(float); float fmaxf(float, float); float fminf(float, float); float logf(float); float log1pf(float);
float rintf(float); float sinf(float); float sqrtf(float); float tanf(float); float tanhf(float);
float powf(float, float); float fmaf(float, float, float); double rint(double);
}
#define blockIdx pt_state.block
#define threadIdx pt_state.thread
#define blockDim pt_state.block_dim
#define gridDim pt_state.grid_dim
static inline void __syncthreads() { pt_state.barrier(); }
static inline unsigned __float_as_uint(float x) { unsigned u; __builtin_memcpy(&u, &x, 4); return u; }
static inline int __dp4a(int a, int b, int sum) {
  for (int lane = 0; lane < 4; ++lane) sum += (int)(signed char)(a >> 8 * lane) * (int)(signed char)(b >> 8 * lane);
  return sum;
}
static inline float __uint_as_float(unsigned u) { float x; __builtin_memcpy(&x, &u, 4); return x; }
)";

// Runs blocks. Without barriers: a loop. With them: each thread is a fiber that leaves at a barrier, and goes on once
// all are there.
constexpr const char* kRunner = R"(
struct PtIndex { unsigned x, y, z; };
struct PtState {
  PtIndex block, thread, block_dim, grid_dim;
  void (*barrier)();
};
static void (*pt_kernel)(const void*);
static const void* pt_arguments;
static PtState* pt_state;
static const unsigned kMostThreads = 1024;
static const unsigned long kStack = 64 * 1024;
static ucontext_t pt_block, pt_fibers[kMostThreads];
static bool pt_over[kMostThreads];
static char pt_stacks[kMostThreads][kStack];
static void pt_barrier() { swapcontext(&pt_fibers[pt_state->thread.x], &pt_block); }
static void pt_fiber() {
  pt_kernel(pt_arguments);
  pt_over[pt_state->thread.x] = true;
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
      pt_state->thread.x = t;
      swapcontext(&pt_block, &pt_fibers[t]);
      any = true;
    }
  }
}
extern "C" void pt_run(void (*kernel)(const void*), PtState* state, bool barriers, unsigned blocks, unsigned threads,
                       const void* arguments) {
  pt_kernel = kernel;
  pt_arguments = arguments;
  pt_state = state;
  state->barrier = pt_barrier;
  state->grid_dim = {blocks, 1, 1};
  state->block_dim = {threads, 1, 1};
  for (unsigned b = 0; b < blocks; ++b) {
    state->block = {b, 0, 0};
    if (barriers) {
      pt_run_fibers(threads);
      continue;
    }
    for (unsigned t = 0; t < threads; ++t) {
      state->thread = {t, 0, 0};
      kernel(arguments);
    }
  }
}
)";

using Entry = void (*)(const void* arguments);
using Runner = void (*)(Entry kernel, void* state, bool barriers, unsigned blocks, unsigned threads,
                        const void* arguments);

Error Fault(std::string message) { return MakeError(ErrorCode::kInternal, "test.host_kernel", std::move(message)); }

// A handle of the loader's. Never closed: whoever runs on a device may outlive the case that made it.
Result<void*> Build(const std::string& text, const std::vector<std::string>& flags = {}) {
  const TemporaryFolder folder;
  const std::string source = folder.path() + "/kernel.cc", object = folder.path() + "/kernel.so";
  std::ofstream(source) << text;
  CommandOptions options;
  options.limit = std::chrono::hours(1);  // machines are stopped now and then
  std::vector<std::string> command = {
      PT_CXX,    "-std=c++17", "-O1", "-w",  "-ffp-contract=off", "-fno-strict-aliasing", "-fPIC",
      "-shared", source,       "-o",  object};
  command.insert(command.end(), flags.begin(), flags.end());
  const CommandResult made = RunCommand(command, options);
  if (made.exit_code != 0) return Fault("a kernel does not compile on the host:\n" + made.err + "\n" + text);
  void* const handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Fault(std::string("a kernel compiled for the host cannot be loaded: ") + dlerror());
  return handle;
}

Result<void*> Find(void* handle, const std::string& name) {
  void* const found = dlsym(handle, name.c_str());
  if (found == nullptr) return Fault("a kernel compiled for the host has no " + name);
  return found;
}

std::string Numbered(size_t i) { return "pt_entry_" + std::to_string(i); }

// Kept for the whole process: the same kernels come up in many cases, and the compiler is what takes time.
struct Known {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const HostKernel>> kernels;
};
Known& TheKnown() {
  static Known known;
  return known;
}

Result<Runner> TheRunner() {
  static const Result<void*> built = Build(kRunner, {"-include", "ucontext.h"});
  if (!built.ok()) return built.error();
  PT_ASSIGN(void* const run, Find(*built, "pt_run"));
  return reinterpret_cast<Runner>(run);
}

}  // namespace

struct HostKernel::Loaded {
  void* state = nullptr;
  std::vector<Entry> entries;
  std::vector<bool> has_barriers;
  Runner runner = nullptr;
};

Status HostKernel::CompileTogether(const std::vector<std::string>& texts) {
  const std::lock_guard lock(TheKnown().mutex);
  const std::string prelude = cuda::KernelPrelude();
  std::string source = kBefore + prelude;
  std::vector<std::string> wanted;
  auto loaded = std::make_shared<Loaded>();
  for (const std::string& text : texts) {
    if (TheKnown().kernels.contains(text) || std::ranges::find(wanted, text) != wanted.end()) continue;
    if (!text.starts_with(prelude)) return Fault("a kernel begins with something else than the prelude\n" + text);
    const std::string entry = Numbered(wanted.size());
    source += "#define pt_kernel " + entry + "\n" + text.substr(prelude.size()) + "#undef pt_kernel\n";
    loaded->has_barriers.push_back(text.find("__syncthreads") != std::string::npos);
    wanted.push_back(text);
  }
  if (wanted.empty()) return {};
  PT_ASSIGN(loaded->runner, TheRunner());
  // Arguments are passed by their address.
  for (size_t i = 0; i < wanted.size(); ++i) {
    source += "extern \"C\" void by_address_" + Numbered(i) + "(const void* arguments) { " + Numbered(i) +
              "(*(const Arguments*)arguments); }\n";
  }
  PT_ASSIGN(void* const handle, Build(source));
  PT_ASSIGN(loaded->state, Find(handle, "pt_state"));
  for (size_t i = 0; i < wanted.size(); ++i) {
    PT_ASSIGN(void* const entry, Find(handle, "by_address_" + Numbered(i)));
    loaded->entries.push_back(reinterpret_cast<Entry>(entry));
    TheKnown().kernels[wanted[i]] = std::shared_ptr<const HostKernel>(new HostKernel(loaded, i));
  }
  return {};
}

Result<std::shared_ptr<const HostKernel>> HostKernel::Compile(const std::string& text) {
  PT_CHECK_OK(CompileTogether({text}));
  const std::lock_guard lock(TheKnown().mutex);
  return TheKnown().kernels.at(text);
}

void HostKernel::Run(uint32_t blocks, uint32_t threads, const cuda::Arguments& arguments) const {
  loaded_->runner(loaded_->entries[number_], loaded_->state, loaded_->has_barriers[number_], blocks, threads,
                  &arguments);
}

}  // namespace pt::testing
