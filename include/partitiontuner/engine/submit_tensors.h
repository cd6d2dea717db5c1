// Requests that bring their tensors along and get new ones back.
#pragma once

#include <future>
#include <span>
#include <vector>

#include "partitiontuner/exec/request_queue.h"
#include "partitiontuner/graph/tensor.h"

namespace pt {

// As RunTensors, through the queue: copies the inputs, so that the caller's may go at once. Errors: those of
// RunBuffers::ForInputs and RequestQueue::Submit at once; in the future those of the run, and kUnsupported where an
// output is not a tensor.
Result<std::future<Result<std::vector<Tensor>>>> SubmitTensors(RequestQueue& queue, std::span<const Tensor> inputs,
                                                               const RunOptions& options = {});

}  // namespace pt
