// Streams, events and recorded graphs of a CUDA device.
//
// CUDA cannot take back what a stream was given: all that was enqueued counts as begun, so Revoke has nothing to drop.
//
// Events within a capture. A CUDA event that is recorded in a capture stands for a place in the recording and cannot
// be asked from outside, so each of our events owns two: `fork` for what is captured, `own` for everybody else. CUDA
// can record an event from within a graph, but says little about what such an event answers between the launch and the
// record. So all events of a recording are reached where all of it is over, later than need be and never too early: one
// point, which each launch records behind the graph, however many events there are.
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

// A CUDA event that is recorded outside captures.
struct Point {
  Point(std::shared_ptr<Context> of, bool keeps_time) : context(std::move(of)), timed(keeps_time) {}
  ~Point();
  Point(const Point&) = delete;
  Point& operator=(const Point&) = delete;
  static Result<std::shared_ptr<Point>> Make(std::shared_ptr<Context> context, bool timed);

  const std::shared_ptr<Context> context;
  const bool timed;  // it tells when it was reached
  CUevent event = nullptr;
  FaultWords faults;  // of the streams whose work is before it
  Contexts awaited;   // other devices on which work is before it
};

// What an event stands on; shared with the executables that record it.
struct EventPoints {
  ~EventPoints();

  std::shared_ptr<Point> own;
  CUevent fork = nullptr;
  std::shared_ptr<Point> reached;  // the one that counts: its own, or the end of the executable that was launched last
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
  // timed: it can tell ElapsedNs.
  static Result<std::unique_ptr<Event>> Make(std::shared_ptr<Context> context, bool timed);

  // "cuda.lost" of the other device where one was lost that the point comes after.
  Result<bool> Ready() override;
  // Of an executable's events: to where all of it is over. Also kUsage: one of the two keeps no time ("cuda.untimed").
  Result<int64_t> ElapsedNs(const Event& since) const override;

 private:
  friend class CudaStream;
  explicit CudaEvent(std::shared_ptr<EventPoints> points) : points_(std::move(points)) {}

  std::shared_ptr<EventPoints> points_;
  std::shared_ptr<Capture> capture_;  // that it was recorded in last; null: in none
};

class CudaExecutable : public Executable {
 public:
  // Takes the graph.
  CudaExecutable(std::shared_ptr<Context> context, CUgraphExec graph, std::vector<std::shared_ptr<EventPoints>> events)
      : context_(std::move(context)), graph_(graph), events_(std::move(events)) {}
  ~CudaExecutable() override;
  CudaExecutable(const CudaExecutable&) = delete;
  CudaExecutable& operator=(const CudaExecutable&) = delete;

  // Makes the point at which all of it is over, to be called once and before Launch. faults: of the streams that were
  // recorded.
  Status MakeEnd(FaultWords faults);
  Status Launch(Stream& stream) override;

 private:
  const std::shared_ptr<Context> context_;
  const CUgraphExec graph_;
  const std::vector<std::shared_ptr<EventPoints>> events_;
  std::shared_ptr<Point> end_;
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
  // Behind all that it was given so far. Not in a capture.
  Status RecordPoint(Point& point);
  // Takes these for its own as well: of what it launches.
  void Follow(const FaultWords& words);

 private:
  explicit CudaStream(std::shared_ptr<Context> context)
      : context_(context), faults_{std::make_shared<FaultWord>(std::move(context))} {}

  Status WaitForPeer(const Point& point);
  void ComeAfter(const Point& point);

  const std::shared_ptr<Context> context_;
  CUstream handle_ = nullptr;
  std::shared_ptr<Capture> capture_;
  FaultWords faults_;  // its own first, then those of what it launched
  Contexts awaited_;   // other devices that it has waited for, perhaps by way of another stream
};

// The CUDA stream, or null when it is another backend's.
inline CudaStream* AsCuda(Stream& stream) { return dynamic_cast<CudaStream*>(&stream); }

}  // namespace pt::cuda
