#include "partitiontuner/graph/operators/movements.h"

#include <algorithm>
#include <string>

#include "partitiontuner/support/text.h"

namespace pt {
namespace {

Error InvalidMovement(std::string why) { return MakeError(ErrorCode::kInvalidInput, "graph.movement", std::move(why)); }

}  // namespace

Result<std::vector<size_t>> ReadPermutation(const Node& node, size_t rank) {
  std::vector<int64_t> reversed(rank);
  for (size_t d = 0; d < rank; ++d) reversed[d] = static_cast<int64_t>(rank - 1 - d);
  std::vector<size_t> order;
  std::vector<bool> seen(rank, false);
  const auto wrong = [&] { return InvalidMovement("perm is not a permutation of " + std::to_string(rank) + " dims"); };
  for (const int64_t d : node.ints_or("perm", reversed)) {
    if (d < 0 || d >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(d)]) return wrong();
    seen[static_cast<size_t>(d)] = true;
    order.push_back(static_cast<size_t>(d));
  }
  if (order.size() != rank) return wrong();
  return order;
}

Result<DepthSpaceNode> ReadDepthSpace(const Node& node) {
  const int64_t block = node.int_or("blocksize", 0);
  if (block < 1 || block > 65536)
    return InvalidMovement("blocksize " + std::to_string(block) + " is not within 1 and 65536");
  const std::string mode = node.string_or("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return InvalidMovement(UnknownWord("mode", mode, {"DCR", "CRD"}));
  return DepthSpaceNode{block, mode == "DCR"};
}

Result<PadMode> ReadPadMode(const Node& node) {
  const std::string mode = node.string_or("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "wrap") return PadMode::kWrap;
  return InvalidMovement(UnknownWord("mode", mode, {"constant", "reflect", "edge", "wrap"}));
}

float ReadPadValue(const Node& node) { return node.float_or("value", 0.0F); }

Result<ScatterReduction> ReadScatterReduction(const Node& node) {
  const std::string name = node.string_or("reduction", "none");
  if (name == "none") return ScatterReduction::kNone;
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMul;
  if (name == "max") return ScatterReduction::kMax;
  if (name == "min") return ScatterReduction::kMin;
  return InvalidMovement(UnknownWord("reduction", name, {"none", "add", "mul", "max", "min"}));
}

int64_t ReadBatchDims(const Node& node) { return node.int_or("batch_dims", 0); }

bool KeepsUpperTriangle(const Node& node) { return node.int_or("upper", 1) != 0; }

std::vector<int64_t> ReadPads(const Node& node) { return node.ints_or("pads", {}); }

Result<SliceNode> ReadSlice(const Node& node) {
  SliceNode slice{node.ints_or("starts", {}), node.ints_or("ends", {}), node.ints_or("axes", {})};
  const size_t count = slice.starts.size();
  if (slice.ends.size() == count && (slice.axes.empty() || slice.axes.size() == count)) return slice;
  return InvalidMovement("starts, ends and axes differ in length");
}

std::optional<int64_t> ReadPartCount(const Node& node) {
  return node.find("num_outputs") == nullptr ? std::nullopt : std::optional(node.int_or("num_outputs", 0));
}

Result<ReverseSequenceNode> ReadReverseSequence(const Node& node) {
  const int64_t batch = node.int_or("batch_axis", 1), time = node.int_or("time_axis", 0);
  if (std::min(batch, time) != 0 || std::max(batch, time) != 1)
    return InvalidMovement("batch_axis and time_axis must be 0 and 1");
  return ReverseSequenceNode{static_cast<size_t>(batch), static_cast<size_t>(time)};
}

Result<bool> IsCircular(const Node& node) {
  const std::string mode = node.string_or("mode", "linear");
  if (mode == "linear" || mode == "circular") return mode == "circular";
  return InvalidMovement(UnknownWord("mode", mode, {"linear", "circular"}));
}

}  // namespace pt
