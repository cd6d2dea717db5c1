// Uses the library for minutes as a service would for months, and says whether it stays as it was: prints a line a
// minute and the drift at the end. Exit 0: no result differs and nothing grew; 1: something did; 2: usage, or no model
// runs.
//
//   bench_soak [--minutes N | --seconds N] [--callers N] [--seed N] [--plugin-path FOLDER] [--plugins NAME,...]
//              [MODEL[@SIZES]...]...
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
// Every result must be that of the first run of its model, sizes and plan, bit for bit. Open files, threads and memory
// are counted while callers pause, with the same plans and sizes in place each time: memory that is allocated, which
// does not grow without a leak, and memory that is resident (without what files back), which allocators cannot give
// back in pieces.
#include <malloc.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/soak_networks.h"
#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/shaped_sessions.h"
#include "partitiontuner/onnx/load_onnx.h"
#include "partitiontuner/support/file.h"
#include "partitiontuner/support/random.h"

namespace {

using Clock = std::chrono::steady_clock;
using pt::Datum;
using pt::MakeError;
using pt::Random;

// What may be more at the end than at the first mark, beside open files and threads, of which none may.
constexpr double kAllocatedShare = 0.01, kAllocatedMib = 0.5;  // the larger one
constexpr double kResidentShare = 0.25, kResidentMib = 16;

struct Settings {
  Clock::duration time = std::chrono::minutes(10);
  size_t callers = 3;
  uint64_t seed = 1;
  pt::MachineOptions machine;  // of the engines that come and go
  std::vector<std::string> models;
};

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

pt::Result<int64_t> Number(const std::string& text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, value).ptr != end || value < 0) {
    return MakeError(pt::ErrorCode::kUsage, "usage", "'" + text + "' is not a number");
  }
  return value;
}

pt::Result<Settings> SettingsFrom(const std::vector<std::string>& words) {
  Settings settings;
  settings.machine.plugins = {"none"};
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      settings.models.push_back(word);
      continue;
    }
    if (++i == words.size()) return MakeError(pt::ErrorCode::kUsage, "usage", word + " needs a value");
    if (word == "--plugin-path") {
      settings.machine.plugin_paths = pt::SplitFolders(words[i]);
      if (settings.machine.plugins == std::vector<std::string>{"none"}) settings.machine.plugins.clear();
      continue;
    }
    if (word == "--plugins") {
      settings.machine.plugins = Split(words[i], ',');
      continue;
    }
    PT_ASSIGN(const int64_t number, Number(words[i]));
    if (word == "--minutes") {
      settings.time = std::chrono::minutes(number);
    } else if (word == "--seconds") {
      settings.time = std::chrono::seconds(number);
    } else if (word == "--callers") {
      settings.callers = static_cast<size_t>(number);
    } else if (word == "--seed") {
      settings.seed = static_cast<uint64_t>(number);
    } else {
      return MakeError(pt::ErrorCode::kUsage, "usage", "there is no flag " + word);
    }
  }
  if (settings.callers == 0 || settings.time < std::chrono::seconds(1)) {
    return MakeError(pt::ErrorCode::kUsage, "usage", "at least one caller and one second");
  }
  return settings;
}

// A folder for files of this run alone.
class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "soak-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::perror("mkdtemp"), std::exit(2);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

bool Same(const pt::Tensor& a, const pt::Tensor& b) {
  return a.type() == b.type() && a.dims() == b.dims() && std::ranges::equal(a.bytes(), b.bytes()) &&
         std::ranges::equal(a.strings(), b.strings());
}

bool Same(const Datum& a, const Datum& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_tensor()) return Same(a.tensor(), b.tensor());
  const auto same = [](const pt::TensorPtr& x, const pt::TensorPtr& y) { return Same(*x, *y); };
  return !a.is_sequence() || std::ranges::equal(a.elements(), b.elements(), same);
}

using Values = std::vector<Datum>;

bool Same(const Values& a, const Values& b) {
  return std::ranges::equal(a, b, [](const Datum& x, const Datum& y) { return Same(x, y); });
}

// Numbers between -1 and 1, integers from 0 to 3, which are indices of most things.
pt::Result<Datum> Drawn(const pt::ValueType& type, const std::vector<int64_t>& dims, Random& random) {
  PT_ASSIGN(const int64_t bytes, pt::TensorByteCount(type.type, dims));
  std::string data(static_cast<size_t>(bytes), '\0');
  const auto width = static_cast<size_t>(pt::BytesOf(type.type));
  for (size_t at = 0; width > 0 && at + width <= data.size(); at += width) {
    if (type.type == pt::DataType::kFloat32) {
      const auto value = static_cast<float>(random.Uniform(-1, 1));
      std::memcpy(data.data() + at, &value, width);
    } else if (pt::IsInteger(type.type) || type.type == pt::DataType::kBool) {
      data[at] = static_cast<char>(random.Below(type.type == pt::DataType::kBool ? 2 : 4));
    }  // zeros for all others
  }
  PT_ASSIGN(pt::Tensor tensor, pt::Tensor::FromBytes(type.type, dims, std::move(data)));
  return Datum(std::move(tensor));
}

// A model at one size: plans for it, what each gave first, and the session that callers share.
struct Case {
  std::string name;
  size_t network = 0;
  pt::ModelOptions options;
  std::shared_ptr<const pt::Model> model;
  Values inputs;
  std::vector<pt::Plan> plans;
  std::vector<Values> expected;          // by plan
  std::optional<Values> of_sizes, anew;  // by ShapedSessions, and by engines that come and go
  std::unique_ptr<pt::Session> session;
};

struct Network {
  std::string path;
  std::unique_ptr<pt::ShapedSessions> sizes;
};

enum What : size_t { kRun, kDeadline, kCancel, kSize, kSession, kReplace, kEngine, kDamaged, kWhats };
constexpr const char* kNames[] = {"runs",     "deadlines", "cancelled", "sizes",
                                  "sessions", "replaced",  "engines",   "damaged"};

struct Resources {
  double allocated_mib = 0, resident_mib = 0;
  int handles = 0, threads = 0;
};

Resources Count() {
  Resources counted;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    const auto number = [&] { return std::strtod(line.c_str() + line.find(':') + 1, nullptr); };
    if (line.starts_with("RssAnon:")) counted.resident_mib = number() / 1024;
    if (line.starts_with("Threads:")) counted.threads = static_cast<int>(number());
  }
  const auto allocated = mallinfo2();
  counted.allocated_mib = static_cast<double>(allocated.uordblks + allocated.hblkhd) / (1 << 20);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    counted.handles += !entry.path().empty();
  return counted;
}

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
  explicit Soak(Settings settings) : settings_(std::move(settings)), tokens_(settings_.callers) {
    run_ns_.reserve(1 << 14);
  }

  pt::Status Prepare();
  bool Endure();  // false: something grew or differs

 private:
  pt::Status AddCase(const std::string& path, const std::string& dims, Random& random);
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

  Settings settings_;
  Folder folder_;
  std::unique_ptr<pt::Engine> engine_;
  std::vector<Network> networks_;
  std::vector<Case> cases_;
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

pt::Status Soak::AddCase(const std::string& path, const std::string& dims, Random& random) {
  Case made;
  made.network = networks_.size() - 1;
  made.name = std::filesystem::path(path).parent_path().filename().string() + "/" +
              std::filesystem::path(path).filename().string() + (dims.empty() ? "" : "@" + dims);
  for (const std::string& pair : dims.empty() ? std::vector<std::string>{} : Split(dims, ',')) {
    const size_t equals = std::min(pair.find('='), pair.size() - 1);
    std::vector<int64_t> numbers;
    for (const std::string& text : Split(pair.substr(equals + 1), 'x')) {
      PT_ASSIGN(numbers.emplace_back(), Number(text));
    }
    if (numbers.size() == 1) {
      made.options.dims[pair.substr(0, equals)] = numbers[0];
    } else {
      made.options.shapes[pair.substr(0, equals)] = std::move(numbers);
    }
  }
  const pt::ModelFile& file = networks_.back().sizes->file();
  PT_ASSIGN(const auto input_dims, pt::InputDimsOf(file, made.options));
  for (size_t i = 0; i < input_dims.size(); ++i) {
    PT_ASSIGN(Datum value, Drawn(file.graph->value(file.graph->inputs()[i]).type, input_dims[i], random));
    made.inputs.push_back(std::move(value));
  }
  PT_ASSIGN(made.model, engine_->Load(path, made.options));
  pt::MeasureOptions fast;
  fast.max_time_per_key = std::chrono::milliseconds(1);
  fast.max_noise = 0.5;
  fast.budget = std::min<Clock::duration>(settings_.time / 10, std::chrono::seconds(10));
  PT_ASSIGN(const pt::MeasureReport measured, engine_->MeasureModel(*made.model, fast, {}));
  for (const char* planner : {"search", "per-op", "random:1", "random:2"}) {
    PT_ASSIGN(pt::Plan plan, engine_->MakePlan(*made.model, {.planner = planner, .default_plan = true}));
    PT_ASSIGN(const auto session, engine_->MakeSession(*made.model, plan));
    PT_ASSIGN(Values outputs, pt::RunData(*session, made.inputs));
    plan.planner = std::to_string(made.plans.size());  // tells which one a run took
    made.plans.push_back(std::move(plan));
    made.expected.push_back(std::move(outputs));
  }
  PT_ASSIGN(made.session, engine_->MakeSession(*made.model, made.plans[0]));
  std::printf("# %s: %zu steps by search, %zu of %zu times measured\n", made.name.c_str(), made.plans[0].steps.size(),
              measured.needed - measured.missing, measured.needed);
  cases_.push_back(std::move(made));
  return {};
}

pt::Status Soak::Prepare() {
  Random random(settings_.seed);
  if (settings_.models.empty()) {
    const std::string branches = folder_.file("branches.onnx"), positions = folder_.file("positions.onnx");
    PT_CHECK_OK(pt::bench::SaveBranches(branches, random));
    PT_CHECK_OK(pt::bench::SavePositions(positions, random));
    settings_.models = {branches + "@batch=1@batch=3@batch=8", positions};
  }
  pt::EngineOptions options;
  options.machine.plugins = {"none"};
  options.db_path = folder_.file("profile.db");
  PT_ASSIGN(engine_, pt::Engine::Make(options));
  for (const std::string& model : settings_.models) {
    const std::vector<std::string> parts = Split(model, '@');
    networks_.push_back({.path = parts[0], .sizes = nullptr});
    pt::ShapedSessionsOptions one;
    one.most_sessions = 1;
    one.plan.planner = "heft";
    PT_ASSIGN(networks_.back().sizes, pt::ShapedSessions::Make(*engine_, parts[0], one));
    for (size_t i = parts.size() == 1 ? 0 : 1; i < parts.size(); ++i) {
      PT_CHECK_OK(AddCase(parts[0], i == 0 ? "" : parts[i], random));
    }
  }
  return {};
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
  bool same = false;
  for (size_t p = 0; p < of.plans.size() && !same; ++p) {
    // Unless it was replaced meanwhile, the plan is known.
    if (before == after && before->planner != of.plans[p].planner) continue;
    same = Same(of.expected[p], *found);
  }
  if (!same) Fail(of.name + ": another result than at first");
  ++compared_;
  if (allowed.empty()) {
    const std::lock_guard lock(mutex_);
    if (run_ns_.size() < run_ns_.capacity()) run_ns_.push_back(ns);
  }
}

void Soak::RunOfItsOwn(const Case& of, size_t plan) {
  const auto session = engine_->MakeSession(*of.model, of.plans[plan]);
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
  const Resources counted = Count();
  gate_.Open();
  return counted;
}

void Soak::Report(Clock::duration since_start, const Resources& now) {
  const std::lock_guard lock(mutex_);
  const size_t middle = run_ns_.size() / 2;
  std::ranges::nth_element(run_ns_, run_ns_.begin() + static_cast<std::ptrdiff_t>(middle));
  std::printf("%6.1f s  %7.2f MiB allocated  %6.1f resident  %3d handles  %3d threads  median %7.1f us ",
              std::chrono::duration<double>(since_start).count(), now.allocated_mib, now.resident_mib, now.handles,
              now.threads, run_ns_.empty() ? 0.0 : static_cast<double>(run_ns_[middle]) / 1000);
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
  const double allocated = last.allocated_mib - first->allocated_mib,
               resident = last.resident_mib - first->resident_mib;
  const double most_allocated = std::max(first->allocated_mib * kAllocatedShare, kAllocatedMib);
  const double most_resident = std::max(first->resident_mib * kResidentShare, kResidentMib);
  const int handles = last.handles - first->handles, threads = last.threads - first->threads;
  const bool grew = allocated > most_allocated || resident > most_resident || handles > 0 || threads > 0;
  std::printf("drift: %+.2f MiB allocated (at most %.2f), %+.1f resident (at most %.1f), %+d handles, %+d threads\n",
              allocated, most_allocated, resident, most_resident, handles, threads);
  std::printf("%lu results compared, %lu failures: %s\n", compared_.load(), failures_.load(),
              grew            ? "GREW"
              : failures_ > 0 ? "FAILED"
                              : "ok");
  return !grew && failures_ == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const pt::Result<Settings> settings = SettingsFrom({argv + 1, argv + argc});
  if (!settings.ok()) return std::fprintf(stderr, "%s\n", ToString(settings.error()).c_str()), 2;
  std::printf("# seed %lu, %zu callers\n", settings->seed, settings->callers);
  Soak soak(*settings);
  if (const pt::Status status = soak.Prepare(); !status.ok()) {
    return std::fprintf(stderr, "%s\n", ToString(status.error()).c_str()), 2;
  }
  return soak.Endure() ? 0 : 1;
}
