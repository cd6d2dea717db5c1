// The seam between plans and what computes: Device (memory, streams, events), Library (turns groups into kernels),
// Kernel (compiled, immutable, re-entrant), BoundKernel (one per step and run state: the hot path). Backends
// never see a plan. docs/add-a-library.md walks through one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/candidate/precision.h"
#include "partitiontuner/support/result.h"

namespace pt {

// Where a tensor is during a run. data is null only for tensors of zero bytes.
struct TensorView {
  void* data = nullptr;
  TensorLayout layout;
};

// The slots a kernel is bound to: views at addresses that stay the same for the life of the bound kernel; the run state
// owns them. A slot whose layout was static at Compile is final at Bind. A slot of a size known only at run time is
// filled anew in every run: an input before the kernel is enqueued, an output by RunContext::outputs.
using TensorSlots = std::span<const TensorView* const>;

// A borrowed callable, valid during the call it is passed to; never allocates.
class ParallelBody {
 public:
  template <typename F>
  ParallelBody(F& f) : object_(&f), call_([](void* o, uint32_t i, uint32_t n) { (*static_cast<F*>(o))(i, n); }) {}
  void operator()(uint32_t i, uint32_t n) const { call_(object_, i, n); }

 private:
  void* object_;
  void (*call_)(void*, uint32_t, uint32_t);
};

// The cores of one host unit while they run a step. ParallelFor is called by the leading core only.
class Team {
 public:
  virtual ~Team() = default;
  virtual uint32_t width() const = 0;
  // body(i, n) for i in 0..n-1, spread over the cores; returns when all are done. A width of 1 runs inline.
  // Nested calls run inline. noexcept bodies only.
  virtual void ParallelFor(uint32_t n, ParallelBody body) = 0;
  // body(i, width) once on every core i, by that very core: waits for a core that the system has taken away, where
  // ParallelFor has another do its share. For what belongs to a core, such as its counters. noexcept bodies only; not
  // from within a body.
  virtual void OnEveryCore(ParallelBody body) = 0;
};

// Device memory, or host memory that a device reaches; freed when destroyed. Never destroy what a device may still use:
// Stream::Synchronize says when it does not.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  virtual void* data() = 0;  // host-addressable on host-like devices, and when made by AllocateHost
  virtual uint64_t bytes() const = 0;
};

// A point in a stream's work. Re-used from run to run by recording again.
class Event {
 public:
  virtual ~Event() = default;
  // True once the point recorded last is reached. Never blocks; callable from any core. Errors: what the device reports
  // of the work up to that point, late (kRunFailed, or kInvalidInput for bad data met at run time); work that was
  // revoked (kRunFailed, "stream.revoked").
  virtual Result<bool> Ready() = 0;
  // Nanoseconds of the device's clock from the point of `since` to this point; negative when this one came first. Both
  // must be events of this device, and ready (kUsage otherwise).
  virtual Result<int64_t> ElapsedNs(const Event& since) const = 0;
};

class Stream;

// Work of one or more streams, recorded once by Stream::BeginCapture and launched as one. Holds the addresses that were
// bound when it was recorded: record anew when they change.
class Executable {
 public:
  virtual ~Executable() = default;
  // Enqueues all of it: it starts when the work before it in `stream` is over, and what is enqueued to `stream` next
  // starts when all of it is over. `stream` is of the device that recorded it. One launch at a time. Does not block.
  virtual Status Launch(Stream& stream) = 0;
};

// An order of work on a device: each piece starts when the one enqueued before it is over. Several streams of a device
// go on side by side. The host's stream runs everything at once on the calling core and its team. One caller at a time,
// except for Synchronize and Revoke, which any thread may call at any time. Destroy a stream only when it is idle.
class Stream {
 public:
  virtual ~Stream() = default;
  // The event becomes ready when all that was enqueued so far is over.
  virtual Status Record(Event& event) = 0;
  // What is enqueued from now on starts when the point that `event` was recorded at last is reached. The host does not
  // block. Events of another device: see DeviceDriver::CanWaitFor. For an event never recorded it does not wait.
  virtual Status Wait(Event& event) = 0;
  // Blocks until all that was enqueued is over, for `patience` at most: true when it is, false when the device still
  // works on it. Errors: the first that the device reports since the last call; the stream is usable again afterwards.
  virtual Result<bool> Synchronize(std::chrono::nanoseconds patience) = 0;
  // Drops what was enqueued and has not begun; what has begun goes on. Events behind dropped work become ready with an
  // error, and so do the streams that wait for those. Follow it with Synchronize.
  virtual void Revoke() = 0;

  // Between these two calls enqueued work is recorded instead of run: that of this stream and of every other stream of
  // the device from its first Wait for an event recorded in the capture on. Such streams must have come back, by this
  // stream waiting for an event behind their last work, before EndCapture. Record and Wait become part of the
  // recording: every launch records the events anew. Only on drivers that CanCapture; kUnsupported otherwise.
  // EndCapture ends the capture for all its streams, also when it returns an error.
  virtual Status BeginCapture();
  virtual Result<std::unique_ptr<Executable>> EndCapture();

  virtual Team* team() { return nullptr; }  // host streams only
};

// From the side of the driver that copies. The other side is its peer: the host, or a device it CanReach.
enum class CopyDirection : uint8_t { kToDevice, kFromDevice, kWithin };

// Memory and streams of one device, as a backend brings them.
class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;
  virtual DeviceId id() const = 0;
  virtual Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) = 0;  // 64-byte aligned; kOutOfMemory
  // Host memory that this device copies from and to without a stop in between (pinned). 64-byte aligned; kOutOfMemory.
  virtual Result<std::unique_ptr<DeviceBuffer>> AllocateHost(uint64_t bytes) = 0;
  // Wishes the whole pages within [offset, offset + bytes) of a buffer that this driver allocated onto the memory node
  // `node` (the operating system's number). A wish: where the system refuses, the pages stay where they are.
  virtual void PlaceNear(DeviceBuffer& /*buffer*/, uint64_t /*offset*/, uint64_t /*bytes*/, uint32_t /*node*/) {}
  virtual Result<std::unique_ptr<Stream>> MakeStream() = 0;
  virtual Result<std::unique_ptr<Event>> MakeEvent() = 0;
  // For order alone, which some devices have cheaper: its ElapsedNs may answer kUsage. The default keeps time as well.
  virtual Result<std::unique_ptr<Event>> MakeUntimedEvent() { return MakeEvent(); }
  // Enqueues a copy of bytes between this device's memory and that of `peer`, the host unless said otherwise; `peer`
  // has no meaning for kWithin. Both sides stay valid until it is over.
  virtual Status EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                             DeviceId peer = kHostDevice) = 0;
  // Streams of this device can wait for events of that one.
  virtual bool CanWaitFor(const DeviceDriver& other) const { return &other == this; }
  // Copies between this device's memory and that one's need no stop on the host.
  virtual bool CanReach(const DeviceDriver& /*other*/) const { return false; }
  // Streams can be captured.
  virtual bool CanCapture() const { return false; }
  // Its work takes no time on the wall clock: runs are timed by what the libraries know of it (Library::KnownCost) and
  // by what the platform says of its links.
  virtual bool HasVirtualClock() const { return false; }
};

// Buffers of outputs whose size is known only at run time. The executor's pool implements it.
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  // Storage for output `index` of the running step, dense row-major dims, once a run; the output's slot says the same
  // afterwards. kOutOfMemory when the run's limit does not allow it.
  virtual Result<TensorView> Allocate(uint32_t index, DataType type, std::span<const int64_t> dims) = 0;
};

// Temporary host memory of sizes known only at run time, kept from run to run. Not thread-safe: the leading core's.
class RunMemory {
 public:
  virtual ~RunMemory() = default;
  // 64-byte aligned; null for 0 bytes. kOutOfMemory when the run's limit does not allow it.
  virtual Result<void*> Take(uint64_t bytes) = 0;
  virtual void GiveBack(void* data) noexcept = 0;  // null is allowed
};

// Whether the run was cancelled, is past its deadline or has failed elsewhere. Kernels that may run for long look at it
// now and then, and return an error (kRunFailed) when it says so. The leading core's.
class StopFlag {
 public:
  virtual ~StopFlag() = default;
  virtual bool ShouldStop() noexcept = 0;
};

// What a kernel meets when it is enqueued; valid during the call.
struct RunContext {
  Stream& stream;
  OutputAllocator& outputs;
  RunMemory& memory;
  StopFlag& stop;
};

// Packed constant weights, shared by all plans, widths and sessions. Thread-safe.
class WeightStore {
 public:
  virtual ~WeightStore() = default;
  using Fill = std::function<Status(DeviceBuffer&)>;
  // The buffer of (content, packed format, device); made by `fill` on first use, once even under concurrency.
  virtual Result<std::shared_ptr<DeviceBuffer>> Get(Hash128 content, std::string_view format, DeviceDriver& device,
                                                    uint64_t bytes, const Fill& fill) = 0;
  virtual uint64_t bytes() const = 0;
};
std::unique_ptr<WeightStore> MakeWeightStore();

// A nested graph of control flow with memory of its own: belongs to the bound kernel that runs it.
class BoundSubgraph {
 public:
  virtual ~BoundSubgraph() = default;
  // inputs: the graph's inputs, then what it captures, row-major on the host. Runs on run.stream's team. Outputs last
  // until the next Run or Release; static ones that nodes make lie where run.outputs says (no data: anywhere).
  virtual Status Run(const RunContext& run, std::span<const TensorView> inputs) noexcept = 0;
  virtual std::span<const TensorView> outputs() const = 0;  // in the graph's order
  // Gives back what the last run took from run.memory. Call it before Enqueue returns.
  virtual void Release(const RunContext& run) noexcept = 0;
};

// A nested graph that was compiled once. Immutable, shared by run states.
class CompiledSubgraph {
 public:
  virtual ~CompiledSubgraph() = default;
  virtual Result<std::unique_ptr<BoundSubgraph>> Bind() const = 0;
};

// Compiles nested graphs for control flow; the executor lends it.
class SubgraphCompiler {
 public:
  virtual ~SubgraphCompiler() = default;
  virtual Result<std::shared_ptr<const CompiledSubgraph>> Compile(std::shared_ptr<const Graph> graph) = 0;
};

// What a kernel is compiled for.
struct CompileContext {
  const Platform& platform;
  DeviceDriver& device;
  // Host units: as wide as the team the kernel will run on, which it finds in Stream::team() at run time. ParallelFor
  // on this one runs serially on the calling thread.
  Team* team = nullptr;
  WeightStore& weights;
  SubgraphCompiler* subgraphs = nullptr;  // null: nested graphs cannot be run here
};

// Bound to the memory of one run state. One run at a time.
class BoundKernel {
 public:
  virtual ~BoundKernel() = default;
  // On the host: runs to completion on run.stream.team(). On asynchronous devices: enqueues. Allocates nothing of our
  // own where all sizes are static. Errors: bad data met at run time (index out of range: kInvalidInput), kernel faults
  // (kRunFailed).
  virtual Status Enqueue(const RunContext& run) noexcept = 0;
};

// A compiled candidate, which is bound to the memory of each run state.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual uint64_t scratch_bytes() const { return 0; }
  // Host kernels: Enqueue computes on threads of the kernel's own (a library with its own pool) instead of the team.
  // The step's helpers then sleep until it is over, and their cores stay held for it. Such threads are made in Compile,
  // and are no more than the unit has cores; a thread made within Enqueue would stay on the leading core alone.
  virtual bool brings_threads() const { return false; }
  // in, out as the candidate's: static slots at their final addresses and strides, which may be read at once, slots of
  // sizes known only at run time to be read by Enqueue. Scratch of at least scratch_bytes.
  virtual Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                                    std::span<std::byte> scratch) const = 0;
};

// What has a default is right for a library of single nodes that takes tensors as they come. A library around another
// one forwards all of them, those with defaults too.
class Library {
 public:
  virtual ~Library() = default;
  virtual std::string_view name() const = 0;
  virtual std::string version() const = 0;  // part of measurement keys
  virtual bool Serves(const Platform& platform, DeviceId device) const = 0;
  // The math modes in which it computes on some device of the platform that it serves. The default: fp32 alone.
  virtual Precision Modes(const Platform& platform) const;

  // Ways to run single nodes and the natural groups, for every unit class of its devices, in layouts of the library's
  // own choice and the math modes that `precision` allows and the device has instructions for; what cannot run is
  // simply not offered. Like all answers below, it depends on the arguments alone: the platform may be that of another
  // machine. The default: CandidatesFor each node alone.
  virtual std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                            const Precision& precision) const;
  // Second round: layout-agnostic single nodes and groups for the forms (layout and storage) that candidates so far
  // make or take. The default: none.
  virtual std::vector<Candidate> AgnosticCandidates(const Graph& graph, const Platform& platform,
                                                    std::span<const Candidate> so_far) const;
  // Ways to run exactly these nodes as one kernel; none if they cannot be. Describe looks among them.
  virtual std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform,
                                               std::span<const NodeId> nodes, const Precision& precision) const = 0;
  // What this library says of a candidate that somebody else names: the one it makes for asked's nodes, unit class,
  // variant, math and forms, with its own aliases, elision and sizes; kUnsupported when it makes none such. Whatever
  // Candidates and AgnosticCandidates have offered is described as it was offered. asked's ids are in range, its nodes
  // ascend; nothing else of it is believed. The default looks among CandidatesFor; a library that offers forms which
  // those do not list overrides it.
  virtual Result<Candidate> Describe(const Graph& graph, const Platform& platform, const Candidate& asked) const;
  // Why it cannot run the node at all; nullopt when it can. For typed refusals that name the operator.
  virtual std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const = 0;

  // in/out: final layouts of the candidate's inputs and outputs. Kernels of the host are compiled on several threads at
  // once, those of one session too.
  virtual Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                                  std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                                  CompileContext& context) const = 0;

  // Reorders between forms on one device. The defaults: it can do none, and kUnsupported.
  virtual bool CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims,
                          const Form& from, const Form& to) const;
  virtual Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                         CompileContext& context) const;

  // Simulated libraries know their times from a file; nothing is measured then. The default: not known.
  virtual std::optional<int64_t> KnownCost(const Graph& graph, const Platform& platform,
                                           const Candidate& candidate) const;
};

// The answer of Describe to a candidate that a library does not make: kUnsupported, with what was asked for.
Error NoSuchCandidate(const Graph& graph, const Platform& platform, const Candidate& asked);

}  // namespace pt
