#include "test/cuda/cuda_lab.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/graph/half.h"
#include "partitiontuner/graph/index_inputs.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "plugins/cuda/libraries.h"
#include "plugins/cuda/operators.h"
#include "test/testing/run_candidate.h"
#include "test/testing/run_on_reference.h"

namespace pt::testing {
namespace {

constexpr std::chrono::hours kLong{1};  // machines are stopped now and then

// Of results by their type: sums in another order, and a rounding more or less.
double ToleranceOf(DataType type) {
  return type == DataType::kFloat16 ? 2e-3 : type == DataType::kBfloat16 ? 1.6e-2 : 1e-5;
}

// The tensors of one candidate on the device.
class CandidateRun {
 public:
  CandidateRun(const GpuLab& lab, uint64_t elements_before)
      : elements_before_(elements_before), driver_(lab.MakeDriver()) {}

  Status Start() {
    PT_ASSIGN(stream_, driver_->MakeStream());
    return {};
  }
  // In device memory, with the content where there is one.
  Result<const TensorView*> Place(const TensorLayout& layout, const Tensor* content) {
    PT_ASSIGN(const uint64_t bytes, BytesOf(layout));
    const uint64_t before = elements_before_ * static_cast<uint64_t>(BytesOf(layout.type));
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> buffer, driver_->Allocate(bytes + before));
    std::byte* const data = static_cast<std::byte*>(buffer->data()) + before;
    if (content != nullptr) {
      PT_ASSIGN(std::unique_ptr<DeviceBuffer> staged, driver_->AllocateHost(bytes));
      const auto each = static_cast<size_t>(BytesOf(layout.type));
      const std::byte* next = content->bytes().data();
      ForEachPlace(layout, [&](int64_t at) {
        std::memcpy(static_cast<std::byte*>(staged->data()) + static_cast<size_t>(at) * each, next, each);
        next += each;
      });
      PT_CHECK_OK(driver_->EnqueueCopy(*stream_, data, staged->data(), bytes, CopyDirection::kToDevice, kHostDevice));
      buffers_.push_back(std::move(staged));
    }
    views_.push_back({data, layout});
    buffers_.push_back(std::move(buffer));
    return &views_.back();
  }
  Result<Tensor> Fetch(const TensorView& view) {
    PT_ASSIGN(const uint64_t bytes, BytesOf(view.layout));
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> staged, driver_->AllocateHost(bytes));
    PT_CHECK_OK(
        driver_->EnqueueCopy(*stream_, staged->data(), view.data, bytes, CopyDirection::kFromDevice, kHostDevice));
    PT_CHECK_OK(Finish());
    std::string elements;
    const auto each = static_cast<size_t>(BytesOf(view.layout.type));
    ForEachPlace(view.layout, [&](int64_t at) {
      elements.append(static_cast<const char*>(staged->data()) + static_cast<size_t>(at) * each, each);
    });
    return Tensor::FromBytes(view.layout.type, view.layout.dims, elements);
  }
  Status Finish() {
    PT_ASSIGN(const bool idle, stream_->Synchronize(kLong));
    if (!idle) return MakeError(ErrorCode::kInternal, "test.cuda", "the fake device does not come to its end");
    return {};
  }

  cuda::CudaDriver& driver() { return *driver_; }
  Stream& stream() { return *stream_; }

 private:
  const uint64_t elements_before_;
  std::unique_ptr<cuda::CudaDriver> driver_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::deque<TensorView> views_;
};

// Positions within another tensor, from either end.
Tensor WithinDims(const Graph& graph, ValueId input, Tensor tensor) {
  for (const Use& use : graph.value(input).uses) {
    const std::optional<int64_t> most = MostIndex(graph, graph.node(use.node), use.input);
    if (!most) continue;
    std::vector<int64_t> indices = tensor.ToInts();
    for (int64_t& index : indices) index = (index + 64) % (2 * (*most + 1)) - (*most + 1);
    if (tensor.type() == DataType::kInt64) return Tensor::Int64(tensor.dims(), indices);
    const std::vector<int32_t> narrow(indices.begin(), indices.end());
    return Tensor::Of<int32_t>(DataType::kInt32, tensor.dims(), narrow);
  }
  return tensor;
}

// As the candidate stores it.
Result<TensorLayout> Dense(const Graph& graph, ValueId value, const Form& form) {
  return DenseLayout(form.storage, *graph.value(value).type.static_dims(), form.layout);
}

}  // namespace

Tensor Stored(const Tensor& tensor, DataType type) {
  if (tensor.type() == type) return tensor;
  std::vector<uint16_t> narrow;
  std::vector<float> wide;
  if (tensor.type() == DataType::kFloat32) {
    for (const float number : tensor.values<float>()) {
      narrow.push_back(type == DataType::kFloat16 ? ToHalf(number).bits : ToBfloat16(number).bits);
    }
    return Tensor::Of<uint16_t>(type, tensor.dims(), narrow);
  }
  REQUIRE(type == DataType::kFloat32);
  for (const uint16_t bits : tensor.values<uint16_t>()) {
    wide.push_back(tensor.type() == DataType::kFloat16 ? ToFloat(Half{bits}) : ToFloat(Bfloat16{bits}));
  }
  return Tensor::Float32(tensor.dims(), wide);
}

GpuLab::GpuLab(std::shared_ptr<const cuda::Functions> used, Platform found)
    : functions(std::move(used)), platform(std::move(found)) {
  if (const Status added = cuda::AddDevices(*functions, platform); !added.ok()) FAIL(ToString(added.error()));
  device = FindDevice(platform, "cuda:0");
  REQUIRE(device.valid());
}

std::unique_ptr<cuda::CudaDriver> GpuLab::MakeDriver(DeviceId id) const {
  auto made = cuda::CudaDriver::Make(functions, platform, id);
  if (!made.ok()) FAIL(ToString(made.error()));
  return std::move(made).value();
}

CudaLab::CudaLab(const FakeGpuOptions& options, uint32_t cores)
    : WithFakeGpu{FakeGpu(options)}, GpuLab(gpu.functions(), MakeTestPlatform(cores, false)) {}

Result<std::vector<Tensor>> RunOnCuda(const GpuLab& lab, const Library& library, const Graph& graph,
                                      const Candidate& candidate, std::span<const Tensor> inputs,
                                      uint64_t elements_before) {
  CandidateRun run(lab, elements_before);
  PT_CHECK_OK(run.Start());
  std::vector<const TensorView*> in, out;
  std::vector<TensorLayout> in_layouts, out_layouts;
  const std::vector<ValueId> read = GroupInputs(graph, candidate.nodes), made = GroupOutputs(graph, candidate.nodes);
  for (size_t i = 0; i < read.size(); ++i) {
    PT_ASSIGN(TensorLayout layout, Dense(graph, read[i], candidate.in[i]));
    const Tensor stored = Stored(inputs[i], layout.type);
    PT_ASSIGN(const TensorView* view, run.Place(layout, &stored));
    in.push_back(view);
    in_layouts.push_back(std::move(layout));
  }
  for (size_t i = 0; i < made.size(); ++i) {
    PT_ASSIGN(TensorLayout layout, Dense(graph, made[i], candidate.out[i]));
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
  for (size_t i = 0; i < out.size(); ++i) {
    PT_ASSIGN(const Tensor result, run.Fetch(*out[i]));
    results.push_back(Stored(result, graph.value(made[i]).type.type));
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

std::vector<std::string> KernelTexts(const Graph& graph, const Candidate& candidate) {
  const auto layouts = [&](const std::vector<ValueId>& values, const std::vector<Form>& forms) {
    std::vector<TensorLayout> dense;
    for (size_t i = 0; i < values.size(); ++i) dense.push_back(Dense(graph, values[i], forms[i]).value());
    return dense;
  };
  const auto in = layouts(GroupInputs(graph, candidate.nodes), candidate.in);
  const auto out = layouts(GroupOutputs(graph, candidate.nodes), candidate.out);
  const cuda::CudaSite site = cuda::CudaSite::Make(graph, candidate.nodes, in, out).value();
  std::vector<std::string> texts;
  // The longest of those that the candidate's name begins with: "16 queries" is another one than "16 queries in 4
  // parts".
  std::string variant;
  const std::vector<std::string> variants = cuda::KernelVariants(site).value();
  for (const std::string& known : variants) {
    if (candidate.variant.starts_with(known) && known.size() > variant.size()) variant = known;
  }
  const auto routine = cuda::MakeRoutine(site, variant);
  if (!routine.ok()) FAIL(ToString(routine.error()));
  for (const cuda::KernelText& kernel : routine->kernels) {
    if (kernel.elements > 0) texts.push_back(cuda::KernelPrelude() + kernel.text);
  }
  return texts;
}

void CompileCases(const CudaLab& lab, const std::vector<std::string>& cases, const Precision& precision) {
  std::vector<std::string> texts;
  for (const std::string& text : cases) {
    INFO(text);
    const Graph graph = ParseInferred(text);
    for (const Candidate& candidate :
         cuda::MakeOwnKernelsLibrary()->CandidatesFor(graph, lab.platform, AllNodes(graph), precision)) {
      const std::vector<std::string> kernels = KernelTexts(graph, candidate);
      texts.insert(texts.end(), kernels.begin(), kernels.end());
    }
  }
  const Status compiled = lab.gpu.CompileAhead(texts);
  if (!compiled.ok()) FAIL(ToString(compiled.error()));
}

std::vector<Tensor> InputsWithinDims(const Graph& graph) {
  uint64_t seed = 1;
  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    const ValueType& type = graph.value(input).type;
    inputs.push_back(WithinDims(graph, input, RandomTensor(type.type, *type.static_dims(), seed++)));
  }
  return inputs;
}

std::vector<Tensor> AsGroupInputs(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> in_order;
  for (const ValueId value : GroupInputs(graph, AllNodes(graph))) {
    const auto at = std::ranges::find(graph.inputs(), value);
    in_order.push_back(inputs[static_cast<size_t>(at - graph.inputs().begin())]);
  }
  return in_order;
}

void CheckGroup(const GpuLab& lab, const Library& library, const std::string& text, const Precision& precision) {
  INFO(text);
  const Graph graph = ParseInferred(text);
  const std::vector<NodeId> nodes = AllNodes(graph);
  const std::vector<Candidate> candidates = library.CandidatesFor(graph, lab.platform, nodes, precision);
  if (candidates.empty()) FAIL(library.WhyUnsupported(graph, nodes[0]).value_or("no candidate"));
  const std::vector<Tensor> inputs = InputsWithinDims(graph);
  const std::vector<Tensor> in_order = AsGroupInputs(graph, inputs);
  const std::vector<Tensor> expected = RunOnReference(graph, inputs);
  const std::vector<ValueId> made = GroupOutputs(graph, nodes);
  for (const Candidate& candidate : candidates) {
    INFO(candidate.variant << " " << MathModeName(candidate.math));
    const auto results = RunOnCuda(lab, library, graph, candidate, in_order);
    if (!results.ok()) FAIL(ToString(results.error()));
    REQUIRE(results->size() == made.size());
    for (size_t i = 0; i < made.size(); ++i) {
      const auto at = std::ranges::find(graph.outputs(), made[i]);
      REQUIRE(at != graph.outputs().end());
      INFO(NodeLabel(graph, graph.value(made[i]).producer));
      const DataType type = (*results)[i].type();
      const double tolerance =
          candidate.math == MathMode::kFp32 ? ToleranceOf(type) : RelativeTolerance(candidate.math, type);
      CHECK(Difference((*results)[i], expected[static_cast<size_t>(at - graph.outputs().begin())], tolerance) == "");
    }
  }
}

}  // namespace pt::testing
