// The seam between plans and what computes: Device (memory, streams, events), Library (turns groups into kernels),
// Kernel (compiled, immutable, re-entrant), BoundKernel (one per step and run state: the hot path). Backends
// never see a plan. docs/add-a-library.md walks through one.
#pragma once

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
#include "partitiontuner/support/result.h"

namespace pt {

// Where a tensor is during a run. data is null only for tensors of zero bytes.
struct TensorView {
  void* data = nullptr;
  TensorLayout layout;
};

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
};

// Device memory; freed when destroyed.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  virtual void* data() = 0;  // host-addressable only on host-like devices
  virtual uint64_t bytes() const = 0;
};

// Recorded in a stream; Ready never blocks. Re-used from run to run by recording again.
class Event {
 public:
  virtual ~Event() = default;
  // Callable from any core. An error is the device's (kRunFailed), reported late.
  virtual Result<bool> Ready() = 0;
  // On devices with a virtual clock: that clock when the recorded point was reached.
  virtual std::optional<int64_t> virtual_ns() const { return std::nullopt; }
};

// An order of work on a device. The host's stream runs everything at once on the calling core and its team.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Status Record(Event& event) = 0;
  virtual Team* team() { return nullptr; }  // host streams only
  // Devices with a virtual clock: work enqueued next starts no earlier than this (what it waited for).
  virtual void AdvanceVirtualClock(int64_t /*ns*/) {}
};

enum class CopyDirection : uint8_t { kToDevice, kFromDevice, kWithin };

class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;
  virtual DeviceId id() const = 0;
  virtual Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) = 0;  // 64-byte aligned; kOutOfMemory
  virtual Result<std::unique_ptr<Stream>> MakeStream() = 0;
  virtual Result<std::unique_ptr<Event>> MakeEvent() = 0;
  // Enqueues a copy of bytes; the host side stays valid until it is done.
  virtual Status EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction) = 0;
};

// Buffers of outputs whose size is known only at run time. The executor's pool implements it.
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  // Storage for output `index` of the running step, dense row-major dims.
  virtual Result<TensorView> Allocate(uint32_t index, DataType type, std::span<const int64_t> dims) = 0;
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

// Runs nested graphs for control flow; the executor lends it.
class SubgraphRunner {
 public:
  virtual ~SubgraphRunner() = default;
  virtual Result<std::vector<Tensor>> RunGraph(const Graph& graph, std::span<const Tensor> inputs) = 0;
};

struct CompileContext {
  const Platform& platform;
  DeviceDriver& device;
  // Host units: as wide as the team the kernel will run on, which it finds in Stream::team() at run time. ParallelFor
  // on this one runs serially on the calling thread.
  Team* team = nullptr;
  WeightStore& weights;
  SubgraphRunner* subgraphs = nullptr;
};

// Bound to the memory of one run state. One run at a time.
class BoundKernel {
 public:
  virtual ~BoundKernel() = default;
  // On the host: runs to completion on stream.team(). On asynchronous devices: enqueues. Allocates nothing
  // of our own. Errors: bad data met at run time (index out of range: kInvalidInput), kernel faults (kRunFailed).
  virtual Status Enqueue(Stream& stream, OutputAllocator& outputs) noexcept = 0;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual uint64_t scratch_bytes() const { return 0; }
  // in, out as the candidate's, at their final addresses and strides; scratch of at least scratch_bytes.
  virtual Result<std::unique_ptr<BoundKernel>> Bind(std::span<const TensorView> in, std::span<const TensorView> out,
                                                    std::span<std::byte> scratch) const = 0;
};

class Library {
 public:
  virtual ~Library() = default;
  virtual std::string_view name() const = 0;
  virtual std::string version() const = 0;  // part of measurement keys
  virtual bool Serves(const Platform& platform, DeviceId device) const = 0;

  // Ways to run single nodes and the natural groups, for every unit class of its devices. What cannot run is
  // simply not proposed. Layouts: convolution and the like propose; an agnostic operator is offered once per
  // layout proposed for its inputs (`proposed`: forms other candidates make for each value).
  virtual std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform) const = 0;
  // Second round: layout-agnostic single nodes and groups for the forms that candidates so far make or take.
  virtual std::vector<Candidate> AgnosticCandidates(const Graph& graph, const Platform& platform,
                                                    std::span<const Candidate> so_far) const = 0;
  // Can these nodes be one kernel? Ways to do so, none if not.
  virtual std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform,
                                               std::span<const NodeId> nodes) const = 0;
  // What this library says of a candidate that somebody else names: the one it makes for asked's nodes, unit class,
  // variant, math and forms, with its own aliases, elision and sizes; kUnsupported when it makes none such. Whatever
  // Candidates and AgnosticCandidates have offered is described as it was offered. asked's ids are in range, its nodes
  // ascend; nothing else of it is believed. The default looks among CandidatesFor; a library that offers forms which
  // those do not list overrides it.
  virtual Result<Candidate> Describe(const Graph& graph, const Platform& platform, const Candidate& asked) const;
  // Why it cannot run the node at all; nullopt when it can. For typed refusals that name the operator.
  virtual std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const = 0;

  // in/out: final layouts of the candidate's inputs and outputs.
  virtual Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                                  std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                                  CompileContext& context) const = 0;

  // Reorders between forms on one device.
  virtual bool CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims,
                          const Form& from, const Form& to) const = 0;
  virtual Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                         CompileContext& context) const = 0;

  // Simulated libraries know their times from a file; nothing is measured then.
  virtual std::optional<int64_t> KnownCost(const Graph&, const Platform&, const Candidate&) const {
    return std::nullopt;
  }
};

// The answer of Describe to a candidate that a library does not make: kUnsupported, with what was asked for.
Error NoSuchCandidate(const Graph& graph, const Platform& platform, const Candidate& asked);

}  // namespace pt
