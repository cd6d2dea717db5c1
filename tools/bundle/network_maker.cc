#include "tools/bundle/network_maker.h"

#include <cmath>
#include <functional>
#include <numeric>

#include "partitiontuner/onnx/infer_shapes.h"

namespace pt {
namespace {

constexpr int64_t kOpset = 17;

int64_t Count(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

int64_t Slid(int64_t size, int64_t window, int64_t stride, int64_t pads) { return (size + pads - window) / stride + 1; }

std::vector<int64_t> Pads(int64_t height, int64_t width) {
  return {(height - 1) / 2, (width - 1) / 2, height / 2, width / 2};
}

}  // namespace

NetworkMaker::NetworkMaker(std::string name) {
  builder_.set_name(std::move(name));
  builder_.set_opset(kOpset);
}

NetworkMaker::Value NetworkMaker::Input(const std::string& name, std::vector<int64_t> dims) {
  return {builder_.AddInput(name, StaticType(DataType::kFloat32, dims)), dims};
}

NetworkMaker::Value NetworkMaker::Op(const char* op, std::vector<ValueId> inputs, std::vector<int64_t> dims,
                                     Attributes attributes) {
  const ValueId made =
      builder_.AddOp(op, std::move(inputs), StaticType(DataType::kFloat32, dims), std::move(attributes));
  return {made, std::move(dims)};
}

ValueId NetworkMaker::Weights(std::vector<int64_t> dims, int64_t fan_in) {
  std::vector<float> numbers(static_cast<size_t>(Count(dims)));
  const double spread = std::sqrt(6.0 / static_cast<double>(fan_in));
  for (float& number : numbers) {
    // A linear congruential generator, the same everywhere; its high bits are the random ones.
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const double unit = static_cast<double>(state_ >> 11) / static_cast<double>(uint64_t{1} << 53);
    number = static_cast<float>((2 * unit - 1) * spread);
  }
  return builder_.AddConstant("w" + std::to_string(constants_++), Tensor::Float32(std::move(dims), numbers));
}

ValueId NetworkMaker::Constant(std::vector<int64_t> dims, float value) {
  const std::vector<float> numbers(static_cast<size_t>(Count(dims)), value);
  return builder_.AddConstant("c" + std::to_string(constants_++), Tensor::Float32(std::move(dims), numbers));
}

ValueId NetworkMaker::Ints(const std::vector<int64_t>& values) {
  return builder_.AddConstant("i" + std::to_string(constants_++),
                              Tensor::Int64({static_cast<int64_t>(values.size())}, values));
}

NetworkMaker::Value NetworkMaker::Conv(const Value& x, int64_t channels, const Window& window) {
  const int64_t in = x.channels() / window.group;
  const std::vector<int64_t> pads = window.padded ? Pads(window.height, window.width) : std::vector<int64_t>(4, 0);
  const std::vector<int64_t> dims = {x.dims[0], channels,
                                     Slid(x.dims[2], window.height, window.stride, pads[0] + pads[2]),
                                     Slid(x.dims[3], window.width, window.stride, pads[1] + pads[3])};
  const ValueId w = Weights({channels, in, window.height, window.width}, in * window.height * window.width);
  return Op("Conv", {x.id, w, Constant({channels}, 0.01F)}, dims,
            {{"kernel_shape", std::vector<int64_t>{window.height, window.width}},
             {"strides", std::vector<int64_t>{window.stride, window.stride}},
             {"pads", pads},
             {"group", window.group}});
}

NetworkMaker::Value NetworkMaker::Separable(const Value& x, int64_t channels, int64_t size, int64_t stride) {
  const Value spread = Conv(Relu(x), x.channels(), {size, size, stride, x.channels(), true});
  return Conv(spread, channels, {});
}

NetworkMaker::Value NetworkMaker::Unary(const char* op, const Value& x) { return Op(op, {x.id}, x.dims); }

NetworkMaker::Value NetworkMaker::Add(const Value& x, const Value& z) { return Op("Add", {x.id, z.id}, x.dims); }

NetworkMaker::Value NetworkMaker::Pool(const char* op, const Value& x, int64_t size, int64_t stride, bool padded) {
  const std::vector<int64_t> pads = padded ? Pads(size, size) : std::vector<int64_t>(4, 0);
  const std::vector<int64_t> dims = {x.dims[0], x.dims[1], Slid(x.dims[2], size, stride, pads[0] + pads[2]),
                                     Slid(x.dims[3], size, stride, pads[1] + pads[3])};
  return Op(op, {x.id}, dims,
            {{"kernel_shape", std::vector<int64_t>{size, size}},
             {"strides", std::vector<int64_t>{stride, stride}},
             {"pads", pads}});
}

NetworkMaker::Value NetworkMaker::MaxPool(const Value& x, int64_t size, int64_t stride, bool padded) {
  return Pool("MaxPool", x, size, stride, padded);
}

NetworkMaker::Value NetworkMaker::AveragePool(const Value& x, int64_t size, int64_t stride) {
  return Pool("AveragePool", x, size, stride, true);
}

NetworkMaker::Value NetworkMaker::GlobalPool(const Value& x) {
  const Value pooled = Op("GlobalAveragePool", {x.id}, {x.dims[0], x.dims[1], 1, 1});
  return Op("Flatten", {pooled.id}, {x.dims[0], x.dims[1]}, {{"axis", int64_t{1}}});
}

NetworkMaker::Value NetworkMaker::Concat(const std::vector<Value>& values, int64_t axis) {
  std::vector<ValueId> ids;
  std::vector<int64_t> dims = values[0].dims;
  const auto along = static_cast<size_t>(axis);
  dims[along] = 0;
  for (const Value& value : values) {
    ids.push_back(value.id);
    dims[along] += value.dims[along];
  }
  return Op("Concat", std::move(ids), std::move(dims), {{"axis", axis}});
}

NetworkMaker::Value NetworkMaker::Dense(const Value& x, int64_t columns) {
  const int64_t rows = x.dims.back();
  std::vector<int64_t> dims = x.dims;
  dims.back() = columns;
  const Value product = Op("MatMul", {x.id, Weights({rows, columns}, 2 * rows)}, dims);
  return Op("Add", {product.id, Constant({columns}, 0.01F)}, dims);
}

NetworkMaker::Value NetworkMaker::MatMul(const Value& x, const Value& z) {
  std::vector<int64_t> dims = x.dims;
  dims.back() = z.dims.back();
  return Op("MatMul", {x.id, z.id}, std::move(dims));
}

NetworkMaker::Value NetworkMaker::LayerNorm(const Value& x) {
  const int64_t columns = x.dims.back();
  return Op("LayerNormalization", {x.id, Constant({columns}, 1.0F), Constant({columns}, 0.0F)}, x.dims,
            {{"axis", int64_t{-1}}});
}

NetworkMaker::Value NetworkMaker::Softmax(const Value& x) {
  return Op("Softmax", {x.id}, x.dims, {{"axis", int64_t{-1}}});
}

NetworkMaker::Value NetworkMaker::Reshape(const Value& x, std::vector<int64_t> dims) {
  const ValueId wanted = Ints(dims);
  return Op("Reshape", {x.id, wanted}, std::move(dims));
}

NetworkMaker::Value NetworkMaker::Transpose(const Value& x, std::vector<int64_t> order) {
  std::vector<int64_t> dims;
  for (const int64_t d : order) dims.push_back(x.dims[static_cast<size_t>(d)]);
  return Op("Transpose", {x.id}, std::move(dims), {{"perm", std::move(order)}});
}

Result<Graph> NetworkMaker::Finish(const std::vector<Value>& outputs) {
  for (const Value& output : outputs) builder_.AddOutput(output.id);
  PT_ASSIGN(const Graph graph, builder_.Build());
  // The dims computed here and those that ONNX infers must agree.
  return InferShapes(graph, {});
}

}  // namespace pt
