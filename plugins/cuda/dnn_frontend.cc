// cuDNN through its C++ front end: the one file that sees the headers of either, since they take half a minute to
// compile. The library itself is opened by name while the program runs.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>
#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <set>

#include "plugins/cuda/context.h"
#include "plugins/cuda/dnn.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // what the front end looks its functions up in
}  // namespace cudnn_frontend

namespace pt::cuda {
namespace {

namespace fe = cudnn_frontend;

// Before this version graphs cannot be asked about without a device.
constexpr size_t kOldestVersion = 90800;

Error DnnError(ErrorCode code, const std::string& what) { return MakeError(code, "cuda.dnn", "cuDNN: " + what); }

// The front end's texts are long and may end in a line feed.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

Status Judge(fe::error_object answer, ErrorCode code = ErrorCode::kUnsupported) {
  if (answer.is_good()) return {};
  return DnnError(code, FirstLine(answer.get_message()));
}

// The front end throws where a function or a library that it needs is missing.
template <typename Call>
auto WithoutExceptions(Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& fault) {
    return DnnError(ErrorCode::kDeviceUnusable, FirstLine(fault.what()));
  }
}

#define PT_DNN(call) PT_CHECK_OK(Judge(call))

fe::DataType_t TypeOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return fe::DataType_t::FLOAT;
    case DataType::kFloat16:
      return fe::DataType_t::HALF;
    case DataType::kBfloat16:
      return fe::DataType_t::BFLOAT16;
    default:
      return fe::DataType_t::NOT_SET;
  }
}

// 0 where there is none.
int32_t NumberBehind(std::string_view key, std::string_view text) {
  const size_t at = text.find(key);
  int32_t number = 0;
  if (at != std::string_view::npos) {
    const std::string_view rest = text.substr(at + key.size());
    std::from_chars(rest.data(), rest.data() + rest.size(), number);
  }
  return number;
}

// A tensor's unique id: its number, from 1 on.
int64_t UidOf(uint32_t tensor) { return int64_t{tensor} + 1; }

// Numbers that a call names by their place on the host, by unique id.
using Scalars = std::unordered_map<int64_t, fe::graph::Tensor_attributes::pass_by_values_t>;

// The front end's graph, with what only classes derived from it may see.
class OpenGraph : public fe::graph::Graph {
 public:
  // Of the operation graph that was built. kUnsupported where a call would have to bring more than tensors, scalars and
  // the engine's workspace.
  Result<Scalars> CollectScalars() {
    std::unordered_map<int64_t, std::tuple<int64_t, int64_t, std::vector<float>>> written;
    std::unordered_map<int64_t, std::pair<int64_t, int64_t>> replaced;
    int64_t offset = 0;
    PT_DNN(collect_tensors_in_workspace_subtree(written, offset));
    PT_DNN(collect_variant_pack_replacements_subtree(replaced));
    if (!written.empty() || !replaced.empty() || get_fe_workspace_size_subtree() > 0) {
      return DnnError(ErrorCode::kUnsupported, "the front end wants memory of its own for it");
    }
    Scalars scalars;
    PT_DNN(collect_pass_by_value_tensors_subtree(scalars));
    return scalars;
  }

  // Of the one plan there is: whether its engine runs the graph, then the plan itself.
  Result<std::shared_ptr<fe::ExecutionPlan>> BuildOnly() {
    PT_DNN(plans.check_support_at_index(0));
    PT_DNN(plans.build_plan_at_index(0));
    return plans.execution_plans[0];
  }

  // The engines that heuristics have proposed, best first.
  std::vector<DnnEngine> Engines(const DnnGraph& graph, uint64_t most_workspace) {
    plans.set_max_workspace_allowed(static_cast<int64_t>(most_workspace));
    fe::EngineConfigList configurations = plans.get_barred_engine_configs();  // all of them: none is barred yet
    std::vector<DnnEngine> engines;
    std::set<std::string> seen;
    for (size_t i = 0; i < configurations.size(); ++i) {
      if (!IsExactEnough(i, graph)) continue;
      Result<DnnEngine> engine = EngineAt(static_cast<int64_t>(i), configurations[i]);
      if (engine.ok() && seen.insert(ToString(*engine)).second) engines.push_back(std::move(engine).value());
    }
    return engines;
  }

 private:
  bool IsExactEnough(size_t index, const DnnGraph& graph) const {
    const auto& notes = plans.numeric_notes[index];
    const auto has = [&](fe::NumericalNote_t note) {
      return std::find(notes.begin(), notes.end(), note) != notes.end();
    };
    // Two runs of a plan give the same bits.
    if (has(fe::NumericalNote_t::NONDETERMINISTIC) || has(fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION))
      return false;
    if (!HasProducts(graph)) return true;
    if (graph.math == MathMode::kBf16 || graph.math == MathMode::kFp16) {
      // Factors are what they were stored as: neither rounded further, nor sums of others that were.
      return !has(fe::NumericalNote_t::DOWN_CONVERT_INPUTS) && !has(fe::NumericalNote_t::WINOGRAD);
    }
    // Tensor cores take float32 only as TF32.
    const bool rounds = has(fe::NumericalNote_t::TENSOR_CORE) || has(fe::NumericalNote_t::DOWN_CONVERT_INPUTS);
    return rounds == (graph.math != MathMode::kFp32);
  }

  Result<DnnEngine> EngineAt(int64_t index, fe::ManagedOpaqueDescriptor& configuration) {
    PT_DNN(plans.check_support_at_index(index));
    DnnEngine engine;
    std::unordered_map<fe::KnobType_t, int64_t> knobs;
    PT_DNN(plans.get_engine_and_knobs_at_index(index, engine.number, knobs));
    for (const auto& [kind, value] : knobs) engine.knobs.emplace_back(static_cast<int64_t>(kind), value);
    std::sort(engine.knobs.begin(), engine.knobs.end());
    int64_t workspace = 0;
    PT_DNN(fe::detail::get_workspace_size(configuration, workspace));
    engine.workspace_bytes = static_cast<uint64_t>(std::max<int64_t>(workspace, 0));
    return engine;
  }
};

using TensorPointer = std::shared_ptr<fe::graph::Tensor_attributes>;

// A graph of ours in the front end's terms. architecture: compute capability 9.0 as 90.
class Translation {
 public:
  Translation(const DnnGraph& graph, int32_t architecture) : graph_(graph) {
    made.set_sm_version(architecture);  // nodes take it along as they are made
    made.set_io_data_type(fe::DataType_t::FLOAT)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    tensors_.resize(graph.tensors.size());
    for (const uint32_t bound : graph.bound) {
      const bool is_made =
          std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const DnnNode& node) { return node.out == bound; });
      if (!is_made) tensors_[bound] = made.tensor(Attributes(bound));
    }
    for (const DnnNode& node : graph.nodes) Add(node);
  }

  OpenGraph made;

 private:
  bool IsBound(uint32_t tensor) const {
    return std::find(graph_.bound.begin(), graph_.bound.end(), tensor) != graph_.bound.end();
  }

  fe::graph::Tensor_attributes Attributes(uint32_t index) const {
    const DnnTensor& tensor = graph_.tensors[index];
    fe::graph::Tensor_attributes attributes;
    attributes.set_uid(UidOf(index))
        .set_name("t" + std::to_string(index))
        .set_dim(tensor.dims)
        .set_stride(tensor.strides)
        .set_data_type(TypeOf(tensor.type))
        .set_alignment(graph_.alignment);
    return attributes;
  }

  void Add(const DnnNode& node) {
    const TensorPointer out = Make(node);
    const DnnTensor& tensor = graph_.tensors[node.out];
    out->set_uid(UidOf(node.out))
        .set_name("t" + std::to_string(node.out))
        .set_dim(tensor.dims)
        .set_stride(tensor.strides)
        .set_data_type(TypeOf(tensor.type))
        .set_alignment(graph_.alignment)
        .set_output(IsBound(node.out));
    tensors_[node.out] = out;
  }

  const TensorPointer& In(const DnnNode& node, size_t i) const { return tensors_[node.in[i]]; }

  TensorPointer Make(const DnnNode& node) {
    switch (node.operation) {
      case DnnOperation::kConvolution:
        return made.conv_fprop(In(node, 0), In(node, 1), Window(fe::graph::Conv_fprop_attributes(), node));
      case DnnOperation::kTransposedConvolution:
        return made.conv_dgrad(In(node, 0), In(node, 1), Window(fe::graph::Conv_dgrad_attributes(), node));
      case DnnOperation::kMaxPool:
      case DnnOperation::kAveragePool:
      case DnnOperation::kAveragePoolWithPads:
        return Pool(node);
      case DnnOperation::kLayerNorm:
      case DnnOperation::kRmsNorm:
      case DnnOperation::kInstanceNorm:
        return Normalised(node);
      case DnnOperation::kAttention:
        return Attended(node);
      default:
        return Pointwise(node);
    }
  }

  TensorPointer Attended(const DnnNode& node) {
    fe::graph::SDPA_attributes attributes;
    attributes.set_name("attention").set_generate_stats(false).set_attn_scale(node.alpha);
    if (node.is_causal) {
      attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
    }
    if (node.in.size() > 3) attributes.set_bias(In(node, 3));
    return made.sdpa(In(node, 0), In(node, 1), In(node, 2), attributes)[0];
  }

  template <typename Attributes>
  static Attributes Window(Attributes attributes, const DnnNode& node) {
    attributes.set_pre_padding(node.pads_begin)
        .set_post_padding(node.pads_end)
        .set_stride(node.stride)
        .set_dilation(node.dilation);
    return attributes;
  }

  TensorPointer Pool(const DnnNode& node) {
    const bool max = node.operation == DnnOperation::kMaxPool;
    fe::graph::Resample_attributes attributes;
    attributes
        .set_resampling_mode(max ? fe::ResampleMode_t::MAXPOOL
                             : node.operation == DnnOperation::kAveragePool
                                 ? fe::ResampleMode_t::AVGPOOL_EXCLUDE_PADDING
                                 : fe::ResampleMode_t::AVGPOOL_INCLUDE_PADDING)
        .set_padding_mode(max ? fe::PaddingMode_t::NEG_INF_PAD : fe::PaddingMode_t::ZERO_PAD)
        .set_window(node.window)
        .set_stride(node.stride)
        .set_pre_padding(node.pads_begin)
        .set_post_padding(node.pads_end)
        .set_generate_index(false);
    return made.resample(In(node, 0), attributes)[0];
  }

  TensorPointer Normalised(const DnnNode& node) {
    TensorPointer epsilon = made.tensor(node.epsilon);
    switch (node.operation) {
      case DnnOperation::kRmsNorm: {
        fe::graph::Rmsnorm_attributes attributes;
        attributes.set_forward_phase(fe::NormFwdPhase_t::INFERENCE).set_epsilon(epsilon);
        return made.rmsnorm(In(node, 0), In(node, 1), attributes)[0];
      }
      case DnnOperation::kLayerNorm: {
        fe::graph::Layernorm_attributes attributes;
        attributes.set_forward_phase(fe::NormFwdPhase_t::INFERENCE).set_epsilon(epsilon);
        return made.layernorm(In(node, 0), In(node, 1), In(node, 2), attributes)[0];
      }
      default: {
        fe::graph::Instancenorm_attributes attributes;
        attributes.set_forward_phase(fe::NormFwdPhase_t::INFERENCE).set_epsilon(epsilon);
        return made.instancenorm(In(node, 0), In(node, 1), In(node, 2), attributes)[0];
      }
    }
  }

  TensorPointer Pointwise(const DnnNode& node) {
    fe::graph::Pointwise_attributes attributes;
    switch (node.operation) {
      case DnnOperation::kAdd:
        attributes.set_mode(fe::PointwiseMode_t::ADD);
        break;
      case DnnOperation::kMul:
        attributes.set_mode(fe::PointwiseMode_t::MUL);
        break;
      case DnnOperation::kSigmoid:
        attributes.set_mode(fe::PointwiseMode_t::SIGMOID_FWD);
        break;
      case DnnOperation::kTanh:
        attributes.set_mode(fe::PointwiseMode_t::TANH_FWD);
        break;
      case DnnOperation::kElu:
        attributes.set_mode(fe::PointwiseMode_t::ELU_FWD).set_elu_alpha(node.alpha);
        break;
      case DnnOperation::kGelu:
        attributes.set_mode(fe::PointwiseMode_t::GELU_FWD);
        break;
      case DnnOperation::kSwish:
        attributes.set_mode(fe::PointwiseMode_t::SWISH_FWD).set_swish_beta(node.alpha);
        break;
      default:
        attributes.set_mode(fe::PointwiseMode_t::RELU_FWD);
        if (node.slope != 0) attributes.set_relu_lower_clip_slope(node.slope);
        if (node.is_cut_off) attributes.set_relu_upper_clip(node.most);
    }
    return node.in.size() == 2 ? made.pointwise(In(node, 0), In(node, 1), attributes)
                               : made.pointwise(In(node, 0), attributes);
  }

  const DnnGraph& graph_;
  std::vector<TensorPointer> tensors_;
};

// A handle of cuDNN, which enqueues to one stream at a time.
class Handle {
 public:
  static Result<std::shared_ptr<Handle>> Make(std::shared_ptr<Context> context) {
    const std::shared_ptr<Handle> handle(new Handle(std::move(context)));
    const Context::Scope scope(*handle->context_);
    PT_CHECK_OK(handle->context_->Judge("cuCtxPushCurrent", scope.code()));
    PT_CHECK_OK(handle->JudgeCode("cudnnCreate", fe::detail::create_handle(&handle->handle_)));
    return handle;
  }
  ~Handle() {
    if (handle_ == nullptr) return;
    const Context::Scope scope(*context_);
    if (scope.code() == CUDA_SUCCESS) fe::detail::destroy_handle(handle_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  Context& context() const { return *context_; }
  cudnnHandle_t get() const { return handle_; }
  // Held by whoever uses it: sessions are compiled by several threads, and run beside that.
  std::mutex& mutex() { return mutex_; }

  Status JudgeCode(const char* call, cudnnStatus_t code) const {
    if (code == CUDNN_STATUS_SUCCESS) return {};
    const ErrorCode kind = code == CUDNN_STATUS_ALLOC_FAILED ? ErrorCode::kOutOfMemory : ErrorCode::kRunFailed;
    Error error = DnnError(kind, std::string(call) + ": " + fe::detail::get_error_string(code) + ": " +
                                     FirstLine(fe::detail::get_last_error_string_()));
    error.device = context_->name();
    return error;
  }

  Status Execute(cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t call, CUstream stream) {
    const std::lock_guard lock(mutex_);
    PT_CHECK_OK(JudgeCode("cudnnSetStream", fe::detail::set_stream(handle_, stream)));
    return JudgeCode("cudnnBackendExecute", fe::detail::execute(handle_, plan, call));
  }

 private:
  explicit Handle(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  const std::shared_ptr<Context> context_;
  cudnnHandle_t handle_ = nullptr;
  std::mutex mutex_;
};

struct BuiltPlan {
  std::shared_ptr<Handle> handle;
  std::unique_ptr<Translation> graph;  // the plan's descriptors live in it
  std::shared_ptr<fe::ExecutionPlan> plan;
  std::vector<int64_t> bound;  // uids
  Scalars scalars;
};

class FrontendCall : public DnnCall {
 public:
  static Result<std::unique_ptr<DnnCall>> Make(std::shared_ptr<const BuiltPlan> built,
                                               std::span<const CUdeviceptr> addresses, CUdeviceptr workspace) {
    std::unique_ptr<FrontendCall> call(new FrontendCall(std::move(built)));
    std::vector<int64_t> uids = call->built_->bound;
    std::vector<void*> places;
    for (const CUdeviceptr address : addresses) places.push_back(reinterpret_cast<void*>(address));
    for (const auto& [uid, number] : call->built_->scalars) {
      uids.push_back(uid);
      std::visit([&](const auto& value) { places.push_back(const_cast<void*>(static_cast<const void*>(&value))); },
                 number);
    }
    if (call->arguments_.get_status() != CUDNN_STATUS_SUCCESS) {
      return DnnError(ErrorCode::kRunFailed, "a call's descriptor cannot be made");
    }
    PT_CHECK_OK(
        Judge(fe::detail::create_variant_pack(call->arguments_, places, uids, reinterpret_cast<void*>(workspace)),
              ErrorCode::kRunFailed));
    return std::unique_ptr<DnnCall>(std::move(call));
  }

  Status Enqueue(CUstream stream) override {
    return built_->handle->Execute(built_->plan->get_raw_desc(), arguments_.get_ptr(), stream);
  }

 private:
  explicit FrontendCall(std::shared_ptr<const BuiltPlan> built) : built_(std::move(built)) {}

  const std::shared_ptr<const BuiltPlan> built_;
  fe::detail::backend_descriptor arguments_{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
};

class FrontendPlan : public DnnPlan {
 public:
  explicit FrontendPlan(std::shared_ptr<const BuiltPlan> built) : built_(std::move(built)) {}

  uint64_t workspace_bytes() const override {
    return static_cast<uint64_t>(std::max<int64_t>(built_->plan->getWorkspaceSize(), 0));
  }
  Result<std::unique_ptr<DnnCall>> Bind(std::span<const CUdeviceptr> addresses, CUdeviceptr workspace) const override {
    return WithoutExceptions([&] { return FrontendCall::Make(built_, addresses, workspace); });
  }

 private:
  const std::shared_ptr<const BuiltPlan> built_;
};

class FrontendDevice : public DnnDevice {
 public:
  explicit FrontendDevice(std::shared_ptr<Handle> handle) : handle_(std::move(handle)) {}

  Result<std::shared_ptr<const DnnPlan>> Build(const DnnGraph& graph, const DnnEngine& engine) const override {
    return WithoutExceptions([&] { return BuildOrThrow(graph, engine); });
  }

 private:
  Result<std::shared_ptr<const DnnPlan>> BuildOrThrow(const DnnGraph& graph, const DnnEngine& engine) const {
    const Context::Scope scope(handle_->context());
    PT_CHECK_OK(handle_->context().Judge("cuCtxPushCurrent", scope.code()));
    const std::lock_guard lock(handle_->mutex());
    auto built = std::make_shared<BuiltPlan>();
    built->handle = handle_;
    built->graph = std::make_unique<Translation>(graph, NumberBehind("sm_", handle_->context().architecture()));
    OpenGraph& made = built->graph->made;
    PT_DNN(made.validate());
    PT_DNN(made.build_operation_graph(handle_->get()));
    PT_ASSIGN(built->scalars, made.CollectScalars());
    std::unordered_map<fe::KnobType_t, int64_t> knobs;
    for (const auto& [kind, value] : engine.knobs) knobs[static_cast<fe::KnobType_t>(kind)] = value;
    PT_DNN(made.create_execution_plan(engine.number, knobs));
    PT_ASSIGN(built->plan, made.BuildOnly());
    for (const uint32_t bound : graph.bound) built->bound.push_back(UidOf(bound));
    return std::shared_ptr<const DnnPlan>(std::make_shared<FrontendPlan>(std::move(built)));
  }

  const std::shared_ptr<Handle> handle_;
};

class Frontend : public Dnn {
 public:
  std::string version() const override {
    const size_t version = fe::detail::get_backend_version();
    return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
           std::to_string(version % 100);
  }

  Result<std::string> DescribeDevice(int ordinal) const override {
    return WithoutExceptions([&] { return DescribeOrThrow(ordinal); });
  }

  Result<std::vector<DnnEngine>> Engines(const DnnGraph& graph, const std::string& device,
                                         uint64_t most_workspace) const override {
    return WithoutExceptions([&] { return EnginesOrThrow(graph, device, most_workspace); });
  }

  Result<std::shared_ptr<const DnnDevice>> Open(std::shared_ptr<Context> context) const override {
    return WithoutExceptions([&]() -> Result<std::shared_ptr<const DnnDevice>> {
      PT_ASSIGN(std::shared_ptr<Handle> handle, Handle::Make(std::move(context)));
      return std::shared_ptr<const DnnDevice>(std::make_shared<FrontendDevice>(std::move(handle)));
    });
  }

 private:
  static Result<std::string> DescribeOrThrow(int ordinal) {
    fe::DeviceProperties properties;
    properties.set_device_id(ordinal);
    PT_CHECK_OK(Judge(properties.build(), ErrorCode::kDeviceUnusable));
    std::vector<uint8_t> text;
    PT_CHECK_OK(Judge(properties.serialize(text), ErrorCode::kDeviceUnusable));
    return std::string(text.begin(), std::find(text.begin(), text.end(), 0));
  }

  static Result<std::vector<DnnEngine>> EnginesOrThrow(const DnnGraph& graph, const std::string& device,
                                                       uint64_t most_workspace) {
    auto properties = std::make_shared<fe::DeviceProperties>();
    PT_CHECK_OK(Judge(properties->deserialize({device.begin(), device.end()}), ErrorCode::kInvalidInput));
    const auto propose = [&](const std::vector<fe::HeurMode_t>& modes) {
      return Proposed(graph, device, properties, modes, most_workspace);
    };
    PT_ASSIGN(std::vector<DnnEngine> engines, propose({fe::HeurMode_t::A, fe::HeurMode_t::B}));
    if (engines.empty()) {
      PT_ASSIGN(engines, propose({fe::HeurMode_t::FALLBACK}));
    }
    if (!engines.empty()) return engines;
    return DnnError(ErrorCode::kUnsupported, "no engine runs it in " + std::string(MathModeName(graph.math)));
  }

  // None where the heuristics know nothing of such a graph; an error where cuDNN does not take the graph.
  static Result<std::vector<DnnEngine>> Proposed(const DnnGraph& graph, const std::string& device,
                                                 const std::shared_ptr<const fe::DeviceProperties>& properties,
                                                 const std::vector<fe::HeurMode_t>& modes, uint64_t most_workspace) {
    Translation translation(graph, NumberBehind("\"deviceVer\":", device) / 10);
    OpenGraph& made = translation.made;
    made.set_device_properties(properties);
    PT_DNN(made.validate());
    PT_DNN(made.build_operation_graph());
    PT_ASSIGN(const Scalars scalars, made.CollectScalars());
    static_cast<void>(scalars);
    if (made.create_execution_plans(modes).is_bad()) return std::vector<DnnEngine>();
    return made.Engines(graph, most_workspace);
  }
};

}  // namespace

Result<std::shared_ptr<const Dnn>> LoadDnn(const std::string& name) {
  // The front end has one place for the library in a process: whoever comes first fills it.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const reason = dlerror();
    return MakeError(ErrorCode::kDeviceUnusable, "cuda.no_cudnn",
                     "there is no cuDNN on this machine: " + std::string(reason == nullptr ? name : reason),
                     "install cuDNN 9 where the system's loader finds it, or call ./setup --cuda");
  }
  void* const version = dlsym(handle, "cudnnGetVersion");
  if (version == nullptr || reinterpret_cast<decltype(&cudnnGetVersion)>(version)() < kOldestVersion) {
    return MakeError(ErrorCode::kDeviceUnusable, "cuda.old_library", name + " is older than cuDNN 9.8",
                     "install a newer one");
  }
  fe::cudnn_dlhandle = handle;
  return std::shared_ptr<const Dnn>(std::make_shared<Frontend>());
}

}  // namespace pt::cuda
