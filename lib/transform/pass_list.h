// The passes, one file each; passes.cc lists them.
#pragma once

#include "partitiontuner/transform/passes.h"

namespace pt {

Result<std::optional<Graph>> InlineConstantIf(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> WidenSmallFloats(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> ExpandQLinear(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> CentreWeights(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> MoveQuantisation(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> SplitDequantisation(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> FoldConstants(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> RemoveNoOps(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> MergeViewsAndTransposes(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> TurnFlattenedImages(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> RollLstmCells(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> SinkConcats(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> FoldAffine(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> FoldBorders(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> TurnTransposedConvolutions(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> RecogniseLayerNormalization(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> RecogniseRmsNormalization(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> RecogniseGroupNormalization(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> GatherWholeRows(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> ExpandEinsum(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> TurnLeftMatrices(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> KeepBatches(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> SinkViews(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> ShareCommonSubexpressions(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> DropDeadCode(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> CaptureInvariants(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> CountTrips(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> TypeLoops(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> UnrollLoops(const Graph& graph, const PassContext& context);
Result<std::optional<Graph>> SimplifyNested(const Graph& graph, const PassContext& context);

// Simplify, for passes; `changed` is set where anything did. After an error the graph is as the passes before it left
// it.
Status SimplifyInPlace(Graph& graph, const PassContext& context, bool& changed);

}  // namespace pt
