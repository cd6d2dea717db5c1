#include <algorithm>

#include "lib/backend/reference/operator.h"

namespace pt::reference {
namespace {

using Table = std::span<const ReferenceRow> (*)();

constexpr Table kTables[] = {
    ActivationOperators,
    ArithmeticOperators,
    AttentionOperators,
    CastOperators,
    CausalConvolutionOperators,
    ConvolutionOperators,
    DropoutOperators,
    EinsumOperators,
    FeatureOperators,
    GatherOperators,
    GeneratorOperators,
    ImageOperators,
    LogicOperators,
    LinearAttentionOperators,
    ListedTreeOperators,
    LossOperators,
    MatMulOperators,
    MovementOperators,
    NonMaxSuppressionOperators,
    NormalizationOperators,
    PoolOperators,
    QuantizeOperators,
    RandomOperators,
    RecurrentOperators,
    ReduceOperators,
    ResizeOperators,
    SamplingOperators,
    ScatterOperators,
    SelectionOperators,
    SignalOperators,
    SliceOperators,
    SoftmaxOperators,
    SortOperators,
    SupportVectorOperators,
    TfIdfOperators,
    TrainingOperators,
    TreeEnsembleOperators,
    UniqueOperators,
    ViewOperators,
};

}  // namespace

const ReferenceRow* FindOperator(const Node& node, int64_t opset) {
  for (const Table& table : kTables) {
    const std::span<const ReferenceRow> rows = table();
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const ReferenceRow& r) {
      return r.op == node.op && r.domain == node.domain && opset >= r.since && opset <= r.until;
    });
    if (row != rows.end()) return &*row;
  }
  return nullptr;
}

}  // namespace pt::reference
