// --shard: which part of the measurements this process makes, of a job that runs on several machines.
#pragma once

#include <string_view>

#include "partitiontuner/profiler/measure.h"
#include "partitiontuner/support/result.h"

namespace pt::tools {

// "2/8": the third of eight parts. "8": the part that the job's own number names, SLURM_ARRAY_TASK_ID (counted from
// SLURM_ARRAY_TASK_MIN) or JOB_COMPLETION_INDEX (Kubernetes). Empty: all. Errors: kUsage (usage.value), which names the
// variable where that is at fault.
Result<Shard> ParseShard(std::string_view text);

}  // namespace pt::tools
