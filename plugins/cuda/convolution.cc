#include "plugins/cuda/convolution.h"

#include <algorithm>
#include <array>

#include "plugins/cuda/convolution_tiles.h"
#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/expression.h"

namespace pt::cuda {
namespace {

// A thread that adds up more products than this alone had better share them.
constexpr int64_t kMostProductsAlone = 288;
constexpr const char* kDirect = "direct";

std::string Times(const std::string& name, int64_t stride) { return " + " + name + " * " + std::to_string(stride); }
std::string N(size_t n) { return std::to_string(n); }

Status CheckOperands(const Site& site, const Convolution& c) {
  const bool real = IsReal(c.x->type()) && IsReal(c.w->type()) && (c.bias == nullptr || IsReal(c.bias->type()));
  if (!real) return site.Unsupported("it is not of float32, float16 or bfloat16");
  if (!IsDense(c.w->layout)) return site.Unsupported("its weights have gaps");
  const std::vector<int64_t>&x = c.x->dims(), &w = c.w->dims(), &y = c.y_dims;
  if (w.size() != x.size() || c.groups < 1 || x[1] % c.groups != 0) {
    return site.Unsupported("its weights do not fit its input");
  }
  const int64_t in_each = x[1] / c.groups, outputs = c.transposed ? w[1] * c.groups : w[0];
  if (y[1] != outputs || outputs % c.groups != 0 || (c.transposed ? w[0] != x[1] : w[1] != in_each)) {
    return site.Unsupported("its weights do not fit its channels");
  }
  if (c.bias != nullptr && c.bias->dims() != std::vector<int64_t>{outputs}) {
    return site.Unsupported("its bias is not one number a channel");
  }
  return {};
}

Result<Convolution> Read(const Site& site) {
  const Node& node = site.node();
  if (!IsConvolution(node)) return site.Unsupported("it is no convolution");
  Convolution c;
  c.transposed = node.op == "ConvTranspose";
  c.x = site.Input(0);
  c.w = site.Input(1);
  c.bias = site.Input(2);
  if (c.x == nullptr || c.w == nullptr) return site.Unsupported("an input is missing");
  const std::optional<std::vector<int64_t>> y = site.graph.value(node.outputs[0]).type.static_dims();
  const size_t rank = c.x->dims().size();
  if (!y || rank < 3 || rank > 5 || y->size() != rank || (*y)[0] != c.x->dims()[0]) {
    return site.Unsupported("it has not one to three spatial dims");
  }
  if (site.out.size() != 1 || site.out[0].dims() != *y) return site.Unsupported("what follows has other dims");
  c.y_dims = *y;
  c.groups = node.int_or("group", 1);
  PT_CHECK_OK(CheckOperands(site, c));
  const auto spatial = [](const std::vector<int64_t>& dims) {
    return std::vector<int64_t>(dims.begin() + 2, dims.end());
  };
  const std::vector<int64_t> kernel = spatial(c.w->dims()), in = spatial(c.x->dims()), out = spatial(c.y_dims);
  const auto window = c.transposed ? TransposedWindowOf(node, kernel, in, out) : WindowOf(node, kernel, in, out);
  if (!window) return site.Unsupported("its window does not fit its dims");
  c.window = *window;
  PT_ASSIGN(c.epilogue, EpilogueOf(site, c));
  return c;
}

// Where the window's element (k0, k1, …) reads, as p0, p1, …, and whether that is inside the input.
std::string PositionsText(const Convolution& c, std::string& inside) {
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

// A thread for each element of the result.
Routine Direct(const Site& site, const Convolution& c) {
  const int64_t in_each = c.x->dims()[1] / c.groups, out_each = c.y_dims[1] / c.groups;
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
                           std::to_string(out_each) + ";\n    float sum = 0.0f;\n" + loops + positions + "    if (" +
                           inside + ") {\n      for (Index channel = 0; channel < " + std::to_string(in_each) +
                           "; ++channel) sum = fmaf(" + x + "], " + w + "], sum);\n    }\n" + ends + c.epilogue;
  return {{ElementKernel(site, IndexSpace::Whole(c.y_dims, {site.out[0].strides()}), body)}};
}

}  // namespace

Result<std::string> EpilogueOf(const Site& site, const Convolution& c) {
  std::vector<std::vector<int64_t>> strides;
  for (const Operand& operand : site.in) {
    // Those of the convolution itself are not read here, and need not broadcast.
    const auto broadcast = BroadcastStrides(operand.layout, c.y_dims);
    strides.push_back(broadcast.value_or(std::vector<int64_t>(c.y_dims.size(), 0)));
    const bool own = &operand == c.x || &operand == c.w || &operand == c.bias;
    if (!broadcast && !own) return site.Unsupported("what is behind it reads something that does not broadcast");
    const auto reads = [&](NodeId id) {
      return std::ranges::find(site.graph.node(id).inputs, operand.value) != site.graph.node(id).inputs.end();
    };
    if (!broadcast && std::any_of(site.nodes.begin() + 1, site.nodes.end(), reads)) {
      return site.Unsupported("what is behind it reads something that does not broadcast");
    }
  }
  strides.push_back(site.out[0].strides());
  const std::string bias = c.bias == nullptr ? "" : " + (float)" + site.NameOf(*c.bias) + "[c1]";
  PT_ASSIGN(const std::string body,
            ElementwiseBody(site, std::span(site.nodes).subspan(1), {site.node().outputs[0], "sum" + bias}));
  return AtCoordinates(site, IndexSpace::Whole(c.y_dims, std::move(strides)), body);
}

bool IsConvolution(const Node& node) {
  return node.domain.empty() && (node.op == "Conv" || node.op == "ConvTranspose") && node.outputs.size() == 1;
}

Result<std::vector<std::string>> ConvolutionVariants(const Site& site) {
  PT_ASSIGN(const Convolution c, Read(site));
  const int64_t in_each = c.x->dims()[1] / c.groups;
  int64_t products = in_each;
  for (const int64_t k : c.window.kernel) products *= k;
  std::vector<std::string> variants;
  // A window of one channel has nothing that others could share.
  if (!c.transposed && in_each > 1) variants = TileVariants(c);
  if (c.transposed || in_each == 1 || products <= kMostProductsAlone) variants.emplace_back(kDirect);
  return variants;
}

Result<Routine> MakeConvolution(const Site& site, std::string_view variant) {
  PT_ASSIGN(const Convolution c, Read(site));
  if (c.y_dims[0] * c.y_dims[1] == 0 || IndexSpace(c.y_dims, {}).count() == 0) return Routine{};
  if (variant == kDirect) return Direct(site, c);
  return MakeTiles(site, c, variant);
}

}  // namespace pt::cuda
