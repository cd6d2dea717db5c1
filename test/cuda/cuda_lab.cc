#include "test/cuda/cuda_lab.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/run_candidate.h"
#include "test/testing/run_on_reference.h"

namespace pt::testing {
namespace {

constexpr std::chrono::hours kLong{1};  // machines are stopped now and then
constexpr double kTolerance = 1e-5;

// The tensors of one candidate on the device.
class Run {
 public:
  explicit Run(const GpuLab& lab) : driver_(lab.MakeDriver()) {}

  Status Start() {
    PT_ASSIGN(stream_, driver_->MakeStream());
    return {};
  }
  // In device memory, with the content where there is one.
  Result<const TensorView*> Place(const TensorLayout& layout, const Tensor* content) {
    PT_ASSIGN(const uint64_t bytes, BytesOf(layout));
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> buffer, driver_->Allocate(bytes));
    if (content != nullptr) {
      PT_ASSIGN(std::unique_ptr<DeviceBuffer> staged, driver_->AllocateHost(bytes));
      if (bytes > 0) std::memcpy(staged->data(), content->bytes().data(), bytes);
      PT_CHECK_OK(
          driver_->EnqueueCopy(*stream_, buffer->data(), staged->data(), bytes, CopyDirection::kToDevice, kHostDevice));
      buffers_.push_back(std::move(staged));
    }
    views_.push_back({buffer->data(), layout});
    buffers_.push_back(std::move(buffer));
    return &views_.back();
  }
  Result<Tensor> Fetch(const TensorView& view) {
    PT_ASSIGN(const uint64_t bytes, BytesOf(view.layout));
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> staged, driver_->AllocateHost(bytes));
    PT_CHECK_OK(
        driver_->EnqueueCopy(*stream_, staged->data(), view.data, bytes, CopyDirection::kFromDevice, kHostDevice));
    PT_CHECK_OK(Finish());
    return Tensor::FromBytes(view.layout.type, view.layout.dims,
                             std::string(static_cast<const char*>(staged->data()), bytes));
  }
  Status Finish() {
    PT_ASSIGN(const bool idle, stream_->Synchronize(kLong));
    if (!idle) return MakeError(ErrorCode::kInternal, "test.cuda", "the fake device does not come to its end");
    return {};
  }

  cuda::CudaDriver& driver() { return *driver_; }
  Stream& stream() { return *stream_; }

 private:
  std::unique_ptr<cuda::CudaDriver> driver_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::deque<TensorView> views_;
};

std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed = 1) {
  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    const ValueType& type = graph.value(input).type;
    inputs.push_back(RandomTensor(type.type, *type.static_dims(), seed++));
  }
  return inputs;
}

Result<TensorLayout> Dense(const Graph& graph, ValueId value) {
  const ValueType& type = graph.value(value).type;
  return DenseLayout(type.type, *type.static_dims(), RowMajor(type.dims.size()));
}

}  // namespace

GpuLab::GpuLab(std::shared_ptr<const cuda::Functions> used, Platform found)
    : functions(std::move(used)), platform(std::move(found)) {
  if (const Status added = cuda::AddDevices(*functions, platform); !added.ok()) FAIL(ToString(added.error()));
  device = FindDevice(platform, "cuda:0");
  REQUIRE(device.valid());
}

std::unique_ptr<cuda::CudaDriver> GpuLab::MakeDriver() const {
  auto made = cuda::CudaDriver::Make(functions, platform, device);
  if (!made.ok()) FAIL(ToString(made.error()));
  return std::move(made).value();
}

CudaLab::CudaLab(const FakeGpuOptions& options, uint32_t cores)
    : WithFakeGpu{FakeGpu(options)}, GpuLab(gpu.functions(), MakeTestPlatform(cores, false)) {}

Result<std::vector<Tensor>> RunOnCuda(const GpuLab& lab, const Library& library, const Graph& graph,
                                      const Candidate& candidate, std::span<const Tensor> inputs) {
  Run run(lab);
  PT_CHECK_OK(run.Start());
  std::vector<const TensorView*> in, out;
  std::vector<TensorLayout> in_layouts, out_layouts;
  const std::vector<ValueId> read = GroupInputs(graph, candidate.nodes), made = GroupOutputs(graph, candidate.nodes);
  for (size_t i = 0; i < read.size(); ++i) {
    PT_ASSIGN(TensorLayout layout, Dense(graph, read[i]));
    PT_ASSIGN(const TensorView* view, run.Place(layout, &inputs[i]));
    in.push_back(view);
    in_layouts.push_back(std::move(layout));
  }
  for (const ValueId value : made) {
    PT_ASSIGN(TensorLayout layout, Dense(graph, value));
    PT_ASSIGN(const TensorView* view, run.Place(layout, nullptr));
    out.push_back(view);
    out_layouts.push_back(std::move(layout));
  }
  const auto weights = MakeWeightStore();
  CompileContext context{lab.platform, run.driver(), nullptr, *weights};
  PT_ASSIGN(const std::unique_ptr<Kernel> kernel, library.Compile(graph, candidate, in_layouts, out_layouts, context));
  PT_ASSIGN(const std::unique_ptr<DeviceBuffer> scratch, run.driver().Allocate(kernel->scratch_bytes()));
  PT_ASSIGN(const std::unique_ptr<BoundKernel> bound,
            kernel->Bind(in, out, {static_cast<std::byte*>(scratch->data()), kernel->scratch_bytes()}));
  PT_CHECK_OK(bound->Enqueue(StaticRun(run.stream())));
  std::vector<Tensor> results;
  for (const TensorView* const view : out) {
    PT_ASSIGN(Tensor result, run.Fetch(*view));
    results.push_back(std::move(result));
  }
  PT_CHECK_OK(run.Finish());
  return results;
}

Graph ParseInferred(const std::string& text) {
  Result<Graph> parsed = ParseGraph(text);
  if (!parsed.ok()) FAIL(ToString(parsed.error()) << "\n" << text);
  Result<Graph> inferred = InferShapes(*parsed, {});
  if (!inferred.ok()) FAIL(ToString(inferred.error()) << "\n" << text);
  return std::move(inferred).value();
}

std::vector<NodeId> AllNodes(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.push_back(NodeId(n));
  return nodes;
}

void CheckGroup(const GpuLab& lab, const Library& library, const std::string& text) {
  INFO(text);
  const Graph graph = ParseInferred(text);
  const std::vector<NodeId> nodes = AllNodes(graph);
  const std::vector<Candidate> candidates = library.CandidatesFor(graph, lab.platform, nodes, {});
  if (candidates.empty()) FAIL(library.WhyUnsupported(graph, nodes[0]).value_or("no candidate"));
  const std::vector<Tensor> inputs = RandomInputs(graph);
  std::vector<Tensor> in_order;
  for (const ValueId value : GroupInputs(graph, nodes)) {
    const auto at = std::ranges::find(graph.inputs(), value);
    in_order.push_back(inputs[static_cast<size_t>(at - graph.inputs().begin())]);
  }
  const auto results = RunOnCuda(lab, library, graph, candidates[0], in_order);
  if (!results.ok()) FAIL(ToString(results.error()));
  const std::vector<Tensor> expected = RunOnReference(graph, inputs);
  const std::vector<ValueId> made = GroupOutputs(graph, nodes);
  REQUIRE(results->size() == made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    const auto at = std::ranges::find(graph.outputs(), made[i]);
    REQUIRE(at != graph.outputs().end());
    INFO(NodeLabel(graph, graph.value(made[i]).producer));
    CHECK(Difference((*results)[i], expected[static_cast<size_t>(at - graph.outputs().begin())], kTolerance) == "");
  }
}

}  // namespace pt::testing
