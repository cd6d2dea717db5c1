#include <algorithm>
#include <array>

#include "lib/backend/reference/operator.h"

namespace pt::reference {
namespace {

using Table = std::span<const OperatorRow> (*)();

constexpr std::array<Table, 18> kTables = {
    ActivationOperators, ArithmeticOperators,    CastOperators,    ConvolutionOperators, GatherOperators,    GeneratorOperators,
    LogicOperators,      MatMulOperators,        MovementOperators, NormalizationOperators, PoolOperators,   RecurrentOperators,
    ReduceOperators,     ResizeOperators,        ScatterOperators, SliceOperators,       SoftmaxOperators,   ViewOperators};

}  // namespace

const OperatorRow* FindOperator(const Node& node, int64_t opset) {
  for (const Table& table : kTables) {
    const std::span<const OperatorRow> rows = table();
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const OperatorRow& r) {
      return r.op == node.op && r.domain == node.domain && opset >= r.since && opset <= r.until;
    });
    if (row != rows.end()) return &*row;
  }
  return nullptr;
}

}  // namespace pt::reference
