// A CUDA driver that lives on the host, of one device or several with a context each: it keeps the driver's rules about
// contexts, streams, events, captures and memory, records every call, and works only when it is asked how far it is:
// one piece of work a question, of all that may run, on whatever device, the oldest or the newest. So what forgets to
// wait computes on what is not there yet, each time again. Memory is the host's, filled with bytes that are no numbers;
// kernels are run by HostKernel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/cuda/functions.h"

namespace pt::testing {

struct FakeGpuState;

struct FakeGpuOptions {
  int devices = 1;
  // Whether the first device can access the second's memory, where the second lets it.
  std::function<bool(int, int)> can_access = [](int, int) { return true; };
  int driver_version = CUDA_VERSION;
  int architecture = 90;                                                                  // compute capability
  std::vector<int> compiled_for = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};  // architectures NVRTC knows
  uint64_t memory_bytes = uint64_t{1} << 30;
  bool newest_first = true;
  bool management = true;  // there is an NVML
  // Kernels of the library "cuda" are watched access by access (kernel_judge.h), and what they may not do is a
  // violation as well. What cuBLASLt and cuDNN write is not known to be written then.
  bool watch_kernels = false;
  uint32_t most_blocks = UINT32_MAX;  // of a kernel, which finds its work by how many there are
  std::string kernel_folder = {};     // where compiled kernels are kept; empty: nowhere
};

// Thread-safe. Its functions may outlive it.
class FakeGpu {
 public:
  explicit FakeGpu(const FakeGpuOptions& options = {});

  std::shared_ptr<const cuda::Functions> functions() const { return functions_; }

  // The calls since it was asked last, in their order: "cuMemcpyHtoDAsync stream 0 256", "cuEventRecord stream 0 event
  // 1". Things are numbered by kind, as they were made. Calls that ask or that set the context are left out.
  std::vector<std::string> TakeCalls();
  // How many of the calls since it was asked last were of that name. Takes nothing.
  size_t Count(const std::string& call) const;
  // The next call of that name answers so, and does nothing.
  void FailNext(const std::string& call, CUresult code);
  // Work behind what the stream has, as if a kernel did it; where it returns false, it faults as FaultNextKernel says.
  // It runs while the driver is asked, and must not call it.
  void Enqueue(CUstream stream, std::function<bool()> work);
  // The next kernel that runs on that device faults: from then on every call in the context of its device answers that
  // it is broken, and what other devices wait for there never comes.
  void FaultNextKernel(size_t device = 0);
  // What other devices wait for on broken ones is taken to have come.
  void ReleaseWaitsForBroken();
  // What NVML tells from now on: clocks in MHz, degrees, bits of reasons why it is throttled.
  void SetState(unsigned clock, unsigned memory_clock, unsigned celsius, unsigned long long throttled);
  // Copies so far from or to host memory that was not allocated for devices; those of a device's first stream, on which
  // constants are brought there before a run, do not count.
  size_t pageable_copies() const;
  // Nothing is worked on while set.
  void Stall(bool stall);
  // Streams, events, graphs, modules, buffers and pools that were made and not given back: "2 streams, 1 event".
  std::string Alive() const;
  // The device has a primary context: somebody has retained it and not released it.
  bool HasContext(size_t device = 0) const;
  // What was done against the driver's rules: a call without a context, freeing what is in use, memory that is not
  // there. Empty when nothing was.
  std::vector<std::string> Violations() const;
  // For modules that are loaded later: all at once take a small part of the time. texts: prelude included.
  Status CompileAhead(const std::vector<std::string>& texts) const;
  // From now on kernels of that text (without the prelude) run as if they had not that barrier, by its number
  // (host_source.h).
  void LeaveOutBarrier(const std::string& kernel, uint32_t number);
  // Kernels compiled so far.
  size_t compiled() const;
  // The algorithms of the products so far, by their places in what cuBLASLt proposed.
  std::vector<uint32_t> algorithms() const;

 private:
  std::shared_ptr<FakeGpuState> state_;
  std::shared_ptr<const cuda::Functions> functions_;
};

// The parts that Functions is made of, for FakeGpu.
cuda::DriverFunctions FakeDriverFunctions(const std::shared_ptr<FakeGpuState>& state);
cuda::CompilerFunctions FakeCompilerFunctions(const std::shared_ptr<FakeGpuState>& state);
cuda::BlasFunctions FakeBlasFunctions(const std::shared_ptr<FakeGpuState>& state);

}  // namespace pt::testing
