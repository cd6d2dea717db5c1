#include "lib/profiler/subject.h"

#include <algorithm>
#include <set>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/profiler/measure.h"

namespace pt {
namespace {

constexpr uint64_t kSeed = 20240229;

Result<TensorLayout> LayoutOf(const Value& value, const Form& form) {
  const std::optional<std::vector<int64_t>> dims = value.type.static_dims();
  if (!dims) {
    return MakeError(ErrorCode::kUnsupported, "profiler.dynamic",
                     "the dims of value " + value.name + " are known only at run time");
  }
  return DenseLayout(form.storage, *dims, form.layout);
}

}  // namespace

// Keeps note of the packed constants a kernel asked for, so that they can be put where a run finds them.
class Subject::NotingWeightStore : public WeightStore {
 public:
  explicit NotingWeightStore(WeightStore& store) : store_(store) {}
  Result<std::shared_ptr<DeviceBuffer>> Get(Hash128 content, std::string_view format, DeviceDriver& device,
                                            uint64_t bytes, const Fill& fill) override {
    Result<std::shared_ptr<DeviceBuffer>> buffer = store_.Get(content, format, device, bytes, fill);
    if (buffer.ok()) noted_.push_back(*buffer);
    return buffer;
  }
  uint64_t bytes() const override { return store_.bytes(); }
  const std::vector<std::shared_ptr<DeviceBuffer>>& noted() const { return noted_; }

 private:
  WeightStore& store_;
  std::vector<std::shared_ptr<DeviceBuffer>> noted_;
};

Subject::Subject(Machine& machine, UnitClassId unit_class, CompileContext context)
    : machine_(machine),
      unit_class_(unit_class),
      driver_(context.device),
      weights_(std::make_unique<NotingWeightStore>(context.weights)),
      context_{context.platform, context.device, context.team, *weights_, context.subgraphs} {}

Subject::~Subject() = default;

void Subject::Abandon() {
  for (std::unique_ptr<DeviceBuffer>& buffer : buffers_) static_cast<void>(buffer.release());
  for (Input& input : inputs_) static_cast<void>(input.fresh.release());
  static_cast<void>(bound_.release());
  static_cast<void>(kernel_.release());
  static_cast<void>(weights_.release());
}

std::span<const std::shared_ptr<DeviceBuffer>> Subject::packed_constants() const { return weights_->noted(); }

Status Subject::OfKernel(Status status) {
  if (status.ok()) return status;
  const bool asynchronous = !machine_.platform().unit_class(unit_class_).on_host();
  origin_ = asynchronous && bound_ ? Origin::kDevice : Origin::kKernel;
  return status;
}

Result<DeviceBuffer*> Subject::Allocate(uint64_t bytes) {
  PT_ASSIGN(std::unique_ptr<DeviceBuffer> buffer, driver_.Allocate(bytes));
  buffers_.push_back(std::move(buffer));
  return buffers_.back().get();
}

Result<TensorView> Subject::AddInput(const TensorLayout& layout, ValueRange range, bool is_callers) {
  PT_ASSIGN(const uint64_t bytes, BytesOf(layout));
  PT_ASSIGN(DeviceBuffer * buffer, Allocate(bytes));
  Input input{buffer, nullptr, is_callers};
  PT_ASSIGN(input.fresh, driver_.AllocateHost(bytes));
  FillInput(layout.type, range, kSeed + inputs_.size(), {static_cast<std::byte*>(input.fresh->data()), bytes});
  inputs_.push_back(std::move(input));
  return TensorView{buffer->data(), layout};
}

Result<TensorView> Subject::AddOutput(const TensorLayout& layout, bool is_callers) {
  PT_ASSIGN(const uint64_t bytes, BytesOf(layout));
  PT_ASSIGN(DeviceBuffer * buffer, Allocate(bytes));
  outputs_.push_back({buffer, is_callers});
  return TensorView{buffer->data(), layout};
}

Status Subject::AddOutputs(const Graph& graph, const Candidate& candidate, std::span<const uint32_t> callers,
                           std::span<const TensorView> in, std::vector<TensorView>& out) {
  const std::vector<ValueId> values = GroupOutputs(graph, candidate.nodes);
  for (size_t i = 0; i < values.size(); ++i) {
    PT_ASSIGN(TensorLayout layout, LayoutOf(graph.value(values[i]), candidate.out[i]));
    const auto required = std::find_if(candidate.aliases.begin(), candidate.aliases.end(), [i](const Alias& alias) {
      return alias.out == i && alias.kind == Alias::Kind::kRequired;
    });
    if (required != candidate.aliases.end()) {
      out.push_back({in[required->in].data, std::move(layout)});
      continue;
    }
    PT_ASSIGN(TensorView view, AddOutput(layout, std::find(callers.begin(), callers.end(), i) != callers.end()));
    out.push_back(std::move(view));
  }
  return {};
}

Status Subject::Bind(std::vector<TensorView> in, std::vector<TensorView> out) {
  in_ = std::move(in);
  out_ = std::move(out);
  const uint64_t scratch_bytes = kernel_->scratch_bytes();
  PT_ASSIGN(DeviceBuffer * scratch, Allocate(scratch_bytes));
  auto bound = kernel_->Bind(SlotsOf(in_), SlotsOf(out_), {static_cast<std::byte*>(scratch->data()), scratch_bytes});
  if (!bound.ok()) return OfKernel(std::move(bound).error());
  bound_ = std::move(bound).value();
  return {};
}

Status Subject::MakeCandidate(const Graph& graph, const Candidate& candidate) {
  const Library* library = machine_.library(candidate.library);
  if (library == nullptr) {
    return MakeError(ErrorCode::kUsage, "profiler.library",
                     "a candidate names the library " + candidate.library + ", which this machine lacks",
                     "enumerate the candidates with the libraries of the machine that measures them");
  }
  std::vector<TensorView> in, out;
  const CallersTensors callers = CallersTensorsOf(graph, machine_.platform(), candidate);
  const std::vector<ValueId> input_values = GroupInputs(graph, candidate.nodes);
  for (size_t i = 0; i < input_values.size(); ++i) {
    const Result<TensorLayout> layout = LayoutOf(graph.value(input_values[i]), candidate.in[i]);
    if (!layout.ok()) return OfKernel(layout.error());
    const bool is_callers = std::find(callers.in.begin(), callers.in.end(), i) != callers.in.end();
    PT_ASSIGN(TensorView view, AddInput(*layout, RangeOf(graph, candidate.nodes, input_values[i]), is_callers));
    in.push_back(std::move(view));
  }
  PT_CHECK_OK(AddOutputs(graph, candidate, callers.out, in, out));
  const auto layouts = [](std::span<const TensorView> views) {
    std::vector<TensorLayout> all;
    for (const TensorView& view : views) all.push_back(view.layout);
    return all;
  };
  auto kernel = library->Compile(graph, candidate, layouts(in), layouts(out), context_);
  if (!kernel.ok()) return OfKernel(std::move(kernel).error());
  kernel_ = std::move(kernel).value();
  PT_CHECK_OK(Bind(std::move(in), std::move(out)));
  touched_bytes_ = static_cast<size_t>(WorkSizeOf(graph, candidate.nodes).bytes);
  std::set<ValueId> seen;
  for (const NodeId node : candidate.nodes) {
    for (const ValueId input : graph.node(node).inputs) {
      if (!input.valid() || !graph.value(input).is_constant() || !seen.insert(input).second) continue;
      plain_constants_.push_back(graph.value(input).constant->bytes());
    }
  }
  return {};
}

Status Subject::MakeReorder(std::span<const int64_t> dims, const Form& from, const Form& to) {
  const Library* library = ReorderLibrary(machine_, unit_class_, dims, from, to);
  if (library == nullptr) {
    return OfKernel(MakeError(ErrorCode::kUnsupported, "profiler.reorder", "no library reorders this"));
  }
  const std::vector<int64_t> sizes(dims.begin(), dims.end());
  PT_ASSIGN(const TensorLayout from_layout, DenseLayout(from.storage, sizes, from.layout));
  PT_ASSIGN(const TensorLayout to_layout, DenseLayout(to.storage, sizes, to.layout));
  PT_ASSIGN(const TensorView in, AddInput(from_layout, {}));
  PT_ASSIGN(const TensorView out, AddOutput(to_layout));
  auto kernel = library->CompileReorder(from_layout, to_layout, context_);
  if (!kernel.ok()) return OfKernel(std::move(kernel).error());
  kernel_ = std::move(kernel).value();
  touched_bytes_ = inputs_.back().fresh->bytes() + outputs_.back().buffer->bytes();
  return Bind({in}, {out});
}

Status Subject::Enqueue(Stream& stream) { return OfKernel(bound_->Enqueue(StaticRun(stream))); }

}  // namespace pt
