#include "test/cuda/dnn_cases.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/testing/run_candidate.h"
#include "test/testing/run_on_reference.h"

namespace pt::testing {
namespace {

constexpr std::chrono::hours kLong{1};  // machines are stopped now and then

// "input x float32[…], const w …, y = Conv(x, w) …".
std::string Conv(const char* x, const char* w, const std::string& attributes) {
  return std::string("input x float32") + x + "\nconst w float32" + w + " random 3\ny = Conv(x, w) " + attributes +
         "\noutput y\n";
}

std::string Behind(const std::string& what) {
  return "input x float32[2,4,9,7]\nconst w float32[8,4,3,3] random 3\nconst b float32[8] random 4\n"
         "const c float32[1,8,1,1] random 5\nconst low float32[] value 0\nconst high float32[] value 1.5\n"
         "input z float32[2,8,9,7]\n" +
         what + "\noutput y\n";
}

// One tensor on the device, in memory of its own, as it is to lie there.
struct Placed {
  std::unique_ptr<DeviceBuffer> buffer;
  TensorView view;
};

class DnnRun {
 public:
  DnnRun(const GpuLab& lab, const DnnPlacement& placement)
      : lab_(lab), placement_(placement), driver_(lab.MakeDriver()) {}

  // Results, one for each of GroupOutputs, row-major.
  Result<std::vector<Tensor>> Run(const Library& library, const Graph& graph, const Candidate& candidate,
                                  std::span<const Tensor> inputs) {
    PT_ASSIGN(stream_, driver_->MakeStream());
    std::vector<const TensorView*> in, out;
    std::vector<TensorLayout> in_layouts, out_layouts;
    for (size_t i = 0; i < candidate.in.size(); ++i) {
      PT_ASSIGN(const TensorView* view, Place(inputs[i].dims(), candidate.in[i], &inputs[i]));
      in.push_back(view);
      in_layouts.push_back(view->layout);
    }
    const std::vector<ValueId> made = GroupOutputs(graph, candidate.nodes);
    for (size_t i = 0; i < made.size(); ++i) {
      PT_ASSIGN(const TensorView* view, Place(*graph.value(made[i]).type.static_dims(), candidate.out[i], nullptr));
      out.push_back(view);
      out_layouts.push_back(view->layout);
    }
    const auto weights = MakeWeightStore();
    CompileContext context{lab_.platform, *driver_, nullptr, *weights};
    PT_ASSIGN(const std::unique_ptr<Kernel> kernel,
              library.Compile(graph, candidate, in_layouts, out_layouts, context));
    PT_ASSIGN(const std::unique_ptr<DeviceBuffer> scratch, driver_->Allocate(kernel->scratch_bytes()));
    PT_ASSIGN(const std::unique_ptr<BoundKernel> bound,
              kernel->Bind(in, out, {static_cast<std::byte*>(scratch->data()), kernel->scratch_bytes()}));
    PT_CHECK_OK(bound->Enqueue(StaticRun(*stream_)));
    std::vector<Tensor> results;
    for (const TensorView* const view : out) {
      PT_ASSIGN(Tensor result, Fetch(*view));
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  Result<const TensorView*> Place(const std::vector<int64_t>& dims, const Form& form, const Tensor* content) {
    std::vector<int64_t> whole = dims;
    if (dims.size() > 2) whole[1] += placement_.channels_beside;
    PT_ASSIGN(TensorLayout lies, DenseLayout(form.storage, whole, form.layout));
    PT_ASSIGN(const uint64_t bytes, BytesOf(lies));
    lies.dims = dims;
    const auto before = static_cast<uint64_t>(placement_.elements_before * BytesOf(form.storage));
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> buffer, driver_->Allocate(bytes + before));
    if (content != nullptr) {
      PT_CHECK_OK(Send(Stored(*content, form.storage), lies, bytes, static_cast<std::byte*>(buffer->data()) + before));
    }
    placed_.push_back({nullptr, {static_cast<std::byte*>(buffer->data()) + before, std::move(lies)}});
    placed_.back().buffer = std::move(buffer);
    return &placed_.back().view;
  }

  Status Send(const Tensor& content, const TensorLayout& lies, uint64_t bytes, void* to) {
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> staged, driver_->AllocateHost(bytes));
    std::memset(staged->data(), 0xff, bytes);
    auto* const data = static_cast<std::byte*>(staged->data());
    const auto each = static_cast<size_t>(BytesOf(lies.type));
    size_t element = 0;
    ForEachPlace(lies, [&](int64_t at) {
      std::memcpy(data + static_cast<size_t>(at) * each, content.bytes().data() + element++ * each, each);
    });
    PT_CHECK_OK(driver_->EnqueueCopy(*stream_, to, staged->data(), bytes, CopyDirection::kToDevice, kHostDevice));
    PT_CHECK_OK(Finish());
    return {};
  }
  // As float32.
  Result<Tensor> Fetch(const TensorView& view) {
    PT_ASSIGN(const uint64_t bytes, BytesOf(view.layout));
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> staged, driver_->AllocateHost(bytes));
    PT_CHECK_OK(
        driver_->EnqueueCopy(*stream_, staged->data(), view.data, bytes, CopyDirection::kFromDevice, kHostDevice));
    PT_CHECK_OK(Finish());
    std::string numbers;
    const auto each = static_cast<size_t>(BytesOf(view.layout.type));
    ForEachPlace(view.layout, [&](int64_t at) {
      numbers.append(static_cast<const char*>(staged->data()) + static_cast<size_t>(at) * each, each);
    });
    PT_ASSIGN(const Tensor stored, Tensor::FromBytes(view.layout.type, view.layout.dims, numbers));
    return Stored(stored, DataType::kFloat32);
  }
  Status Finish() {
    PT_ASSIGN(const bool idle, stream_->Synchronize(kLong));
    return idle ? Status() : MakeError(ErrorCode::kInternal, "test.cuda", "the device does not come to its end");
  }
  const GpuLab& lab_;
  const DnnPlacement placement_;
  const std::unique_ptr<cuda::CudaDriver> driver_;
  std::unique_ptr<Stream> stream_;
  std::deque<Placed> placed_;
};

}  // namespace

std::vector<std::string> DnnConvolutionCases() {
  std::vector<std::string> cases = {
      Conv("[1,3,9,8]", "[5,3,3,3]", "pads=[1,1,1,1]"),
      Conv("[2,4,9,8]", "[6,4,1,1]", ""),
      Conv("[3,4,11,10]", "[8,4,3,2]", "strides=[2,3]"),
      Conv("[1,4,11,10]", "[8,4,3,3]", "dilations=[2,3] pads=[2,3,2,3]"),
      Conv("[1,4,11,10]", "[8,4,3,3]", "pads=[0,1,2,0]"),
      Conv("[2,8,7,7]", "[4,4,3,3]", "group=2"),
      Conv("[2,6,7,7]", "[6,1,3,3]", "group=6 pads=[1,1,1,1]"),
      Conv("[1,6,7,7]", "[12,1,5,5]", "group=6 pads=[2,2,2,2] strides=[2,2]"),
      Conv("[1,4,5,5]", "[8,4,5,5]", ""),
      Conv("[1,1,6,6]", "[4,1,3,3]", "auto_pad=\"SAME_UPPER\" strides=[2,2]"),
      Conv("[1,4,6,7]", "[4,4,2,2]", "auto_pad=\"SAME_LOWER\""),
      Conv("[2,4,12]", "[6,4,3]", "pads=[1,2] strides=[2]"),
      Conv("[1,4,5,6,7]", "[6,4,3,2,3]", "pads=[1,0,1,1,1,1]"),
      Conv("[1,4,1,1]", "[8,4,1,1]", ""),
  };
  for (const char* what :
       {"y = Conv(x, w, b) pads=[1,1,1,1]", "p = Conv(x, w, b) pads=[1,1,1,1]\ny = Relu(p)",
        "p = Conv(x, w) pads=[1,1,1,1]\ny = Relu(p)", "p = Conv(x, w) pads=[1,1,1,1]\ny = Add(p, c)",
        "p = Conv(x, w, b) pads=[1,1,1,1]\ny = Add(z, p)",
        "p = Conv(x, w, b) pads=[1,1,1,1]\nq = Add(p, z)\ny = Relu(q)",
        "p = Conv(x, w) pads=[1,1,1,1]\nq = Add(p, c)\nr = Add(q, z)\ny = Relu(r)",
        "p = Conv(x, w, b) pads=[1,1,1,1]\ny = Clip(p, low, high)",
        "p = Conv(x, w, b) pads=[1,1,1,1]\ny = Clip(p, low)",
        "p = Conv(x, w, b) pads=[1,1,1,1]\ny = LeakyRelu(p) alpha=0.2",
        "p = Conv(x, w, b) pads=[1,1,1,1]\ny = Sigmoid(p)", "p = Conv(x, w, b) pads=[1,1,1,1]\ny = Tanh(p)",
        "p = Conv(x, w, b) pads=[1,1,1,1]\ny = Elu(p) alpha=0.5", "p = Conv(x, w, b) pads=[1,1,1,1]\ny = Gelu(p)",
        "p = Conv(x, w, b) pads=[1,1,1,1]\nq = Sigmoid(p)\ny = Mul(p, q)",
        "p = Conv(x, w) pads=[1,1,1,1]\nr = Add(p, z)\nq = Sigmoid(r)\ny = Mul(q, r)",
        "p = Conv(x, w, b) pads=[1,1,1,1]\ny = Swish(p) alpha=1.5"}) {
    cases.push_back(Behind(what));
  }
  for (const char* what : {"input x float32[1,6,5,4]\nconst w float32[6,3,3,3] random 3\ny = ConvTranspose(x, w)",
                           "input x float32[2,6,5,4]\nconst w float32[6,2,3,3] random 3\n"
                           "y = ConvTranspose(x, w) group=2 strides=[2,2] pads=[1,1,1,1] output_padding=[1,1]",
                           "input x float32[1,4,5,5]\nconst w float32[4,3,2,2] random 3\nconst b float32[3] random 4\n"
                           "p = ConvTranspose(x, w, b) strides=[2,2]\ny = Relu(p)",
                           "input x float32[1,4,5]\nconst w float32[4,3,4] random 3\n"
                           "y = ConvTranspose(x, w) strides=[3] dilations=[2]"}) {
    cases.push_back(std::string(what) + "\noutput y\n");
  }
  return cases;
}

std::vector<std::string> DnnOtherCases() {
  std::vector<std::string> cases;
  for (const char* what :
       {"y = MaxPool(x) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]",
        "y = MaxPool(x) kernel_shape=[2,3] strides=[2,2] ceil_mode=1",
        "y = AveragePool(x) kernel_shape=[3,3] pads=[1,1,1,1]",
        "y = AveragePool(x) kernel_shape=[3,2] pads=[1,0,0,1] count_include_pad=1 strides=[2,1]",
        "y = AveragePool(x) kernel_shape=[2,2] strides=[2,2]", "y = GlobalAveragePool(x)", "y = GlobalMaxPool(x)",
        "y = InstanceNormalization(x, s, b) epsilon=0.01", "y = BatchNormalization(x, s, b, m, v)",
        "p = BatchNormalization(x, s, b, m, v) epsilon=0.01\ny = Relu(p)"}) {
    cases.push_back(
        "input x float32[2,6,8,9]\nconst s float32[6] random 3\nconst b float32[6] random 4\n"
        "const m float32[6] random 5\nconst v float32[6] value 0.75\n" +
        std::string(what) + "\noutput y\n");
  }
  for (const char* what : {"input x float32[2,5,12]\nconst s float32[12] random 3\nconst b float32[12] random 4\ny = "
                           "LayerNormalization(x, s, b)",
                           "input x float32[2,3,4,6]\nconst s float32[4,6] random 3\nconst b float32[4,6] random 4\n"
                           "y = LayerNormalization(x, s, b) axis=2 epsilon=0.01",
                           "input x float32[4,16]\nconst s float32[16] random 3\ny = RMSNormalization(x, s)",
                           "input x float32[2,4,12]\ny = MaxPool(x) kernel_shape=[3] strides=[2]",
                           "input x float32[1,4,6,6,6]\ny = AveragePool(x) kernel_shape=[2,2,2] strides=[2,2,2]"}) {
    cases.push_back(std::string(what) + "\noutput y\n");
  }
  return cases;
}

std::vector<std::string> DnnAttentionCases() {
  const auto whole = [](const std::string& q, const std::string& k, const std::string& v, const std::string& more,
                        const std::string& rest) {
    return "input q float32" + q + "\ninput k float32" + k + "\ninput v float32" + v + "\n" + more +
           "y = Attention(q, k, v" + rest + "\noutput y\n";
  };
  const std::string q = "[2,4,64,32]", k = "[2,4,96,32]";
  const std::string spelled =
      "input q float32[2,64,4,32]\ninput k float32[2,64,4,32]\ninput v float32[2,64,4,32]\n"
      "const d float32[] value 5.5\nconst m float32[64,64] random 4\na = Transpose(q) perm=[0,2,1,3]\n"
      "b = Transpose(k) perm=[0,2,3,1]\nc = Transpose(v) perm=[0,2,1,3]\ns = MatMul(a, b)\nu = Div(s, d)\n";
  const std::string end = "p = Softmax(t)\no = MatMul(p, c)\ny = Transpose(o) perm=[0,2,1,3]\noutput y\n";
  return {whole(q, k, k, "", ")"),
          whole(q, k, k, "", ") is_causal=1 scale=0.2"),
          whole("[2,4,64,64]", "[2,2,96,64]", "[2,2,96,64]", "", ")"),  // heads that are shared
          whole("[2,64,128]", "[2,96,128]", "[2,96,128]", "", ") q_num_heads=2 kv_num_heads=2"),
          whole("[1,2,40,40]", "[1,2,77,40]", "[1,2,77,40]", "", ")"),
          whole("[1,4,1,64]", "[1,4,96,64]", "[1,4,96,64]", "", ")"),
          whole(q, k, k, "const m float32[64,96] random 5\n", ", m)"),
          whole(q, k, k, "const m float32[1,4,64,96] random 5\n", ", m)"),
          whole(q, k, k, "const m float32[2,1,64,96] random 5\n", ", m) is_causal=1"),
          spelled + "t = Add(u, m)\n" + end};
}

size_t CheckDnnGroup(const GpuLab& lab, const std::string& text, const Precision& precision,
                     const DnnPlacement& placement) {
  INFO(text);
  const Graph graph = ParseInferred(text);
  const auto library = cuda::MakeDnnLibrary(lab.functions);
  const std::vector<NodeId> nodes = AllNodes(graph);
  const std::vector<Candidate> candidates = library->CandidatesFor(graph, lab.platform, nodes, precision);
  std::vector<Tensor> inputs, in_order;
  for (const ValueId input : graph.inputs()) {
    inputs.push_back(RandomTensor(DataType::kFloat32, *graph.value(input).type.static_dims(), inputs.size() + 1));
  }
  for (const ValueId value : GroupInputs(graph, nodes)) {
    in_order.push_back(inputs[static_cast<size_t>(std::ranges::find(graph.inputs(), value) - graph.inputs().begin())]);
  }
  const std::vector<Tensor> expected = RunOnReference(graph, inputs);
  for (const Candidate& candidate : candidates) {
    INFO(candidate.variant << ", " << MathModeName(candidate.math) << ", " << ToString(candidate.out[0].layout));
    const auto described = library->Describe(graph, lab.platform, candidate);
    CHECK(described.ok());
    const auto results = DnnRun(lab, placement).Run(*library, graph, candidate, in_order);
    if (!results.ok()) FAIL(ToString(results.error()));
    CHECK(Difference((*results)[0], expected[0], RelativeTolerance(candidate.math, DataType::kFloat32)) == "");
  }
  return candidates.size();
}

}  // namespace pt::testing
