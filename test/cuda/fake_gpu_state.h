// What is on the fake GPU: its memory, and its work with what each piece waits for.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "test/cuda/fake_gpu.h"
#include "test/cuda/host_kernel.h"

namespace pt::testing {

inline constexpr int64_t kFakePieceNs = 1000;  // of each piece of work, but for long copies

// Work returns false when it faults.
using FakeWork = std::function<bool()>;

struct FakePiece {
  FakeWork work;  // empty: a mark
  size_t device = 0;
  std::vector<size_t> after;
  bool done = false;
  int64_t at_ns = 0;  // when it was done
  int64_t ns = 0;     // what it takes
};

// A capture that is going on, or the graph it has become.
struct FakeRecording {
  std::vector<FakePiece> pieces;
  struct FakeStreamHandle* origin = nullptr;
  bool over = false;
};

struct FakeStreamHandle {
  size_t number = 0;
  size_t device = 0;
  bool first = false;         // of its device
  std::vector<size_t> after;  // what its next work waits for
  std::shared_ptr<FakeRecording> recording;
  std::vector<size_t> recorded_after;  // the same within the recording
};

struct FakeEventHandle {
  size_t number = 0;
  size_t device = 0;
  bool timed = true;
  std::optional<size_t> piece;               // where it was recorded last
  std::shared_ptr<FakeRecording> recording;  // if that was within a capture
  std::vector<size_t> recorded;
};

struct FakeGraphHandle {
  size_t number = 0;
  size_t device = 0;  // of the stream that it was recorded from
  std::shared_ptr<FakeRecording> recording;
};

struct FakeModuleHandle {
  size_t number = 0;
  size_t device = 0;
  std::shared_ptr<const HostKernel> kernel;
};

struct FakePoolHandle {
  size_t number = 0;
  size_t device = 0;
  std::set<size_t> accessors;  // the other devices that may read and write what is from it
};

// What a device's pools have given out.
struct FakeMemory {
  size_t bytes = 0;
  FakePoolHandle* pool = nullptr;
};

// A device and its primary context, whose handle is its address.
struct FakeDevice {
  int retained = 0;
  CUresult broken = CUDA_SUCCESS;
  bool fault_next_kernel = false;
  uint64_t used_bytes = 0;
  bool has_stream = false;
};

// One kind of thing, numbered as they are made. Their addresses are the driver's handles.
template <typename Thing>
class FakeThings {
 public:
  Thing* Make() {
    auto made = std::make_unique<Thing>();
    made->number = count_++;
    Thing* const address = made.get();
    live_[address] = std::move(made);
    return address;
  }
  Thing* Find(const void* handle) {
    const auto at = live_.find(handle);
    return at == live_.end() ? nullptr : at->second.get();
  }
  void Drop(const void* handle) { live_.erase(handle); }
  size_t size() const { return live_.size(); }
  auto begin() { return live_.begin(); }
  auto end() { return live_.end(); }

 private:
  size_t count_ = 0;
  std::map<const void*, std::unique_ptr<Thing>> live_;
};

// Everything is guarded by the mutex, which the functions hold for as long as they run.
struct FakeGpuState {
  std::mutex mutex;
  FakeGpuOptions options;
  std::vector<std::string> calls, violations;
  std::map<std::string, CUresult> failures;  // by the call that is to fail next
  KernelJudge judge;                         // knows the memory where kernels are watched
  std::map<std::string, uint32_t> left_out;  // barriers, by the kernel's text
  bool stalled = false;
  std::vector<FakeDevice> devices;  // never resized
  size_t compiled = 0;
  std::vector<uint32_t> algorithms;  // of the products so far: cuBLASLt's places of them
  size_t pageable_copies = 0;
  unsigned clock = 1980, memory_clock = 2619, celsius = 40;  // what NVML tells
  unsigned long long throttled = 0;
  int64_t now_ns = 0;

  std::vector<FakePiece> pieces;
  size_t finished = 0;  // so many of them at least are done, from the first on
  FakeThings<FakeStreamHandle> streams;
  FakeThings<FakeEventHandle> events;
  FakeThings<FakeGraphHandle> graphs, executables;
  FakeThings<FakeModuleHandle> modules;
  FakeThings<FakePoolHandle> pools;
  std::map<uintptr_t, std::unique_ptr<std::byte[]>> owned;
  std::map<uintptr_t, FakeMemory> memory;  // of devices, by address
  std::map<uintptr_t, size_t> pinned;      // bytes by address

  // A call that does something: noted, and refused without a context or once the context is broken.
  CUresult Enter(const std::string& call, const std::string& what = {});
  // A question: not noted, else the same.
  CUresult Ask(const std::string& call);
  // The same for calls about a thing of that device, whose context must be the current one.
  CUresult EnterOn(size_t device, const std::string& call, const std::string& what = {});
  CUresult AskOn(size_t device, const std::string& call);
  // Of the context that is current on this thread; none without one.
  std::optional<size_t> CurrentDevice() const;
  HostKernel::Build build() const {
    return options.watch_kernels ? HostKernel::Build::kWatched : HostKernel::Build::kPlain;
  }
  bool IsBroken(size_t device) const { return devices[device].broken != CUDA_SUCCESS; }
  void Violate(std::string what) { violations.push_back(std::move(what)); }

  // Adds work to a stream, or to what it records.
  void Submit(FakeStreamHandle& stream, FakeWork work, int64_t ns = kFakePieceNs);
  // The pieces from the first on that is not done. Tests submit a million, and what is left of them is asked at each
  // call.
  std::span<const FakePiece> Unfinished();
  // The next piece of work that may run; false when there is none.
  bool Step();
  bool AreDone(const std::vector<size_t>& pieces_asked) const;
  bool IsIdle(const FakeStreamHandle& stream) const { return AreDone(stream.after); }
  // [data, data + bytes) lies within one live piece of pinned memory.
  bool IsPinned(uintptr_t data, size_t bytes) const;
  // The live memory of a device that [data, data + bytes) lies in; null where it is in none.
  const FakeMemory* MemoryAt(uintptr_t data, size_t bytes) const;
  // It does, and that device has access to it.
  bool Reaches(size_t device, uintptr_t data, size_t bytes) const;
};

}  // namespace pt::testing
