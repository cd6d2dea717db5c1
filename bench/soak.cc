// Uses the library for minutes as a service would for months, and says whether it stays as it was: prints a line a
// minute and the drift at the end. Exit 0: no result differs and nothing grew; 1: something did; 2: usage, or no model
// runs.
//
//   bench_soak [--minutes N | --seconds N] [--callers N | --rate N] [--seed N] [--plugin-path FOLDER]
//              [--plugins NAME,...] [MODEL[@SIZES]...]...
//
// A model with dims of unknown size is named with one or more sets of them, by the names of dims or by input:
// "net.onnx@batch=1,x=1x80@batch=4,x=4x80". Without models, two are made here, one with a batch that varies and one
// whose result has a size known only at run time.
//
// Callers draw what they do next: a run of a session that all share, one with a deadline, one that is cancelled from
// outside, one of another size (more sizes than sessions are kept, so that they are made and destroyed all the time), a
// session of its own for one run, or another plan for the shared session, whose runs go on. Beside them, engines with
// their machines and plugins are made and destroyed, and damaged files loaded.
//
// With --rate there are requests instead, that many a second, which come at their own times through queues
// (soak_requests.h).
//
// Every result must be that of the first run of its model, sizes and plan, bit for bit. Open files, threads and memory
// are counted while callers pause, with the same plans and sizes in place each time: memory that is allocated, which
// does not grow without a leak, and memory that is resident (without what files back), which allocators cannot give
// back in pieces.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/soak_cases.h"
#include "bench/soak_requests.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/onnx/load_onnx.h"
#include "partitiontuner/support/file.h"
#include "partitiontuner/support/random.h"

namespace {

using Clock = std::chrono::steady_clock;
using pt::Random;
using pt::bench::Case;
using pt::bench::Cases;
using pt::bench::Resources;
using pt::bench::Same;
using pt::bench::SoakSettings;
using pt::bench::Values;

enum What : size_t { kRun, kDeadline, kCancel, kSize, kSession, kReplace, kEngine, kDamaged, kWhats };
constexpr const char* kNames[] = {"runs",     "deadlines", "cancelled", "sizes",
                                  "sessions", "replaced",  "engines",   "damaged"};

// Callers go through it between two actions; closed, it holds them until it opens.
class Gate {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    if (!closed_) return;
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !closed_; });
    --waiting_;
  }
  void CloseFor(size_t callers) {
    std::unique_lock lock(mutex_);
    closed_ = true;
    changed_.wait(lock, [&] { return waiting_ == callers; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t waiting_ = 0;
  bool closed_ = false;
};

class Soak {
 public:
  Soak(const SoakSettings& settings, Cases& cases)
      : settings_(settings),
        engine_(*cases.engine),
        networks_(cases.networks),
        cases_(cases.cases),
        tokens_(settings.callers) {
    run_ns_.reserve(1 << 14);
  }

  bool Endure();  // false: something grew or differs

 private:
  void Call(size_t caller);
  void Act(What what, Case& of, pt::CancelToken& token, Random& random);
  void RunShared(const Case& of, const pt::RunOptions& options, std::string_view allowed);
  void RunOfItsOwn(const Case& of, size_t plan);
  void RunSize(Case& of);
  void RunAnew(Case& of);
  void LoadDamaged(const std::string& path, Random& random);
  // Against what the first one gave, which this one is where there is none yet.
  void Compare(const Case& of, const char* where, std::optional<Values>& first, const pt::Result<Values>& found);
  void Fail(const std::string& what);
  Resources AtRest();
  void Report(Clock::duration since_start, const Resources& now);

  const SoakSettings& settings_;
  pt::Engine& engine_;
  std::vector<pt::bench::Network>& networks_;
  std::vector<Case>& cases_;
  std::vector<pt::CancelToken> tokens_;  // by caller
  Gate gate_;
  std::atomic<bool> ended_{false};
  std::atomic<uint64_t> counts_[kWhats] = {}, compared_{0}, failures_{0};
  std::mutex mutex_;             // of the rest
  std::vector<int64_t> run_ns_;  // the first ones since the last mark, as many as it has room for
};

void Soak::Fail(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (++failures_ <= 20) std::printf("FAILED: %s\n", what.c_str());
}

void Soak::Compare(const Case& of, const char* where, std::optional<Values>& first, const pt::Result<Values>& found) {
  if (!found.ok()) return Fail(of.name + ", " + where + ": " + ToString(found.error()));
  {
    const std::lock_guard lock(mutex_);
    if (!first) first = *found;
    if (Same(*first, *found)) {
      ++compared_;
      return;
    }
  }
  Fail(of.name + ", " + where + ": another result than at first");
}

// allowed: the id of the error with which the run may end.
void Soak::RunShared(const Case& of, const pt::RunOptions& options, std::string_view allowed) {
  const std::shared_ptr<const pt::Plan> before = of.session->plan();
  const Clock::time_point start = Clock::now();
  const pt::Result<Values> found = pt::RunData(*of.session, of.inputs, options);
  const int64_t ns = (Clock::now() - start).count();
  const std::shared_ptr<const pt::Plan> after = of.session->plan();
  if (!found.ok()) {
    if (found.error().id != allowed) Fail(of.name + ": " + ToString(found.error()));
    return;
  }
  if (!Cases::IsResultOf(of, *found, *before, *after)) Fail(of.name + ": another result than at first");
  ++compared_;
  if (allowed.empty()) {
    const std::lock_guard lock(mutex_);
    if (run_ns_.size() < run_ns_.capacity()) run_ns_.push_back(ns);
  }
}

void Soak::RunOfItsOwn(const Case& of, size_t plan) {
  const auto session = engine_.MakeSession(*of.model, of.plans[plan]);
  if (!session.ok()) return Fail(of.name + ", a session: " + ToString(session.error()));
  const pt::Result<Values> found = pt::RunData(**session, of.inputs);
  if (!found.ok()) return Fail(of.name + ", a session: " + ToString(found.error()));
  if (!Same(of.expected[plan], *found)) Fail(of.name + ", a session: another result than at first");
  ++compared_;
}

void Soak::RunSize(Case& of) { Compare(of, "by its size", of.of_sizes, networks_[of.network].sizes->Run(of.inputs)); }

void Soak::RunAnew(Case& of) {
  const auto run = [&]() -> pt::Result<Values> {
    pt::EngineOptions options;
    options.machine = settings_.machine;
    options.db_path = "none";
    PT_ASSIGN(const auto engine, pt::Engine::Make(options));
    PT_ASSIGN(const auto model, engine->Load(networks_[of.network].path, of.options));
    PT_ASSIGN(const pt::Plan plan, engine->MakeDefaultPlan(*model));
    PT_ASSIGN(const auto session, engine->MakeSession(*model, plan));
    return pt::RunData(*session, of.inputs);
  };
  Compare(of, "by another engine", of.anew, run());
}

// One byte changed, or the end missing: refused or loaded, but not kept.
void Soak::LoadDamaged(const std::string& path, Random& random) {
  pt::Result<std::string> bytes = pt::ReadFile(path, pt::Limits().file_bytes);
  if (!bytes.ok()) return Fail(ToString(bytes.error()));
  if (bytes->empty()) return;
  const size_t at = random.Below(std::min<size_t>(bytes->size(), 4096));
  if (random.Below(2) == 0) {
    bytes->resize(at);
  } else {
    (*bytes)[at] = static_cast<char>(random.Below(256));
  }
  (void)pt::LoadOnnxBytes(std::as_bytes(std::span(*bytes)), std::filesystem::path(path).parent_path().string());
}

void Soak::Act(What what, Case& of, pt::CancelToken& token, Random& random) {
  switch (what) {
    case kDeadline:
      return RunShared(of, {.deadline = std::chrono::microseconds(random.Below(2000))}, "run.deadline");
    case kCancel:
      token.Reset();
      return RunShared(of, {.cancel = &token}, "run.cancelled");
    case kSize:
      return RunSize(of);
    case kSession:
      return RunOfItsOwn(of, random.Below(of.plans.size()));
    case kReplace: {
      const pt::Status status = of.session->Replace(of.plans[random.Below(of.plans.size())]);
      if (!status.ok()) Fail(of.name + ", Replace: " + ToString(status.error()));
      return;
    }
    case kEngine:
      return RunAnew(of);
    case kDamaged:
      return LoadDamaged(networks_[of.network].path, random);
    default:
      return RunShared(of, {}, "");
  }
}

void Soak::Call(size_t caller) {
  Random random(settings_.seed + 1000 + caller);
  while (!ended_) {
    gate_.Pass();
    const uint64_t chance = random.Below(100);
    const What what = chance < 60   ? kRun
                      : chance < 72 ? kDeadline
                      : chance < 84 ? kCancel
                      : chance < 90 ? kSize
                      : chance < 94 ? kSession
                      : chance < 97 ? kReplace
                      : chance < 98 ? kEngine
                                    : kDamaged;
    Act(what, cases_[random.Below(cases_.size())], tokens_[caller], random);
    ++counts_[what];
  }
}

// The same whenever it is asked: all sessions on their first plan, the last size of each network kept.
Resources Soak::AtRest() {
  gate_.CloseFor(settings_.callers);
  for (Case& of : cases_) {
    const pt::Status status = of.session->Replace(of.plans[0]);
    if (!status.ok()) Fail(of.name + ", Replace: " + ToString(status.error()));
    RunShared(of, {}, "none");
    RunSize(of);
  }
  malloc_trim(0);
  const Resources counted = pt::bench::CountResources();
  gate_.Open();
  return counted;
}

void Soak::Report(Clock::duration since_start, const Resources& now) {
  const std::lock_guard lock(mutex_);
  const size_t middle = run_ns_.size() / 2;
  std::ranges::nth_element(run_ns_, run_ns_.begin() + static_cast<std::ptrdiff_t>(middle));
  std::printf("%6.1f s  %s  median %7.1f us ", std::chrono::duration<double>(since_start).count(),
              ToString(now).c_str(), run_ns_.empty() ? 0.0 : static_cast<double>(run_ns_[middle]) / 1000);
  run_ns_.clear();
  for (size_t what = 0; what < kWhats; ++what) std::printf(" %s %lu", kNames[what], counts_[what].load());
  std::printf("\n");
  std::fflush(stdout);
}

bool Soak::Endure() {
  std::vector<std::thread> callers;
  for (size_t c = 0; c < settings_.callers; ++c) callers.emplace_back([this, c] { Call(c); });
  Random random(settings_.seed + 1);
  const Clock::time_point start = Clock::now(), end = start + settings_.time;
  const Clock::duration between = std::min<Clock::duration>(settings_.time / 4, std::chrono::minutes(1));
  Clock::time_point next = start + between;
  std::optional<Resources> first;
  Resources last;
  while (next <= end) {
    while (Clock::now() < next) {
      std::this_thread::sleep_for(std::chrono::microseconds(100 + random.Below(5000)));
      tokens_[random.Below(tokens_.size())].Cancel();
    }
    last = AtRest();
    if (!first) first = last;
    Report(Clock::now() - start, last);
    next += between;
  }
  ended_ = true;
  for (std::thread& caller : callers) caller.join();
  const bool grew = HasGrown(*first, last);
  std::printf("%lu results compared, %lu failures: %s\n", compared_.load(), failures_.load(),
              grew            ? "GREW"
              : failures_ > 0 ? "FAILED"
                              : "ok");
  return !grew && failures_ == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const pt::Result<SoakSettings> settings = pt::bench::SoakSettingsFrom({argv + 1, argv + argc});
  if (!settings.ok()) return std::fprintf(stderr, "%s\n", ToString(settings.error()).c_str()), 2;
  std::printf("# seed %lu, %s\n", settings->seed,
              settings->rate > 0 ? (std::to_string(settings->rate) + " requests a second").c_str()
                                 : (std::to_string(settings->callers) + " callers").c_str());
  const auto cases = Cases::Make(*settings);
  if (!cases.ok()) return std::fprintf(stderr, "%s\n", ToString(cases.error()).c_str()), 2;
  if (settings->rate > 0) return pt::bench::EndureRequests(*settings, **cases) ? 0 : 1;
  return Soak(*settings, **cases).Endure() ? 0 : 1;
}
