#include "lib/backend/simulated/simulated_stream.h"

#include <algorithm>
#include <cmath>

namespace pt {
namespace {

Error OtherDevice(const char* call, const char* what) {
  return MakeError(ErrorCode::kUsage, "simulated.other_device",
                   std::string(call) + ": the " + what + " is of another device");
}

Error BadCapture(std::string message) { return MakeError(ErrorCode::kUsage, "simulated.capture", std::move(message)); }

// Everything recorded is behind these pieces.
bool AreBehindAll(const SimulatedRecording& recording, std::span<const uint32_t> last) {
  std::vector<bool> reached(recording.pieces.size(), false);
  for (const uint32_t piece : last) reached[piece] = true;
  for (size_t i = recording.pieces.size(); i-- > 0;) {
    if (!reached[i]) return false;
    for (const uint32_t piece : recording.pieces[i].after) reached[piece] = true;
  }
  return true;
}

}  // namespace

Result<int64_t> SimulatedEvent::ElapsedNs(const Event& since) const {
  const auto* other = dynamic_cast<const SimulatedEvent*>(&since);
  if (other == nullptr || other->engine_ != engine_) return OtherDevice("ElapsedNs", "event");
  const std::optional<double> begin = engine_->ReadyNs(other->point_);
  const std::optional<double> end = engine_->ReadyNs(point_);
  if (begin && end) return std::llround(*end - *begin);
  return MakeError(ErrorCode::kUsage, "simulated.not_ready", "ElapsedNs: an event is not ready yet");
}

Status SimulatedExecutable::Launch(Stream& stream) {
  SimulatedStream* simulated = AsSimulated(stream);
  if (simulated == nullptr || simulated->engine_ != recording_->streams.front()->engine_) {
    return OtherDevice("Launch", "stream");
  }
  if (simulated->recording_) return BadCapture("an executable cannot be launched into a capture");
  PT_CHECK_OK(simulated->engine_->Admit(static_cast<uint64_t>(std::ranges::count_if(
      recording_->pieces, [](const SimulatedRecording::Piece& piece) { return piece.work.point == nullptr; }))));
  simulated->Note("launch");
  std::vector<SimulatedTicket>& next_after = simulated->next_after_;
  launch_after_ = next_after;
  tickets_.clear();
  for (const SimulatedRecording::Piece& piece : recording_->pieces) {
    piece_after_.clear();
    for (const uint32_t earlier : piece.after) piece_after_.push_back(tickets_[earlier]);
    tickets_.push_back(
        simulated->engine_->Submit(simulated->queue_, piece.work, piece.after.empty() ? launch_after_ : piece_after_));
  }
  // What is enqueued next is behind all of it.
  next_after.insert(next_after.end(), tickets_.begin(), tickets_.end());
  simulated->Submit(SimulatedWork());
  return {};
}

SimulatedStream::SimulatedStream(std::shared_ptr<SimulatedEngine> engine, uint32_t number, SimulatedCalls* calls)
    : engine_(std::move(engine)), calls_(calls) {
  queue_.number = number;
}

void SimulatedStream::Note(const char* what) const {
  if (calls_ != nullptr) calls_->Add("stream " + std::to_string(queue_.number) + ": " + what);
}

void SimulatedStream::Submit(const SimulatedWork& work) {
  if (recording_) {
    recording_->pieces.push_back({work, next_after_pieces_});
    next_after_pieces_ = {static_cast<uint32_t>(recording_->pieces.size() - 1)};
    return;
  }
  const SimulatedTicket ticket = engine_->Submit(queue_, work, next_after_);
  next_after_.assign(1, ticket);
}

Status SimulatedStream::Enqueue(const SimulatedWork& work, const char* what) {
  if (!recording_) PT_CHECK_OK(engine_->Admit(1));
  Note(what);
  Submit(work);
  return {};
}

Status SimulatedStream::Record(Event& event) {
  auto* mine = dynamic_cast<SimulatedEvent*>(&event);
  if (mine == nullptr || mine->engine_ != engine_) return OtherDevice("Record", "event");
  Note("record");
  SimulatedWork mark;
  mark.point = &mine->point_;
  mine->stream_ = queue_.number;
  Submit(mark);
  mine->recording_ = recording_;
  mine->piece_ = recording_ ? next_after_pieces_.front() : SimulatedRecording::kNone;
  return {};
}

Status SimulatedStream::Wait(Event& event) {
  auto* mine = dynamic_cast<SimulatedEvent*>(&event);
  if (mine == nullptr || mine->engine_ != engine_) return OtherDevice("Wait", "event");
  if (calls_ != nullptr) Note(("wait for stream " + std::to_string(mine->stream_)).c_str());
  const bool captured = mine->recording_ != nullptr && !mine->recording_->over;
  if (captured) {
    if (recording_ && recording_ != mine->recording_) return BadCapture("two captures cannot wait for each other");
    if (!recording_) {
      recording_ = mine->recording_;
      recording_->streams.push_back(this);
      next_after_pieces_.clear();
    }
    next_after_pieces_.push_back(mine->piece_);
    return {};
  }
  if (recording_) return BadCapture("a capture cannot wait for an event that was recorded outside");
  next_after_.push_back(engine_->WaitFor(queue_, mine->point_));
  return {};
}

Result<bool> SimulatedStream::Synchronize(std::chrono::nanoseconds patience) {
  return engine_->Synchronize(queue_, patience);
}

void SimulatedStream::Revoke() { engine_->Revoke(queue_); }

Status SimulatedStream::BeginCapture() {
  if (recording_) return BadCapture("the stream is in a capture already");
  Note("begin capture");
  recording_ = std::make_shared<SimulatedRecording>();
  recording_->origin = this;
  recording_->streams = {this};
  next_after_pieces_.clear();
  return {};
}

void SimulatedStream::Leave() {
  recording_.reset();
  next_after_pieces_.clear();
}

Result<std::unique_ptr<Executable>> SimulatedStream::EndCapture() {
  if (!recording_ || recording_->origin != this) return BadCapture("no capture was begun on this stream");
  Note("end capture");
  const std::shared_ptr<SimulatedRecording> recording = recording_;
  const bool joined = AreBehindAll(*recording, next_after_pieces_);
  recording->over = true;
  for (SimulatedStream* stream : recording->streams) stream->Leave();
  if (!joined) return BadCapture("a stream of the capture has not come back to the one that began it");
  return std::unique_ptr<Executable>(std::make_unique<SimulatedExecutable>(recording));
}

}  // namespace pt
