// Streams, events and executables of a simulated device, shared by the driver, which copies, and the library, which
// computes.
#pragma once

#include <memory>
#include <vector>

#include "lib/backend/simulated/engine.h"

namespace pt {

class SimulatedStream;

// What a capture has recorded so far. The streams in it share it.
struct SimulatedRecording {
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Piece {
    SimulatedWork work;
    std::vector<uint32_t> after;  // earlier pieces
  };
  const SimulatedStream* origin = nullptr;
  bool over = false;
  std::vector<Piece> pieces;
  std::vector<SimulatedStream*> streams;  // in the order they joined, the origin first
};

class SimulatedEvent : public Event {
 public:
  explicit SimulatedEvent(std::shared_ptr<SimulatedEngine> engine) : engine_(std::move(engine)) {}
  ~SimulatedEvent() override { engine_->Forget(point_); }

  Result<bool> Ready() override { return engine_->IsReady(point_); }
  Result<int64_t> ElapsedNs(const Event& since) const override;

 private:
  friend class SimulatedStream;
  std::shared_ptr<SimulatedEngine> engine_;
  SimulatedPoint point_;
  uint32_t stream_ = 0;  // the number of the stream it was recorded in last
  // Recorded in a capture: which and where.
  std::shared_ptr<SimulatedRecording> recording_;
  uint32_t piece_ = SimulatedRecording::kNone;
};

class SimulatedExecutable : public Executable {
 public:
  explicit SimulatedExecutable(std::shared_ptr<SimulatedRecording> recording) : recording_(std::move(recording)) {}
  Status Launch(Stream& stream) override;

 private:
  std::shared_ptr<SimulatedRecording> recording_;
  // Of the launch in progress; kept for the next one.
  std::vector<SimulatedTicket> tickets_;  // by piece
  std::vector<SimulatedTicket> launch_after_, piece_after_;
};

class SimulatedStream : public Stream {
 public:
  // `calls`: see SimulatedOptions; may be null.
  SimulatedStream(std::shared_ptr<SimulatedEngine> engine, uint32_t number, SimulatedCalls* calls);

  Status Record(Event& event) override;
  Status Wait(Event& event) override;
  Result<bool> Synchronize(std::chrono::nanoseconds patience) override;
  void Revoke() override;
  Status BeginCapture() override;
  Result<std::unique_ptr<Executable>> EndCapture() override;

  // `what` names the work in SimulatedCalls. The task stays valid until it is over, or as long as an executable that
  // recorded it. Errors: as SimulatedEngine::Admit.
  Status Enqueue(const SimulatedWork& work, const char* what);
  bool is_of(const SimulatedEngine& engine) const { return engine_.get() == &engine; }

 private:
  friend class SimulatedExecutable;
  void Note(const char* what) const;
  void Submit(const SimulatedWork& work);
  void Leave();

  std::shared_ptr<SimulatedEngine> engine_;
  SimulatedQueue queue_;
  SimulatedCalls* calls_;
  std::vector<SimulatedTicket> next_after_;  // what the next work waits for: the work before it, and points waited for
  // While captured.
  std::shared_ptr<SimulatedRecording> recording_;
  std::vector<uint32_t> next_after_pieces_;
};

// The simulated stream, or null when it is another device's.
inline SimulatedStream* AsSimulated(Stream& stream) { return dynamic_cast<SimulatedStream*>(&stream); }

}  // namespace pt
