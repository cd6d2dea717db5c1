#include "partitiontuner/exec/unit_runner.h"

#include <algorithm>
#include <atomic>

#include "lib/exec/clock.h"
#include "lib/exec/empty_steps.h"
#include "lib/exec/flag.h"
#include "lib/exec/team.h"
#include "lib/exec/thread_state.h"
#include "lib/exec/workers.h"
#include "partitiontuner/backend/devices.h"

namespace pt {
namespace {

std::vector<uint32_t> AllWorkers(const Workers& workers) {
  std::vector<uint32_t> all(workers.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

// The workers of the unit's cores, the leading one first.
Result<std::vector<uint32_t>> WorkersOf(const Machine& machine, UnitId id) {
  PT_CHECK_OK(machine.CheckRunsHere());
  const Platform& platform = machine.platform();
  if (id.index() >= platform.units.size() || !platform.unit_class(platform.unit(id).unit_class).on_host()) {
    return MakeError(ErrorCode::kUsage, "unit.not_host", "only units of host cores can be run on directly");
  }
  std::vector<uint32_t> workers;
  for (const auto& [resource, amount] : platform.unit(id).uses) {
    if (platform.resources[resource.index()].core) workers.push_back(machine.workers().worker_of(resource));
  }
  return workers;
}

// Takes every core of the machine; those of the unit work, the others wait for the end.
class UnitJob : public CoreJob {
 public:
  UnitJob(Workers& workers, std::vector<uint32_t> unit_workers, bool flush_denormals)
      : team_(static_cast<uint32_t>(unit_workers.size()), workers.crowded()),
        stream_(MakeHostStream(team_)),
        workers_(workers),
        unit_workers_(std::move(unit_workers)),
        flush_denormals_(flush_denormals) {
    Workers::Place(*this, AllWorkers(workers));
  }

  // The body gathers and releases the team itself.
  void RunBody(const std::function<void(WorkerTeam&, Stream&)>& body, uint32_t gatherings,
               const UnitRunner::Others* others) {
    body_ = &body;
    gatherings_ = gatherings;
    others_ = others;
    next_other_ = 0;
    ++generation_;
    workers_.Run(*this);
  }

  void RunOnCore(uint32_t core) noexcept override {
    const ScopedFloatState float_state(flush_denormals_);
    const auto found = std::find(unit_workers_.begin(), unit_workers_.end(), core);
    if (found == unit_workers_.begin()) {
      (*body_)(team_, *stream_);
      ended_.Set(generation_);
    } else if (found != unit_workers_.end()) {
      const auto index = static_cast<uint32_t>(found - unit_workers_.begin());
      for (uint32_t i = 0; i < gatherings_; ++i) team_.Help(index);
    } else {
      if (others_ != nullptr) (*others_)(next_other_++, [&] { return ended_.value() == generation_; });
      ended_.WaitEqual(generation_, workers_.crowded());
    }
  }

 private:
  WorkerTeam team_;
  std::unique_ptr<Stream> stream_;
  Workers& workers_;
  std::vector<uint32_t> unit_workers_;
  bool flush_denormals_;
  const std::function<void(WorkerTeam&, Stream&)>* body_ = nullptr;
  uint32_t gatherings_ = 0;
  const UnitRunner::Others* others_ = nullptr;  // what cores do that the unit has not; null: they wait
  std::atomic<uint32_t> next_other_{0};
  uint32_t generation_ = 0;
  Flag ended_;
};

// Two cores hand a flag to and fro.
class HandOverJob : public CoreJob {
 public:
  HandOverJob(Workers& workers, uint32_t from, uint32_t to, uint32_t count)
      : workers_(workers), from_(from), to_(to), count_(count) {
    Workers::Place(*this, AllWorkers(workers));
  }

  int64_t ns() const { return ns_; }

  void RunOnCore(uint32_t core) noexcept override {
    if (core == from_) {
      const int64_t begin = NowNs();
      for (uint32_t i = 1; i <= count_; ++i) {
        there_.Set(i);
        back_.WaitEqual(i, workers_.crowded());
      }
      ns_ = NowNs() - begin;
      ended_.Set(1);
    } else if (core == to_) {
      for (uint32_t i = 1; i <= count_; ++i) {
        there_.WaitEqual(i, workers_.crowded());
        back_.Set(i);
      }
    } else {
      ended_.WaitEqual(1, workers_.crowded());
    }
  }

 private:
  Workers& workers_;
  uint32_t from_, to_, count_;
  int64_t ns_ = 0;
  alignas(64) Flag there_;
  alignas(64) Flag back_;
  alignas(64) Flag ended_;
};

Status RefuseNested(const Machine& machine) {
  PT_CHECK_OK(machine.CheckRunsHere());
  if (!machine.workers().InsideJob()) return {};
  return MakeError(ErrorCode::kUsage, "unit.nested", "called from within a run of the same machine");
}

}  // namespace

struct UnitRunner::State {
  State(Machine& m, UnitId u, std::vector<uint32_t> workers, bool flush)
      : machine(m),
        unit(u),
        compile_team(MakeSerialTeam(static_cast<uint32_t>(workers.size()))),
        job(m.workers(), std::move(workers), flush) {}

  Status Run(const std::function<Status(Stream&)>& body, bool park, const Others* others);

  Machine& machine;
  UnitId unit;
  std::unique_ptr<Team> compile_team;
  UnitJob job;
};

UnitRunner::UnitRunner(std::unique_ptr<State> state) : state_(std::move(state)) {}
UnitRunner::~UnitRunner() = default;

Result<std::unique_ptr<UnitRunner>> UnitRunner::Make(Machine& machine, UnitId unit, bool flush_denormals) {
  PT_ASSIGN(std::vector<uint32_t> workers, WorkersOf(machine, unit));
  auto state = std::make_unique<State>(machine, unit, std::move(workers), flush_denormals);
  return std::unique_ptr<UnitRunner>(new UnitRunner(std::move(state)));
}

Status UnitRunner::Run(const std::function<Status(Stream&)>& body, bool park) {
  return state_->Run(body, park, nullptr);
}

Status UnitRunner::RunBeside(const Others& others, const std::function<Status(Stream&)>& body, bool park) {
  return state_->Run(body, park, &others);
}

Status UnitRunner::State::Run(const std::function<Status(Stream&)>& body, bool park, const Others* others) {
  PT_CHECK_OK(RefuseNested(machine));
  Status status;
  job.RunBody(
      [&](WorkerTeam& team, Stream& stream) {
        team.Gather();
        if (park) team.Park();
        status = body(stream);
        team.Release();
      },
      1, others);
  return status;
}

CompileContext UnitRunner::compile_context() const {
  const Platform& platform = state_->machine.platform();
  return {platform, state_->machine.driver(platform.device_of(state_->unit)), state_->compile_team.get(),
          state_->machine.weights(), nullptr};
}

Result<int64_t> TimeEmptySteps(Machine& machine, UnitId unit, uint32_t count) {
  PT_CHECK_OK(RefuseNested(machine));
  PT_CHECK_OK(WorkersOf(machine, unit));
  return RunEmptySteps(machine, unit, count);
}

Result<int64_t> TimeHandOvers(Machine& machine, UnitId from, UnitId to, uint32_t count) {
  PT_CHECK_OK(RefuseNested(machine));
  PT_ASSIGN(const std::vector<uint32_t> from_workers, WorkersOf(machine, from));
  PT_ASSIGN(const std::vector<uint32_t> to_workers, WorkersOf(machine, to));
  if (from_workers[0] == to_workers[0]) {
    return MakeError(ErrorCode::kUsage, "unit.same_core",
                     "both units are led by the same core: nothing is handed over");
  }
  HandOverJob job(machine.workers(), from_workers[0], to_workers[0], count);
  machine.workers().Run(job);
  return job.ns();
}

}  // namespace pt
