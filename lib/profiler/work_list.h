// What is to be measured: the keys that a graph needs and the database lacks, as decisions, in the order in which an
// early end does least harm.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/profiler/sampling.h"
#include "lib/profiler/subject.h"
#include "partitiontuner/cost/needed_keys.h"
#include "partitiontuner/cost/profile.h"
#include "partitiontuner/profiler/measure.h"

namespace pt {

// What one call of MeasureProfile works with.
struct ProfilingTask {
  const Graph& graph;
  std::span<const Candidate> candidates;
  Machine& machine;
  ProfileDb& db;
  const MeasureOptions& options;
  const Platform platform;  // MeasuredPlatform of the machine
};

// One key to be measured, and what is known of it so far.
struct WorkItem {
  NeededKey needed;
  Measurement row;
  std::string label;  // for people
  double weight = 0;  // expected share of the whole profiling time
  std::unique_ptr<Subject> subject;
  std::vector<int64_t> samples, preempted;  // nanoseconds; the second: taken while the system held a core back
  std::vector<int64_t> launches;            // on a device: nanoseconds of the host for each sample
  int64_t spent_ns = 0;
  int64_t known_ns = INT64_MAX;     // least of what the database says of other ways on that unit class
  int64_t hopeless_ns = INT64_MAX;  // a time beyond this tells enough by itself
  NoiseTarget target;               // of a finalist
  bool finalist = false, done = false, skipped = false;

  // It cannot run: remembered instead of times.
  void Fail(const Error& error);
};

// Ways to do the same work.
using Decision = std::vector<WorkItem>;

struct WorkList {
  std::vector<Decision> decisions;  // costs of the executor, one of each operator, then the heaviest
  size_t needed = 0, reused = 0, known_failures = 0, in_other_shards = 0;
  std::vector<std::pair<double, std::string>> known_noises;  // of reused measurements of work, with their labels
};
// A rough time of one core, to order work and to say how much is left before anything was measured.
double RoughNs(const NeededKey& needed);

// hand_over_ns: between the host's cores as the machine is now, 0 where it is not known. What the executor costs is
// listed again if it was measured while hand-overs took much longer.
Result<WorkList> ListWork(const ProfilingTask& task, int64_t hand_over_ns);

}  // namespace pt
