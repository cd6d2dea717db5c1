#include "lib/profiler/subject.h"

#include <sys/resource.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>

#include "lib/profiler/input_data.h"
#include "partitiontuner/profiler/measure.h"

namespace pt {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kBlock = 4096;  // what one core writes of a tensor before another
constexpr size_t kDisturbance = size_t{8} << 20;
constexpr size_t kDisturbanceWithoutConstants = size_t{4} << 20;
constexpr uint64_t kSeed = 20240229;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Keeps note of the packed constants a kernel asked for, so that they can be put where a run finds them.
class NotingWeightStore : public WeightStore {
 public:
  explicit NotingWeightStore(WeightStore& store) : store_(store) {}
  Result<std::shared_ptr<DeviceBuffer>> Get(Hash128 content, std::string_view format, DeviceDriver& device,
                                            uint64_t bytes, const Fill& fill) override {
    Result<std::shared_ptr<DeviceBuffer>> buffer = store_.Get(content, format, device, bytes, fill);
    if (buffer.ok()) noted_.push_back(*buffer);
    return buffer;
  }
  uint64_t bytes() const override { return store_.bytes(); }
  const std::vector<std::shared_ptr<DeviceBuffer>>& noted() const { return noted_; }

 private:
  WeightStore& store_;
  std::vector<std::shared_ptr<DeviceBuffer>> noted_;
};

// Outputs whose size is known only at run time: one buffer an output, kept from sample to sample as a session's
// pool keeps it.
class KeptOutputs : public OutputAllocator {
 public:
  explicit KeptOutputs(DeviceDriver& driver) : driver_(driver) {}
  Result<TensorView> Allocate(uint32_t index, DataType type, std::span<const int64_t> dims) override {
    PT_ASSIGN(TensorLayout layout,
              DenseLayout(type, std::vector<int64_t>(dims.begin(), dims.end()), RowMajor(dims.size())));
    PT_ASSIGN(const uint64_t bytes, BytesOf(layout));
    if (buffers_.size() <= index) buffers_.resize(index + 1);
    if (buffers_[index] == nullptr || buffers_[index]->bytes() < bytes) {
      PT_ASSIGN(buffers_[index], driver_.Allocate(bytes));
    }
    return TensorView{buffers_[index]->data(), std::move(layout)};
  }

 private:
  DeviceDriver& driver_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
};

void PushOutOfCaches(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  for (size_t at = 0; at < bytes.size(); at += kLine) _mm_clflush(bytes.data() + at);
  _mm_mfence();
#else
  static_cast<void>(bytes);  // no such instruction: the walk over junk has to do
#endif
}

// How often the system has taken a core of the team away so far.
int64_t Preemptions(Team& team) {
  std::atomic<int64_t> sum{0};
  auto count = [&](uint32_t, uint32_t) {
    rusage usage{};
    if (getrusage(RUSAGE_THREAD, &usage) == 0) sum += usage.ru_nivcsw;
  };
  team.OnEveryCore(count);
  return sum;
}

}  // namespace

CacheState::CacheState(uint32_t cores, uint64_t reuse_distance, bool in_memory)
    : cores_(cores), in_memory_(in_memory), sums_(cores, 0) {
  // Flushed constants need no long walk: the private caches and address translation are to be disturbed, no more.
  bytes_per_core_ = in_memory ? kDisturbance : static_cast<size_t>(reuse_distance) / cores;
  bytes_without_constants_ = std::min(bytes_per_core_, kDisturbanceWithoutConstants / cores);
  junk_.resize(bytes_per_core_ * cores, std::byte{1});
}

void CacheState::Prepare(Team& team, std::span<const std::span<const std::byte>> constants,
                         std::span<const std::span<std::byte>> outputs, std::span<const std::span<std::byte>> inputs,
                         std::span<const std::vector<std::byte>> fresh) {
  if (in_memory_) {
    for (const std::span<const std::byte> bytes : constants) PushOutOfCaches(bytes);
  }
  auto prepare = [&](uint32_t core, uint32_t cores) {
    const std::byte* own = junk_.data() + core * bytes_per_core_;
    const size_t bytes = constants.empty() ? bytes_without_constants_ : bytes_per_core_;
    for (size_t at = 0; at < bytes; at += kLine) sums_[core] += static_cast<uint64_t>(own[at]);
    for (const std::span<std::byte> output : outputs) {
      for (size_t at = core * kBlock; at < output.size(); at += cores * kBlock) {
        std::memset(output.data() + at, 0, std::min(kBlock, output.size() - at));
      }
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (size_t at = core * kBlock; at < inputs[i].size(); at += cores * kBlock) {
        std::memcpy(inputs[i].data() + at, fresh[i].data() + at, std::min(kBlock, inputs[i].size() - at));
      }
    }
  };
  team.ParallelFor(cores_, prepare);
}

struct Subject::State {
  explicit State(Machine& machine, DeviceDriver& device)
      : driver(device), weights(machine.weights()), outputs(device) {}

  DeviceDriver& driver;
  NotingWeightStore weights;
  KeptOutputs outputs;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<std::vector<std::byte>> fresh_inputs;  // what each input is set to before a sample
  std::vector<std::span<std::byte>> inputs, outputs_written;
  std::vector<std::byte> scratch;
  std::vector<std::span<const std::byte>> constants;
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<BoundKernel> bound;

  Result<TensorView> Allocate(const TensorLayout& layout, std::span<std::byte>* storage) {
    PT_ASSIGN(const uint64_t bytes, BytesOf(layout));
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> buffer, driver.Allocate(std::max<uint64_t>(bytes, 1)));
    TensorView view{buffer->data(), layout};
    *storage = {static_cast<std::byte*>(buffer->data()), bytes};
    buffers.push_back(std::move(buffer));
    return view;
  }
  Result<TensorView> AddInput(const TensorLayout& layout, ValueRange range) {
    std::span<std::byte> storage;
    PT_ASSIGN(TensorView view, Allocate(layout, &storage));
    FillInput(layout.type, range, kSeed + inputs.size(), storage);
    fresh_inputs.emplace_back(storage.begin(), storage.end());
    inputs.push_back(storage);
    return view;
  }
  Status Bind(std::span<const TensorView> in, std::span<const TensorView> out) {
    constexpr size_t kPad = kLine;
    scratch.resize(kernel->scratch_bytes() + kPad);
    void* aligned = scratch.data();
    size_t space = scratch.size();
    std::align(kPad, kernel->scratch_bytes(), aligned, space);
    PT_ASSIGN(bound, kernel->Bind(in, out, {static_cast<std::byte*>(aligned), kernel->scratch_bytes()}));
    for (const std::shared_ptr<DeviceBuffer>& buffer : weights.noted()) {
      constants.emplace_back(static_cast<const std::byte*>(buffer->data()), buffer->bytes());
    }
    return {};
  }
};

Subject::Subject(std::unique_ptr<State> state) : state_(std::move(state)) {}
Subject::~Subject() = default;

Result<std::unique_ptr<Subject>> Subject::OfCandidate(const Graph& graph, const Candidate& candidate, Machine& machine,
                                                      const UnitRunner& runner) {
  const Library* library = machine.library(candidate.library);
  if (library == nullptr) {
    return MakeError(ErrorCode::kUnsupported, "profiler.library", "library " + candidate.library + " is not there");
  }
  const Platform& platform = machine.platform();
  auto state = std::make_unique<State>(machine, machine.driver(platform.unit_class(candidate.unit_class).device));
  const std::vector<ValueId> input_values = GroupInputs(graph, candidate.nodes);
  const std::vector<ValueId> output_values = GroupOutputs(graph, candidate.nodes);
  const auto layout_of = [&](ValueId id, const Form& form) -> Result<TensorLayout> {
    const std::optional<std::vector<int64_t>> dims = graph.value(id).type.static_dims();
    if (!dims) {
      return MakeError(ErrorCode::kUnsupported, "profiler.dynamic",
                       "the dims of value " + graph.value(id).name + " are known only at run time");
    }
    return DenseLayout(form.storage, *dims, form.layout);
  };
  std::vector<TensorLayout> in_layouts, out_layouts;
  std::vector<TensorView> in, out;
  for (size_t i = 0; i < input_values.size(); ++i) {
    PT_ASSIGN(TensorLayout layout, layout_of(input_values[i], candidate.in[i]));
    PT_ASSIGN(TensorView view, state->AddInput(layout, RangeOf(graph, candidate.nodes, input_values[i])));
    in_layouts.push_back(std::move(layout));
    in.push_back(std::move(view));
  }
  for (size_t i = 0; i < output_values.size(); ++i) {
    if (!graph.value(output_values[i]).type.is_static()) {  // allocated by the kernel while it runs
      TensorLayout unknown;
      unknown.type = candidate.out[i].storage;
      unknown.layout = candidate.out[i].layout;
      out.push_back({nullptr, unknown});
      out_layouts.push_back(std::move(unknown));
      continue;
    }
    PT_ASSIGN(TensorLayout layout, layout_of(output_values[i], candidate.out[i]));
    const auto required = std::find_if(candidate.aliases.begin(), candidate.aliases.end(), [i](const Alias& alias) {
      return alias.out == i && alias.kind == Alias::Kind::kRequired;
    });
    if (required != candidate.aliases.end()) {
      out.push_back({in[required->in].data, layout});
    } else {
      std::span<std::byte> storage;
      PT_ASSIGN(TensorView view, state->Allocate(layout, &storage));
      state->outputs_written.push_back(storage);
      out.push_back(std::move(view));
    }
    out_layouts.push_back(std::move(layout));
  }
  const CompileContext own = runner.compile_context();
  CompileContext context{own.platform, own.device, own.team, state->weights, own.subgraphs};
  PT_ASSIGN(state->kernel, library->Compile(graph, candidate, in_layouts, out_layouts, context));
  PT_CHECK_OK(state->Bind(in, out));
  std::set<ValueId> seen;
  for (NodeId node : candidate.nodes) {
    for (ValueId input : graph.node(node).inputs) {
      if (!input.valid() || !graph.value(input).is_constant() || !seen.insert(input).second) continue;
      state->constants.push_back(graph.value(input).constant->bytes());
    }
  }
  return std::unique_ptr<Subject>(new Subject(std::move(state)));
}

Result<std::unique_ptr<Subject>> Subject::OfReorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                                    Machine& machine, const UnitRunner& runner) {
  const Platform& platform = machine.platform();
  const UnitClassId kind = platform.unit(runner.unit()).kind;
  const Library* library = ReorderLibrary(machine, kind, dims, from, to);
  if (library == nullptr) return MakeError(ErrorCode::kUnsupported, "profiler.reorder", "no library reorders this");
  auto state = std::make_unique<State>(machine, machine.driver(platform.unit_class(kind).device));
  const std::vector<int64_t> sizes(dims.begin(), dims.end());
  PT_ASSIGN(const TensorLayout from_layout, DenseLayout(from.storage, sizes, from.layout));
  PT_ASSIGN(const TensorLayout to_layout, DenseLayout(to.storage, sizes, to.layout));
  PT_ASSIGN(const TensorView in, state->AddInput(from_layout, {}));
  std::span<std::byte> storage;
  PT_ASSIGN(const TensorView out, state->Allocate(to_layout, &storage));
  state->outputs_written.push_back(storage);
  CompileContext context = runner.compile_context();
  PT_ASSIGN(state->kernel, library->CompileReorder(from_layout, to_layout, context));
  PT_CHECK_OK(state->Bind({&in, 1}, {&out, 1}));
  return std::unique_ptr<Subject>(new Subject(std::move(state)));
}

void Subject::Prepare(Team& team, CacheState& caches) {
  caches.Prepare(team, state_->constants, state_->outputs_written, state_->inputs, state_->fresh_inputs);
}

Result<Timing> Subject::Sample(Stream& stream, uint32_t batch) {
  Team& team = *stream.team();
  const int64_t preemptions = Preemptions(team);
  const int64_t start = NowNs();
  for (uint32_t i = 0; i < batch; ++i) {
    PT_CHECK_OK(state_->bound->Enqueue(stream, state_->outputs));
  }
  const int64_t ns = NowNs() - start;
  return Timing{ns / batch, Preemptions(team) != preemptions};
}

int64_t ClockOverheadNs() {
  int64_t least = INT64_MAX;
  for (int i = 0; i < 1000; ++i) {
    const int64_t start = NowNs();
    least = std::min(least, NowNs() - start);
  }
  return least;
}

}  // namespace pt
