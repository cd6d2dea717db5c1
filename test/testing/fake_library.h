// A library for executor tests. Every node, whatever its operator, computes a sum of its inputs that tells their order
// and the node apart; attributes make single nodes misbehave:
//   fail = 1   Enqueue returns an error
//   hold = 1   the kernel waits until FakeControl::release
//   threads = n   the kernel computes on n threads of its own, once all helpers of its team sleep, and says so
//   (threads = n, silent = 1: without saying so)
//   packed = n   the kernel takes a packed constant of 64 KiB named n from the weight store
// and on simulated devices, where a kernel takes attribute `ns` and the whole device:
//   fail_late = 1    it fails when the device comes to it
//   fail_after = 1   Enqueue returns an error although the device will run the kernel
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::testing {

struct FakeControl {
  std::atomic<int> enqueued{0};  // kernels started
  std::atomic<int> holding{0};   // kernels waiting for `release`
  std::atomic<bool> release{false};
  std::atomic<int> bound{0};            // BoundKernels made
  std::atomic<int> fail_bind{-1};       // the node whose kernel cannot be bound; -1 = none
  std::atomic<bool> throws{false};      // it throws instead of returning an error
  std::atomic<int> wrong_team{0};       // steps whose team was not as wide as their unit class
  std::atomic<int> packed{0};           // constants packed
  std::atomic<uint64_t> turns_spun{0};  // by the helpers of kernels with threads of their own, while these computed
  std::atomic<int> begun{0}, ended{0};  // kernels of simulated devices
};

// control must outlive the library.
std::unique_ptr<Library> MakeFakeLibrary(FakeControl& control);

// What the node computes, for expectations: inputs in the order of its group inputs.
void FakeCompute(const Graph& graph, NodeId node, const std::vector<const float*>& in, float* out, int64_t count);

}  // namespace pt::testing
