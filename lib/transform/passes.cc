#include "partitiontuner/transform/passes.h"

#include "lib/transform/packed_products.h"
#include "lib/transform/pass_list.h"

namespace pt {
namespace {

constexpr Pass kPasses[] = {
    {"inline-constant-if", "replaces an If whose condition is constant by the branch taken", InlineConstantIf},
    {"expand-qlinear", "spells QLinearConv and QLinearMatMul out as DequantizeLinear, product and QuantizeLinear",
     ExpandQLinear},
    // Before fold-constants, which folds the weights that no product of integers can take.
    {"centre-weights", "gives convolutions of integers weights with a zero point of 0", CentreWeights},
    {"move-quantisation", "moves integers through Reshape, Transpose, MaxPool, …; drops pairs of equal parameters",
     MoveQuantisation},
    {"split-dequantisation", "gives every reader of a DequantizeLinear its own", SplitDequantisation},
    {"fold-constants", "computes once what depends on constants and static shapes only", FoldConstants},
    {"remove-no-ops", "drops nodes that return their input: Identity, Dropout, Cast to the same type, …", RemoveNoOps},
    {"merge-views", "makes one Transpose of two in a row, one Reshape of a chain of views", MergeViewsAndTransposes},
    {"turn-flattened-images", "moves an image's channels last before it is flattened, and first behind the reverse",
     TurnFlattenedImages},
    // Behind the removal of no-ops: a Dropout left in place would keep its border of Casts.
    {"widen-small-floats", "computes float16 and bfloat16 networks in float32, with a Cast at their borders",
     WidenSmallFloats},
    {"roll-lstm-cells", "makes one LSTM of cells that are spelled out step by step", RollLstmCells},
    // Before fold-affine, so that it finds each convolution's part of a normalisation behind it.
    {"sink-concats", "computes elementwise operators and BatchNormalization before a Concat of convolutions",
     SinkConcats},
    {"fold-affine",
     "moves BatchNormalization, and constants that are added or multiplied, into the product before them", FoldAffine},
    // Behind fold-affine, so that nothing but elementwise operators lies between, and before ConvTranspose is gone.
    {"fold-borders", "makes the padding of convolutions and poolings of what Pad adds before, or Slice cuts behind",
     FoldBorders},
    // Behind fold-affine, which folds nothing across the Transpose.
    {"turn-transposed-convolutions", "makes a Conv of a ConvTranspose whose windows do not overlap, or move by one",
     TurnTransposedConvolutions},
    {"recognise-layer-normalization", "makes one LayerNormalization of the nodes it was spelled out in",
     RecogniseLayerNormalization},
    {"recognise-rms-normalization", "makes one RMSNormalization of the nodes it was spelled out in",
     RecogniseRmsNormalization},
    {"recognise-group-normalization", "makes one GroupNormalization of the nodes it was spelled out in",
     RecogniseGroupNormalization},
    // Behind widen-small-floats, which knows Einsum and would widen each part by itself.
    {"expand-einsum", "makes of an Einsum the sums, transpositions and products that it stands for", ExpandEinsum},
    {"gather-whole-rows", "makes Gather and ScatterND of GatherElements and ScatterElements of whole rows",
     GatherWholeRows},
    {"turn-left-matrices", "multiplies a vector by a constant matrix that was multiplied by the vector",
     TurnLeftMatrices},
    {"keep-batches",
     "multiplies matrices of the caller's under the dims that they were given with, not under a Reshape of these",
     KeepBatches},
    {"sink-views", "computes element-wise operators after a product before the Reshape that separates them", SinkViews},
    {"share-common-subexpressions", "computes equal nodes of equal inputs once", ShareCommonSubexpressions},
    {"drop-dead-code", "drops what no graph output needs", DropDeadCode},
    // Last: what the passes before it found out about the values outside is known inside.
    {"simplify-nested", "runs all passes on the graphs in If, Loop, …; captured constants are constants there",
     SimplifyNested},
    {"capture-invariants", "reads what a Loop or Scan carries and never changes from outside", CaptureInvariants},
    {"count-trips", "counts the trips of a Loop whose condition depends on constants only", CountTrips},
    {"type-loops", "finds the sizes of what a Loop carries, where no trip changes them, and of what it collects",
     TypeLoops},
    // Behind simplify-nested, so that loops in a body are unrolled before it is.
    {"unroll-loops", "replaces a Loop or Scan of a few trips, as many in every run, by its bodies", UnrollLoops},
};

// Every round removes or simplifies at least one node, so real models settle in a few; the limit only guards
// against two passes undoing each other.
constexpr int kMaxRounds = 20;

// Folding has waited for sizes that are still not known.
bool WaitsForSizes(const Graph& graph) {
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    if (FeedsUnsizedProducts(graph, NodeId(n))) return true;
  }
  return false;
}

}  // namespace

std::span<const Pass> Passes() { return kPasses; }

Status SimplifyInPlace(Graph& graph, const PassContext& context, bool& changed) {
  PassContext now = context;
  now.settled = false;
  if (now.folded_bytes == nullptr) now.folded_bytes = std::make_shared<int64_t>(0);
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed_now = false;
    for (const Pass& pass : Passes()) {
      PT_ASSIGN(std::optional<Graph> next, pass.run(graph, now));
      if (!next) continue;
      graph = std::move(*next);
      changed = changed_now = true;
    }
    if (!changed_now) {
      if (now.settled || !WaitsForSizes(graph)) break;
      now.settled = true;
      continue;
    }
    PT_ASSIGN(graph, context.infer_types(graph));
  }
  return {};
}

Result<Graph> Simplify(Graph graph, const PassContext& context) {
  bool changed = false;
  PT_CHECK_OK(SimplifyInPlace(graph, context, changed));
  return graph;
}

}  // namespace pt
