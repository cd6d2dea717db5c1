#include "plugins/cuda/dnn_graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "partitiontuner/backend/attention_pattern.h"
#include "partitiontuner/backend/window_parameters.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/elementwise.h"
#include "partitiontuner/graph/operators/normalizations.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/graph/uses.h"
#include "plugins/cuda/attention.h"
#include "plugins/cuda/dnn_groups.h"
#include "plugins/cuda/dnn_layout.h"

namespace pt::cuda {
namespace {

using Dims = std::vector<int64_t>;

// What cuDNN's descriptors hold of dims and strides.
constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();

// Builds the graph, one tensor and node after another.
class DnnSiteMaker {
 public:
  DnnSiteMaker(const CudaSite& site, MathMode math) : site_(site), stored_(StoredIn(math)) { made_.graph.math = math; }

  Result<DnnSite> Make() {
    if (site_.in.empty()) return site_.Unsupported("an input is missing");
    channels_last_ = IsChannelsLast(site_.in.front().layout);
    if (site_.out.size() != 1) return site_.Unsupported("something else reads what is within the group");
    PT_CHECK_OK(CheckOperands());
    const Node& node = site_.node();
    if (!node.domain.empty()) return site_.Unsupported("cuDNN has nothing for it");
    if (IsAttention(site_.graph, site_.nodes)) {
      PT_CHECK_OK(MakeAttentionNode());
    } else if (IsDnnConvolution(node)) {
      PT_CHECK_OK(MakeConvolution());
    } else if (made_.graph.math == MathMode::kTf32) {
      return site_.Unsupported("it has no products that could be rounded");
    } else if (IsDnnPool(node)) {
      PT_CHECK_OK(MakePool());
    } else if (node.op == "BatchNormalization") {
      PT_CHECK_OK(MakeBatchNormalization());
    } else if (IsDnnNormalisation(node)) {
      PT_CHECK_OK(MakeNormalisation());
    } else {
      return site_.Unsupported("cuDNN has nothing for it");
    }
    return std::move(made_);
  }

 private:
  const CudaOperand& out() const { return site_.out.front(); }
  uint32_t OutArgument() const { return static_cast<uint32_t>(site_.in.size()); }
  uint32_t ArgumentOf(const CudaOperand& operand) const { return static_cast<uint32_t>(&operand - site_.in.data()); }

  Status CheckOperands() {
    const auto check = [&](const CudaOperand& operand) -> Status {
      // Bounds of Clip may be anything: they are read here, not on the device.
      if (operand.constant != nullptr && operand.dims().empty()) return {};
      const bool fits = operand.type() == stored_ || operand.type() == DataType::kFloat32;
      if (operand.value_type != DataType::kFloat32 || !fits) return site_.Unsupported("it is not of float32");
      int64_t count = 1;
      for (const int64_t dim : operand.dims()) {
        if (dim == 0) return site_.Unsupported("a tensor is empty");
        if (count > kMostElements / dim) return site_.Unsupported("a tensor has more elements than cuDNN counts");
        count *= dim;
      }
      return {};
    };
    for (const CudaOperand& operand : site_.in) PT_CHECK_OK(check(operand));
    return check(out());
  }

  Result<const CudaOperand*> Need(size_t input) const {
    const CudaOperand* const operand = site_.Input(input);
    if (operand == nullptr) return site_.Unsupported("an input is missing");
    return operand;
  }

  // The first input, stored as the mode wants it.
  Result<const CudaOperand*> NeedFirst() const {
    PT_ASSIGN(const CudaOperand* const x, Need(0));
    if (x->type() != stored_) return site_.Unsupported("its input may not be converted to lower precision");
    return x;
  }

  // ---- Tensors ----
  uint32_t Add(DnnTensor tensor) {
    DropIdleStrides(tensor, channels_last_);
    made_.graph.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(made_.graph.tensors.size() - 1);
  }
  uint32_t AddBound(DnnTensor tensor, DnnSource source) {
    const uint32_t index = Add(std::move(tensor));
    made_.graph.bound.push_back(index);
    made_.sources.push_back(source);
    return index;
  }
  uint32_t AddImage(const CudaOperand& operand) { return AddBound(DnnImage(operand.layout), {ArgumentOf(operand)}); }
  // A number a channel.
  uint32_t AddChannels(const CudaOperand& operand, DnnContent content = DnnContent::kAsItIs) {
    const int64_t count = content == DnnContent::kZeros ? out().dims()[1] : Count(operand.dims());
    Dims dims(made_.graph.tensors.front().dims.size(), 1), strides(dims.size(), 1);
    dims[1] = count;
    strides[0] = count;
    return AddBound({operand.type(), dims, strides}, {ArgumentOf(operand), content});
  }
  static int64_t Count(const Dims& dims) {
    return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  }
  // A result on its way to the group's: it lies as that does, though it never leaves the kernel, and is not rounded.
  uint32_t AddStep() {
    DnnTensor step = DnnImage(out().layout);
    step.type = DataType::kFloat32;
    return Add(std::move(step));
  }
  uint32_t Apply(DnnNode node) {
    node.out = AddStep();
    made_.graph.nodes.push_back(std::move(node));
    return made_.graph.nodes.back().out;
  }
  uint32_t Apply(DnnOperation operation, std::vector<uint32_t> in) {
    DnnNode node;
    node.operation = operation;
    node.in = std::move(in);
    return Apply(std::move(node));
  }
  // The tensor in which all ends is what the caller binds.
  Status Finish(uint32_t last) {
    made_.graph.tensors[last].type = out().type();
    made_.graph.bound.push_back(last);
    made_.sources.push_back({OutArgument()});
    return {};
  }

  // An image lies as the first operand does, and so does the result.
  Status CheckLayouts(const CudaOperand& image) const {
    for (const CudaOperand* const operand : {&image, &out()}) {
      const bool fits = channels_last_ ? IsChannelsLast(operand->layout) : operand->layout.layout.is_row_major();
      if (!fits) return site_.Unsupported("its layouts differ, or cuDNN does not know them");
    }
    return {};
  }

  // ---- Convolutions ----
  Status MakeConvolution() {
    const Node& node = site_.node();
    PT_ASSIGN(const CudaOperand* x, NeedFirst());
    PT_ASSIGN(const CudaOperand* w, Need(1));
    const size_t rank = x->dims().size();
    if (rank < 3 || rank > 5) return site_.Unsupported("it has not one to three spatial dims");
    PT_CHECK_OK(CheckLayouts(*x));
    if (channels_last_ && w->constant == nullptr) return site_.Unsupported("its filters are not constant");
    DnnNode convolution;
    PT_CHECK_OK(SetWindow(node, *x, *w, convolution));
    const uint32_t from = AddImage(*x);
    DnnTensor filters = DnnImage(w->layout);
    if (w->constant != nullptr) filters.type = stored_;
    if (channels_last_) filters.strides = ChannelsLastStrides(filters.dims);
    const DnnContent content = channels_last_ ? DnnContent::kChannelsLast : DnnContent::kAsItIs;
    const uint32_t by = AddBound(std::move(filters), {ArgumentOf(*w), content});
    convolution.in = {from, by};
    PT_ASSIGN(const Behind behind, FollowersOf(site_.Input(2)));
    if (convolution.operation == DnnOperation::kTransposedConvolution && !behind.is_nothing()) {
      PT_CHECK_OK(NeedRounding());
    }
    uint32_t last = Apply(std::move(convolution));
    // cuDNN has kernels for this order alone: the tensor first, then a number a channel, then the activation.
    if (behind.tensor != nullptr) {
      PT_CHECK_OK(CheckLayouts(*behind.tensor));
      last = Apply(DnnOperation::kAdd, {last, AddImage(*behind.tensor)});
    }
    if (behind.channels != nullptr) {
      last = Apply(DnnOperation::kAdd, {last, AddChannels(*behind.channels)});
    } else if (w->constant != nullptr && (behind.tensor != nullptr || behind.activation != nullptr)) {
      // Kernels for what follows have a bias too.
      last = Apply(DnnOperation::kAdd, {last, AddChannels(*w, DnnContent::kZeros)});
    }
    if (behind.activation != nullptr) {
      PT_ASSIGN(DnnNode activation, Activation(behind));
      activation.in = {last};
      last = Apply(std::move(activation));
    }
    return Finish(last);
  }

  Status SetWindow(const Node& node, const CudaOperand& x, const CudaOperand& w, DnnNode& convolution) {
    const bool transposed = node.op == "ConvTranspose";
    convolution.operation = transposed ? DnnOperation::kTransposedConvolution : DnnOperation::kConvolution;
    const auto spatial = [](const Dims& dims) { return Dims(dims.begin() + 2, dims.end()); };
    if (w.dims().size() != x.dims().size() || out().dims().size() != x.dims().size()) {
      return site_.Unsupported("its tensors have different ranks");
    }
    const Dims in = spatial(x.dims()), result = spatial(first_result()), kernel = spatial(w.dims());
    const auto window = transposed ? TransposedWindowOf(node, kernel, in, result) : WindowOf(node, kernel, in, result);
    if (!window) return site_.Unsupported("its window and dims do not fit together");
    convolution.stride = window->strides;
    convolution.dilation = window->dilations;
    convolution.pads_begin = window->pads_begin;
    // What the last windows leave over, or a transposed one's output_padding, is not padding: the size formula rounds.
    for (const int64_t pad : window->pads_end) convolution.pads_end.push_back(std::max<int64_t>(pad, 0));
    const Dims& larger = transposed ? result : in;
    const Dims& smaller = transposed ? in : result;
    for (size_t i = 0; i < in.size(); ++i) {
      const int64_t extent = (kernel[i] - 1) * window->dilations[i] + 1;
      const int64_t span = larger[i] + convolution.pads_begin[i] + convolution.pads_end[i] - extent;
      if (convolution.pads_begin[i] < 0 || span < 0 || span / window->strides[i] + 1 != smaller[i]) {
        return site_.Unsupported("cuDNN cannot express these pads");
      }
    }
    AddIdleSpatialDim(convolution);
    return {};
  }
  // Of the first node: Adds behind it do not change its dims.
  Dims first_result() const { return *site_.graph.value(site_.node().outputs[0]).type.static_dims(); }

  static void AddIdleSpatialDim(DnnNode& node) {
    if (node.stride.size() != 1) return;
    const auto add = [](Dims& dims, int64_t idle) {
      if (!dims.empty()) dims.insert(dims.begin(), idle);
    };
    add(node.window, 1);
    add(node.stride, 1);
    add(node.dilation, 1);
    add(node.pads_begin, 0);
    add(node.pads_end, 0);
  }

  // ---- What follows a convolution or normalisation ----
  struct Behind {
    const CudaOperand* tensor = nullptr;    // of the result's dims
    const CudaOperand* channels = nullptr;  // a number a channel
    const Node* activation = nullptr;
    bool times_itself = false;  // a Sigmoid, by which its input is multiplied: Swish

    bool is_nothing() const { return tensor == nullptr && channels == nullptr && activation == nullptr; }
  };

  // cuDNN has kernels for some graphs on tensor cores alone. It would take it half a second to say so, for each graph.
  Status NeedRounding() const {
    if (made_.graph.math != MathMode::kFp32) return {};
    return site_.Unsupported("cuDNN has what follows it in TF32 alone");
  }

  Result<Behind> FollowersOf(const CudaOperand* bias) {
    Behind behind;
    behind.channels = bias;
    ValueId last = site_.node().outputs[0];
    for (size_t n = 1; n < site_.nodes.size(); ++n) {
      const Node& node = site_.graph.node(site_.nodes[n]);
      if (behind.activation != nullptr && !behind.times_itself && MultipliesItself(*behind.activation, node)) {
        behind.times_itself = true;
        last = node.outputs[0];
        continue;
      }
      if (!node.domain.empty() || node.inputs.empty() || std::ranges::find(node.inputs, last) == node.inputs.end() ||
          behind.activation != nullptr) {
        return site_.Unsupported("cuDNN cannot fuse these nodes");
      }
      if (node.op == "Add") {
        PT_CHECK_OK(TakeSum(node, last, behind));
      } else if (IsDnnActivation(node) && node.inputs[0] == last) {
        behind.activation = &node;
      } else {
        return site_.Unsupported("it cannot be followed by " + node.op);
      }
      last = node.outputs[0];
      if (*site_.graph.value(last).type.static_dims() != first_result()) {
        return site_.Unsupported("what is added makes the result larger");
      }
    }
    if (last != out().value) return site_.Unsupported("its last node does not make the result");
    return behind;
  }

  Status TakeSum(const Node& node, ValueId last, Behind& behind) {
    const ValueId other = node.inputs[0] == last ? node.inputs[1] : node.inputs[0];
    const std::optional<uint32_t> at = site_.FindInput(other);
    if (!at) return site_.Unsupported("what is added is made within the group");
    const CudaOperand& operand = site_.in[*at];
    if (operand.dims() == out().dims() && (operand.constant == nullptr || !IsChannelsLast(out().layout))) {
      if (behind.tensor != nullptr) return site_.Unsupported("more than one tensor is added");
      behind.tensor = &operand;
      return {};
    }
    // [C, 1, 1] or [1, C, 1, 1].
    const size_t rank = out().dims().size();
    Dims dims = operand.dims();
    dims.insert(dims.begin(), rank - std::min(rank, dims.size()), 1);
    const bool channels = dims.size() == rank && dims[1] == out().dims()[1] && Count(dims) == dims[1];
    if (!channels || operand.constant == nullptr) return site_.Unsupported("the addend is not a constant per channel");
    if (behind.channels != nullptr) return site_.Unsupported("more than one thing is added by channel");
    behind.channels = &operand;
    return {};
  }

  Result<DnnNode> Activation(const Behind& behind) const {
    const Node& node = *behind.activation;
    DnnNode made;
    made.operation = DnnOperation::kRelu;
    if (node.op == "Swish" || behind.times_itself) {
      if (!channels_last_) PT_CHECK_OK(NeedRounding());
      made.operation = DnnOperation::kSwish;
      made.alpha = node.op == "Swish" ? ReadActivation(node).alpha : 1;
      return made;
    }
    if (node.op == "Sigmoid") made.operation = DnnOperation::kSigmoid;
    if (node.op == "Tanh") made.operation = DnnOperation::kTanh;
    if (node.op == "Elu") {
      made.operation = DnnOperation::kElu;
      made.alpha = ReadActivation(node).alpha;
    }
    if (node.op == "Gelu" || node.op == "LeakyRelu") PT_CHECK_OK(NeedRounding());
    if (node.op == "Gelu") {
      if (!IsGelu(node, GeluForm::kErf)) return site_.Unsupported("it approximates Gelu by tanh");
      made.operation = DnnOperation::kGelu;
    }
    if (node.op == "LeakyRelu") made.slope = ReadActivation(node).alpha;
    if (node.op == "Clip") PT_CHECK_OK(SetBounds(node, made));
    return made;
  }

  Status SetBounds(const Node& node, DnnNode& made) const {
    const auto bound = [&](size_t i) -> std::optional<float> {
      if (i >= node.inputs.size() || !node.inputs[i].valid()) return std::nullopt;
      const std::optional<Tensor>& constant = site_.graph.value(node.inputs[i]).constant;
      if (!constant || constant->type() != DataType::kFloat32 || constant->element_count() != 1) {
        return std::numeric_limits<float>::quiet_NaN();
      }
      return constant->values<float>()[0];
    };
    const std::optional<float> least = bound(1), most = bound(2);
    if (!least || *least != 0.0F) return site_.Unsupported("it does not clip at 0");
    if (!most || std::isinf(*most)) return {};
    if (!(*most >= 0)) return site_.Unsupported("its upper bound is not a constant above 0");
    made.most = *most;
    made.is_cut_off = true;
    return {};
  }

  // ---- Pooling ----
  Status MakePool() {
    const Node& node = site_.node();
    PT_ASSIGN(const CudaOperand* x, NeedFirst());
    const size_t rank = x->dims().size();
    if (rank < 3 || rank > 5 || site_.nodes.size() != 1 || node.outputs.size() != 1) {
      return site_.Unsupported("it has not one to three spatial dims, or indices are asked for");
    }
    PT_CHECK_OK(CheckLayouts(*x));
    const Dims in(x->dims().begin() + 2, x->dims().end()), result(out().dims().begin() + 2, out().dims().end());
    DnnNode pool;
    const bool max = node.op.ends_with("MaxPool");
    pool.operation = max ? DnnOperation::kMaxPool : DnnOperation::kAveragePool;
    if (node.op.starts_with("Global")) {
      pool.window = in;
      pool.stride.assign(in.size(), 1);
      pool.pads_begin.assign(in.size(), 0);
      pool.pads_end = pool.pads_begin;
    } else {
      PT_CHECK_OK(SetPoolWindow(node, in, result, pool));
    }
    AddIdleSpatialDim(pool);
    pool.in = {AddImage(*x)};
    return Finish(Apply(std::move(pool)));
  }

  Status SetPoolWindow(const Node& node, const Dims& in, const Dims& result, DnnNode& pool) {
    const auto window = WindowOf(node, ReadKernelShape(node).value_or(Dims()), in, result);
    if (!window) return site_.Unsupported("its window and dims do not fit together");
    if (std::ranges::any_of(window->dilations, [](int64_t d) { return d != 1; })) {
      return site_.Unsupported("its window has holes");
    }
    pool.window = window->kernel;
    pool.stride = window->strides;
    pool.pads_begin = window->pads_begin;
    bool padded = false, beyond = false;
    for (size_t i = 0; i < in.size(); ++i) {
      pool.pads_end.push_back(std::max<int64_t>(window->pads_end[i], 0));
      padded = padded || pool.pads_begin[i] > 0 || window->stated_end[i] > 0;
      beyond = beyond || pool.pads_end[i] > std::max<int64_t>(window->stated_end[i], 0);
      const int64_t span = in[i] + pool.pads_begin[i] + pool.pads_end[i] - pool.window[i];
      // A window that lies in the padding alone has no value that all agree on.
      if (pool.pads_begin[i] < 0 || pool.pads_begin[i] >= pool.window[i] || pool.pads_end[i] >= pool.window[i] ||
          span < 0 || span / pool.stride[i] + 1 != result[i]) {
        return site_.Unsupported("cuDNN cannot express these pads");
      }
    }
    if (pool.operation == DnnOperation::kAveragePool && ReadPoolingNode(node).counts_pads && padded) {
      if (beyond) return site_.Unsupported("it counts some pads and not others");
      pool.operation = DnnOperation::kAveragePoolWithPads;
    }
    return {};
  }

  // ---- Normalisations ----
  Status MakeBatchNormalization() {
    const Node& node = site_.node();
    if (ReadBatchNormalization(node).training || node.outputs.size() != 1) return site_.Unsupported("it is training");
    PT_ASSIGN(const CudaOperand* x, NeedFirst());
    if (x->dims().size() < 3 || x->dims().size() > 5) return site_.Unsupported("it has not one to three spatial dims");
    PT_CHECK_OK(CheckLayouts(*x));
    std::array<const CudaOperand*, 5> operands{};
    for (size_t i = 1; i < 5; ++i) {
      PT_ASSIGN(operands[i], Need(i));
      if (operands[i]->constant == nullptr) return site_.Unsupported("its statistics are not constant");
    }
    const uint32_t from = AddImage(*x);
    uint32_t last = Apply(DnnOperation::kMul, {from, AddChannels(*operands[1], DnnContent::kScale)});
    last = Apply(DnnOperation::kAdd, {last, AddChannels(*operands[2], DnnContent::kShift)});
    PT_ASSIGN(const Behind behind, FollowersOf(nullptr));
    if (behind.tensor != nullptr || behind.channels != nullptr) return site_.Unsupported("it is followed by Add");
    if (behind.activation != nullptr) {
      PT_ASSIGN(DnnNode activation, Activation(behind));
      activation.in = {last};
      last = Apply(std::move(activation));
    }
    return Finish(last);
  }

  Status MakeNormalisation() {
    const Node& node = site_.node();
    if (site_.nodes.size() != 1 || node.outputs.size() != 1) return site_.Unsupported("it has more than one result");
    return node.op == "InstanceNormalization" ? MakeInstanceNorm() : MakeLayerNorm();
  }

  Status MakeInstanceNorm() {
    PT_ASSIGN(const CudaOperand* x, NeedFirst());
    if (x->dims().size() < 3 || x->dims().size() > 5) return site_.Unsupported("it has not one to three spatial dims");
    PT_CHECK_OK(CheckLayouts(*x));
    DnnNode made;
    made.operation = DnnOperation::kInstanceNorm;
    made.epsilon = ReadEpsilon(site_.node());
    return Normalise(std::move(made), AddImage(*x));
  }

  // The dims from `axis` on are normalised together: as the channels of images of one element, one a row.
  Status MakeLayerNorm() {
    PT_ASSIGN(const CudaOperand* x, NeedFirst());
    PT_ASSIGN(const CudaOperand* scale, Need(1));
    PT_ASSIGN(const int64_t axis, OrUnsupported(ReadAxis(site_.node(), site_.graph.opset(), x->dims().size()), site_));
    if (!HasFloat32Statistics(site_.node())) return site_.Unsupported("cuDNN does not support its type");
    if (!x->layout.layout.is_row_major() || !IsDense(x->layout) || !IsDense(out().layout)) {
      return site_.Unsupported("its tensors do not lie in one piece");
    }
    const int64_t columns = Count(Dims(x->dims().begin() + axis, x->dims().end()));
    if (Count(scale->dims()) != columns) return site_.Unsupported("its scale is not one value per element");
    const size_t row_rank = x->dims().size() - static_cast<size_t>(axis);
    for (size_t i = 1; i < 3; ++i) {
      const CudaOperand* const operand = site_.Input(i);
      for (size_t d = 0; operand != nullptr && d + row_rank < operand->dims().size(); ++d) {
        if (operand->dims()[d] != 1) return site_.Unsupported("its scale or bias varies between rows");
      }
    }
    const int64_t rows = Count(x->dims()) / columns;
    row_ = DnnTensor{x->type(), {rows, columns, 1, 1}, {columns, 1, 1, 1}};
    DnnNode made;
    made.operation = site_.node().op == "RMSNormalization" ? DnnOperation::kRmsNorm : DnnOperation::kLayerNorm;
    made.epsilon = ReadEpsilon(site_.node());
    return Normalise(std::move(made), AddBound(*row_, {ArgumentOf(*x)}));
  }

  Status Normalise(DnnNode made, uint32_t x) {
    made.in = {x};
    const size_t parameters = made.operation == DnnOperation::kRmsNorm ? 1 : 2;
    for (size_t i = 1; i <= parameters; ++i) {
      const CudaOperand* const operand = site_.Input(i);
      if (operand == nullptr) return site_.Unsupported("it has no bias");
      if (Count(operand->dims()) != made_.graph.tensors[x].dims[1] || !IsDense(operand->layout)) {
        return site_.Unsupported("its scale or bias is not one value per channel");
      }
      made.in.push_back(AddChannels(*operand));
    }
    made.out = Add(row_ ? *row_ : DnnImage(out().layout));
    made_.graph.nodes.push_back(std::move(made));
    return Finish(made_.graph.nodes.back().out);
  }

  // ---- Attention ----
  Status MakeAttentionNode() {
    if (stored_ == DataType::kFloat32) return site_.Unsupported("cuDNN has attention of 16 bits alone");
    PT_ASSIGN(const Attention attention, MakeAttention(site_));
    if (attention.past > 0 || !attention.presents.empty())
      return site_.Unsupported("it has a cache of keys and values");
    const bool causal = attention.behind == 0;
    if (attention.softcap != 0 || attention.before < attention.queries ||
        (!causal && attention.behind < attention.keys)) {
      return site_.Unsupported("its scores are capped, or seen through a window");
    }
    DnnNode node;
    node.operation = DnnOperation::kAttention;
    node.alpha = static_cast<float>(attention.scale);
    node.is_causal = causal;
    PT_ASSIGN(const Dims heads, HeadsOf(attention));
    const int64_t queries = attention.queries, keys = attention.keys;
    PT_ASSIGN(DnnTensor q, Matrices(attention, attention.q, heads, {queries, attention.depth}));
    PT_ASSIGN(DnnTensor k, Matrices(attention, attention.k, heads, {keys, attention.depth}));
    PT_ASSIGN(DnnTensor v, Matrices(attention, attention.v, heads, {keys, attention.columns}));
    PT_ASSIGN(DnnTensor y, Matrices(attention, attention.y, heads, {queries, attention.columns}));
    node.in = {AddBound(std::move(q), {ArgumentOf(*attention.q.operand)}),
               AddBound(std::move(k), {ArgumentOf(*attention.k.operand)}),
               AddBound(std::move(v), {ArgumentOf(*attention.v.operand)})};
    if (!attention.masks.empty()) PT_CHECK_OK(AddMask(attention, heads, node));
    node.out = Add(std::move(y));
    made_.graph.nodes.push_back(std::move(node));
    return Finish(made_.graph.nodes.back().out);
  }

  // Batch, heads of keys and values, and heads of queries for each of those.
  Result<Dims> HeadsOf(const Attention& attention) const {
    if (attention.is_operator) return attention.batch;
    if (attention.batch.size() > 2) return site_.Unsupported("it has more than a batch and heads");
    return Aligned(attention, attention.batch, 1);
  }
  // Dims, or strides, of what is spelled out: as many as the operator has.
  static Dims Aligned(const Attention& attention, Dims numbers, int64_t missing) {
    if (attention.is_operator) return numbers;
    numbers.insert(numbers.begin(), 2 - numbers.size(), missing);
    numbers.push_back(missing);
    return numbers;
  }

  // As [batch, heads, rows, columns]; heads that are used again and again count once.
  Result<DnnTensor> Matrices(const Attention& attention, const AttentionMatrix& matrix, const Dims& heads,
                             std::array<int64_t, 2> dims) const {
    const Dims strides = Aligned(attention, matrix.batch, 0);
    if (matrix.operand->type() != stored_ || matrix.column != 1) {
      return site_.Unsupported("a matrix is not stored in 16 bits, or its rows lie in pieces");
    }
    DnnTensor tensor{matrix.operand->type(), {heads[0], heads[1], dims[0], dims[1]}, {}};
    if (strides[2] != 0) tensor.dims[1] *= heads[2];
    tensor.strides = {strides[0], strides[2] != 0 ? strides[2] : strides[1], matrix.row, matrix.column};
    for (size_t d = 0; d < 2; ++d) {
      if (tensor.strides[d] == 0 && tensor.dims[d] > 1) return site_.Unsupported("a matrix is used again and again");
    }
    return tensor;
  }

  // What hides all keys of a query has no value that all agree on, so numbers have to be known.
  Status AddMask(const Attention& attention, const Dims& heads, DnnNode& node) {
    const MaskTensor& mask = attention.masks.front();
    const CudaOperand& operand = *mask.at.operand;
    if (attention.masks.size() > 1 || mask.kind != MaskTensor::Kind::kAdded || mask.keys != attention.keys ||
        operand.constant == nullptr ||
        !std::ranges::all_of(operand.constant->values<float>(), [](float x) { return std::abs(x) < kMostInMasks; })) {
      return site_.Unsupported("its mask is not a constant of finite numbers");
    }
    const Dims strides = Aligned(attention, mask.at.batch, 0);
    DnnTensor tensor{
        DataType::kFloat32, {1, 1, attention.queries, attention.keys}, {0, 0, mask.at.row, mask.at.column}};
    if (mask.at.row == 0 || mask.at.column != 1) return site_.Unsupported("its mask does not have one row per query");
    if (strides[0] != 0) {
      tensor.dims[0] = heads[0];
      tensor.strides[0] = strides[0];
    }
    const int64_t of_heads = strides[2] != 0 ? strides[2] : strides[1];
    if (of_heads != 0) {
      tensor.dims[1] = heads[1] * heads[2];
      tensor.strides[1] = of_heads;
    }
    node.in.push_back(AddBound(std::move(tensor), {ArgumentOf(operand)}));
    return {};
  }

  static DataType StoredIn(MathMode math) {
    return math == MathMode::kBf16   ? DataType::kBfloat16
           : math == MathMode::kFp16 ? DataType::kFloat16
                                     : DataType::kFloat32;
  }
  // Larger ones would be infinite in float16.
  static constexpr float kMostInMasks = 65504;

  const CudaSite& site_;
  const DataType stored_;  // of what is multiplied
  DnnSite made_;
  bool channels_last_ = false;    // images lie so
  std::optional<DnnTensor> row_;  // LayerNormalization: both tensors as rows
};

}  // namespace

Result<DnnSite> MakeDnnSite(const CudaSite& site, MathMode math) { return DnnSiteMaker(site, math).Make(); }

}  // namespace pt::cuda
