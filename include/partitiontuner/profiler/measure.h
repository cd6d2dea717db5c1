// Measuring: runs candidates, copies and reorders on a Machine as the executor would, into a database.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/backend/device_state.h"
#include "partitiontuner/cost/profile.h"
#include "partitiontuner/exec/cancel_token.h"
#include "partitiontuner/exec/machine.h"

namespace pt {

struct NeededKey;

// Told by MeasureProfile, on its thread, what it is at: for who watches the process from outside, where a kernel may
// bring all of it down. Between two calls nothing of a key is compiled, run or freed but what Begin named.
class MeasureWatch {
 public:
  virtual ~MeasureWatch() = default;
  // Until End: the key is compiled or run, or what was made for it is freed. One at a time.
  virtual void Begin(const MeasurementKey& key, std::string_view label) noexcept = 0;
  virtual void End() noexcept = 0;
  // Within Begin and End: from now on it waits for another process to end its measuring, or no longer does.
  virtual void Wait(bool waits) noexcept = 0;
};

// What is known of a key that brought an earlier process down.
struct MeasureFault {
  std::string what;        // "crashed: Segmentation fault (signal 11)"
  bool is_lasting = true;  // of the kernel itself: stored as impossible where the key is a candidate's or a reorder's
};

// One of `count` parts of all work, for machines of one kind that share it. A part has whole decisions (the ways to do
// the same work are compared on one machine), and of all models together each decision is in one part alone.
struct Shard {
  uint32_t index = 0, count = 1;  // index < count
};
// Whether the key is measured in that part.
bool IsInShard(const Graph& graph, std::span<const Candidate> candidates, const NeededKey& key, const Shard& shard);

// How exactly and how long is measured.
struct MeasureOptions {
  // Target: half width of the median's confidence interval over it. What is slower than another way to do the same work
  // may be noisier the slower it is; 100 ns always do, and a forty-thousandth of what the whole network takes.
  double max_noise = 0.02;
  uint32_t min_samples = 5;
  std::chrono::nanoseconds max_time_per_key = std::chrono::milliseconds(200);
  // For the whole call; 0 = none. Every key gets its share, noisy or not; what is over it stays missing.
  std::chrono::nanoseconds budget = {};
  std::string refresh;  // glob over key text (as the shell's, * for anything): measure again
  // Overheads, waits and fetching again too, if hand-overs between cores take much less time now than the database
  // says: a virtual machine's cores lay on different chips then, which is rarer.
  bool watch_hand_overs = true;
  Shard shard;  // only what is in it is needed
  const CancelToken* cancel = nullptr;
  MeasureWatch* watch = nullptr;
  // By ToHex(MeasurementKey::hash): not tried, but failed, or skipped this time.
  std::map<std::string, MeasureFault> faults;
};

// How far measuring has come, after each key.
struct MeasureProgress {
  size_t done = 0, total = 0, reused = 0, failed = 0;
  std::chrono::nanoseconds elapsed{}, left{};  // left: estimated
  std::string current;                         // what has just been measured, for people
  std::string unit_class, library, failure;    // of it; failure empty = it ran
  int64_t ns = 0;
  double noise = 0;
};
using ProgressCallback = std::function<void(const MeasureProgress&)>;  // between measurements, never inside

// The states of a device after the first and the last thing that was measured on it, and what was seen in between.
struct DeviceStates {
  std::string device;
  DeviceState first, last;
  double slowest_mhz = 0, fastest_mhz = 0;  // clock_mhz; 0 where it is not told
  std::vector<std::string> throttled;       // every reason that was told, in alphabetical order
};
// Why the times do not compare with each other: "its clock changed between 1410 and 1980 MHz"; empty where nothing
// speaks against it.
std::string FaultOf(const DeviceStates& states);
// "1980 MHz, memory 2619 MHz, 61 C, throttled: power cap"; what is not told is left out.
std::string ToString(const DeviceState& state);

// What measuring came to.
struct MeasureReport {
  // Keys: all; timed now; known before; known or found not to run; not reached; above max_noise though measured to
  // the end (candidates clearly slower than another of their decision are not, and do not count).
  size_t needed = 0, measured = 0, reused = 0, failed = 0, missing = 0, noisy = 0;
  // Of the missing: tried, but failed for a reason unrelated to the kernel (no memory at that moment, a device that
  // failed, a bug). Nothing of them is stored; the next call tries them again.
  size_t skipped = 0;
  std::string skip_reason;     // of the first of them
  size_t in_other_shards = 0;  // keys, known or not, beside those needed here
  double median_noise = 0, worst_noise = 0;
  std::string worst_key;
  bool interrupted = false, out_of_budget = false;
  std::vector<DeviceStates> devices;  // those that tell their states and on which something was measured now
};

// Name and version of every library of the machine, as keys and costs want them.
std::map<std::string, std::string> LibraryVersions(const Machine& machine);

// The machine's platform as costs see it: a simulated device that takes its time on the wall clock is measured like any
// other there, and its times are not taken for those that its file gives on the virtual clock. Keys, needed keys and
// cost models are made with it; ids and names are the platform's own.
Platform MeasuredPlatform(const Machine& machine);

// The library that reorders this on units of that class: the first of the machine's that can. It is the one that is
// measured, and the one that plans name. Null when none can.
const Library* ReorderLibrary(const Machine& machine, UnitClassId unit_class, std::span<const int64_t> dims,
                              const Form& from, const Form& to);

// Measures what `graph` with these candidates needs and the database lacks: heaviest first, one per key, every sample
// set committed at once. Timed regions hold a machine-wide lock per device. Cancel and budget end it early with a valid
// report. That a candidate cannot run is stored when its kernel or the compilation of it says so; errors of the
// surroundings end the call (the lock or the database cannot be used: kInvalidInput; no memory: kOutOfMemory) and leave
// nothing behind but what was measured before.
Result<MeasureReport> MeasureProfile(const Graph& graph, std::span<const Candidate> candidates, Machine& machine,
                                     ProfileDb& db, const MeasureOptions& options, const ProgressCallback& progress);

}  // namespace pt
