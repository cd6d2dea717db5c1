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
  Result<std::shared_ptr<Context>> context = Context::Make(functions, ordinal, name);
  if (!context.ok()) {
    // Whatever it was, there is no device to work on: out of memory before anything was asked for, or somebody else's.
    Error error = std::move(context).error();
    error.code = ErrorCode::kDeviceUnusable;
    return error;
  }
  return std::unique_ptr<CudaDriver>(new CudaDriver(id, std::move(functions), ordinal, std::move(context).value()));
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
Result<std::unique_ptr<Event>> CudaDriver::MakeEvent() { return CudaEvent::Make(context_); }

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

Status CudaDriver::EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                               DeviceId peer) {
  CudaStream* const cuda = AsCuda(stream);
  if (cuda == nullptr || &cuda->context() != context_.get()) {
    return MakeError(ErrorCode::kUsage, "cuda.other_device", "EnqueueCopy: the stream is of another device");
  }
  if (direction != CopyDirection::kWithin && !IsHost(peer)) {
    return WithDevice(MakeError(ErrorCode::kUsage, "cuda.link",
                                "device " + context_->name() + " has no link with device " +
                                    std::to_string(peer.value) + ", only with the host"),
                      context_->name());
  }
  if (bytes == 0) return {};
  const DriverFunctions& cu = context_->driver();
  switch (direction) {
    case CopyDirection::kToDevice:
      return context_->Do("cuMemcpyHtoDAsync",
                          [&] { return cu.cuMemcpyHtoDAsync(DeviceAddress(to), from, bytes, cuda->handle()); });
    case CopyDirection::kFromDevice:
      return context_->Do("cuMemcpyDtoHAsync",
                          [&] { return cu.cuMemcpyDtoHAsync(to, DeviceAddress(from), bytes, cuda->handle()); });
    case CopyDirection::kWithin:
      return context_->Do("cuMemcpyDtoDAsync", [&] {
        return cu.cuMemcpyDtoDAsync(DeviceAddress(to), DeviceAddress(from), bytes, cuda->handle());
      });
  }
  return {};
}

}  // namespace pt::cuda
