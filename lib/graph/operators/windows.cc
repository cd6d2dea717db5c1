#include "partitiontuner/graph/operators/windows.h"

#include <string>

#include "partitiontuner/support/text.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

Error InvalidWindow(std::string why) { return MakeError(ErrorCode::kInvalidInput, "graph.window", std::move(why)); }

Result<AutoPad> ReadAutoPad(const Node& node) {
  const std::string word = node.string_or("auto_pad", "NOTSET");
  if (word.empty() || word == "NOTSET") return AutoPad::kNotSet;  // empty: as some exporters write it
  if (word == "SAME_UPPER") return AutoPad::kSameUpper;
  if (word == "SAME_LOWER") return AutoPad::kSameLower;
  if (word == "VALID") return AutoPad::kValid;
  return InvalidWindow(UnknownWord("auto_pad", word, {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}));
}

}  // namespace

Result<WindowNode> ReadWindowNode(const Node& node, size_t spatial) {
  PT_ASSIGN(const AutoPad auto_pad, ReadAutoPad(node));
  WindowNode window{node.ints_or("strides", Dims(spatial, 1)),
                    node.ints_or("dilations", Dims(spatial, 1)),
                    node.ints_or("pads", Dims(2 * spatial, 0)),
                    auto_pad,
                    node.int_or("ceil_mode", 0) != 0,
                    node.ints_or("output_padding", Dims(spatial, 0)),
                    node.ints_or("output_shape", {})};
  if (window.strides.size() != spatial || window.dilations.size() != spatial || window.pads.size() != 2 * spatial ||
      window.output_padding.size() != spatial) {
    return InvalidWindow("strides, dilations, pads or output_padding do not fit " + std::to_string(spatial) +
                         " spatial dims");
  }
  return window;
}

std::optional<std::vector<int64_t>> ReadKernelShape(const Node& node) {
  if (node.find("kernel_shape") == nullptr) return std::nullopt;
  return node.ints_or("kernel_shape", {});
}

int64_t ReadConvolutionGroups(const Node& node) { return node.int_or("group", 1); }

PoolingNode ReadPoolingNode(const Node& node) {
  return {node.int_or("count_include_pad", 0) != 0, node.int_or("storage_order", 0) != 0, node.int_or("p", 2)};
}

int64_t ReadOffsetGroups(const Node& node) { return node.int_or("offset_group", 1); }

Result<bool> HasSilu(const Node& node) {
  const std::string activation = node.string_or("activation", "none");
  if (activation == "none") return false;
  if (activation == "silu" || activation == "swish") return true;
  return MakeError(ErrorCode::kInvalidInput, "graph.window",
                   UnknownWord("activation", activation, {"none", "silu", "swish"}));
}

}  // namespace pt
