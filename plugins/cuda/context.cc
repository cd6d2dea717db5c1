#include "plugins/cuda/context.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace pt::cuda {
namespace {

// Codes after which the context answers nothing else: the driver's documentation says of each that the process has to
// be started anew.
bool IsFatal(CUresult code) {
  switch (code) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

Error Lost(const std::string& device, const std::string& since) {
  Error error = MakeError(ErrorCode::kRunFailed, "cuda.lost", "device " + device + " is lost" + since,
                          "a process that has lost a CUDA device cannot use it again: start it anew");
  error.device = device;
  return error;
}

}  // namespace

Result<std::shared_ptr<Context>> Context::Make(std::shared_ptr<const Functions> functions, int ordinal,
                                               std::string name, std::span<const int> peers) {
  std::shared_ptr<Context> context(new Context(std::move(functions), std::move(name)));
  PT_CHECK_OK(context->Open(ordinal, peers));
  return context;
}

Status Context::Open(int ordinal, std::span<const int> peers) {
  const DriverFunctions& cu = driver();
  PT_CHECK_OK(Judge("cuInit", cu.cuInit(0)));
  PT_CHECK_OK(Judge("cuDeviceGet", cu.cuDeviceGet(&device_, ordinal)));
  PT_CHECK_OK(Judge("cuDevicePrimaryCtxRetain", cu.cuDevicePrimaryCtxRetain(&handle_, device_)));
  int major = 0, minor = 0;
  const auto attribute = [&](int* to, CUdevice_attribute which) {
    return Judge("cuDeviceGetAttribute", cu.cuDeviceGetAttribute(to, which, device_));
  };
  PT_CHECK_OK(attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  PT_CHECK_OK(attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  PT_CHECK_OK(attribute(&multiprocessors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  architecture_ = "sm_" + std::to_string(major) + std::to_string(minor);

  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = device_;
  PT_CHECK_OK(Do("cuMemPoolCreate", [&] { return cu.cuMemPoolCreate(&pool_, &props); }));
  // Sessions come and go: what they give back is kept for the next instead of going back to the system.
  cuuint64_t keep = UINT64_MAX;
  PT_CHECK_OK(Do("cuMemPoolSetAttribute",
                 [&] { return cu.cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep); }));
  PT_CHECK_OK(GrantAccess(peers));
  return Do("cuStreamCreate", [&] { return cu.cuStreamCreate(&housekeeping_, CU_STREAM_NON_BLOCKING); });
}

// A pool's memory is mapped on its own device alone, whatever access contexts have to each other.
Status Context::GrantAccess(std::span<const int> peers) {
  if (peers.empty()) return {};
  std::vector<CUmemAccessDesc> granted;
  for (const int ordinal : peers) {
    CUdevice peer = 0;
    PT_CHECK_OK(Do("cuDeviceGet", [&] { return driver().cuDeviceGet(&peer, ordinal); }));
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = peer;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    granted.push_back(access);
  }
  return Do("cuMemPoolSetAccess", [&] { return driver().cuMemPoolSetAccess(pool_, granted.data(), granted.size()); });
}

Context::~Context() {
  if (handle_ == nullptr) return;
  Always([&] { return housekeeping_ == nullptr ? CUDA_SUCCESS : driver().cuStreamDestroy(housekeeping_); });
  Always([&] { return pool_ == nullptr ? CUDA_SUCCESS : driver().cuMemPoolDestroy(pool_); });
  // The primary context stays until the process ends: when the last reference went the driver would reset it, with what
  // cuBLASLt and cuDNN keep there, which stay loaded. So nothing here releases what was retained.
}

Status Context::Judge(const char* what, CUresult code) {
  if (code == CUDA_SUCCESS) return {};
  if (is_lost()) return Lost(name_, " since an earlier error");
  if (IsFatal(code)) {
    lost_.store(true, std::memory_order_relaxed);
    return Lost(name_, ": " + DescribeFailure(driver(), what, code));
  }
  Error error;
  if (code == CUDA_ERROR_OUT_OF_MEMORY) {
    error = MakeError(ErrorCode::kOutOfMemory, "cuda.memory",
                      "device " + name_ + " is out of memory: " + DescribeFailure(driver(), what, code));
  } else if (code >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && code <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) {
    error = MakeError(ErrorCode::kUsage, "cuda.capture",
                      "device " + name_ + " cannot record this: " + DescribeFailure(driver(), what, code));
  } else if (code == CUDA_ERROR_NOT_SUPPORTED) {
    error = MakeError(ErrorCode::kUnsupported, "cuda.unsupported",
                      "device " + name_ + " does not support it: " + DescribeFailure(driver(), what, code));
  } else {
    error = MakeError(ErrorCode::kRunFailed, "cuda.call",
                      "device " + name_ + ": " + DescribeFailure(driver(), what, code), HintFor(code));
  }
  error.device = name_;
  return error;
}

// A context that is broken answers every call so, this question too.
Status Context::CheckAlive() {
  const CUresult code = Code([&] { return driver().cuStreamQuery(housekeeping_); });
  return code == CUDA_ERROR_NOT_READY ? Status() : Judge("cuStreamQuery", code);
}

Status Context::JudgeWith(const std::string& peer, const char* what, CUresult code) {
  if (is_lost() || !IsFatal(code)) return Judge(what, code);
  PT_CHECK_OK(CheckAlive());
  return Lost(peer, ": " + DescribeFailure(driver(), what, code));
}

Result<CUdeviceptr> Context::Allocate(uint64_t bytes) {
  CUdeviceptr data = 0;
  if (bytes == 0) return data;
  const std::lock_guard lock(mutex_);
  Status status = Do("cuMemAllocFromPoolAsync",
                     [&] { return driver().cuMemAllocFromPoolAsync(&data, bytes, pool_, housekeeping_); });
  if (!status.ok()) {
    status.error().message += "; " + std::to_string(bytes) + " bytes were asked for";
    return std::move(status).error();
  }
  // Other streams use it without waiting for this one.
  status = Do("cuStreamSynchronize", [&] { return driver().cuStreamSynchronize(housekeeping_); });
  if (!status.ok()) return std::move(status).error();
  return data;
}

void Context::Free(CUdeviceptr data) {
  if (data == 0) return;
  const std::lock_guard lock(mutex_);
  Always([&] { return driver().cuMemFreeAsync(data, housekeeping_); });
}

Result<void*> Context::AllocateHost(uint64_t bytes) {
  void* data = nullptr;
  if (bytes == 0) return data;
  Status status = Do("cuMemHostAlloc", [&] { return driver().cuMemHostAlloc(&data, bytes, CU_MEMHOSTALLOC_PORTABLE); });
  if (status.ok()) return data;
  status.error().message += "; " + std::to_string(bytes) + " bytes of pinned host memory were asked for";
  return std::move(status).error();
}

void Context::FreeHost(void* data) {
  if (data != nullptr) Always([&] { return driver().cuMemFreeHost(data); });
}

uint64_t Context::AddFault(const std::string& text) {
  const std::lock_guard lock(faults_mutex_);
  const auto known = std::ranges::find(faults_, text);
  if (known != faults_.end()) return static_cast<uint64_t>(known - faults_.begin()) + 1;
  faults_.push_back(text);
  return faults_.size();
}

Error Context::FaultOf(uint64_t number) {
  const std::lock_guard lock(faults_mutex_);
  const bool known = number > 0 && number <= faults_.size();
  Error error = MakeError(ErrorCode::kInvalidInput, "cuda.data",
                          "device " + name_ + ": " + (known ? faults_[number - 1] : "a kernel met bad data"));
  error.device = name_;
  return error;
}

Result<CUdeviceptr> FaultWord::Address() {
  if (word_ == nullptr) {
    PT_ASSIGN(void* const made, context_->AllocateHost(sizeof(uint64_t)));
    word_ = new (made) uint64_t(0);
  }
  return reinterpret_cast<CUdeviceptr>(word_);  // one address space for host and device
}

Status FaultWord::Take() {
  if (word_ == nullptr) return {};
  const uint64_t number = std::atomic_ref(*word_).exchange(0);
  return number == 0 ? Status() : Status(context_->FaultOf(number));
}

Status Context::Upload(CUdeviceptr to, const void* from, uint64_t bytes) {
  if (bytes == 0) return {};
  const std::lock_guard lock(mutex_);
  PT_CHECK_OK(Do("cuMemcpyHtoDAsync", [&] { return driver().cuMemcpyHtoDAsync(to, from, bytes, housekeeping_); }));
  return Do("cuStreamSynchronize", [&] { return driver().cuStreamSynchronize(housekeeping_); });
}

}  // namespace pt::cuda
