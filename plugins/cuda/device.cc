#include "plugins/cuda/device.h"

#include <charconv>

namespace pt::cuda {
namespace {

class DeviceMemory : public DeviceBuffer {
 public:
  DeviceMemory(std::shared_ptr<Context> context, CUdeviceptr data, uint64_t bytes)
      : context_(std::move(context)), data_(data), bytes_(bytes) {}
  ~DeviceMemory() override { context_->Free(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void* data() override { return reinterpret_cast<void*>(data_); }
  uint64_t bytes() const override { return bytes_; }

 private:
  const std::shared_ptr<Context> context_;
  const CUdeviceptr data_;
  const uint64_t bytes_;
};

class PinnedMemory : public DeviceBuffer {
 public:
  PinnedMemory(std::shared_ptr<Context> context, void* data, uint64_t bytes)
      : context_(std::move(context)), data_(data), bytes_(bytes) {}
  ~PinnedMemory() override { context_->FreeHost(data_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  void* data() override { return data_; }
  uint64_t bytes() const override { return bytes_; }

 private:
  const std::shared_ptr<Context> context_;
  void* const data_;
  const uint64_t bytes_;
};

Error WithDevice(Error error, const std::string& name) {
  error.device = name;
  return error;
}

// Within the device, or between it and the host.
Status Copy(Context& context, CUstream stream, void* to, const void* from, uint64_t bytes, CopyDirection direction) {
  const DriverFunctions& cu = context.driver();
  switch (direction) {
    case CopyDirection::kToDevice:
      return context.Do("cuMemcpyHtoDAsync",
                        [&] { return cu.cuMemcpyHtoDAsync(DeviceAddress(to), from, bytes, stream); });
    case CopyDirection::kFromDevice:
      return context.Do("cuMemcpyDtoHAsync",
                        [&] { return cu.cuMemcpyDtoHAsync(to, DeviceAddress(from), bytes, stream); });
    case CopyDirection::kWithin:
      return context.Do("cuMemcpyDtoDAsync",
                        [&] { return cu.cuMemcpyDtoDAsync(DeviceAddress(to), DeviceAddress(from), bytes, stream); });
  }
  return {};
}

}  // namespace

Result<int> OrdinalOf(const std::string& name) {
  const std::string prefix = std::string(kDeviceKind) + ":";
  int ordinal = -1;
  if (name.starts_with(prefix)) {
    const char* const end = name.data() + name.size();
    const auto [rest, fault] = std::from_chars(name.data() + prefix.size(), end, ordinal);
    if (fault == std::errc() && rest == end && ordinal >= 0) return ordinal;
  }
  return WithDevice(MakeError(ErrorCode::kDeviceUnusable, "cuda.device",
                              "'" + name + "' names no CUDA device; they are called cuda:0, cuda:1, …"),
                    name);
}

Result<std::unique_ptr<CudaDriver>> CudaDriver::Make(std::shared_ptr<const Functions> functions,
                                                     const Platform& platform, DeviceId id) {
  const std::string& name = platform.device(id).name;
  PT_ASSIGN(const int ordinal, OrdinalOf(name));
  Names reached;
  std::vector<int> peers;
  for (const Link& link : platform.links) {
    const DeviceId other = link.from == id ? link.to : link.from;
    if ((link.from != id && link.to != id) || platform.device(other).kind != kDeviceKind) continue;
    if (link.from == id) {
      reached[other] = platform.device(other).name;
    } else {
      PT_ASSIGN(const int peer, OrdinalOf(platform.device(other).name));
      peers.push_back(peer);
    }
  }
  Result<std::shared_ptr<Context>> context = Context::Make(functions, ordinal, name, peers);
  if (!context.ok()) {
    // Whatever it was, there is no device to work on: out of memory before anything was asked for, or somebody else's.
    Error error = std::move(context).error();
    error.code = ErrorCode::kDeviceUnusable;
    return error;
  }
  return std::unique_ptr<CudaDriver>(
      new CudaDriver(id, std::move(reached), std::move(functions), ordinal, std::move(context).value()));
}

Result<std::unique_ptr<DeviceBuffer>> CudaDriver::Allocate(uint64_t bytes) {
  PT_ASSIGN(const CUdeviceptr data, context_->Allocate(bytes));
  return std::unique_ptr<DeviceBuffer>(std::make_unique<DeviceMemory>(context_, data, bytes));
}

Result<std::unique_ptr<DeviceBuffer>> CudaDriver::AllocateHost(uint64_t bytes) {
  PT_ASSIGN(void* const data, context_->AllocateHost(bytes));
  return std::unique_ptr<DeviceBuffer>(std::make_unique<PinnedMemory>(context_, data, bytes));
}

Result<std::unique_ptr<Stream>> CudaDriver::MakeStream() { return CudaStream::Make(context_); }
Result<std::unique_ptr<Event>> CudaDriver::MakeEvent() { return CudaEvent::Make(context_, true); }
Result<std::unique_ptr<Event>> CudaDriver::MakeUntimedEvent() { return CudaEvent::Make(context_, false); }

Result<std::shared_ptr<const Blas>> CudaDriver::blas() {
  const std::lock_guard lock(mutex_);
  if (blas_ == nullptr) {
    PT_ASSIGN(blas_, Blas::Make(context_));
  }
  return blas_;
}

Result<std::shared_ptr<const DnnDevice>> CudaDriver::dnn() {
  const std::lock_guard lock(mutex_);
  if (dnn_ == nullptr) {
    const Functions& functions = context_->functions();
    if (functions.dnn == nullptr)
      return WithDevice(MakeError(ErrorCode::kUnsupported, "cuda.dnn", functions.no_dnn), context_->name());
    PT_ASSIGN(dnn_, functions.dnn->Open(context_));
  }
  return dnn_;
}

std::optional<DeviceState> CudaDriver::State() const {
  std::call_once(monitor_made_, [this] { monitor_ = Monitor::Make(functions_, ordinal_); });
  return monitor_ == nullptr ? std::nullopt : monitor_->State();
}

bool CudaDriver::CanWaitFor(const DeviceDriver& other) const {
  return dynamic_cast<const CudaDriver*>(&other) != nullptr;
}

bool CudaDriver::CanReach(const DeviceDriver& other) const {
  return dynamic_cast<const CudaDriver*>(&other) != nullptr && reached_.contains(other.id());
}

Status CudaDriver::EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                               DeviceId peer) {
  CudaStream* const cuda = AsCuda(stream);
  if (cuda == nullptr || &cuda->context() != context_.get()) {
    return MakeError(ErrorCode::kUsage, "cuda.other_device", "EnqueueCopy: the stream is of another device");
  }
  if (direction == CopyDirection::kWithin || IsHost(peer)) {
    return bytes == 0 ? Status() : Copy(*context_, cuda->handle(), to, from, bytes, direction);
  }
  const auto reached = reached_.find(peer);
  if (reached == reached_.end()) {
    return WithDevice(MakeError(ErrorCode::kUsage, "cuda.link",
                                "device " + context_->name() + " has no link to device " + std::to_string(peer.value)),
                      context_->name());
  }
  if (bytes == 0) return {};
  // The peer's memory is mapped on this device, at the same addresses, so the copy is one within its own address space:
  // that works in recordings too, of which CUDA says nothing for cuMemcpyPeerAsync.
  return context_->DoWith(reached->second, "cuMemcpyDtoDAsync", [&] {
    return context_->driver().cuMemcpyDtoDAsync(DeviceAddress(to), DeviceAddress(from), bytes, cuda->handle());
  });
}

}  // namespace pt::cuda
