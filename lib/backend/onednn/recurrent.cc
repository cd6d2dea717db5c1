// LSTM, GRU and RNN as oneDNN's recurrent primitives: both directions in one primitive, weights packed once. Tensors
// that do not lie as the primitive reads them (layout 1, slices, the two directions of a batch) are moved before and
// after it.
#include <array>
#include <cstring>

#include "lib/backend/onednn/family.h"
#include "partitiontuner/backend/recurrent_node.h"

namespace pt::onednn {
namespace {

constexpr auto kFloat = dnnl::memory::data_type::f32;

// The tensor with these of its axes, in this order; -1 adds a dim of extent 1.
Desc Seen(const TensorLayout& tensor, std::span<const int> axes) {
  Dims dims, strides;
  for (const int axis : axes) {
    dims.push_back(axis < 0 ? 1 : tensor.dims[static_cast<size_t>(axis)]);
    strides.push_back(axis < 0 ? 1 : tensor.strides[static_cast<size_t>(axis)]);
  }
  // Strides of extents of 1 address nothing.
  int64_t dense = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) strides[d] = dense;
    dense = strides[d] * dims[d];
  }
  return Desc(dims, kFloat, strides);
}

// The element order that oneDNN's primitives use for X and Y, or for states, found in ONNX's dims.
struct Axes {
  std::array<int, 3> x;      // to [time, batch, input]
  std::array<int, 4> y;      // to [time, batch, directions, hidden]
  std::array<int, 4> state;  // to [1, directions, batch, hidden]
};
constexpr Axes kTimeFirst{{0, 1, 2}, {0, 2, 1, 3}, {-1, 0, 1, 2}};
constexpr Axes kBatchFirst{{1, 0, 2}, {1, 0, 2, 3}, {-1, 1, 0, 2}};

// From ONNX's gates (input, output, forget, cell) to oneDNN's (input, forget, cell, output).
constexpr std::array<int64_t, 4> kLstmGates{0, 2, 3, 1};
// Peepholes: (input, output, forget) to (input, forget, output).
constexpr std::array<int64_t, 3> kLstmPeepholes{0, 2, 1};

// Dim 1 of [directions, gates · rows, ...] with its blocks in another order.
std::vector<float> Reordered(std::span<const float> from, int64_t directions, std::span<const int64_t> gates) {
  std::vector<float> to(from.size());
  const size_t block = from.size() / (static_cast<size_t>(directions) * gates.size());
  for (size_t i = 0; i < static_cast<size_t>(directions) * gates.size(); ++i) {
    const size_t first = i / gates.size() * gates.size();
    const size_t source = first + static_cast<size_t>(gates[i % gates.size()]);
    if (block > 0) std::memcpy(&to[i * block], &from[source * block], block * sizeof(float));
  }
  return to;
}

Result<Tensor> LstmWeights(const Tensor& tensor) {
  return Tensor::Float32(tensor.dims(), Reordered(tensor.values<float>(), tensor.dims()[0], kLstmGates));
}

class Builder {
 public:
  Builder(const Request& request, RecurrentNode node)
      : request_(request), node_(std::move(node)), axes_(node_.batch_first ? kBatchFirst : kTimeFirst) {}

  Result<KernelDescriptor> Build() {
    PT_CHECK_OK(AddSource());
    PT_CHECK_OK(AddInitialStates());
    PT_CHECK_OK(AddOutputs());
    const int64_t d = node_.directions;
    weights_layer_ = AnyDesc({1, d, node_.input, node_.gates, node_.hidden});
    weights_iter_ = AnyDesc({1, d, node_.hidden, node_.gates, node_.hidden});
    AddBias();
    if (node_.peephole) AddPeephole();
    PT_CHECK_OK(Complete(descriptor_, Describe()));
    AddWeights(DNNL_ARG_WEIGHTS_LAYER, node_.w, node_.input);
    AddWeights(DNNL_ARG_WEIGHTS_ITER, node_.r, node_.hidden);
    return std::move(descriptor_);
  }

 private:
  bool is_lstm() const { return node_.cell == RecurrentCell::kLstm; }
  std::vector<Argument>& arguments() { return descriptor_.call.arguments; }

  uint32_t AddTemporary(const Desc& desc) {
    descriptor_.temporaries.push_back(desc);
    return static_cast<uint32_t>(descriptor_.temporaries.size() - 1);
  }

  Result<Call> Move(Argument from, Argument to) {
    return MoveCall(request_.engine, std::move(from), std::move(to), descriptor_);
  }

  // An input that the primitive reads as `wanted`; `seen` is the same elements where they lie.
  Status AddInput(int key, ValueId value, const Desc& seen, const Desc& wanted) {
    const std::optional<uint32_t> index = InputIndex(request_, value);
    if (!index) return Unsupported("an operand is not an input of the group");
    if (seen == wanted) {
      arguments().push_back({key, Argument::Source::kInput, *index, wanted});
      return {};
    }
    const uint32_t temporary = AddTemporary(wanted);
    PT_ASSIGN(Call call, Move({DNNL_ARG_FROM, Argument::Source::kInput, *index, seen},
                              {DNNL_ARG_TO, Argument::Source::kTemporary, temporary, wanted}));
    descriptor_.before.push_back(std::move(call));
    arguments().push_back({key, Argument::Source::kTemporary, temporary, wanted});
    return {};
  }

  // An output that the primitive writes as `written`; `moved` names the same bytes as `seen` names the output's, which
  // has another shape for Y. Where nothing needs it, it is made nevertheless, in scratch.
  Status AddOutput(int key, ValueId value, const Desc& written, const Desc& moved, std::span<const int> axes) {
    if (!value.valid()) {
      arguments().push_back({key, Argument::Source::kTemporary, AddTemporary(written), written});
      return {};
    }
    const auto at = std::find(request_.outputs.begin(), request_.outputs.end(), value);
    if (at == request_.outputs.end()) return Unsupported("an output is not an output of the group");
    const auto index = static_cast<uint32_t>(at - request_.outputs.begin());
    const Desc seen = Seen(request_.outs[index], axes);
    if (seen == moved) {
      arguments().push_back({key, Argument::Source::kOutput, index, written});
      return {};
    }
    const uint32_t temporary = AddTemporary(written);
    arguments().push_back({key, Argument::Source::kTemporary, temporary, written});
    PT_ASSIGN(Call call, Move({DNNL_ARG_FROM, Argument::Source::kTemporary, temporary, moved},
                              {DNNL_ARG_TO, Argument::Source::kOutput, index, seen}));
    descriptor_.after.push_back(std::move(call));
    return {};
  }

  Status AddSource() {
    const auto index = InputIndex(request_, node_.x);
    if (!index) return Unsupported("X is not an input of the group");
    source_ = PlainDesc({node_.time, node_.batch, node_.input});
    return AddInput(DNNL_ARG_SRC_LAYER, node_.x, Seen(request_.in[*index], axes_.x), source_);
  }

  Status AddState(int key, ValueId value) {
    const Desc wanted = PlainDesc({1, node_.directions, node_.batch, node_.hidden});
    if (!value.valid()) {
      const auto count = static_cast<size_t>(node_.directions * node_.batch * node_.hidden);
      const Tensor zeros = Tensor::Float32({static_cast<int64_t>(count)}, std::vector<float>(count, 0.0F));
      arguments().push_back(ConstantArgument(descriptor_, key, zeros, wanted, wanted));
      return {};
    }
    if (const std::optional<Tensor>& constant = request_.graph.value(value).constant) {
      PT_ASSIGN(const TensorLayout plain,
                DenseLayout(DataType::kFloat32, constant->dims(), RowMajor(constant->dims().size())));
      arguments().push_back(ConstantArgument(descriptor_, key, *constant, Seen(plain, axes_.state), wanted));
      return {};
    }
    const auto index = InputIndex(request_, value);
    if (!index) return Unsupported("an initial state is not an input of the group");
    return AddInput(key, value, Seen(request_.in[*index], axes_.state), wanted);
  }

  // Both states of an LSTM or none.
  Status AddInitialStates() {
    if (!node_.initial_h.valid() && !node_.initial_c.valid()) return {};
    state_in_ = PlainDesc({1, node_.directions, node_.batch, node_.hidden});
    PT_CHECK_OK(AddState(DNNL_ARG_SRC_ITER, node_.initial_h));
    return is_lstm() ? AddState(DNNL_ARG_SRC_ITER_C, node_.initial_c) : Status();
  }

  Status AddOutputs() {
    const int64_t d = node_.directions;
    result_ = PlainDesc({node_.time, node_.batch, d * node_.hidden});
    PT_CHECK_OK(AddOutput(DNNL_ARG_DST_LAYER, node_.y, result_, PlainDesc({node_.time, node_.batch, d, node_.hidden}),
                          axes_.y));
    if (!node_.y_h.valid() && !node_.y_c.valid()) return {};
    state_out_ = PlainDesc({1, d, node_.batch, node_.hidden});
    PT_CHECK_OK(AddOutput(DNNL_ARG_DST_ITER, node_.y_h, state_out_, state_out_, axes_.state));
    if (!is_lstm()) return {};
    return AddOutput(DNNL_ARG_DST_ITER_C, node_.y_c, state_out_, state_out_, axes_.state);
  }

  // The GRU whose reset comes after the product has a fourth bias, that of the product.
  void AddBias() {
    const bool product_bias = node_.cell == RecurrentCell::kGru && node_.linear_before_reset;
    std::vector<float> sum = SummedBias(node_);
    if (is_lstm()) sum = Reordered(sum, node_.directions, kLstmGates);
    if (product_bias) sum = WithProductBias(sum);
    bias_ = PlainDesc({1, node_.directions, node_.gates + (product_bias ? 1 : 0), node_.hidden});
    const Tensor tensor = Tensor::Float32({static_cast<int64_t>(sum.size())}, sum);
    arguments().push_back(ConstantArgument(descriptor_, DNNL_ARG_BIAS, tensor, bias_, bias_));
  }

  std::vector<float> WithProductBias(const std::vector<float>& sum) const {
    const auto n = static_cast<size_t>(node_.hidden), directions = static_cast<size_t>(node_.directions);
    std::vector<float> four(directions * 4 * n, 0.0F);
    for (size_t d = 0; d < directions; ++d) {
      std::copy_n(&sum[d * 3 * n], 2 * n, &four[d * 4 * n]);
      if (!node_.bias) continue;
      const float* both = node_.bias->values<float>().data() + d * 6 * n;
      std::copy_n(both + 2 * n, n, &four[d * 4 * n + 2 * n]);
      std::copy_n(both + 5 * n, n, &four[d * 4 * n + 3 * n]);
    }
    return four;
  }

  void AddPeephole() {
    peephole_ = PlainDesc({1, node_.directions, 3, node_.hidden});
    const Tensor tensor = Tensor::Float32(node_.peephole->dims(),
                                          Reordered(node_.peephole->values<float>(), node_.directions, kLstmPeepholes));
    arguments().push_back(ConstantArgument(descriptor_, DNNL_ARG_WEIGHTS_PEEPHOLE, tensor, peephole_, peephole_));
  }

  // ONNX has the inputs of a gate innermost, oneDNN's dims the gates.
  void AddWeights(int key, const Tensor& tensor, int64_t inputs) {
    const int64_t d = node_.directions, g = node_.gates, n = node_.hidden;
    const Desc plain({1, d, inputs, g, n}, kFloat, Dims{d * g * n * inputs, g * n * inputs, 1, n * inputs, inputs});
    const Desc packed = descriptor_.call.description.query_md(dnnl::query::exec_arg_md, key);
    arguments().push_back(ConstantArgument(descriptor_, key, tensor, plain, packed));
    if (is_lstm()) descriptor_.constants.back().rearrangement = {"lstm-gates", LstmWeights};
  }

  dnnl::primitive_desc_base Describe() const {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::engine& engine = request_.engine;
    const auto direction = node_.directions == 2 ? dnnl::rnn_direction::bidirectional_concat
                           : node_.reverse       ? dnnl::rnn_direction::unidirectional_right2left
                                                 : dnnl::rnn_direction::unidirectional_left2right;
    if (is_lstm() && node_.peephole) {
      return dnnl::lstm_forward::primitive_desc(engine, kInference, direction, source_, state_in_, state_in_,
                                                weights_layer_, weights_iter_, peephole_, bias_, result_, state_out_,
                                                state_out_, attributes, true);
    }
    if (is_lstm()) {
      return dnnl::lstm_forward::primitive_desc(engine, kInference, direction, source_, state_in_, state_in_,
                                                weights_layer_, weights_iter_, bias_, result_, state_out_, state_out_,
                                                attributes, true);
    }
    if (node_.cell == RecurrentCell::kRnn) {
      const auto activation = node_.relu ? dnnl::algorithm::eltwise_relu : dnnl::algorithm::eltwise_tanh;
      return dnnl::vanilla_rnn_forward::primitive_desc(engine, kInference, activation, direction, source_, state_in_,
                                                       weights_layer_, weights_iter_, bias_, result_, state_out_,
                                                       attributes, true);
    }
    if (node_.linear_before_reset) {
      return dnnl::lbr_gru_forward::primitive_desc(engine, kInference, direction, source_, state_in_, weights_layer_,
                                                   weights_iter_, bias_, result_, state_out_, attributes, true);
    }
    return dnnl::gru_forward::primitive_desc(engine, kInference, direction, source_, state_in_, weights_layer_,
                                             weights_iter_, bias_, result_, state_out_, attributes, true);
  }

  const Request& request_;
  const RecurrentNode node_;
  const Axes& axes_;
  KernelDescriptor descriptor_;
  Desc source_, state_in_, weights_layer_, weights_iter_, peephole_, bias_, result_, state_out_;
};

}  // namespace

std::optional<std::string> WhyNotRecurrent(const Graph& graph, const Node& node) {
  const Result<RecurrentNode> read = ReadRecurrentNode(graph, node);
  if (!read.ok()) return read.error().message;
  if (read->cell == RecurrentCell::kGru && !read->linear_before_reset && read->hidden == 1 && read->batch > 1) {
    return "oneDNN 3.7.2 computes a GRU of one hidden unit wrongly for all but the first entry of a batch";
  }
  return std::nullopt;
}

Result<KernelDescriptor> BuildRecurrent(const Request& request) {
  if (request.math != MathMode::kFp32) return Unsupported("recurrent operators are offered in fp32 only");
  PT_ASSIGN(RecurrentNode node, ReadRecurrentNode(request.graph, request.graph.node(request.group.anchor)));
  return Builder(request, std::move(node)).Build();
}

}  // namespace pt::onednn
