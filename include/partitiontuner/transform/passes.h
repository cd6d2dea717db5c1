// The table of passes that turn a loaded graph into the planned graph. Each pass is one file, Graph → Graph, and
// keeps what the graph computes. Fusion is not here: groups are candidates the search chooses among.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/limits.h"

namespace pt {

// Computes one node on constant inputs; kUnsupported when it cannot. engine/ passes the reference library's.
using NodeEvaluator = std::function<Result<std::vector<Tensor>>(const Graph&, NodeId, std::span<const Tensor> inputs)>;
// Re-infers types after a change; engine/ passes onnx/'s InferShapes.
using TypeInference = std::function<Result<Graph>(const Graph&)>;

struct PassContext {
  NodeEvaluator evaluate;
  TypeInference infer_types;
  Limits limits;
  // Bytes that folding has added to constants so far, in the graph and in those nested in it, by all passes together:
  // what limits.folded_bytes is for. Null: none yet; who runs several passes sets it.
  std::shared_ptr<int64_t> folded_bytes = {};
  bool settled = false;  // no pass finds anything more, sizes that will be known are: set by who runs the passes
};

struct Pass {
  std::string_view name, summary;
  // Empty: nothing to do.
  Result<std::optional<Graph>> (*run)(const Graph&, const PassContext&);
};

std::span<const Pass> Passes();  // in the order they run

// Raised when any pass changes what it makes: part of plans, since plans index the planned graph.
inline constexpr int kPassPipelineVersion = 15;

// Runs the passes repeatedly until nothing changes (bounded), then drops dead code.
// Weights that a pass replaces go at once where the caller has moved the graph here.
Result<Graph> Simplify(Graph graph, const PassContext& context);

}  // namespace pt
