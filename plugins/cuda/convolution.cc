#include "plugins/cuda/convolution.h"

#include <algorithm>
#include <array>

#include "partitiontuner/graph/operators/windows.h"
#include "plugins/cuda/convolution_tiles.h"
#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/expression.h"
#include "plugins/cuda/integer_product.h"

namespace pt::cuda {
namespace {

// A thread that adds up more products than this alone had better share them.
constexpr int64_t kMostProductsAlone = 288;
constexpr const char* kDirect = "direct";

std::string Times(const std::string& name, int64_t stride) { return " + " + name + " * " + std::to_string(stride); }
std::string N(size_t n) { return std::to_string(n); }

Status CheckChannels(const CudaSite& site, const CudaConvolution& c) {
  if (!IsDense(c.w->layout)) return site.Unsupported("its weights have gaps");
  const std::vector<int64_t>&x = c.x->dims(), &w = c.w->dims(), &y = c.y_dims;
  if (w.size() != x.size() || c.groups < 1 || x[1] % c.groups != 0) {
    return site.Unsupported("its weights do not fit its input");
  }
  const int64_t outputs = c.transposed ? w[1] * c.groups : w[0];
  if (y[1] != outputs || outputs % c.groups != 0 || (c.transposed ? w[0] != x[1] : w[1] != c.in_each())) {
    return site.Unsupported("its weights do not fit its channels");
  }
  return {};
}

// One number a channel, as an expression at c1; empty where there is none.
Result<std::string> BiasText(const CudaSite& site, const CudaConvolution& c, const CudaOperand* bias) {
  if (bias == nullptr) return std::string();
  if (bias->dims() != std::vector<int64_t>{c.y_dims[1]})
    return site.Unsupported("its bias is not one number a channel");
  const std::string element = site.NameOf(*bias) + "[c1 * " + std::to_string(bias->strides()[0]) + "]";
  return IsReal(bias->type()) ? "(float)" + element : element;
}

// What the node convolves, without what is done with it.
Result<CudaConvolution> ReadGeometry(const CudaSite& site, const Node& node, const CudaOperand* x,
                                     const CudaOperand* w) {
  CudaConvolution c;
  c.transposed = node.op == "ConvTranspose";
  c.x = x;
  c.w = w;
  if (c.x == nullptr || c.w == nullptr) return site.Unsupported("an input is missing");
  const std::optional<std::vector<int64_t>> y = site.graph.value(node.outputs[0]).type.static_dims();
  const size_t rank = c.x->dims().size();
  if (!y || rank < 3 || rank > 5 || y->size() != rank || (*y)[0] != c.x->dims()[0]) {
    return site.Unsupported("it has not one to three spatial dims");
  }
  if (site.out.size() != 1 || site.out[0].dims() != *y) return site.Unsupported("what follows has other dims");
  c.y_dims = *y;
  c.groups = ReadConvolutionGroups(node);
  PT_CHECK_OK(CheckChannels(site, c));
  const auto spatial = [](const std::vector<int64_t>& dims) {
    return std::vector<int64_t>(dims.begin() + 2, dims.end());
  };
  const std::vector<int64_t> kernel = spatial(c.w->dims()), in = spatial(c.x->dims()), out = spatial(c.y_dims);
  const auto window = c.transposed ? TransposedWindowOf(node, kernel, in, out) : WindowOf(node, kernel, in, out);
  if (!window) return site.Unsupported("its window does not fit its dims");
  c.window = *window;
  return c;
}

Result<CudaConvolution> ReadReal(const CudaSite& site) {
  const Node& node = site.node();
  const CudaOperand* const bias = site.Input(2);
  PT_ASSIGN(CudaConvolution c, ReadGeometry(site, node, site.Input(0), site.Input(1)));
  if (!IsReal(c.x->type()) || !IsReal(c.w->type()) || (bias != nullptr && !IsReal(bias->type()))) {
    return site.Unsupported("it is not of float32, float16 or bfloat16");
  }
  PT_ASSIGN(const std::string added, BiasText(site, c, bias));
  PT_ASSIGN(c.epilogue, BehindText(site, std::span(site.nodes).subspan(1), c.y_dims,
                                   {node.outputs[0], added.empty() ? "sum" : "sum + " + added}));
  return c;
}

// x has one scale and zero point, w one, or one a channel of the result.
Result<CudaConvolution> ReadIntegers(const CudaSite& site) {
  PT_ASSIGN(const QuantizedProduct product, ReadIntegerProduct(site));
  PT_ASSIGN(CudaConvolution c, ReadGeometry(site, *product.node, product.a.integers, product.b.integers));
  if (c.products() > kMostProducts) return site.Unsupported("its sums do not fit 32 bits");
  constexpr int64_t kNone = -1;
  const int64_t channels = !c.transposed ? 0 : c.groups == 1 ? 1 : kNone;
  TiledBytes bytes{c.w->type(), c.x->type()};
  PT_ASSIGN(bytes.left_zero, ZeroText(site, product.b, channels, "c1"));
  PT_ASSIGN(bytes.right_zero, ZeroText(site, product.a, kNone, "0"));
  bytes.outside = bytes.right_zero;
  bytes.left_by_words = c.w->constant != nullptr && !c.transposed && c.products() % 4 == 0;
  std::array<std::string, 2> scales;
  if (product.a.scale != nullptr) {
    PT_ASSIGN(scales[0], ParameterText(site, product.a, *product.a.scale, kNone, "0"));
    PT_ASSIGN(scales[1], ParameterText(site, product.b, *product.b.scale, channels, "c1"));
  }
  PT_ASSIGN(const std::string bias, BiasText(site, c, product.bias));
  PT_ASSIGN(c.epilogue, WrittenText(site, product, scales, bias));
  c.bytes = std::move(bytes);
  return c;
}

Result<CudaConvolution> Read(const CudaSite& site) {
  return IsConvolution(site.node()) ? ReadReal(site) : ReadIntegers(site);
}

// Where the window's element (k0, k1, …) reads, as p0, p1, …, and whether that is inside the input.
std::string PositionsText(const CudaConvolution& c, std::string& inside) {
  std::string text;
  for (size_t d = 0; d < c.window.kernel.size(); ++d) {
    const std::string n = N(d), stride = std::to_string(c.window.strides[d]), p = "p" + n;
    const std::string tap = "k" + n + " * " + std::to_string(c.window.dilations[d]);
    const std::string pad = std::to_string(c.window.pads_begin[d]);
    inside += (inside.empty() ? "" : " && ") + p + " >= 0 && " + p + " < " + std::to_string(c.x->dims()[d + 2]);
    if (!c.transposed) {
      text += "    const Index " + p + " = c" + N(d + 2) + " * " + stride + " - " + pad + " + " + tap + ";\n";
      continue;
    }
    text += "    const Index q" + n + " = c" + N(d + 2) + " + " + pad + " - " + tap + ";\n    const Index " + p +
            " = q" + n + " / " + stride + ";\n";
    inside += " && q" + n + " >= 0 && q" + n + " % " + stride + " == 0";
  }
  return text;
}

// The statement that adds a product.
std::string AddedText(const CudaConvolution& c, const std::string& x, const std::string& w) {
  if (!c.bytes) return "sum = fmaf(" + x + ", " + w + ", sum);\n";
  return "total += " + MovedText(x, c.bytes->right, c.bytes->right_zero) + " * " +
         MovedText(w, c.bytes->left, c.bytes->left_zero) + ";\n";
}

// A thread for each element of the result.
CudaRoutine Direct(const CudaSite& site, const CudaConvolution& c) {
  const int64_t in_each = c.in_each(), out_each = c.y_dims[1] / c.groups;
  std::string x = site.NameOf(*c.x) + "[c0 * " + std::to_string(c.x->strides()[0]), inside, loops, ends;
  x += " + (group * " + std::to_string(in_each) + " + channel) * " + std::to_string(c.x->strides()[1]);
  const std::vector<int64_t>& ws = c.w->strides();
  std::string w = site.NameOf(*c.w) + "[";
  w += c.transposed ? "(group * " + std::to_string(in_each) + " + channel) * " + std::to_string(ws[0]) +
                          " + within * " + std::to_string(ws[1])
                    : "c1 * " + std::to_string(ws[0]) + " + channel * " + std::to_string(ws[1]);
  for (size_t d = 0; d < c.window.kernel.size(); ++d) {
    x += Times("p" + N(d), c.x->strides()[d + 2]);
    w += Times("k" + N(d), ws[d + 2]);
    loops += "    for (int k" + N(d) + " = 0; k" + N(d) + " < " + std::to_string(c.window.kernel[d]) + "; ++k" + N(d) +
             ") {\n";
    ends += "    }\n";
  }
  const std::string positions = PositionsText(c, inside);
  const std::string body = "    const Index group = c1 / " + std::to_string(out_each) + ", within = c1 % " +
                           std::to_string(out_each) + ";\n    " + (c.bytes ? "int total" : "float sum") + " = 0;\n" +
                           loops + positions + "    if (" + inside + ") {\n      for (Index channel = 0; channel < " +
                           std::to_string(in_each) + "; ++channel) " + AddedText(c, x + "]", w + "]") + "    }\n" +
                           ends + c.epilogue;
  return {{ElementKernel(site, IndexSpace::Whole(c.y_dims, {site.out[0].strides()}), body)}};
}

}  // namespace

bool IsConvolution(const Node& node) {
  return node.domain.empty() && (node.op == "Conv" || node.op == "ConvTranspose") && node.outputs.size() == 1;
}

bool IsIntegerConvolution(const Node& product) {
  return IsConvolution(product) ||
         (product.domain.empty() && (product.op == "ConvInteger" || product.op == "QLinearConv"));
}

Result<std::vector<std::string>> ConvolutionVariants(const CudaSite& site) {
  PT_ASSIGN(const CudaConvolution c, Read(site));
  std::vector<std::string> variants;
  // A window of one channel has nothing that others could share.
  const bool alone = c.transposed || c.in_each() == 1;
  if (!alone) variants = TileVariants(c);
  if (alone || c.products() <= kMostProductsAlone) variants.emplace_back(kDirect);
  return variants;
}

Result<CudaRoutine> MakeConvolution(const CudaSite& site, std::string_view variant) {
  PT_ASSIGN(const CudaConvolution c, Read(site));
  if (c.y_dims[0] * c.y_dims[1] == 0 || IndexSpace(c.y_dims, {}).count() == 0) return CudaRoutine{};
  if (variant == kDirect) return Direct(site, c);
  return MakeTiles(site, c, variant);
}

}  // namespace pt::cuda
