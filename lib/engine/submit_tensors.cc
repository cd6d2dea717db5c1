#include "partitiontuner/engine/submit_tensors.h"

#include <memory>
#include <utility>

#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/support/caught.h"

namespace pt {
namespace {

struct Request {
  RunBuffers inputs, outputs;
  std::promise<Result<std::vector<Tensor>>> promise;

  Result<std::vector<Tensor>> OutputsOf(const Result<RequestReport>& report) const try {
    if (!report.ok()) return report.error();
    return outputs.Copy(report->run);
  } catch (...) {
    return Caught("queue", "copy a request's outputs");
  }
};

}  // namespace

Result<std::future<Result<std::vector<Tensor>>>> SubmitTensors(RequestQueue& queue, std::span<const Tensor> inputs,
                                                               const RunOptions& options) try {
  const auto request = std::make_shared<Request>();
  PT_ASSIGN(request->inputs, RunBuffers::ForInputs(queue.session(), inputs));
  PT_ASSIGN(request->outputs, RunBuffers::ForOutputs(queue.session()));
  std::future<Result<std::vector<Tensor>>> future = request->promise.get_future();
  PT_CHECK_OK(queue.Submit(
      request->inputs.tensors(), request->outputs.tensors(), options,
      [request](Result<RequestReport> report) { request->promise.set_value(request->OutputsOf(report)); }));
  return future;
} catch (...) {
  return Caught("queue", "submit tensors");
}

}  // namespace pt
