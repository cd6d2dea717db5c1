// Context: one device's primary context, its memory pool and what has become of it. Streams, events, buffers and
// kernels each hold it, so they can be destroyed in any order, also after the device was lost. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "plugins/cuda/functions.h"

namespace pt::cuda {

class Context {
 public:
  // ordinal: the driver's number of the device. name: "cuda:0", for errors. peers: numbers of the devices that may read
  // and write this one's memory; the driver says of each that it can.
  static Result<std::shared_ptr<Context>> Make(std::shared_ptr<const Functions> functions, int ordinal,
                                               std::string name, std::span<const int> peers);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const DriverFunctions& driver() const { return functions_->driver; }
  const Functions& functions() const { return *functions_; }
  const std::string& name() const { return name_; }
  // "sm_90": what kernels are compiled for.
  const std::string& architecture() const { return architecture_; }
  int multiprocessors() const { return multiprocessors_; }

  // Calls `call()` with this context current on the calling thread; its answer becomes a status. `what` names the
  // function. CUDA_ERROR_NOT_READY is not an answer for this one: see Code.
  template <typename Call>
  Status Do(const char* what, Call&& call) {
    return Judge(what, Code(call));
  }
  // The same without judging: for queries, which answer "not yet" by a code. After the device was lost nothing is
  // called.
  template <typename Call>
  CUresult Code(Call&& call) {
    if (is_lost()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return Always(call);
  }
  // As Do, for what another device takes part in: an error that only the other one can have made leaves this one as it
  // is, and is told of the other, called `peer` ("cuda:1").
  template <typename Call>
  Status DoWith(const std::string& peer, const char* what, Call&& call) {
    return JudgeWith(peer, what, Code(call));
  }
  // Called even when the device was lost: giving things back. Its answer goes nowhere.
  template <typename Call>
  CUresult Always(Call&& call) {
    const Scope scope(*this);
    return scope.code() == CUDA_SUCCESS ? call() : scope.code();
  }

  // The context is current on this thread as long as it lives, unless `code` says why not: for calls of libraries that
  // answer in a language of their own.
  class Scope {
   public:
    explicit Scope(const Context& context)
        : driver_(context.driver()), code_(driver_.cuCtxPushCurrent(context.handle_)) {}
    ~Scope() {
      CUcontext popped = nullptr;
      if (code_ == CUDA_SUCCESS) driver_.cuCtxPopCurrent(&popped);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    CUresult code() const { return code_; }

   private:
    const DriverFunctions& driver_;
    const CUresult code_;
  };

  // What a code means: kOutOfMemory ("cuda.memory"), kUnsupported ("cuda.unsupported"), kUsage ("cuda.capture": the
  // rules of recording were broken), kRunFailed: "cuda.lost" when the context is broken for good, "cuda.call"
  // otherwise.
  Status Judge(const char* what, CUresult code);
  // The same as an error where asking the driver shows it.
  Status CheckAlive();
  // Nothing works on the device any more: the driver has said so once.
  bool is_lost() const { return lost_.load(std::memory_order_relaxed); }

  // Device memory of the pool, at an address that all streams may use at once; null for 0 bytes.
  Result<CUdeviceptr> Allocate(uint64_t bytes);
  void Free(CUdeviceptr data);
  // Host memory that the device copies from and to by itself; null for 0 bytes.
  Result<void*> AllocateHost(uint64_t bytes);
  void FreeHost(void* data);
  // The number by which kernels tell of bad data met in the run, from 1 on, the same for the same text. Thread-safe.
  uint64_t AddFault(const std::string& text);
  // kInvalidInput ("cuda.data") with the text of that number.
  Error FaultOf(uint64_t number);
  // Copies from the host to the device and waits for it: for constants, before a run.
  Status Upload(CUdeviceptr to, const void* from, uint64_t bytes);

 private:
  Context(std::shared_ptr<const Functions> functions, std::string name)
      : functions_(std::move(functions)), name_(std::move(name)) {}
  Status Open(int ordinal, std::span<const int> peers);
  Status GrantAccess(std::span<const int> peers);
  Status JudgeWith(const std::string& peer, const char* what, CUresult code);

  const std::shared_ptr<const Functions> functions_;
  const std::string name_;
  std::string architecture_;
  int multiprocessors_ = 0;
  CUdevice device_ = 0;
  CUcontext handle_ = nullptr;
  CUmemoryPool pool_ = nullptr;
  // The pool's memory is given out and taken back in the order of this stream.
  std::mutex mutex_;
  CUstream housekeeping_ = nullptr;
  std::atomic<bool> lost_{false};
  std::mutex faults_mutex_;
  std::vector<std::string> faults_;
};

// Where kernels of a stream tell of bad data that they met: host memory that the device writes to. One thread at a
// time, but for Take, which any may call.
class FaultWord {
 public:
  explicit FaultWord(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~FaultWord() { context_->FreeHost(word_); }
  FaultWord(const FaultWord&) = delete;
  FaultWord& operator=(const FaultWord&) = delete;

  // Its address; the memory is made when it is asked for first.
  Result<CUdeviceptr> Address();
  // What was told since it was asked last.
  Status Take();

 private:
  const std::shared_ptr<Context> context_;
  uint64_t* word_ = nullptr;
};

}  // namespace pt::cuda
