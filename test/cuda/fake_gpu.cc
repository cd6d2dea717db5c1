#include "test/cuda/fake_gpu.h"

#include <algorithm>

#include "test/cuda/fake_dnn.h"
#include "test/cuda/fake_gpu_state.h"

namespace pt::testing {
namespace {

// The contexts that a thread has pushed.
thread_local std::vector<CUcontext> pushed;

}  // namespace

std::optional<size_t> FakeGpuState::CurrentDevice() const {
  for (size_t d = 0; !pushed.empty() && d < devices.size(); ++d) {
    if (pushed.back() == reinterpret_cast<CUcontext>(const_cast<FakeDevice*>(&devices[d]))) return d;
  }
  return std::nullopt;
}

CUresult FakeGpuState::Ask(const std::string& call) {
  if (const auto failure = failures.find(call); failure != failures.end()) {
    const CUresult code = failure->second;
    failures.erase(failure);
    return code;
  }
  const std::optional<size_t> device = CurrentDevice();
  if (!device) {
    Violate(call + " without a context");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return devices[*device].broken;
}

CUresult FakeGpuState::AskOn(size_t device, const std::string& call) {
  const std::optional<size_t> current = CurrentDevice();
  if (current && *current != device) {
    Violate(call + " in the context of another device");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return Ask(call);
}

CUresult FakeGpuState::Enter(const std::string& call, const std::string& what) {
  calls.push_back(what.empty() ? call : call + " " + what);
  return Ask(call);
}

CUresult FakeGpuState::EnterOn(size_t device, const std::string& call, const std::string& what) {
  calls.push_back(what.empty() ? call : call + " " + what);
  return AskOn(device, call);
}

void FakeGpuState::Submit(FakeStreamHandle& stream, FakeWork work, int64_t ns) {
  std::vector<FakePiece>& list = stream.recording ? stream.recording->pieces : pieces;
  std::vector<size_t>& after = stream.recording ? stream.recorded_after : stream.after;
  list.push_back({std::move(work), stream.device, after, false, 0, ns});
  after = {list.size() - 1};
}

bool FakeGpuState::AreDone(const std::vector<size_t>& pieces_asked) const {
  return std::ranges::all_of(pieces_asked, [&](size_t piece) { return pieces[piece].done; });
}

std::span<const FakePiece> FakeGpuState::Unfinished() {
  while (finished < pieces.size() && pieces[finished].done) ++finished;
  return std::span(pieces).subspan(finished);
}

bool FakeGpuState::Step() {
  if (stalled) return false;
  std::optional<size_t> chosen;
  for (size_t i = pieces.size() - Unfinished().size(); i < pieces.size(); ++i) {
    if (pieces[i].done || IsBroken(pieces[i].device) || !AreDone(pieces[i].after)) continue;
    chosen = i;
    if (!options.newest_first) break;
  }
  if (!chosen) return false;
  FakePiece& piece = pieces[*chosen];
  now_ns += piece.ns;
  if (piece.work && !piece.work()) {
    devices[piece.device].broken = CUDA_ERROR_ILLEGAL_ADDRESS;
    return true;
  }
  piece.done = true;
  piece.at_ns = now_ns;
  piece.work = nullptr;
  return true;
}

namespace {

// [data, data + bytes) lies within [begin, begin + size).
bool LiesWithin(uintptr_t data, size_t bytes, uintptr_t begin, size_t size) {
  return data >= begin && data - begin <= size && bytes <= size - (data - begin);
}

}  // namespace

bool FakeGpuState::IsPinned(uintptr_t data, size_t bytes) const {
  const auto after = pinned.upper_bound(data);
  if (after == pinned.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return LiesWithin(data, bytes, begin, size);
}

const FakeMemory* FakeGpuState::MemoryAt(uintptr_t data, size_t bytes) const {
  const auto after = memory.upper_bound(data);
  if (after == memory.begin()) return nullptr;
  const auto& [begin, found] = *std::prev(after);
  return LiesWithin(data, bytes, begin, found.bytes) ? &found : nullptr;
}

bool FakeGpuState::Reaches(size_t device, uintptr_t data, size_t bytes) const {
  const FakeMemory* const found = MemoryAt(data, bytes);
  return found != nullptr && (found->pool->device == device || found->pool->accessors.contains(device));
}

namespace {

using State = std::shared_ptr<FakeGpuState>;
using Lock = std::lock_guard<std::mutex>;

std::string Number(const char* kind, size_t number) { return std::string(kind) + " " + std::to_string(number); }

void AddDevice(const State& state, cuda::DriverFunctions& cu) {
  cu.cuInit = [state](unsigned) {
    const Lock lock(state->mutex);
    const auto failure = state->failures.find("cuInit");
    if (failure != state->failures.end()) return failure->second;  // as with the real one, for good
    return state->options.devices == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
  };
  cu.cuDriverGetVersion = [state](int* version) {
    *version = state->options.driver_version;
    return CUDA_SUCCESS;
  };
  cu.cuGetErrorName = [](CUresult code, const char** name) {
    *name = code == CUDA_ERROR_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                                 : "CUDA_ERROR_FAKE";
    return CUDA_SUCCESS;
  };
  cu.cuGetErrorString = [](CUresult, const char** text) {
    *text = "as the fake was told";
    return CUDA_SUCCESS;
  };
  cu.cuDeviceGetCount = [state](int* count) {
    *count = state->options.devices;
    return CUDA_SUCCESS;
  };
  cu.cuDeviceGet = [state](CUdevice* device, int ordinal) {
    if (ordinal >= state->options.devices) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
  };
  cu.cuDeviceGetName = [](char* name, int bytes, CUdevice) {
    std::snprintf(name, static_cast<size_t>(bytes), "Fake GPU");
    return CUDA_SUCCESS;
  };
  cu.cuDeviceTotalMem = [state](size_t* bytes, CUdevice) {
    *bytes = state->options.memory_bytes;
    return CUDA_SUCCESS;
  };
  cu.cuDeviceGetAttribute = [state](int* answer, CUdevice_attribute attribute, CUdevice) {
    static const std::map<CUdevice_attribute, int> answers = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1'980'000},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2'619'000}, {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0}};
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
      *answer = state->options.architecture / 10;
    } else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
      *answer = state->options.architecture % 10;
    } else {
      const auto at = answers.find(attribute);
      if (at == answers.end()) return CUDA_ERROR_INVALID_VALUE;
      *answer = at->second;
    }
    return CUDA_SUCCESS;
  };
  cu.cuDeviceGetPCIBusId = [](char* bus_id, int bytes, CUdevice device) {
    std::snprintf(bus_id, static_cast<size_t>(bytes), "0000:%02x:00.0", device);
    return CUDA_SUCCESS;
  };
  cu.cuDeviceCanAccessPeer = [state](int* can, CUdevice device, CUdevice peer) {
    const Lock lock(state->mutex);
    if (const auto failure = state->failures.find("cuDeviceCanAccessPeer"); failure != state->failures.end()) {
      return failure->second;
    }
    *can = device != peer && state->options.can_access(device, peer) ? 1 : 0;
    return CUDA_SUCCESS;
  };
  cu.cuDevicePrimaryCtxRetain = [state](CUcontext* context, CUdevice device) {
    const Lock lock(state->mutex);
    const auto failure = state->failures.find("cuDevicePrimaryCtxRetain");
    if (failure != state->failures.end()) return failure->second;
    FakeDevice& retained = state->devices[static_cast<size_t>(device)];
    ++retained.retained;
    *context = reinterpret_cast<CUcontext>(&retained);
    return CUDA_SUCCESS;
  };
  cu.cuCtxPushCurrent = [](CUcontext context) {
    pushed.push_back(context);
    return CUDA_SUCCESS;
  };
  cu.cuCtxPopCurrent = [](CUcontext* context) {
    *context = pushed.back();
    pushed.pop_back();
    return CUDA_SUCCESS;
  };
}

std::shared_ptr<const cuda::ManagementFunctions> FakeManagement(const std::shared_ptr<FakeGpuState>& state) {
  auto nvml = std::make_shared<cuda::ManagementFunctions>();
  nvml->nvmlInit_v2 = [state] {
    const Lock lock(state->mutex);
    state->calls.emplace_back("nvmlInit_v2");
    return NVML_SUCCESS;
  };
  nvml->nvmlDeviceGetHandleByPciBusId_v2 = [state](const char* bus_id, nvmlDevice_t* device) {
    if (std::string(bus_id) != "0000:00:00.0") return nvmlReturn_t{6};  // not found
    *device = reinterpret_cast<nvmlDevice_t>(state.get());
    return NVML_SUCCESS;
  };
  nvml->nvmlDeviceGetClockInfo = [state](nvmlDevice_t, unsigned clock, unsigned* mhz) {
    const Lock lock(state->mutex);
    *mhz = clock == NVML_CLOCK_SM ? state->clock : state->memory_clock;
    return NVML_SUCCESS;
  };
  nvml->nvmlDeviceGetTemperature = [state](nvmlDevice_t, unsigned, unsigned* celsius) {
    const Lock lock(state->mutex);
    *celsius = state->celsius;
    return NVML_SUCCESS;
  };
  nvml->nvmlDeviceGetCurrentClocksThrottleReasons = [state](nvmlDevice_t, unsigned long long* reasons) {
    const Lock lock(state->mutex);
    *reasons = state->throttled;
    return NVML_SUCCESS;
  };
  return nvml;
}

}  // namespace

FakeGpu::FakeGpu(const FakeGpuOptions& options) : state_(std::make_shared<FakeGpuState>()) {
  state_->options = options;
  state_->devices.resize(static_cast<size_t>(options.devices));
  auto functions = std::make_shared<cuda::Functions>();
  functions->driver = FakeDriverFunctions(state_);
  AddDevice(state_, functions->driver);
  functions->compiler = FakeCompilerFunctions(state_);
  functions->blas = FakeBlasFunctions(state_);
  functions->kernel_folder = options.kernel_folder;
  functions->dnn = MakeFakeDnn(state_);
  if (options.management) functions->management = FakeManagement(state_);
  functions_ = std::move(functions);
}

std::vector<std::string> FakeGpu::TakeCalls() {
  const Lock lock(state_->mutex);
  return std::exchange(state_->calls, {});
}

size_t FakeGpu::Count(const std::string& call) const {
  const Lock lock(state_->mutex);
  return static_cast<size_t>(std::ranges::count_if(
      state_->calls, [&](const std::string& made) { return made == call || made.starts_with(call + " "); }));
}

void FakeGpu::FailNext(const std::string& call, CUresult code) {
  const Lock lock(state_->mutex);
  state_->failures[call] = code;
}

void FakeGpu::Enqueue(CUstream stream, std::function<bool()> work) {
  const Lock lock(state_->mutex);
  state_->Submit(*state_->streams.Find(stream), std::move(work));
}

void FakeGpu::FaultNextKernel(size_t device) {
  const Lock lock(state_->mutex);
  state_->devices[device].fault_next_kernel = true;
}

void FakeGpu::ReleaseWaitsForBroken() {
  const Lock lock(state_->mutex);
  for (FakePiece& piece : state_->pieces) piece.done = piece.done || state_->IsBroken(piece.device);
}

void FakeGpu::SetState(unsigned clock, unsigned memory_clock, unsigned celsius, unsigned long long throttled) {
  const Lock lock(state_->mutex);
  state_->clock = clock;
  state_->memory_clock = memory_clock;
  state_->celsius = celsius;
  state_->throttled = throttled;
}

size_t FakeGpu::pageable_copies() const {
  const Lock lock(state_->mutex);
  return state_->pageable_copies;
}

void FakeGpu::Stall(bool stall) {
  const Lock lock(state_->mutex);
  state_->stalled = stall;
}

std::string FakeGpu::Alive() const {
  const Lock lock(state_->mutex);
  std::string text;
  const auto add = [&](size_t count, const char* what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(state_->streams.size(), "streams");
  add(state_->events.size(), "events");
  add(state_->graphs.size() + state_->executables.size(), "graphs");
  add(state_->modules.size(), "modules");
  add(state_->memory.size(), "buffers");
  add(state_->pinned.size(), "pinned buffers");
  add(state_->pools.size(), "pools");
  return text;
}

bool FakeGpu::HasContext(size_t device) const {
  const Lock lock(state_->mutex);
  return state_->devices[device].retained > 0;
}

std::vector<std::string> FakeGpu::Violations() const {
  const Lock lock(state_->mutex);
  return state_->violations;
}

Status FakeGpu::CompileAhead(const std::vector<std::string>& texts) const {
  return HostKernel::CompileTogether(texts, state_->build());
}

void FakeGpu::LeaveOutBarrier(const std::string& kernel, uint32_t number) {
  const Lock lock(state_->mutex);
  state_->left_out[kernel] = number;
}

std::vector<uint32_t> FakeGpu::algorithms() const {
  const Lock lock(state_->mutex);
  return state_->algorithms;
}

size_t FakeGpu::compiled() const {
  const Lock lock(state_->mutex);
  return state_->compiled;
}

}  // namespace pt::testing
