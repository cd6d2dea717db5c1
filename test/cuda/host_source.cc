#include "test/cuda/host_source.h"

#include "test/cuda/host_state.h"

namespace pt::testing {
namespace {

#define PT_TEXT_OF(...) #__VA_ARGS__
#define PT_EXPANDED_TEXT_OF(...) PT_TEXT_OF(__VA_ARGS__)
constexpr const char* kState = PT_EXPANDED_TEXT_OF(PT_HOST_STATE);

// No header: reading those takes longer than compiling a kernel.
constexpr const char* kLanguage = R"(
#define __global__
#define __device__
#define PT_NOT_WATCHED extern "C" __attribute__((no_sanitize("thread")))
#define PT_HIDDEN extern __attribute__((weak, visibility("hidden")))
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
static inline unsigned __float_as_uint(float x) { unsigned u; __builtin_memcpy(&u, &x, 4); return u; }
static inline int __dp4a(int a, int b, int sum) {
  for (int lane = 0; lane < 4; ++lane) sum += (int)(signed char)(a >> 8 * lane) * (int)(signed char)(b >> 8 * lane);
  return sum;
}
static inline float __uint_as_float(unsigned u) { float x; __builtin_memcpy(&x, &u, 4); return x; }
)";

// A place in the text is one meeting, whatever line it is copied to.
constexpr const char* kWarps = R"(
static inline void pt_order(unsigned place, unsigned line, unsigned lanes = ~0u) {
  pt_state.meet(place, line, lanes, -1, 0);
}
static inline unsigned pt_vote(unsigned place, unsigned line, unsigned lanes, int yes) {
  return (unsigned)pt_state.meet(place, line, lanes, -2, yes != 0);
}
template <typename T>
static T pt_exchange(unsigned place, unsigned line, unsigned lanes, T value, int lane) {
  static_assert(sizeof(T) <= 8, "lanes exchange 8 bytes at most");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = pt_state.meet(place, line, lanes, lane, bits);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
static inline int pt_lane() { return (int)(pt_state.thread.x % 32); }
static inline int pt_first(int width) { return pt_lane() / width * width; }
template <typename T>
static T pt_shfl(unsigned place, unsigned line, unsigned lanes, T value, int lane, int width = 32) {
  return pt_exchange(place, line, lanes, value, pt_first(width) + (lane & (width - 1)));
}
template <typename T>
static T pt_shfl_up(unsigned place, unsigned line, unsigned lanes, T value, unsigned delta, int width = 32) {
  const int from = pt_lane() - (int)delta;
  return pt_exchange(place, line, lanes, value, from < pt_first(width) ? pt_lane() : from);
}
template <typename T>
static T pt_shfl_down(unsigned place, unsigned line, unsigned lanes, T value, unsigned delta, int width = 32) {
  const int from = pt_lane() + (int)delta;
  return pt_exchange(place, line, lanes, value, from >= pt_first(width) + width ? pt_lane() : from);
}
template <typename T>
static T pt_shfl_xor(unsigned place, unsigned line, unsigned lanes, T value, int turned, int width = 32) {
  const int from = pt_lane() ^ turned;
  return pt_exchange(place, line, lanes, value, from >= pt_first(width) + width ? pt_lane() : from);
}
#define __syncwarp(...) pt_order(__COUNTER__, __LINE__ __VA_OPT__(,) __VA_ARGS__)
#define __shfl_sync(...) pt_shfl(__COUNTER__, __LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) pt_shfl_up(__COUNTER__, __LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) pt_shfl_down(__COUNTER__, __LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) pt_shfl_xor(__COUNTER__, __LINE__, __VA_ARGS__)
#define __ballot_sync(lanes, yes) pt_vote(__COUNTER__, __LINE__, lanes, yes)
#define __any_sync(lanes, yes) (pt_vote(__COUNTER__, __LINE__, lanes, yes) != 0)
#define __all_sync(lanes, yes) (pt_vote(__COUNTER__, __LINE__, lanes, !(yes)) == 0)
)";

// Told as what they are, not as a read and a write: hence in functions of their own.
constexpr const char* kAtomics = R"(
template <typename T, typename Change>
__attribute__((noinline, no_sanitize("thread"))) static T pt_change(T* at, Change change) {
  if (pt_state.access) pt_state.access(at, sizeof(T), 2, __builtin_return_address(0));
  const T old = *at;
  *at = change(old);
  return old;
}
#define PT_ATOMIC(name, changed)                                                                                  \
  template <typename T>                                                                                           \
  __attribute__((always_inline)) static inline T name(T* at, T x) {                                               \
    return pt_change(at, [x](T old) __attribute__((no_sanitize("thread"))) { return (T)(changed); });             \
  }
PT_ATOMIC(atomicAdd, old + x)
PT_ATOMIC(atomicSub, old - x)
PT_ATOMIC(atomicExch, x)
PT_ATOMIC(atomicMin, x < old ? x : old)
PT_ATOMIC(atomicMax, x > old ? x : old)
PT_ATOMIC(atomicAnd, old & x)
PT_ATOMIC(atomicOr, old | x)
PT_ATOMIC(atomicXor, old ^ x)
template <typename T>
__attribute__((always_inline)) static inline T atomicCAS(T* at, T expected, T x) {
  return pt_change(at, [=](T old) __attribute__((no_sanitize("thread"))) { return old == expected ? x : old; });
}
// They order a thread's own accesses, which have an order here.
static inline void __threadfence() {}
static inline void __threadfence_block() {}
)";

constexpr const char* kWatch = R"(
#define PT_HIDDEN extern "C" __attribute__((visibility("hidden")))
extern "C" PtState pt_state;
#define PT_CALLER __builtin_return_address(0)
#define PT_ACCESS(bytes)                                                                          \
  PT_HIDDEN void __tsan_read##bytes(void* at) { pt_state.access(at, bytes, 0, PT_CALLER); }            \
  PT_HIDDEN void __tsan_write##bytes(void* at) { pt_state.access(at, bytes, 1, PT_CALLER); }           \
  PT_HIDDEN void __tsan_unaligned_read##bytes(void* at) { pt_state.access(at, bytes, 0, PT_CALLER); }  \
  PT_HIDDEN void __tsan_unaligned_write##bytes(void* at) { pt_state.access(at, bytes, 1, PT_CALLER); }
PT_ACCESS(1)
PT_ACCESS(2)
PT_ACCESS(4)
PT_ACCESS(8)
PT_ACCESS(16)
PT_HIDDEN void __tsan_read_range(void* at, unsigned long bytes) { pt_state.access(at, bytes, 0, PT_CALLER); }
PT_HIDDEN void __tsan_write_range(void* at, unsigned long bytes) { pt_state.access(at, bytes, 1, PT_CALLER); }
PT_HIDDEN void __tsan_func_entry(void*) {}
PT_HIDDEN void __tsan_func_exit() {}
PT_HIDDEN void __tsan_init() {}
// Whether a static array of a class has been initialised.
PT_HIDDEN char __tsan_atomic8_load(const volatile char* at, int) { return *at; }
struct PtPlace { const char* file; unsigned line, column; };
PT_HIDDEN void __ubsan_handle_out_of_bounds(const PtPlace* place, unsigned long index) {
  pt_state.misuse("an array has no element", place->line, index);
}
PT_HIDDEN void __ubsan_handle_type_mismatch_v1(const PtPlace* place, unsigned long address) {
  pt_state.misuse("an access is not aligned as its type, at", place->line, address);
}
)";

constexpr const char* kBarrier = "__syncthreads()";

// With the barriers by their numbers.
std::string Numbered(const std::string& kernel) {
  std::string text;
  size_t from = 0, number = 0;
  for (size_t at = 0; (at = kernel.find(kBarrier, from)) != std::string::npos; ++number) {
    text += kernel.substr(from, at - from) + "pt_state.barrier(" + std::to_string(number) + ", __LINE__)";
    from = at + std::string_view(kBarrier).size();
  }
  return text + kernel.substr(from);
}

}  // namespace

size_t BarriersIn(const std::string& kernel) {
  size_t count = 0;
  for (size_t at = kernel.find(kBarrier); at != std::string::npos; at = kernel.find(kBarrier, at + 1)) ++count;
  return count;
}

std::string HostSource(const std::string& prelude, const std::vector<std::string>& kernels) {
  std::string source = std::string(kState) + kLanguage + kWarps + kAtomics + prelude;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const std::string n = std::to_string(i);
    // A section of its own for the shared memory of each; arguments are passed by their address.
    source += "\n#define __shared__ static __attribute__((section(\"pt_memory_" + n +
              "\")))\n#define pt_kernel pt_kernel_" + n + "\n#line 1 \"pt_kernel_" + n + "\"\n" + Numbered(kernels[i]) +
              "\n#undef pt_kernel\n#undef __shared__\nPT_HIDDEN char __start_pt_memory_" + n + "[], __stop_pt_memory_" +
              n + "[];\nPT_NOT_WATCHED void pt_shared_" + n +
              "(char** begin, char** end) {\n  *begin = __start_pt_memory_" + n + ";\n  *end = __stop_pt_memory_" + n +
              ";\n}\nPT_NOT_WATCHED void pt_entry_" + n + "(const void* arguments) { pt_kernel_" + n +
              "(*(const Arguments*)arguments); }\n";
  }
  return source;
}

std::string WatchSource() { return std::string(kState) + kWatch; }

}  // namespace pt::testing
