#include "plugins/cuda/stream.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace pt::cuda {
namespace {

// How long Synchronize asks without a pause, and how long its pauses are.
constexpr std::chrono::microseconds kSpin{50}, kPause{20};
constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours(24 * 365);

Error OtherDevice(const char* call, const char* what) {
  return MakeError(ErrorCode::kUsage, "cuda.other_device",
                   std::string(call) + ": the " + what + " is of another device");
}

Error BadCapture(std::string message) { return MakeError(ErrorCode::kUsage, "cuda.capture", std::move(message)); }

// The first of what kernels have told.
Status TakeFault(const FaultWords& words) {
  Status first;
  for (const std::shared_ptr<FaultWord>& word : words) {
    Status status = word->Take();
    if (first.ok() && !status.ok()) first = std::move(status);
  }
  return first;
}

void AddNew(const std::shared_ptr<Context>& context, Contexts& to) {
  if (std::ranges::find(to, context) == to.end()) to.push_back(context);
}

}  // namespace

Point::~Point() {
  if (event != nullptr) context->Always([&] { return context->driver().cuEventDestroy(event); });
}

Result<std::shared_ptr<Point>> Point::Make(std::shared_ptr<Context> context, bool timed) {
  auto point = std::make_shared<Point>(std::move(context), timed);
  PT_CHECK_OK(point->context->Do("cuEventCreate", [&] {
    return point->context->driver().cuEventCreate(&point->event, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
  }));
  return point;
}

EventPoints::~EventPoints() {
  if (fork != nullptr) own->context->Always([&] { return own->context->driver().cuEventDestroy(fork); });
}

Result<std::unique_ptr<Event>> CudaEvent::Make(std::shared_ptr<Context> context, bool timed) {
  auto points = std::make_shared<EventPoints>();
  PT_ASSIGN(points->own, Point::Make(context, timed));
  points->reached = points->own;
  PT_CHECK_OK(context->Do("cuEventCreate",
                          [&] { return context->driver().cuEventCreate(&points->fork, CU_EVENT_DISABLE_TIMING); }));
  return std::unique_ptr<Event>(new CudaEvent(std::move(points)));
}

Result<bool> CudaEvent::Ready() {
  const Point& point = *points_->reached;
  Context& context = *point.context;
  const CUresult code = context.Code([&] { return context.driver().cuEventQuery(point.event); });
  if (code == CUDA_ERROR_NOT_READY) {
    for (const std::shared_ptr<Context>& peer : point.awaited) PT_CHECK_OK(peer->CheckAlive());
    return false;
  }
  PT_CHECK_OK(context.Judge("cuEventQuery", code));
  PT_CHECK_OK(TakeFault(point.faults));
  return true;
}

Result<int64_t> CudaEvent::ElapsedNs(const Event& since) const {
  const auto* other = dynamic_cast<const CudaEvent*>(&since);
  if (other == nullptr || other->points_->own->context != points_->own->context) {
    return OtherDevice("ElapsedNs", "event");
  }
  const Point &from = *other->points_->reached, &to = *points_->reached;
  if (!from.timed || !to.timed) {
    return MakeError(ErrorCode::kUsage, "cuda.untimed", "ElapsedNs: an event keeps no time");
  }
  Context& context = *to.context;
  float milliseconds = 0;
  const CUresult code =
      context.Code([&] { return context.driver().cuEventElapsedTime(&milliseconds, from.event, to.event); });
  // The second: one of them was never recorded.
  if (code == CUDA_ERROR_NOT_READY || code == CUDA_ERROR_INVALID_HANDLE) {
    return MakeError(ErrorCode::kUsage, "cuda.not_ready", "ElapsedNs: an event is not ready yet");
  }
  PT_CHECK_OK(context.Judge("cuEventElapsedTime", code));
  return std::llround(static_cast<double>(milliseconds) * 1e6);
}

CudaExecutable::~CudaExecutable() {
  context_->Always([&] { return context_->driver().cuGraphExecDestroy(graph_); });
}

Status CudaExecutable::MakeEnd(FaultWords faults) {
  const bool timed = std::ranges::any_of(events_, [](const auto& event) { return event->own->timed; });
  PT_ASSIGN(end_, Point::Make(context_, timed));
  end_->faults = std::move(faults);
  return {};
}

Status CudaExecutable::Launch(Stream& stream) {
  CudaStream* const cuda = AsCuda(stream);
  if (cuda == nullptr || &cuda->context() != context_.get()) return OtherDevice("Launch", "stream");
  if (cuda->is_capturing()) return BadCapture("an executable cannot be launched into a capture");
  const DriverFunctions& cu = context_->driver();
  PT_CHECK_OK(context_->Do("cuGraphLaunch", [&] { return cu.cuGraphLaunch(graph_, cuda->handle()); }));
  cuda->Follow(end_->faults);
  PT_CHECK_OK(cuda->RecordPoint(*end_));
  for (const std::shared_ptr<EventPoints>& event : events_) {
    if (event->reached != end_) event->reached = end_;
  }
  return {};
}

Result<std::unique_ptr<Stream>> CudaStream::Make(std::shared_ptr<Context> context) {
  std::unique_ptr<CudaStream> stream(new CudaStream(std::move(context)));
  Context& owner = *stream->context_;
  PT_CHECK_OK(owner.Do("cuStreamCreate",
                       [&] { return owner.driver().cuStreamCreate(&stream->handle_, CU_STREAM_NON_BLOCKING); }));
  return std::unique_ptr<Stream>(std::move(stream));
}

CudaStream::~CudaStream() {
  if (handle_ != nullptr) context_->Always([&] { return context_->driver().cuStreamDestroy(handle_); });
}

void CudaStream::Follow(const FaultWords& words) {
  for (const std::shared_ptr<FaultWord>& word : words) {
    if (std::ranges::find(faults_, word) == faults_.end()) faults_.push_back(word);
  }
}

Status CudaStream::RecordPoint(Point& point) {
  point.awaited = awaited_;
  return context_->Do("cuEventRecord", [&] { return context_->driver().cuEventRecord(point.event, handle_); });
}

Status CudaStream::Record(Event& event) {
  auto* const mine = dynamic_cast<CudaEvent*>(&event);
  if (mine == nullptr || mine->points_->own->context != context_) return OtherDevice("Record", "event");
  EventPoints& points = *mine->points_;
  if (!capture_) {
    PT_CHECK_OK(RecordPoint(*points.own));
    points.own->faults = faults_;
    points.reached = points.own;
    mine->capture_.reset();
    return {};
  }
  PT_CHECK_OK(context_->Do("cuEventRecord", [&] { return context_->driver().cuEventRecord(points.fork, handle_); }));
  mine->capture_ = capture_;
  if (std::ranges::find(capture_->events, mine->points_) == capture_->events.end()) {
    capture_->events.push_back(mine->points_);
  }
  return {};
}

Status CudaStream::Wait(Event& event) {
  auto* const mine = dynamic_cast<CudaEvent*>(&event);
  if (mine == nullptr) return OtherDevice("Wait", "event");
  const bool captured = mine->capture_ != nullptr && !mine->capture_->over;
  const Point& reached = *mine->points_->reached;
  if (reached.context != context_) {
    if (captured) return BadCapture("an event cannot be waited for by another device while it is being captured");
    return WaitForPeer(reached);
  }
  if (captured && capture_ && capture_ != mine->capture_) return BadCapture("two captures cannot wait for each other");
  if (capture_ && !captured) return BadCapture("a capture cannot wait for an event that was recorded outside");
  const CUevent handle = captured ? mine->points_->fork : reached.event;
  PT_CHECK_OK(context_->Do("cuStreamWaitEvent", [&] {
    return context_->driver().cuStreamWaitEvent(handle_, handle, CU_EVENT_WAIT_DEFAULT);
  }));
  if (captured && !capture_) {
    capture_ = mine->capture_;
    capture_->streams.push_back(this);
  }
  if (!captured) ComeAfter(reached);
  return {};
}

void CudaStream::ComeAfter(const Point& point) {
  for (const std::shared_ptr<Context>& context : point.awaited) {
    if (context != context_) AddNew(context, awaited_);
  }
  if (point.context != context_) AddNew(point.context, awaited_);
}

Status CudaStream::WaitForPeer(const Point& point) {
  if (capture_) return BadCapture("a capture cannot wait for an event of another device");
  Context& peer = *point.context;
  // Its events are never reached any more; a driver that lets this stream wait for one would have it wait for ever.
  if (peer.is_lost()) return peer.Judge("cuStreamWaitEvent", CUDA_ERROR_CONTEXT_IS_DESTROYED);
  PT_CHECK_OK(context_->DoWith(peer.name(), "cuStreamWaitEvent", [&] {
    return context_->driver().cuStreamWaitEvent(handle_, point.event, CU_EVENT_WAIT_DEFAULT);
  }));
  ComeAfter(point);
  return {};
}

Result<bool> CudaStream::Synchronize(std::chrono::nanoseconds patience) {
  const auto begin = std::chrono::steady_clock::now();
  const auto until = begin + std::min(patience, kLongestWait);
  while (true) {
    const CUresult code = context_->Code([&] { return context_->driver().cuStreamQuery(handle_); });
    if (code != CUDA_ERROR_NOT_READY) {
      PT_CHECK_OK(context_->Judge("cuStreamQuery", code));
      PT_CHECK_OK(TakeFault(faults_));
      return true;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now >= until) return false;
    if (now - begin > kSpin) std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(kPause, until - now));
  }
}

Status CudaStream::BeginCapture() {
  if (capture_) return BadCapture("the stream is in a capture already");
  // Relaxed: other threads allocate and make streams meanwhile.
  PT_CHECK_OK(context_->Do("cuStreamBeginCapture", [&] {
    return context_->driver().cuStreamBeginCapture(handle_, CU_STREAM_CAPTURE_MODE_RELAXED);
  }));
  capture_ = std::make_shared<Capture>();
  capture_->origin = this;
  capture_->streams = {this};
  return {};
}

Result<std::unique_ptr<Executable>> CudaStream::EndCapture() {
  if (!capture_ || capture_->origin != this) return BadCapture("no capture was begun on this stream");
  const std::shared_ptr<Capture> capture = capture_;
  const DriverFunctions& cu = context_->driver();
  CUgraph graph = nullptr;
  Status ended = context_->Do("cuStreamEndCapture", [&] { return cu.cuStreamEndCapture(handle_, &graph); });
  capture->over = true;
  FaultWords faults;
  for (CudaStream* stream : capture->streams) {
    stream->capture_.reset();
    faults.push_back(stream->faults_.front());
  }
  if (!ended.ok()) return std::move(ended).error();
  CUgraphExec executable = nullptr;
  Status made = context_->Do("cuGraphInstantiateWithFlags",
                             [&] { return cu.cuGraphInstantiateWithFlags(&executable, graph, 0); });
  context_->Always([&] { return cu.cuGraphDestroy(graph); });
  if (!made.ok()) return std::move(made).error();
  auto recorded = std::make_unique<CudaExecutable>(context_, executable, std::move(capture->events));
  PT_CHECK_OK(recorded->MakeEnd(std::move(faults)));
  return std::unique_ptr<Executable>(std::move(recorded));
}

}  // namespace pt::cuda
