#include "partitiontuner/exec/session.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "lib/exec/alone_choice.h"
#include "lib/exec/clock.h"
#include "lib/exec/compiled_plan.h"
#include "lib/exec/core_waits.h"
#include "lib/exec/dispatch_state.h"
#include "lib/exec/lost_devices.h"
#include "lib/exec/overlap_share.h"
#include "lib/exec/run_state.h"
#include "partitiontuner/support/caught.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/dims_text.h"

namespace pt {
namespace {

Error BadTensor(const Graph& graph, ValueId value, const char* role, std::string why) {
  return MakeError(ErrorCode::kInvalidInput, "run.tensor",
                   std::string(role) + " '" + graph.value(value).name + "' " + std::move(why));
}

// What a caller's tensor must be, found once.
struct Wanted {
  ValueId value;
  DataType type = DataType::kUndefined;
  DeviceId device;
  bool sized = true;  // before the run
  bool datum = false;
  std::vector<int64_t> dims;
  uint64_t bytes = 0;
};

Result<std::vector<Wanted>> WantedOf(const Graph& graph, const LentOn& lent_on, std::span<const ValueId> values) {
  std::vector<Wanted> wanted;
  for (ValueId id : values) {
    const ValueType& type = graph.value(id).type;
    const DeviceId device = LentDevice(lent_on, id);
    const std::optional<std::vector<int64_t>> dims = type.static_dims();
    if (IsHeldAsDatum(type)) {
      wanted.push_back({id, type.type, device, false, true, {}, 0});
      continue;
    }
    if (!dims && BitsOf(type.type) != 0 && type.other.empty()) {
      wanted.push_back({id, type.type, device, false, false, {}, 0});
      continue;
    }
    if (!dims || BitsOf(type.type) == 0) {
      return MakeError(
          ErrorCode::kUnsupported, "session.tensor",
          "'" + graph.value(id).name + "' of type " + ToString(type) + " cannot be exchanged with the caller");
    }
    PT_ASSIGN(const TensorLayout layout, DenseLayout(type.type, *dims, RowMajor(dims->size())));
    PT_ASSIGN(const uint64_t bytes, BytesOf(layout));
    wanted.push_back({id, type.type, device, true, false, *dims, bytes});
  }
  return wanted;
}

Status CheckDatum(const Graph& graph, const Wanted& wanted, const LentTensor& given, const char* role) {
  const ValueType& type = graph.value(wanted.value).type;
  const bool input = std::string_view(role) == "input";
  if (given.data != nullptr || given.bytes != 0 || (given.datum != nullptr) != input) {
    return BadTensor(
        graph, wanted.value, role,
        "is " + ToString(type) +
            (input ? ": give it as a datum, without a buffer" : ": give no buffer for it, it comes with the report"));
  }
  if (!input || Agrees(type, *given.datum)) return {};
  return BadTensor(graph, wanted.value, role, "is " + ToString(type) + ", not " + ToString(*given.datum));
}

Status CheckTensor(const Graph& graph, const Platform& platform, const Wanted& wanted, const LentTensor& given,
                   const char* role) {
  if (given.device != wanted.device) {
    const std::string lent = given.device.index() < platform.devices.size()
                                 ? platform.device(given.device).name
                                 : "device " + std::to_string(given.device.value);
    return BadTensor(graph, wanted.value, role,
                     "is lent on " + lent + ", the plan wants it on " + platform.device(wanted.device).name);
  }
  if (wanted.datum) return CheckDatum(graph, wanted, given, role);
  if (given.datum != nullptr) return BadTensor(graph, wanted.value, role, "is a tensor of numbers, given as a datum");
  if (given.type != wanted.type) {
    return BadTensor(graph, wanted.value, role,
                     "is " + std::string(DataTypeName(wanted.type)) + ", not " + std::string(DataTypeName(given.type)));
  }
  uint64_t bytes = wanted.bytes;
  if (!wanted.sized && std::string_view(role) == "output") {
    if (given.data == nullptr && given.bytes == 0) return {};
    return BadTensor(graph, wanted.value, role, "has a size known only at run time: give no buffer for it");
  }
  if (!wanted.sized) {
    PT_ASSIGN(const TensorLayout layout, DenseLayout(given.type, given.dims, RowMajor(given.dims.size())));
    PT_ASSIGN(bytes, BytesOf(layout));
  } else if (given.dims != wanted.dims) {
    return BadTensor(graph, wanted.value, role, "has dims " + DimsText(wanted.dims) + ", not " + DimsText(given.dims));
  }
  if (given.bytes != bytes) {
    return BadTensor(graph, wanted.value, role,
                     "has " + std::to_string(bytes) + " bytes, not " + std::to_string(given.bytes));
  }
  if (given.bytes > 0 && given.data == nullptr) return BadTensor(graph, wanted.value, role, "has no buffer");
  const auto size = static_cast<uint64_t>(std::max<int64_t>(1, BytesOf(given.type)));  // packed: any byte
  const auto alignment = size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1;
  if (reinterpret_cast<uintptr_t>(given.data) % static_cast<uintptr_t>(alignment) != 0) {
    return BadTensor(graph, wanted.value, role, "lies at an address that is not a multiple of its element size");
  }
  return {};
}

Status CheckConstant(const Graph& graph, ValueId input, const Tensor& wanted, const LentTensor& given) {
  if (given.bytes == wanted.bytes().size() && std::memcmp(given.data, wanted.bytes().data(), given.bytes) == 0)
    return {};
  return MakeError(ErrorCode::kInvalidInput, "run.constant",
                   "input '" + graph.value(input).name + "' has another value than the constant it was said to be",
                   "load the model with that value, or without a constant for this input");
}

uint32_t MostRunStates(const SessionOptions& options) { return std::clamp<uint32_t>(options.max_run_states, 1, 4096); }

bool Overlap(const LentTensor& a, const LentTensor& b) {
  const auto begin = [](const LentTensor& t) { return reinterpret_cast<uintptr_t>(t.data); };
  return a.device == b.device && a.bytes > 0 && b.bytes > 0 && begin(a) < begin(b) + b.bytes &&
         begin(b) < begin(a) + a.bytes;
}

// A run state, with all that its kernels need, that a device still works on.
class AbandonedRun : public DeviceWork {
 public:
  AbandonedRun(std::shared_ptr<const CompiledPlan> plan, std::unique_ptr<RunState> state)
      : plan_(std::move(plan)), state_(std::move(state)) {}
  bool IsIdle() override { return state_->IsIdle(); }

 private:
  std::shared_ptr<const CompiledPlan> plan_;
  std::unique_ptr<RunState> state_;
};

Result<std::unique_ptr<RunState>> MakeRunState(const CompiledPlan& plan) {
  return plan.dispatch ? DispatchState::Make(plan) : RunState::Make(plan);
}

Status CheckDevices(const CompiledPlan& compiled) {
  for (DeviceId device : compiled.devices) {
    if (!compiled.machine.lost_devices().IsLost(device)) continue;
    const std::string& name = compiled.machine.platform().device(device).name;
    Error error = MakeError(ErrorCode::kRunFailed, "device.lost",
                            "device " + name + " is lost: it did not finish the work of an earlier run",
                            "start the process anew, or run a plan without it");
    error.device = name;
    return error;
  }
  return {};
}

}  // namespace

// A plan, compiled, with the run states that exist for it. A run holds on to the deck it began with, so that one that
// is replaced meanwhile lives until its last run is over.
struct Session::Deck {
  std::shared_ptr<const CompiledPlan> compiled;
  std::vector<std::unique_ptr<RunState>> run_states;  // guarded by the session's mutex, as are the next two
  std::vector<RunState*> free;
  size_t growing = 0;  // run states being made
  bool may_run_alone = false;
  bool one_core_paid = false;  // by the quota: threads that wait for each other would have all of them stopped
  OverlapShare overlap_share;  // guarded likewise
  std::optional<AloneChoice> single, overlapping;  // for runs by themselves, and beside others; guarded likewise
  std::vector<uint32_t> alone_on;  // by RunState::AloneWorkers: runs that go alone there; guarded likewise

  AloneChoice& ChoiceOf(bool overlaps) { return overlaps ? *overlapping : *single; }
  // For a run that goes alone: the core with the fewest of those; the first where more than one would not be paid.
  size_t TakeCore() {
    const auto at = one_core_paid ? alone_on.begin() : std::ranges::min_element(alone_on);
    ++*at;
    return static_cast<size_t>(at - alone_on.begin());
  }

  // Hands a run state that a device still works on to the machine.
  void Abandon(const RunState& run) {
    const auto own = std::find_if(run_states.begin(), run_states.end(), [&](const auto& s) { return s.get() == &run; });
    compiled->machine.lost_devices().Keep(std::make_unique<AbandonedRun>(compiled, std::move(*own)));
    run_states.erase(own);
  }

  static Result<std::shared_ptr<Deck>> Make(std::shared_ptr<const CompiledPlan> compiled);
};

struct Session::State {
  std::shared_ptr<const Graph> graph;
  Machine& machine;
  SessionOptions options;
  std::vector<Wanted> inputs, outputs;

  mutable std::mutex mutex;
  std::condition_variable available;  // a run state is free, or may be made; one run a notice
  std::condition_variable idle;       // no run is in progress
  std::shared_ptr<Deck> deck;         // of the plan that new runs take
  size_t runs = 0;                    // calls of Run in progress

  // Counts a call of Run for as long as it lasts.
  class RunCount {
   public:
    explicit RunCount(State& state) : state_(state) {
      const std::lock_guard lock(state_.mutex);
      ++state_.runs;
    }
    ~RunCount() {
      const std::lock_guard lock(state_.mutex);
      if (--state_.runs == 0) state_.idle.notify_all();
    }
    RunCount(const RunCount&) = delete;
    RunCount& operator=(const RunCount&) = delete;

   private:
    State& state_;
  };

  // Ends a growth that was counted, however it went.
  struct Growth {
    Growth(State& s, Deck& d) : state(s), deck(d) {}
    ~Growth() {
      const std::lock_guard lock(state.mutex);
      --deck.growing;
      state.available.notify_one();
    }
    Growth(const Growth&) = delete;
    Growth& operator=(const Growth&) = delete;
    State& state;
    Deck& deck;
  };

  // A run state and the deck it belongs to; given back when it goes.
  class Lease {
   public:
    Lease(State& state, std::shared_ptr<Deck> deck, RunState& run)
        : state_(state), deck_(std::move(deck)), run_(&run) {}
    Lease(Lease&& other) noexcept
        : state_(other.state_),
          deck_(std::move(other.deck_)),
          run_(other.run_),
          alone_on_(other.alone_on_),
          overlaps_(other.overlaps_),
          judged_(other.judged_) {
      other.run_ = nullptr;
    }
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (run_ == nullptr) return;
      const std::lock_guard lock(state_.mutex);
      if (alone_on_) --deck_->alone_on[*alone_on_];
      if (judged_ && took_ns_ > 0 && (overlaps_ || state_.runs == 1)) deck_->ChoiceOf(overlaps_).Note(way(), took_ns_);
      if (run_->hung()) {
        deck_->Abandon(*run_);
      } else {
        deck_->free.push_back(run_);  // room was reserved for all
      }
      state_.available.notify_one();
    }
    RunState& run() const { return *run_; }

    // Where runs often overlap all are judged by themselves: what they take tells of the others as well. One that
    // begins beside a run by all cores, now and then, does as that one does: alone it would wait for it and take
    // longer.
    void ChooseWay(bool traced) {
      const AloneRuns wish = state_.options.alone;
      if (!deck_->may_run_alone || traced || wish == AloneRuns::kNever) return;
      const std::lock_guard lock(state_.mutex);
      deck_->overlap_share.Note(state_.runs > 1);
      overlaps_ = deck_->overlap_share.often();
      judged_ = wish == AloneRuns::kAuto && !deck_->one_core_paid;
      if (judged_ && deck_->ChoiceOf(overlaps_).Next() == AloneChoice::Way::kTogether) return;
      alone_on_ = deck_->TakeCore();
    }
    std::optional<size_t> alone_on() const { return alone_on_; }
    // Of a run that went well.
    void NoteTime(int64_t took_ns) { took_ns_ = took_ns; }

   private:
    AloneChoice::Way way() const { return alone_on_ ? AloneChoice::Way::kAlone : AloneChoice::Way::kTogether; }

    State& state_;
    std::shared_ptr<Deck> deck_;
    RunState* run_;
    std::optional<size_t> alone_on_;
    bool overlaps_ = false, judged_ = false;
    int64_t took_ns_ = 0;
  };

  // Without a deck.
  static Result<std::unique_ptr<State>> Make(std::shared_ptr<const Graph> graph, const LentOn& lent_on,
                                             Machine& machine, const SessionOptions& options);
  // Of the plan that new runs take.
  std::shared_ptr<const CompiledPlan> compiled() const {
    const std::lock_guard lock(mutex);
    return deck->compiled;
  }
  Status CheckConstantInputs() const;
  Status CheckTensors(std::span<const LentTensor> given_inputs, std::span<const LentTensor> given_outputs) const;
  Result<Lease> Take(std::span<const LentTensor> given_inputs, std::span<const LentTensor> given_outputs,
                     const RunLimits& limits);
};

// Their values can be seen on the host alone.
Status Session::State::CheckConstantInputs() const {
  if (options.constant_inputs.empty()) return {};
  if (options.constant_inputs.size() != inputs.size()) {
    return MakeError(ErrorCode::kUsage, "session.constants",
                     std::to_string(options.constant_inputs.size()) + " constant inputs for a graph of " +
                         std::to_string(inputs.size()) + " inputs");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!options.constant_inputs[i] || (IsHost(inputs[i].device) && !inputs[i].datum)) continue;
    return MakeError(ErrorCode::kUsage, "session.constants",
                     "the constant input '" + graph->value(inputs[i].value).name + "' is not a tensor on the host");
  }
  return {};
}

Status Session::State::CheckTensors(std::span<const LentTensor> given_inputs,
                                    std::span<const LentTensor> given_outputs) const {
  if (given_inputs.size() != inputs.size() || given_outputs.size() != outputs.size()) {
    return MakeError(ErrorCode::kInvalidInput, "run.count",
                     "the model has " + std::to_string(inputs.size()) + " inputs and " +
                         std::to_string(outputs.size()) + " outputs; " + std::to_string(given_inputs.size()) + " and " +
                         std::to_string(given_outputs.size()) + " were given");
  }
  const Platform& platform = machine.platform();
  for (size_t i = 0; i < inputs.size(); ++i) {
    PT_CHECK_OK(CheckTensor(*graph, platform, inputs[i], given_inputs[i], "input"));
    if (options.constant_inputs.empty() || !options.constant_inputs[i]) continue;
    PT_CHECK_OK(CheckConstant(*graph, inputs[i].value, *options.constant_inputs[i], given_inputs[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    PT_CHECK_OK(CheckTensor(*graph, platform, outputs[i], given_outputs[i], "output"));
    for (const LentTensor& input : given_inputs) {
      if (Overlap(given_outputs[i], input)) return BadTensor(*graph, outputs[i].value, "output", "overlaps an input");
    }
    for (size_t j = 0; j < i; ++j) {
      if (Overlap(given_outputs[i], given_outputs[j])) {
        return BadTensor(*graph, outputs[i].value, "output", "overlaps another output");
      }
    }
  }
  return {};
}

// One that is bound to these buffers if there is one, else any; grows up to the limit before it blocks. A run that
// waits while the plan is replaced takes the new plan.
Result<Session::State::Lease> Session::State::Take(std::span<const LentTensor> given_inputs,
                                                   std::span<const LentTensor> given_outputs, const RunLimits& limits) {
  std::unique_lock lock(mutex);
  const size_t most = MostRunStates(options);
  while (deck->free.empty() && deck->run_states.size() + deck->growing >= most) {
    if (limits.Over()) return limits.error();
    const int64_t look_ns = limits.NextLookNs();
    if (look_ns == RunLimits::kNever) {
      available.wait(lock);
    } else {
      available.wait_until(lock, TimeOf(look_ns));
    }
  }
  const std::shared_ptr<Deck> mine = deck;
  if (!mine->free.empty()) {
    const auto bound = std::find_if(mine->free.begin(), mine->free.end(), [&](const RunState* state) {
      return state->IsBoundTo(given_inputs, given_outputs);
    });
    const auto taken = bound == mine->free.end() ? mine->free.begin() : bound;
    RunState& run = **taken;
    mine->free.erase(taken);
    return Lease(*this, mine, run);
  }
  ++mine->growing;
  lock.unlock();
  const Growth growth(*this, *mine);
  PT_ASSIGN(std::unique_ptr<RunState> made, MakeRunState(*mine->compiled));
  const std::lock_guard again(mutex);
  mine->run_states.push_back(std::move(made));
  return Lease(*this, mine, *mine->run_states.back());
}

namespace {

// The workers of all its cores but the first, which the caller takes.
std::vector<uint32_t> HelpersOf(const CompiledPlan& plan, const Workers& workers) {
  std::vector<uint32_t> helpers;
  for (const ResourceId core : plan.program.cores) helpers.push_back(workers.worker_of(core));
  if (!helpers.empty()) helpers.erase(helpers.begin());
  return helpers;
}

// What the threads of the plan's runs have waited for their cores.
std::function<int64_t()> AccountOfWaits(const CompiledPlan& plan, const Workers& workers) {
  if (plan.options.waited_ns) return plan.options.waited_ns;
  const auto waits = std::make_shared<CoreWaits>(workers, HelpersOf(plan, workers));
  return [waits] { return waits->TotalNs(); };
}

// Where runs overlap, each waits for the other's cores: trials are always due.
std::function<int64_t()> WaitsAlways() {
  return [waited_ns = int64_t{0}]() mutable { return waited_ns += 1'000'000'000; };
}

}  // namespace

Result<std::shared_ptr<Session::Deck>> Session::Deck::Make(std::shared_ptr<const CompiledPlan> compiled) {
  auto deck = std::make_shared<Deck>();
  deck->compiled = std::move(compiled);
  deck->may_run_alone = RunState::CanRunAlone(*deck->compiled);
  Workers& workers = deck->compiled->machine.workers();
  deck->single.emplace(AccountOfWaits(*deck->compiled, workers));
  deck->overlapping.emplace(WaitsAlways(), AloneChoice::kOverlapping);
  deck->alone_on.assign(std::max<size_t>(RunState::AloneWorkers(*deck->compiled).size(), 1), 0);
  workers.ReadQuota();
  deck->one_core_paid = workers.paid_cores() == 1;
  const size_t most = MostRunStates(deck->compiled->options);
  deck->run_states.reserve(most);
  deck->free.reserve(most);
  // The first run state at once: a session that exists has its memory.
  PT_ASSIGN(std::unique_ptr<RunState> first, MakeRunState(*deck->compiled));
  deck->run_states.push_back(std::move(first));
  deck->free.push_back(deck->run_states.back().get());
  return deck;
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}

Session::~Session() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [&] { return state_->runs == 0; });
}

Result<std::unique_ptr<Session::State>> Session::State::Make(std::shared_ptr<const Graph> graph, const LentOn& lent_on,
                                                             Machine& machine, const SessionOptions& options) {
  std::unique_ptr<State> state(new State{graph, machine, options, {}, {}, {}, {}, {}, {}, 0});
  PT_ASSIGN(state->inputs, WantedOf(*graph, lent_on, graph->inputs()));
  PT_ASSIGN(state->outputs, WantedOf(*graph, lent_on, graph->outputs()));
  PT_CHECK_OK(state->CheckConstantInputs());
  return state;
}

Result<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Graph> graph, const Plan& plan, Machine& machine,
                                                 const SessionOptions& options) try {
  PT_ASSIGN(std::unique_ptr<State> state, State::Make(graph, plan.lent_on, machine, options));
  PT_ASSIGN(std::unique_ptr<CompiledPlan> compiled, CompilePlan(std::move(graph), plan, machine, options));
  PT_ASSIGN(state->deck, Deck::Make(std::move(compiled)));
  return std::unique_ptr<Session>(new Session(std::move(state)));
} catch (...) {
  return Caught("session", "make a session", "a kernel");
}

Result<std::unique_ptr<Session>> Session::CreateDispatch(std::shared_ptr<const Graph> graph,
                                                         const DispatchPlan& dispatch, Machine& machine,
                                                         const SessionOptions& options) try {
  PT_ASSIGN(std::unique_ptr<State> state, State::Make(graph, dispatch.plan.lent_on, machine, options));
  PT_ASSIGN(std::unique_ptr<CompiledPlan> compiled, CompileDispatch(std::move(graph), dispatch, machine, options));
  PT_ASSIGN(state->deck, Deck::Make(std::move(compiled)));
  return std::unique_ptr<Session>(new Session(std::move(state)));
} catch (...) {
  return Caught("session", "make a session", "a kernel");
}

Status Session::Replace(const Plan& plan) try {
  if (state_->machine.workers().InsideJob()) {
    return MakeError(ErrorCode::kUsage, "session.nested", "Replace was called from within a run of the same machine");
  }
  if (state_->compiled()->dispatch) {
    return MakeError(ErrorCode::kUsage, "session.dispatch_replace",
                     "a session that decides in the run cannot take a plan instead", "make another session");
  }
  PT_ASSIGN(std::unique_ptr<CompiledPlan> compiled, CompilePlan(state_->graph, plan, state_->machine, state_->options));
  PT_ASSIGN(std::shared_ptr<Deck> next, Deck::Make(std::move(compiled)));
  const std::lock_guard lock(state_->mutex);
  if (next->compiled->plan.lent_on != state_->deck->compiled->plan.lent_on) {
    return MakeError(ErrorCode::kUsage, "session.lent_on",
                     "the other plan wants inputs or outputs on other devices than the one it replaces");
  }
  state_->deck.swap(next);
  state_->available.notify_all();
  return {};
} catch (...) {
  return Caught("session", "compile another plan", "a kernel");
}

Result<RunReport> Session::Run(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs,
                               const RunOptions& options) noexcept try {
  const int64_t start_ns = NowNs();
  const State::RunCount count(*state_);
  if (state_->machine.workers().InsideJob()) {
    return MakeError(ErrorCode::kRunFailed, "run.nested",
                     "Run was called from within a run of the same machine, which holds the cores it needs");
  }
  PT_CHECK_OK(CheckDevices(*state_->compiled()));
  PT_CHECK_OK(state_->CheckTensors(inputs, outputs));
  const RunLimits limits(options.deadline, options.cancel, start_ns);
  if (options.cancel != nullptr && options.cancel->cancelled()) return limits.error();
  PT_ASSIGN(State::Lease lease, state_->Take(inputs, outputs, limits));
  lease.ChooseWay(options.trace != nullptr);
  Result<RunReport> report = lease.run().Run(inputs, outputs, options.trace, limits, start_ns, lease.alone_on());
  if (report.ok()) lease.NoteTime(report->wall_ns);
  return report;
} catch (...) {
  return Caught("run", "begin a run", "a kernel");
}

std::shared_ptr<const Plan> Session::plan() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->deck->compiled, &state_->deck->compiled->plan};
}

std::vector<StepCounter> Session::StepCounters() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<StepCounter> sums(state_->deck->compiled->plan.steps.size());
  for (const std::unique_ptr<RunState>& run : state_->deck->run_states) run->AddCounters(sums);
  return sums;
}

const Graph& Session::graph() const { return *state_->graph; }

Machine& Session::machine() const { return state_->machine; }

uint32_t Session::parallel_runs() const {
  const auto cores = static_cast<uint32_t>(RunState::AloneWorkers(*state_->compiled()).size());
  return std::min(max_run_states(), std::max(cores, 2u));
}

uint32_t Session::max_run_states() const { return MostRunStates(state_->options); }

CaptureReport Session::capture() const {
  const std::lock_guard lock(state_->mutex);
  const CompiledPlan& compiled = *state_->deck->compiled;
  CaptureReport report;
  std::map<uint32_t, std::string> refused;
  for (const std::unique_ptr<RunState>& run : state_->deck->run_states) run->AddRefused(refused);
  for (auto& [segment, why] : refused) report.refused.push_back(std::move(why));
  for (const Segment& segment : compiled.program.segments) {
    ++report.segments;
    report.steps += static_cast<uint32_t>(segment.steps.size());
  }
  for (DeviceId device : compiled.devices) {
    if (compiled.can_capture(device)) continue;
    report.cannot.push_back(compiled.machine.platform().device(device).name);
  }
  return report;
}

}  // namespace pt
