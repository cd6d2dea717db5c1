// Convolutions of all kinds, alone and with what usually follows.
#include <algorithm>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

// Windows over the spatial dims of an image.
struct Window {
  Dims kernel, strides, dilations, pads;
  std::string auto_pad;
};

// One that fits the image with its padding.
Window AnyWindow(Drawing& d, DrawnOperand x, bool dilated) {
  const size_t n = x->dims.size() - 2;
  Window window;
  Dims begins, ends;
  if (d.Chance(0.15)) window.auto_pad = d.OneOf({"SAME_UPPER", "SAME_LOWER", "VALID"});
  const bool square = d.Chance(0.5);
  const bool even_strides = d.Chance(0.5);
  for (size_t i = 0; i < n; ++i) {
    const int64_t size = x->dims[i + 2];
    int64_t kernel = square && i > 0 ? window.kernel[0] : d.OneOf(Dims{1, 1, 2, 3, 3, 3, 4, 5, 7});
    int64_t dilation = dilated && d.Chance(0.2) ? d.Between(2, 3) : 1;
    if (window.auto_pad.starts_with("SAME")) dilation = 1;
    const bool pads = window.auto_pad.empty() && d.Chance(0.6);
    const int64_t begin = pads ? d.Between(0, kernel - 1) : 0;
    const int64_t end = pads ? (d.Chance(0.5) ? begin : d.Between(0, kernel - 1)) : 0;
    while (kernel > 1 && !window.auto_pad.starts_with("SAME") &&
           (kernel - 1) * dilation + 1 > size + std::min(begin, kernel - 1) + std::min(end, kernel - 1)) {
      if (dilation > 1) {
        --dilation;
      } else {
        --kernel;
      }
    }
    window.kernel.push_back(kernel);
    window.dilations.push_back(dilation);
    begins.push_back(std::min(begin, kernel - 1));
    ends.push_back(std::min(end, kernel - 1));
    window.strides.push_back(even_strides && i > 0 ? window.strides[0] : d.OneOf(Dims{1, 1, 1, 2, 2, 3}));
  }
  window.pads = begins;
  window.pads.insert(window.pads.end(), ends.begin(), ends.end());
  return window;
}

Attributes AttributesOf(Drawing& d, const Window& window) {
  const auto plain = [](const Dims& values, int64_t value) {
    return std::ranges::all_of(values, [&](int64_t v) { return v == value; });
  };
  Attributes attributes;
  if (d.Chance(0.5)) attributes.Ints("kernel_shape", window.kernel);
  if (!plain(window.strides, 1) || d.Chance(0.3)) attributes.Ints("strides", window.strides);
  if (!plain(window.dilations, 1) || d.Chance(0.2)) attributes.Ints("dilations", window.dilations);
  if (!window.auto_pad.empty()) {
    attributes.Text("auto_pad", window.auto_pad);
  } else if (!plain(window.pads, 0) || d.Chance(0.2)) {
    attributes.Ints("pads", window.pads);
  }
  return attributes;
}

// One, each channel alone (with one filter or several), or some between.
int64_t AnyGroups(Drawing& d, int64_t channels) {
  if (d.Chance(0.5)) return 1;
  if (d.Chance(0.5)) return channels;
  Dims divisors;
  for (int64_t k = 1; k <= channels; ++k) {
    if (channels % k == 0) divisors.push_back(k);
  }
  return d.OneOf(divisors);
}

DrawnOperand Weights(Drawing& d, const Dims& dims) {
  return d.Chance(0.8) ? d.Constant(DataType::kFloat32, dims) : d.Input(DataType::kFloat32, dims);
}

DrawnOperand Conv(Drawing& d, DrawnOperand x) {
  if (x == nullptr || x->dims[1] == 0) return nullptr;
  for (size_t i = 2; i < x->dims.size(); ++i) {
    if (x->dims[i] == 0) return nullptr;
  }
  const int64_t channels = x->dims[1], groups = AnyGroups(d, channels);
  const Window window = d.Chance(0.2) ? Window{Dims(x->dims.size() - 2, 1), Dims(x->dims.size() - 2, 1),
                                               Dims(x->dims.size() - 2, 1), Dims(2 * x->dims.size() - 4, 0), ""}
                                      : AnyWindow(d, x, true);
  int64_t filters = groups == 1 ? d.Channels() : groups * d.OneOf(Dims{1, 1, 1, 2, 3, channels / groups});
  filters = std::min<int64_t>(filters, 128 / groups * groups);
  Dims dims = {std::max(filters, groups), channels / groups};
  dims.insert(dims.end(), window.kernel.begin(), window.kernel.end());
  std::vector<DrawnOperand> operands = {x, Weights(d, dims)};
  if (d.Chance(0.6)) operands.push_back(Weights(d, {dims[0]}));
  Attributes attributes = AttributesOf(d, window);
  if (groups != 1 || d.Chance(0.1)) attributes.Int("group", groups);
  return d.Node("Conv", operands, attributes);
}

void DrawConv(Drawing& d) { Conv(d, d.Image(d.OneOf(Dims{1, 2, 2, 2, 2, 2, 3}))); }

// With normalisation, residual and activation in the usual orders.
void DrawConvBlock(Drawing& d) {
  DrawnOperand at = Conv(d, d.Image(2));
  if (at == nullptr) return;
  if (d.Chance(0.3)) {
    const Dims channels = {at->dims[1]};
    const auto parameter = [&] { return d.Constant(DataType::kFloat32, channels); };
    at = d.Node("BatchNormalization",
                {at, parameter(), parameter(), parameter(), d.Constant(DataType::kFloat32, channels, "value 0.7")});
  }
  if (at != nullptr && d.Chance(0.4)) {
    const DrawnOperand other = d.Like(DataType::kFloat32, at->dims);
    at = d.Chance(0.5) ? d.Node("Add", {at, other}) : d.Node("Add", {other, at});
  }
  if (d.Chance(0.2)) {
    d.Node("Mul", {at, d.Node("Sigmoid", {at})});
  } else if (d.Chance(0.25)) {
    d.Node("Clip", {at, d.Number(0), d.Number(d.OneOf(std::vector<double>{1, 6}))});
  } else {
    d.Node(d.OneOf({"Relu", "Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Elu", "Softplus", "Mish"}), {at});
  }
}

// Branches of one image that are put together again.
void DrawBranches(Drawing& d) {
  const DrawnOperand x = d.Image(2);
  if (std::ranges::find(x->dims, 0) != x->dims.end()) return;
  std::vector<DrawnOperand> parts;
  for (int64_t i = d.Between(2, 4); i > 0; --i) {
    const int64_t kernel = d.OneOf(Dims{1, 3, 5}), filters = d.Channels();
    const int64_t pad = kernel / 2;
    DrawnOperand at = d.Node("Conv", {x, d.Constant(DataType::kFloat32, {filters, x->dims[1], kernel, kernel})},
                             Attributes().Ints("pads", {pad, pad, pad, pad}));
    if (d.Chance(0.6)) at = d.Node("Relu", {at});
    if (at != nullptr) parts.push_back(at);
  }
  if (d.Chance(0.3)) parts.push_back(x);
  if (parts.empty()) return;
  const DrawnOperand joined = d.Node("Concat", parts, Attributes().Int("axis", 1));
  if (d.Chance(0.5)) Conv(d, joined);
}

// Gates on channels, as squeeze-and-excitation has them.
void DrawGates(Drawing& d) {
  const DrawnOperand x = Conv(d, d.Image(2));
  if (x == nullptr) return;
  const DrawnOperand squeezed = d.Node("GlobalAveragePool", {x});
  const int64_t inner = d.Channels();
  const DrawnOperand hidden =
      d.Node("Relu", {d.Node("Conv", {squeezed, d.Constant(DataType::kFloat32, {inner, x->dims[1], 1, 1})})});
  const DrawnOperand gates = d.Node("Conv", {hidden, d.Constant(DataType::kFloat32, {x->dims[1], inner, 1, 1})});
  d.Node("Mul", {x, d.Node(d.OneOf({"Sigmoid", "HardSigmoid"}), {gates})});
}

void DrawConvTranspose(Drawing& d) {
  const DrawnOperand x = d.Image(d.OneOf(Dims{1, 2, 2, 2, 3}));
  if (std::ranges::find(x->dims, 0) != x->dims.end()) return;
  const size_t n = x->dims.size() - 2;
  const int64_t channels = x->dims[1], groups = d.Chance(0.6) ? 1 : AnyGroups(d, channels);
  Dims dims = {channels, d.Between(1, groups == 1 ? 20 : 3)}, strides, dilations, begins, ends, more;
  for (size_t i = 0; i < n; ++i) {
    const int64_t kernel = d.Between(1, 4), dilation = d.Chance(0.15) ? 2 : 1, stride = d.Between(1, 3);
    const int64_t size = (x->dims[i + 2] - 1) * stride + (kernel - 1) * dilation + 1;
    dims.push_back(kernel);
    strides.push_back(stride);
    dilations.push_back(dilation);
    begins.push_back(d.Between(0, std::min<int64_t>(kernel - 1, (size - 1) / 2)));
    ends.push_back(d.Between(0, std::min<int64_t>(kernel - 1, (size - 1) / 2)));
    more.push_back(d.Between(0, std::max(stride, dilation) - 1));
  }
  Attributes attributes;
  attributes.Ints("strides", strides);
  if (std::ranges::find(dilations, 2) != dilations.end()) attributes.Ints("dilations", dilations);
  if (d.Chance(0.6)) {
    begins.insert(begins.end(), ends.begin(), ends.end());
    attributes.Ints("pads", begins);
  } else if (d.Chance(0.5)) {
    attributes.Text("auto_pad", d.OneOf<std::string>({"SAME_UPPER", "SAME_LOWER", "VALID"}));
  }
  if (d.Chance(0.3)) attributes.Ints("output_padding", more);
  if (groups != 1) attributes.Int("group", groups);
  std::vector<DrawnOperand> operands = {x, Weights(d, dims)};
  if (d.Chance(0.5)) operands.push_back(Weights(d, {dims[1] * groups}));
  d.Node("ConvTranspose", operands, attributes);
}

}  // namespace

DrawnFamily ConvolutionFamily() {
  return {"convolution",
          {{"Conv", DrawConv},
           {"Conv", DrawConv},
           {"convolution and what follows", DrawConvBlock},
           {"convolution and what follows", DrawConvBlock},
           {"branches", DrawBranches},
           {"gates", DrawGates},
           {"ConvTranspose", DrawConvTranspose}},
          6};
}

}  // namespace pt::testing
