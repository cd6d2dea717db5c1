// A workload's file as it is, checked field by field. docs/workloads.md has its table from here.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "partitiontuner/support/fields.h"
#include "partitiontuner/support/limits.h"

namespace pt {

struct WorkloadOperator {
  std::string name;
  int64_t cpu_ns = 0, accelerator_ns = 0;
  bool on_accelerator = false, is_backward = false;
  int64_t bytes = 0;  // on an accelerator
  std::optional<int64_t> color;
  std::optional<int64_t> move_ns;  // of its output; nothing where no edge leaves it
  std::vector<size_t> makers;      // of what it reads, in the order of the file
};

struct WorkloadFile {
  int64_t cores = 0, accelerators = 0, accelerator_bytes = 0;
  std::vector<WorkloadOperator> operators;
  // While it is read.
  Limits limits;
  std::map<int64_t, size_t> by_id;
  std::set<std::pair<size_t, size_t>> edges;
  int64_t all_ns = 0, all_bytes = 0;  // sums that stay below a limit, whatever a file adds to them
};

void Fields(FieldVisitor& v, WorkloadFile& file);
Result<WorkloadFile> ReadWorkloadFile(const Json& json, const Limits& limits);

}  // namespace pt
