#include "plugins/cuda/dnn.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace pt::cuda {
namespace {

constexpr std::string_view kEngine = "engine ";

constexpr std::array kOperationNames = {
    "conv", "deconv", "maxpool", "avgpool", "avgpool-with-pads", "add",     "mul",          "relu",     "sigmoid",
    "tanh", "elu",    "gelu",    "swish",   "layernorm",         "rmsnorm", "instancenorm", "attention"};
static_assert(kOperationNames.size() == static_cast<size_t>(DnnOperation::kAttention) + 1);

template <typename Number>
std::string Numbers(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return "[" + text + "]";
}

std::string Exact(float number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::hex).ptr;
  return {digits.data(), end};
}

// A whole number at the start of the text, which is taken off it.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  int64_t number = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return number;
}

}  // namespace

bool HasProducts(const DnnGraph& graph) {
  return std::ranges::any_of(graph.nodes, [](const DnnNode& node) {
    return node.operation == DnnOperation::kConvolution || node.operation == DnnOperation::kTransposedConvolution ||
           node.operation == DnnOperation::kAttention;
  });
}

std::string ToString(const DnnGraph& graph) {
  std::string text(MathModeName(graph.math));
  text += " align " + std::to_string(graph.alignment) + " bound " + Numbers(graph.bound);
  for (const DnnTensor& tensor : graph.tensors) {
    text += "; " + std::string(DataTypeName(tensor.type)) + Numbers(tensor.dims) + "/" + Numbers(tensor.strides);
  }
  for (const DnnNode& node : graph.nodes) {
    text += "; " + std::string(kOperationNames[static_cast<size_t>(node.operation)]) + Numbers(node.in) + ">" +
            std::to_string(node.out);
    for (const auto* dims : {&node.window, &node.stride, &node.dilation, &node.pads_begin, &node.pads_end}) {
      text += Numbers(*dims);
    }
    for (const float number : {node.slope, node.most, node.alpha, node.epsilon}) text += " " + Exact(number);
    if (node.is_cut_off) text += " cut off";
    if (node.is_causal) text += " causal";
  }
  return text;
}

std::string ToString(const DnnEngine& engine) {
  std::string text(kEngine);
  text += std::to_string(engine.number);
  for (const auto& [kind, value] : engine.knobs) text += " k" + std::to_string(kind) + "=" + std::to_string(value);
  return text;
}

std::optional<DnnEngine> DnnEngineFromText(std::string_view text) {
  if (!text.starts_with(kEngine)) return std::nullopt;
  text.remove_prefix(kEngine.size());
  DnnEngine engine;
  const std::optional<int64_t> number = TakeNumber(text);
  if (!number) return std::nullopt;
  engine.number = *number;
  while (text.starts_with(" k")) {
    text.remove_prefix(2);
    const std::optional<int64_t> kind = TakeNumber(text);
    if (!kind || !text.starts_with("=")) return std::nullopt;
    text.remove_prefix(1);
    const std::optional<int64_t> value = TakeNumber(text);
    if (!value || (!engine.knobs.empty() && engine.knobs.back().first >= *kind)) return std::nullopt;
    engine.knobs.emplace_back(*kind, *value);
  }
  return text.empty() ? std::optional(std::move(engine)) : std::nullopt;
}

}  // namespace pt::cuda
