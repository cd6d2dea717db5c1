// Streams, events and recorded graphs of a CUDA device.
//
// CUDA cannot take back what a stream was given: all that was enqueued counts as begun, so Revoke has nothing to drop.
//
// Events within a capture. A CUDA event that is recorded in a capture stands for a place in the recording and cannot
// be asked from outside, so each of our events owns two: `fork` for what is captured, `point` for everybody else.
// CUDA can record an event from within a graph, but says little about what such an event answers between the launch
// and the record. So every launch records the points of its events behind the whole graph instead: later than need be,
// never too early.
#pragma once

#include <memory>
#include <vector>

#include "partitiontuner/backend/backend.h"
#include "plugins/cuda/context.h"

namespace pt::cuda {

class CudaStream;

using FaultWords = std::vector<std::shared_ptr<FaultWord>>;
// Devices.
using Contexts = std::vector<std::shared_ptr<Context>>;

// The two CUDA events of an event; shared with the executables that record it.
struct EventPoints {
  std::shared_ptr<Context> context;
  CUevent point = nullptr, fork = nullptr;
  FaultWords faults;  // of the streams whose work is before the point
  Contexts awaited;   // other devices on which work is before the point
  ~EventPoints();
};

// What a capture knows so far. The streams in it share it.
struct Capture {
  const CudaStream* origin = nullptr;
  bool over = false;
  std::vector<CudaStream*> streams;  // in the order they joined, the origin first
  std::vector<std::shared_ptr<EventPoints>> events;
};

class CudaEvent : public Event {
 public:
  static Result<std::unique_ptr<Event>> Make(std::shared_ptr<Context> context);

  // "cuda.lost" of the other device where one was lost that the point comes after.
  Result<bool> Ready() override;
  Result<int64_t> ElapsedNs(const Event& since) const override;

 private:
  friend class CudaStream;
  explicit CudaEvent(std::shared_ptr<EventPoints> points) : points_(std::move(points)) {}

  std::shared_ptr<EventPoints> points_;
  std::shared_ptr<Capture> capture_;  // that it was recorded in last; null: in none
};

class CudaExecutable : public Executable {
 public:
  CudaExecutable(std::shared_ptr<Context> context, CUgraphExec graph, std::vector<std::shared_ptr<EventPoints>> events,
                 FaultWords faults)
      : context_(std::move(context)), graph_(graph), events_(std::move(events)), faults_(std::move(faults)) {}
  ~CudaExecutable() override;
  CudaExecutable(const CudaExecutable&) = delete;
  CudaExecutable& operator=(const CudaExecutable&) = delete;

  Status Launch(Stream& stream) override;

 private:
  const std::shared_ptr<Context> context_;
  const CUgraphExec graph_;
  const std::vector<std::shared_ptr<EventPoints>> events_;
  const FaultWords faults_;  // of the streams that were recorded
};

class CudaStream : public Stream {
 public:
  static Result<std::unique_ptr<Stream>> Make(std::shared_ptr<Context> context);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  Status Record(Event& event) override;
  // Events of other CUDA devices too, where neither the stream is in a capture nor the event in one that goes on:
  // kUsage ("cuda.capture") there.
  Status Wait(Event& event) override;
  // Work that waits for a device that was lost is not over, perhaps never. After this stream's own device was lost the
  // stream is not usable again, whatever the interface promises of other errors.
  Result<bool> Synchronize(std::chrono::nanoseconds patience) override;
  void Revoke() override {}
  Status BeginCapture() override;
  Result<std::unique_ptr<Executable>> EndCapture() override;

  CUstream handle() const { return handle_; }
  Context& context() const { return *context_; }
  bool is_capturing() const { return capture_ != nullptr; }
  // Where its kernels tell of bad data.
  FaultWord& fault() { return *faults_.front(); }
  const Contexts& awaited() const { return awaited_; }
  // Takes these for its own as well: of what it launches.
  void Follow(const FaultWords& words);

 private:
  explicit CudaStream(std::shared_ptr<Context> context)
      : context_(context), faults_{std::make_shared<FaultWord>(std::move(context))} {}

  Status WaitForPeer(const EventPoints& points);
  void ComeAfter(const EventPoints& points);

  const std::shared_ptr<Context> context_;
  CUstream handle_ = nullptr;
  std::shared_ptr<Capture> capture_;
  FaultWords faults_;  // its own first, then those of what it launched
  Contexts awaited_;   // other devices that it has waited for, perhaps by way of another stream
};

// The CUDA stream, or null when it is another backend's.
inline CudaStream* AsCuda(Stream& stream) { return dynamic_cast<CudaStream*>(&stream); }

}  // namespace pt::cuda
