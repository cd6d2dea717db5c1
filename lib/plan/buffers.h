// Buffers: which instances of a plan share bytes, and since when until when those bytes are in use. The first
// half of PlanMemory; the second gives every buffer an offset.
#pragma once

#include <vector>

#include "partitiontuner/plan/happens_before.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

struct Buffer {
  DeviceId device;
  uint64_t bytes = 0;
  std::vector<StepId> accesses;  // steps that read or write it, repeats possible
  std::vector<StepId> writers;   // those among them that write
};

struct BufferPlan {
  static constexpr uint32_t kNowhere = StepId::kNone;
  std::vector<uint32_t> buffer;               // by instance; kNowhere: external or dynamic
  std::vector<uint64_t> offset;               // by instance, within its buffer
  std::vector<uint64_t> bytes;                // by instance
  std::vector<std::vector<int64_t>> strides;  // by instance; empty = dense
  std::vector<Buffer> buffers;
};

// Errors: kInfeasible when a required alias cannot hold, kInvalidInput when an instance is never written.
Result<BufferPlan> ShareBuffers(const Graph& graph, const Plan& plan, const HappensBefore& order);

}  // namespace pt
