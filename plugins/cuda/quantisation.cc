#include "plugins/cuda/quantisation.h"

#include <algorithm>

#include "partitiontuner/graph/linear_quantisation.h"

namespace pt::cuda {
namespace {

std::string Bound(double bound) { return std::to_string(static_cast<int64_t>(bound)); }

}  // namespace

bool IsQuantised(DataType type) { return IsByte(type) || type == DataType::kInt16 || type == DataType::kUint16; }

bool HasQuantisation(const Graph& graph, std::span<const NodeId> nodes) {
  return std::ranges::any_of(nodes, [&](NodeId id) {
    const Node& node = graph.node(id);
    return IsQuantisation(node) || IsDequantisation(node) ||
           (node.domain.empty() && node.op == "DynamicQuantizeLinear");
  });
}

bool IsDequantisable(DataType type) { return IsQuantised(type) || type == DataType::kInt32; }

std::string QuantisedText(const std::string& real, const std::string& scale, const std::string& zero, DataType to) {
  const IntegerRange range = RangeOf(to).value();
  return "(" + std::string(CTypeOf(to)) + ")pt_steps((" + real + ") / (" + scale + "), " +
         (zero.empty() ? "0" : "(int)(" + zero + ")") + ", " + Bound(range.low) + ", " + Bound(range.high) + ")";
}

std::string DequantisedText(const std::string& integer, const std::string& scale, const std::string& zero,
                            DataType from) {
  // The difference of two numbers of 32 bits may need one more.
  const std::string type = from == DataType::kInt32 ? "(long long)" : "(int)";
  const std::string moved = zero.empty() ? integer : "(" + type + integer + " - " + type + zero + ")";
  return "(float)" + moved + " * " + scale;
}

}  // namespace pt::cuda
