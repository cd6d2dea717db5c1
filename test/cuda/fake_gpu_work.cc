// The fake GPU's memory, streams, events, graphs and kernels.
#include <algorithm>
#include <cstring>

#include "test/cuda/fake_gpu_state.h"

namespace pt::testing {
namespace {

using State = std::shared_ptr<FakeGpuState>;
using Lock = std::lock_guard<std::mutex>;

constexpr uintptr_t kAlignment = 256;

std::string Named(const char* kind, size_t number) { return std::string(kind) + " " + std::to_string(number); }

uintptr_t Take(FakeGpuState& state, size_t bytes) {
  auto block = std::make_unique<std::byte[]>(bytes + kAlignment);
  std::memset(block.get(), 0xff, bytes + kAlignment);
  const uintptr_t data = (reinterpret_cast<uintptr_t>(block.get()) + kAlignment - 1) / kAlignment * kAlignment;
  state.owned[data] = std::move(block);
  return data;
}

// Then work may be left that is never done.
bool IsAnyBroken(const FakeGpuState& state) {
  for (size_t device = 0; device < state.devices.size(); ++device) {
    if (state.IsBroken(device)) return true;
  }
  return false;
}

void AddMemory(const State& state, cuda::DriverFunctions& cu) {
  cu.cuMemPoolCreate = [state](CUmemoryPool* pool, const CUmemPoolProps* props) {
    const Lock lock(state->mutex);
    if (const CUresult code = state->Enter("cuMemPoolCreate"); code != CUDA_SUCCESS) return code;
    FakePoolHandle* const made = state->pools.Make();
    made->device = static_cast<size_t>(props->location.id);
    *pool = reinterpret_cast<CUmemoryPool>(made);
    return CUDA_SUCCESS;
  };
  cu.cuMemPoolDestroy = [state](CUmemoryPool pool) {
    const Lock lock(state->mutex);
    const CUresult code = state->Enter("cuMemPoolDestroy");
    for (const auto& [data, memory] : state->memory) {
      if (memory.pool == state->pools.Find(pool)) state->Violate("cuMemPoolDestroy while there is memory of it");
    }
    state->pools.Drop(pool);
    return code;
  };
  cu.cuMemPoolSetAttribute = [state](CUmemoryPool, CUmemPool_attribute, void*) {
    const Lock lock(state->mutex);
    return state->Enter("cuMemPoolSetAttribute");
  };
  cu.cuMemPoolSetAccess = [state](CUmemoryPool pool, const CUmemAccessDesc* granted, size_t count) {
    const Lock lock(state->mutex);
    if (const CUresult code = state->Enter("cuMemPoolSetAccess"); code != CUDA_SUCCESS) return code;
    FakePoolHandle* const shared = state->pools.Find(pool);
    if (shared == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      const CUmemAccessDesc& access = granted[i];
      const bool known = access.location.type == CU_MEM_LOCATION_TYPE_DEVICE && access.location.id >= 0 &&
                         access.location.id < state->options.devices;
      if (!known || access.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
      if (!state->options.can_access(access.location.id, static_cast<int>(shared->device))) {
        state->Violate("cuMemPoolSetAccess for a device that cannot have it");
        return CUDA_ERROR_INVALID_DEVICE;
      }
      shared->accessors.insert(static_cast<size_t>(access.location.id));
    }
    return CUDA_SUCCESS;
  };
  cu.cuMemAllocFromPoolAsync = [state](CUdeviceptr* data, size_t bytes, CUmemoryPool pool, CUstream) {
    const Lock lock(state->mutex);
    const CUresult code = state->Enter("cuMemAllocFromPoolAsync", std::to_string(bytes));
    if (code != CUDA_SUCCESS) return code;
    FakePoolHandle* const from = state->pools.Find(pool);
    if (from == nullptr) return CUDA_ERROR_INVALID_VALUE;
    uint64_t& used_bytes = state->devices[from->device].used_bytes;
    if (bytes > state->options.memory_bytes - used_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    *data = Take(*state, bytes);
    used_bytes += bytes;
    state->memory[*data] = {bytes, from};
    if (state->options.watch_kernels) state->judge.AddMemory(*data, bytes);
    return CUDA_SUCCESS;
  };
  cu.cuMemFreeAsync = [state](CUdeviceptr data, CUstream) {
    const Lock lock(state->mutex);
    const CUresult code = state->Enter("cuMemFreeAsync");
    const auto at = state->memory.find(data);
    if (at == state->memory.end()) {
      state->Violate("cuMemFreeAsync of what was not allocated");
      return CUDA_ERROR_INVALID_VALUE;
    }
    // Nobody frees what the device may still use: with work left that could be this very buffer.
    for (const FakePiece& piece : state->Unfinished()) {
      if (!piece.done && piece.work && !IsAnyBroken(*state)) state->Violate("cuMemFreeAsync while there is work");
    }
    state->devices[at->second.pool->device].used_bytes -= at->second.bytes;
    state->owned.erase(data);
    state->judge.RemoveMemory(data);
    state->memory.erase(at);
    return code;
  };
  cu.cuMemHostAlloc = [state](void** data, size_t bytes, unsigned) {
    const Lock lock(state->mutex);
    const CUresult code = state->Enter("cuMemHostAlloc", std::to_string(bytes));
    if (code != CUDA_SUCCESS) return code;
    const uintptr_t made = Take(*state, bytes);
    state->pinned[made] = bytes;
    if (state->options.watch_kernels) state->judge.AddMemory(made, bytes, KernelJudge::Writers::kAnyNumber);
    *data = reinterpret_cast<void*>(made);
    return CUDA_SUCCESS;
  };
  cu.cuMemFreeHost = [state](void* data) {
    const Lock lock(state->mutex);
    const CUresult code = state->Enter("cuMemFreeHost");
    state->owned.erase(reinterpret_cast<uintptr_t>(data));
    state->judge.RemoveMemory(reinterpret_cast<uintptr_t>(data));
    if (state->pinned.erase(reinterpret_cast<uintptr_t>(data)) == 0) {
      state->Violate("cuMemFreeHost of what was not allocated");
    }
    return code;
  };
}

// Enqueues a copy; the sides that are on a device must be there, and within reach of the stream's, when it is enqueued
// and when it runs. What lies on a broken device fails as that one does.
CUresult Copy(FakeGpuState& state, const char* call, CUstream stream, uintptr_t to, uintptr_t from, size_t bytes,
              bool to_device, bool from_device) {
  FakeStreamHandle* const on = state.streams.Find(stream);
  if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult code = state.EnterOn(on->device, call, Named("stream", on->number) + " " + std::to_string(bytes));
  if (code != CUDA_SUCCESS) return code;
  const auto lies = [&state, device = on->device, to, from, bytes, to_device, from_device] {
    return (!to_device || state.Reaches(device, to, bytes)) && (!from_device || state.Reaches(device, from, bytes));
  };
  if (!lies()) {
    state.Violate(std::string(call) + ": not in memory that the device reaches");
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& [is_there, data] : {std::pair(to_device, to), std::pair(from_device, from)}) {
    if (!is_there) continue;
    const CUresult broken = state.devices[state.MemoryAt(data, bytes)->pool->device].broken;
    if (broken != CUDA_SUCCESS) return broken;
  }
  const bool is_pinned = (to_device || state.IsPinned(to, bytes)) && (from_device || state.IsPinned(from, bytes));
  if (!is_pinned && !on->first) ++state.pageable_copies;
  constexpr size_t kShortBytes = size_t{64} << 10, kNsOfThose = 8192;  // shorter copies take what any work does
  const auto copy = [&state, lies, to, from, bytes, from_device] {
    if (!lies()) return false;
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    if (from_device) {
      state.judge.Copied(to, from, bytes);
    } else {
      state.judge.MarkWritten(to, bytes);
    }
    return true;
  };
  state.Submit(*on, copy, kFakePieceNs + static_cast<int64_t>(bytes / kShortBytes * kNsOfThose));
  return CUDA_SUCCESS;
}

void AddCopies(const State& state, cuda::DriverFunctions& cu) {
  cu.cuMemcpyHtoDAsync = [state](CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    const Lock lock(state->mutex);
    return Copy(*state, "cuMemcpyHtoDAsync", stream, to, reinterpret_cast<uintptr_t>(from), bytes, true, false);
  };
  cu.cuMemcpyDtoHAsync = [state](void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    const Lock lock(state->mutex);
    return Copy(*state, "cuMemcpyDtoHAsync", stream, reinterpret_cast<uintptr_t>(to), from, bytes, false, true);
  };
  cu.cuMemcpyDtoDAsync = [state](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    const Lock lock(state->mutex);
    return Copy(*state, "cuMemcpyDtoDAsync", stream, to, from, bytes, true, true);
  };
}

void AddStreams(const State& state, cuda::DriverFunctions& cu) {
  cu.cuStreamCreate = [state](CUstream* stream, unsigned) {
    const Lock lock(state->mutex);
    if (const CUresult code = state->Enter("cuStreamCreate"); code != CUDA_SUCCESS) return code;
    FakeStreamHandle* const made = state->streams.Make();
    made->device = *state->CurrentDevice();
    made->first = !std::exchange(state->devices[made->device].has_stream, true);
    *stream = reinterpret_cast<CUstream>(made);
    return CUDA_SUCCESS;
  };
  cu.cuStreamDestroy = [state](CUstream stream) {
    const Lock lock(state->mutex);
    const CUresult code = state->Enter("cuStreamDestroy");
    FakeStreamHandle* const gone = state->streams.Find(stream);
    if (gone == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (!IsAnyBroken(*state) && !state->IsIdle(*gone)) state->Violate("cuStreamDestroy while there is work");
    state->streams.Drop(stream);
    return code;
  };
  cu.cuStreamQuery = [state](CUstream stream) {
    const Lock lock(state->mutex);
    FakeStreamHandle* const asked = state->streams.Find(stream);
    if (asked == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    state->Step();
    if (const CUresult code = state->AskOn(asked->device, "cuStreamQuery"); code != CUDA_SUCCESS) return code;
    if (asked->recording) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return state->IsIdle(*asked) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  };
  cu.cuStreamSynchronize = [state](CUstream stream) {
    const Lock lock(state->mutex);
    FakeStreamHandle* const asked = state->streams.Find(stream);
    if (asked == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult code = state->AskOn(asked->device, "cuStreamSynchronize"); code != CUDA_SUCCESS) return code;
    const CUresult& broken = state->devices[asked->device].broken;
    while (!state->IsIdle(*asked)) {
      if (!state->Step()) return broken != CUDA_SUCCESS ? broken : CUDA_ERROR_TIMEOUT;
    }
    return broken;
  };
  cu.cuStreamWaitEvent = [state](CUstream stream, CUevent event, unsigned) {
    const Lock lock(state->mutex);
    FakeStreamHandle* const waiting = state->streams.Find(stream);
    FakeEventHandle* const point = state->events.Find(event);
    if (waiting == nullptr || point == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult code = state->EnterOn(waiting->device, "cuStreamWaitEvent",
                                         Named("stream", waiting->number) + " " + Named("event", point->number));
    if (code != CUDA_SUCCESS) return code;
    if (state->IsBroken(point->device)) return state->devices[point->device].broken;
    if (point->recording) {
      if (point->recording->over) return CUDA_ERROR_CAPTURED_EVENT;
      if (waiting->device != point->device) state->Violate("a capture over several devices");
      if (waiting->recording && waiting->recording != point->recording) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
      waiting->recording = point->recording;
      waiting->recorded_after.insert(waiting->recorded_after.end(), point->recorded.begin(), point->recorded.end());
      return CUDA_SUCCESS;
    }
    if (waiting->recording) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    if (point->piece) waiting->after.push_back(*point->piece);
    return CUDA_SUCCESS;
  };
}

void AddEvents(const State& state, cuda::DriverFunctions& cu) {
  cu.cuEventCreate = [state](CUevent* event, unsigned flags) {
    const Lock lock(state->mutex);
    if (const CUresult code = state->Enter("cuEventCreate"); code != CUDA_SUCCESS) return code;
    FakeEventHandle* const made = state->events.Make();
    made->device = *state->CurrentDevice();
    made->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    *event = reinterpret_cast<CUevent>(made);
    return CUDA_SUCCESS;
  };
  cu.cuEventDestroy = [state](CUevent event) {
    const Lock lock(state->mutex);
    const CUresult code = state->Enter("cuEventDestroy");
    state->events.Drop(event);
    return code;
  };
  cu.cuEventRecord = [state](CUevent event, CUstream stream) {
    const Lock lock(state->mutex);
    FakeStreamHandle* const on = state->streams.Find(stream);
    FakeEventHandle* const point = state->events.Find(event);
    if (on == nullptr || point == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult code =
        state->EnterOn(on->device, "cuEventRecord", Named("stream", on->number) + " " + Named("event", point->number));
    if (code != CUDA_SUCCESS) return code;
    if (on->device != point->device) return CUDA_ERROR_INVALID_HANDLE;
    point->recording = on->recording;
    point->piece.reset();
    if (on->recording) {
      point->recorded = on->recorded_after;
      return CUDA_SUCCESS;
    }
    state->Submit(*on, nullptr);
    point->piece = state->pieces.size() - 1;
    return CUDA_SUCCESS;
  };
  cu.cuEventQuery = [state](CUevent event) {
    const Lock lock(state->mutex);
    FakeEventHandle* const point = state->events.Find(event);
    if (point == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const bool done = !point->piece || state->pieces[*point->piece].done;
    if (!done) state->Step();
    if (const CUresult code = state->AskOn(point->device, "cuEventQuery"); code != CUDA_SUCCESS) return code;
    if (point->recording) return CUDA_ERROR_CAPTURED_EVENT;
    return !point->piece || state->pieces[*point->piece].done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  };
  cu.cuEventElapsedTime = [state](float* milliseconds, CUevent start, CUevent end) {
    const Lock lock(state->mutex);
    FakeEventHandle *const from = state->events.Find(start), *const to = state->events.Find(end);
    if (from == nullptr || to == nullptr || !from->timed || !to->timed) return CUDA_ERROR_INVALID_HANDLE;
    if (!from->piece || !to->piece || from->device != to->device) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult code = state->AskOn(to->device, "cuEventElapsedTime"); code != CUDA_SUCCESS) return code;
    const FakePiece &a = state->pieces[*from->piece], &b = state->pieces[*to->piece];
    if (!a.done || !b.done) return CUDA_ERROR_NOT_READY;
    *milliseconds = static_cast<float>(static_cast<double>(b.at_ns - a.at_ns) / 1e6);
    return CUDA_SUCCESS;
  };
}

// Every piece of the recording is before what its first stream has come to.
bool IsJoined(const FakeStreamHandle& origin) {
  const std::vector<FakePiece>& pieces = origin.recording->pieces;
  std::vector<bool> reached(pieces.size(), false);
  for (const size_t piece : origin.recorded_after) reached[piece] = true;
  for (size_t i = pieces.size(); i-- > 0;) {
    if (!reached[i]) return false;
    for (const size_t piece : pieces[i].after) reached[piece] = true;
  }
  return true;
}

void AddCaptures(const State& state, cuda::DriverFunctions& cu) {
  cu.cuStreamBeginCapture = [state](CUstream stream, CUstreamCaptureMode) {
    const Lock lock(state->mutex);
    FakeStreamHandle* const origin = state->streams.Find(stream);
    if (origin == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult code = state->EnterOn(origin->device, "cuStreamBeginCapture", Named("stream", origin->number));
    if (code != CUDA_SUCCESS) return code;
    if (origin->recording) return CUDA_ERROR_ILLEGAL_STATE;
    origin->recording = std::make_shared<FakeRecording>();
    origin->recording->origin = origin;
    origin->recorded_after.clear();
    return CUDA_SUCCESS;
  };
  cu.cuStreamEndCapture = [state](CUstream stream, CUgraph* graph) {
    const Lock lock(state->mutex);
    FakeStreamHandle* const origin = state->streams.Find(stream);
    if (origin == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult code = state->EnterOn(origin->device, "cuStreamEndCapture", Named("stream", origin->number));
    const std::shared_ptr<FakeRecording> recording = origin->recording;
    if (!recording || recording->origin != origin) return CUDA_ERROR_ILLEGAL_STATE;
    const bool joined = IsJoined(*origin);
    recording->over = true;
    for (const auto& [handle, member] : state->streams) {
      if (member->recording != recording) continue;
      member->recording.reset();
      member->recorded_after.clear();
    }
    if (code != CUDA_SUCCESS) return code;
    if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    FakeGraphHandle* const made = state->graphs.Make();
    made->recording = recording;
    made->device = origin->device;
    *graph = reinterpret_cast<CUgraph>(made);
    return CUDA_SUCCESS;
  };
}

void AddGraphs(const State& state, cuda::DriverFunctions& cu) {
  cu.cuGraphInstantiateWithFlags = [state](CUgraphExec* executable, CUgraph graph, unsigned long long) {
    const Lock lock(state->mutex);
    FakeGraphHandle* const recorded = state->graphs.Find(graph);
    if (recorded == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult code =
        state->EnterOn(recorded->device, "cuGraphInstantiate", std::to_string(recorded->recording->pieces.size()));
    if (code != CUDA_SUCCESS) return code;
    FakeGraphHandle* const made = state->executables.Make();
    made->device = recorded->device;
    made->recording = recorded->recording;
    *executable = reinterpret_cast<CUgraphExec>(made);
    return CUDA_SUCCESS;
  };
  cu.cuGraphLaunch = [state](CUgraphExec executable, CUstream stream) {
    const Lock lock(state->mutex);
    FakeGraphHandle* const launched = state->executables.Find(executable);
    FakeStreamHandle* const on = state->streams.Find(stream);
    if (launched == nullptr || on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult code = state->EnterOn(on->device, "cuGraphLaunch",
                                         Named("stream", on->number) + " " + Named("graph", launched->number));
    if (code != CUDA_SUCCESS) return code;
    if (on->device != launched->device) return CUDA_ERROR_INVALID_VALUE;
    const std::vector<size_t> before = on->after;
    const size_t first = state->pieces.size();
    for (const FakePiece& piece : launched->recording->pieces) {
      FakePiece submitted{piece.work, piece.device, {}, false, 0, piece.ns};
      for (const size_t after : piece.after) submitted.after.push_back(first + after);
      if (piece.after.empty()) submitted.after = before;
      on->after.push_back(state->pieces.size());
      state->pieces.push_back(std::move(submitted));
    }
    return CUDA_SUCCESS;
  };
  cu.cuGraphDestroy = [state](CUgraph graph) {
    const Lock lock(state->mutex);
    state->graphs.Drop(graph);
    return state->Enter("cuGraphDestroy");
  };
  cu.cuGraphExecDestroy = [state](CUgraphExec executable) {
    const Lock lock(state->mutex);
    state->executables.Drop(executable);
    return state->Enter("cuGraphExecDestroy");
  };
}

void AddKernels(const State& state, cuda::DriverFunctions& cu) {
  cu.cuModuleLoadData = [state](CUmodule* module, const void* image) {
    const Lock lock(state->mutex);
    if (const CUresult code = state->Enter("cuModuleLoadData"); code != CUDA_SUCCESS) return code;
    const std::string text = static_cast<const char*>(image);
    Result<std::shared_ptr<const HostKernel>> kernel = HostKernel::Compile(text, state->build());
    if (!kernel.ok()) {
      state->Violate(kernel.error().message);
      return CUDA_ERROR_INVALID_IMAGE;
    }
    FakeModuleHandle* const loaded = state->modules.Make();
    loaded->device = *state->CurrentDevice();
    loaded->kernel = std::move(kernel).value();
    *module = reinterpret_cast<CUmodule>(loaded);
    return CUDA_SUCCESS;
  };
  cu.cuModuleUnload = [state](CUmodule module) {
    const Lock lock(state->mutex);
    state->modules.Drop(module);
    return state->Enter("cuModuleUnload");
  };
  cu.cuModuleGetFunction = [state](CUfunction* function, CUmodule module, const char* name) {
    const Lock lock(state->mutex);
    if (const CUresult code = state->Enter("cuModuleGetFunction", name); code != CUDA_SUCCESS) return code;
    if (std::string(name) != cuda::kKernelName) return CUDA_ERROR_NOT_FOUND;
    *function = reinterpret_cast<CUfunction>(module);
    return CUDA_SUCCESS;
  };
  cu.cuLaunchKernel = [state](CUfunction function, unsigned blocks, unsigned blocks_y, unsigned blocks_z,
                              unsigned threads, unsigned threads_y, unsigned threads_z, unsigned shared,
                              CUstream stream, void** parameters, void**) {
    const Lock lock(state->mutex);
    FakeModuleHandle* const module = state->modules.Find(function);
    FakeStreamHandle* const on = state->streams.Find(stream);
    if (module == nullptr || on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult code =
        state->EnterOn(on->device, "cuLaunchKernel",
                       Named("stream", on->number) + " " + Named("blocks", blocks) + " " + Named("threads", threads));
    if (code != CUDA_SUCCESS) return code;
    if (module->device != on->device) return CUDA_ERROR_INVALID_HANDLE;
    const bool fits = blocks > 0 && threads > 0 && threads <= 1024 && blocks_y == 1 && blocks_z == 1 &&
                      threads_y == 1 && threads_z == 1 && shared == 0;
    if (!fits) return CUDA_ERROR_INVALID_VALUE;
    const auto arguments = *static_cast<const cuda::Arguments*>(parameters[0]);  // as they are now, not when it runs
    FakeGpuState& owner = *state;                                                // of the work
    state->Submit(*on, [&owner, device = on->device, kernel = module->kernel, blocks, threads, arguments] {
      if (std::exchange(owner.devices[device].fault_next_kernel, false)) return false;
      const auto left_out = owner.left_out.find(kernel->text());
      kernel->Run(std::min(blocks, owner.options.most_blocks), threads, arguments, owner.judge,
                  left_out == owner.left_out.end() ? std::nullopt : std::optional(left_out->second));
      for (std::string& fault : owner.judge.TakeFaults()) owner.Violate(std::move(fault));
      return true;
    });
    return CUDA_SUCCESS;
  };
}

}  // namespace

cuda::DriverFunctions FakeDriverFunctions(const State& state) {
  cuda::DriverFunctions cu;
  AddMemory(state, cu);
  AddCopies(state, cu);
  AddStreams(state, cu);
  AddEvents(state, cu);
  AddCaptures(state, cu);
  AddGraphs(state, cu);
  AddKernels(state, cu);
  return cu;
}

namespace {

// A program of the fake NVRTC: its image is its text.
struct FakeSource {
  std::string text;
  bool is_ptx = false;
};
FakeSource& SourceOf(nvrtcProgram program) { return *reinterpret_cast<FakeSource*>(program); }

// The number behind `prefix` in the option that names an architecture; none where no option begins so.
std::optional<int> ArchitectureIn(int count, const char* const* options, const std::string& prefix) {
  for (int i = 0; i < count; ++i) {
    if (std::string(options[i]).starts_with(prefix)) return std::atoi(options[i] + prefix.size());
  }
  return std::nullopt;
}

// Code for a device is made for that very one; PTX is for it and for all later ones.
nvrtcResult CompileFor(FakeGpuState& state, FakeSource& source, int count, const char* const* options) {
  const std::optional<int> real = ArchitectureIn(count, options, "--gpu-architecture=sm_");
  const std::optional<int> least = ArchitectureIn(count, options, "--gpu-architecture=compute_");
  const std::optional<int> named = real ? real : least;
  if (!named || std::ranges::find(state.options.compiled_for, *named) == state.options.compiled_for.end()) {
    return NVRTC_ERROR_INVALID_OPTION;
  }
  ++state.compiled;
  const int device = state.options.architecture;
  if (real ? *real != device : *least > device) state.Violate("a kernel was compiled for another device");
  source.is_ptx = !real;
  return NVRTC_SUCCESS;
}

}  // namespace

cuda::CompilerFunctions FakeCompilerFunctions(const State& state) {
  cuda::CompilerFunctions compiler;
  compiler.nvrtcVersion = [](int* major, int* minor) {
    *major = CUDA_VERSION / 1000;
    *minor = CUDA_VERSION % 1000 / 10;
    return NVRTC_SUCCESS;
  };
  compiler.nvrtcGetErrorString = [](nvrtcResult) { return "as the fake was told"; };
  compiler.nvrtcGetNumSupportedArchs = [state](int* count) {
    *count = static_cast<int>(state->options.compiled_for.size());
    return NVRTC_SUCCESS;
  };
  compiler.nvrtcGetSupportedArchs = [state](int* architectures) {
    std::ranges::copy(state->options.compiled_for, architectures);
    return NVRTC_SUCCESS;
  };
  compiler.nvrtcCreateProgram = [](nvrtcProgram* program, const char* text, const char*, int, const char* const*,
                                   const char* const*) {
    *program = reinterpret_cast<nvrtcProgram>(new FakeSource{text});
    return NVRTC_SUCCESS;
  };
  compiler.nvrtcDestroyProgram = [](nvrtcProgram* program) {
    delete &SourceOf(*program);
    return NVRTC_SUCCESS;
  };
  compiler.nvrtcCompileProgram = [state](nvrtcProgram program, int count, const char* const* options) {
    const Lock lock(state->mutex);
    return CompileFor(*state, SourceOf(program), count, options);
  };
  compiler.nvrtcGetProgramLogSize = [](nvrtcProgram, size_t* bytes) {
    *bytes = 1;
    return NVRTC_SUCCESS;
  };
  compiler.nvrtcGetProgramLog = [](nvrtcProgram, char* log) {
    *log = '\0';
    return NVRTC_SUCCESS;
  };
  // There is none of a program for a virtual architecture.
  compiler.nvrtcGetCUBINSize = [](nvrtcProgram program, size_t* bytes) {
    const FakeSource& source = SourceOf(program);
    *bytes = source.is_ptx ? 0 : source.text.size();
    return NVRTC_SUCCESS;
  };
  compiler.nvrtcGetCUBIN = [](nvrtcProgram program, char* image) {
    const FakeSource& source = SourceOf(program);
    if (!source.is_ptx) std::memcpy(image, source.text.data(), source.text.size());
    return NVRTC_SUCCESS;
  };
  // A terminated text.
  compiler.nvrtcGetPTXSize = [](nvrtcProgram program, size_t* bytes) {
    *bytes = SourceOf(program).text.size() + 1;
    return NVRTC_SUCCESS;
  };
  compiler.nvrtcGetPTX = [](nvrtcProgram program, char* image) {
    const std::string& text = SourceOf(program).text;
    std::memcpy(image, text.c_str(), text.size() + 1);
    return NVRTC_SUCCESS;
  };
  return compiler;
}

}  // namespace pt::testing
