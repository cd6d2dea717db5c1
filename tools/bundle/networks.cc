#include "tools/bundle/networks.h"

#include <algorithm>
#include <array>

#include "tools/bundle/network_maker.h"

namespace pt {
namespace {

using Value = NetworkMaker::Value;

constexpr int64_t kClasses = 1000;

Result<Graph> SqueezeNet(int64_t batch) {
  NetworkMaker net("squeezenet");
  const auto fire = [&](const Value& x, int64_t squeeze, int64_t expand) {
    const Value narrow = net.ConvRelu(x, squeeze, {});
    return net.Concat({net.ConvRelu(narrow, expand, {}), net.ConvRelu(narrow, expand, {3, 3})});
  };
  Value x = net.ConvRelu(net.Input("image", {batch, 3, 224, 224}), 64, {3, 3, 2});
  x = net.MaxPool(x, 3, 2);
  x = net.MaxPool(fire(fire(x, 16, 64), 16, 64), 3, 2);
  x = net.MaxPool(fire(fire(x, 32, 128), 32, 128), 3, 2);
  x = fire(fire(fire(fire(x, 48, 192), 48, 192), 64, 256), 64, 256);
  return net.Finish({net.GlobalPool(net.ConvRelu(x, kClasses, {}))});
}

Result<Graph> GoogLeNet(int64_t batch) {
  NetworkMaker net("googlenet");
  const auto inception = [&](const Value& x, const std::array<int64_t, 6>& c) {
    const Value a = net.ConvRelu(x, c[0], {}), b = net.ConvRelu(net.ConvRelu(x, c[1], {}), c[2], {3, 3});
    const Value d = net.ConvRelu(net.ConvRelu(x, c[3], {}), c[4], {5, 5});
    return net.Concat({a, b, d, net.ConvRelu(net.MaxPool(x, 3, 1), c[5], {})});
  };
  Value x = net.MaxPool(net.ConvRelu(net.Input("image", {batch, 3, 224, 224}), 64, {7, 7, 2}), 3, 2);
  x = net.MaxPool(net.ConvRelu(net.ConvRelu(x, 64, {}), 192, {3, 3}), 3, 2);
  x = inception(inception(x, {64, 96, 128, 16, 32, 32}), {128, 128, 192, 32, 96, 64});
  x = inception(net.MaxPool(x, 3, 2), {192, 96, 208, 16, 48, 64});
  x = inception(inception(x, {160, 112, 224, 24, 64, 64}), {128, 128, 256, 24, 64, 64});
  x = inception(inception(x, {112, 144, 288, 32, 64, 64}), {256, 160, 320, 32, 128, 128});
  x = inception(inception(net.MaxPool(x, 3, 2), {256, 160, 320, 32, 128, 128}), {384, 192, 384, 48, 128, 128});
  return net.Finish({net.Dense(net.GlobalPool(x), kClasses)});
}

// The three kinds of blocks of Inception v3, at its sizes.
Result<Graph> Inception(int64_t batch) {
  NetworkMaker net("inception");
  const auto conv = [&](const Value& x, int64_t channels, int64_t height, int64_t width, int64_t stride = 1) {
    return net.ConvRelu(x, channels, {height, width, stride, 1, stride == 1});
  };
  const auto small = [&](const Value& x, int64_t pooled) {
    return net.Concat({conv(x, 64, 1, 1), conv(conv(x, 48, 1, 1), 64, 5, 5),
                       conv(conv(conv(x, 64, 1, 1), 96, 3, 3), 96, 3, 3),
                       conv(net.AveragePool(x, 3, 1), pooled, 1, 1)});
  };
  const auto middle = [&](const Value& x, int64_t c) {
    Value far = conv(conv(conv(x, c, 1, 1), c, 7, 1), c, 1, 7);
    far = conv(conv(far, c, 7, 1), 192, 1, 7);
    return net.Concat({conv(x, 192, 1, 1), conv(conv(conv(x, c, 1, 1), c, 1, 7), 192, 7, 1), far,
                       conv(net.AveragePool(x, 3, 1), 192, 1, 1)});
  };
  const auto large = [&](const Value& x) {
    const Value a = conv(x, 384, 1, 1), b = conv(conv(x, 448, 1, 1), 384, 3, 3);
    return net.Concat({conv(x, 320, 1, 1), conv(a, 384, 1, 3), conv(a, 384, 3, 1), conv(b, 384, 1, 3),
                       conv(b, 384, 3, 1), conv(net.AveragePool(x, 3, 1), 192, 1, 1)});
  };
  Value x = conv(net.Input("image", {batch, 3, 299, 299}), 32, 3, 3, 2);
  x = net.MaxPool(conv(net.ConvRelu(x, 32, {3, 3, 1, 1, false}), 64, 3, 3), 3, 2, false);
  x = net.MaxPool(net.ConvRelu(conv(x, 80, 1, 1), 192, {3, 3, 1, 1, false}), 3, 2, false);
  x = small(small(small(x, 32), 64), 64);
  x = net.Concat(
      {conv(x, 384, 3, 3, 2), conv(conv(conv(x, 64, 1, 1), 96, 3, 3), 96, 3, 3, 2), net.MaxPool(x, 3, 2, false)});
  x = middle(middle(middle(middle(x, 128), 160), 160), 192);
  x = net.Concat({conv(conv(x, 192, 1, 1), 320, 3, 3, 2),
                  conv(conv(conv(conv(x, 192, 1, 1), 192, 1, 7), 192, 7, 1), 192, 3, 3, 2),
                  net.MaxPool(x, 3, 2, false)});
  return net.Finish({net.Dense(net.GlobalPool(large(large(x))), kClasses)});
}

Result<Graph> ResNet50(int64_t batch) {
  NetworkMaker net("resnet50");
  const auto block = [&](const Value& x, int64_t channels, int64_t stride) {
    const Value inner = net.ConvRelu(net.ConvRelu(x, channels, {}), channels, {3, 3, stride});
    const bool changes = stride != 1 || x.channels() != 4 * channels;
    const Value beside = changes ? net.Conv(x, 4 * channels, {1, 1, stride}) : x;
    return net.Relu(net.Add(net.Conv(inner, 4 * channels, {}), beside));
  };
  Value x = net.MaxPool(net.ConvRelu(net.Input("image", {batch, 3, 224, 224}), 64, {7, 7, 2}), 3, 2);
  for (const auto& [channels, blocks] : {std::pair<int64_t, int>{64, 3}, {128, 4}, {256, 6}, {512, 3}}) {
    for (int b = 0; b < blocks; ++b) x = block(x, channels, b == 0 && channels > 64 ? 2 : 1);
  }
  return net.Finish({net.Dense(net.GlobalPool(x), kClasses)});
}

// Cells of five pairs, each reading the two cells before, as NASNet's normal cell is wired.
Result<Graph> NasNet(int64_t batch) {
  NetworkMaker net("nasnet");
  const auto cell = [&](const Value& before, const Value& last, int64_t c) {
    Value h = net.Conv(net.Relu(last), c, {}), p = net.Conv(net.Relu(before), c, {});
    if (p.dims[2] != h.dims[2]) p = net.AveragePool(p, 2, 2);
    return net.Concat({p, net.Add(net.Separable(h, c, 3), h), net.Add(net.Separable(p, c, 3), net.Separable(h, c, 5)),
                       net.Add(net.AveragePool(h, 3, 1), p),
                       net.Add(net.AveragePool(p, 3, 1), net.AveragePool(p, 3, 1)),
                       net.Add(net.Separable(p, c, 5), net.Separable(p, c, 3))});
  };
  Value before = net.Conv(net.Input("image", {batch, 3, 224, 224}), 32, {3, 3, 2});
  Value last = net.Separable(before, 32, 5, 2);
  before = net.Separable(before, 32, 3, 2);
  for (const int64_t channels : {44, 88, 176}) {
    for (int n = 0; n < 4; ++n) {
      const Value next = cell(before, last, channels);
      before = last;
      last = next;
    }
    before = net.MaxPool(last, 2, 2, false);
    last = net.Separable(last, channels, 5, 2);
  }
  return net.Finish({net.Dense(net.GlobalPool(net.Relu(last)), kClasses)});
}

// Stages of 16 separable convolutions that are wired at random: each reads two earlier ones.
Result<Graph> RandWire(int64_t batch) {
  NetworkMaker net("randwire");
  uint32_t state = 7;
  const auto pick = [&](size_t count) {
    state = state * 1664525U + 1013904223U;
    return (state >> 16U) % count;
  };
  Value x = net.ConvRelu(net.Input("image", {batch, 3, 224, 224}), 39, {3, 3, 2});
  for (const int64_t channels : {78, 156, 312}) {
    std::vector<Value> nodes = {net.Separable(x, channels, 3, 2)};
    std::vector<bool> is_read = {false};
    for (int n = 1; n < 16; ++n) {
      const size_t recent = std::min<size_t>(nodes.size(), 5);
      const size_t a = nodes.size() - 1 - pick(recent), b = nodes.size() - 1 - pick(recent);
      is_read[a] = is_read[b] = true;
      nodes.push_back(net.Separable(a == b ? nodes[a] : net.Add(nodes[a], nodes[b]), channels, 3));
      is_read.push_back(false);
    }
    x = nodes.back();
    for (size_t n = 0; n + 1 < nodes.size(); ++n) {
      if (!is_read[n]) x = net.Add(x, nodes[n]);
    }
  }
  return net.Finish({net.Dense(net.GlobalPool(net.ConvRelu(x, 1280, {})), kClasses)});
}

Value EncoderLayer(NetworkMaker& net, const Value& x, int64_t heads) {
  const int64_t batch = x.dims[0], length = x.dims[1], width = x.dims[2], size = width / heads;
  const auto split = [&](std::vector<int64_t> order) {
    return net.Transpose(net.Reshape(net.Dense(x, width), {batch, length, heads, size}), std::move(order));
  };
  const Value scores = net.Softmax(net.MatMul(split({0, 2, 1, 3}), split({0, 2, 3, 1})));
  const Value mixed = net.Transpose(net.MatMul(scores, split({0, 2, 1, 3})), {0, 2, 1, 3});
  const Value attended = net.LayerNorm(net.Add(x, net.Dense(net.Reshape(mixed, {batch, length, width}), width)));
  const Value inner = net.Relu(net.Dense(attended, 4 * width));
  return net.LayerNorm(net.Add(attended, net.Dense(inner, width)));
}

Result<Graph> Encoder(int64_t batch) {
  NetworkMaker net("encoder");
  Value x = net.Input("tokens", {batch, 128, 384});
  for (int layer = 0; layer < 6; ++layer) x = EncoderLayer(net, x, 6);
  return net.Finish({x});
}

// Towers that meet at the end: an image, a text and features.
Result<Graph> MultiTower(int64_t batch) {
  NetworkMaker net("multi_tower");
  Value image = net.ConvRelu(net.Input("image", {batch, 3, 128, 128}), 32, {3, 3, 2});
  for (const int64_t channels : {64, 128, 256, 256}) {
    image = net.MaxPool(net.ConvRelu(net.ConvRelu(image, channels, {3, 3}), channels, {3, 3}), 2, 2, false);
  }
  Value text = net.Input("text", {batch, 64, 256});
  for (int layer = 0; layer < 3; ++layer) text = EncoderLayer(net, text, 4);
  Value features = net.Input("features", {batch, 512});
  for (int layer = 0; layer < 4; ++layer) features = net.Relu(net.Dense(features, 1024));
  const Value words = net.Dense(net.Reshape(text, {batch, 64 * 256}), 256);
  const Value all = net.Concat({net.GlobalPool(image), words, features});
  return net.Finish({net.Dense(net.Relu(net.Dense(all, 512)), 64)});
}

// A deep side of dense layers beside a wide one that goes straight to the end.
Result<Graph> WideDeep(int64_t batch) {
  NetworkMaker net("wide_deep");
  const Value wide = net.Input("wide", {batch, 4096});
  std::vector<Value> ends = {net.Dense(wide, 256)};
  for (int tower = 0; tower < 3; ++tower) {
    Value deep = net.Input("deep" + std::to_string(tower), {batch, 1024});
    for (const int64_t columns : {2048, 1024, 512, 256}) deep = net.Relu(net.Dense(deep, columns));
    ends.push_back(deep);
  }
  return net.Finish({net.Unary("Sigmoid", net.Dense(net.Concat(ends), 1))});
}

constexpr std::array kNetworks = {
    NetworkRow{"inception", Inception},    NetworkRow{"nasnet", NasNet},       NetworkRow{"randwire", RandWire},
    NetworkRow{"squeezenet", SqueezeNet},  NetworkRow{"googlenet", GoogLeNet}, NetworkRow{"resnet50", ResNet50},
    NetworkRow{"multi_tower", MultiTower}, NetworkRow{"wide_deep", WideDeep},  NetworkRow{"encoder", Encoder}};

}  // namespace

std::span<const NetworkRow> Networks() { return kNetworks; }

}  // namespace pt
