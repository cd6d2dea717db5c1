// SaveOnnx: a Graph becomes an ONNX model with its weights, which LoadOnnx and other programs read. What is to be saved
// of a larger graph is cut out first (candidate/group_graph.h).
//
//   PT_ASSIGN(const Graph group, GroupGraph(graph, nodes));
//   PT_CHECK_OK(SaveOnnx(group, "part.onnx"));
//
// Loading what was saved gives the same graph: operators, attributes, edges, names, weights, nested graphs, types. What
// differs: values that had no name have one; constants of one graph stand in another order; nodes say where they are in
// the new file (Node::source); and where a graph lists an output twice, or a nested one a value from outside, which
// ONNX knows not, an Identity makes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "partitiontuner/graph/graph.h"

namespace pt {

// Where weights go.
struct SaveOptions {
  // Weights of at least that many bytes go to a file of their own, called as the model with ".data" behind. Without a
  // number none do, as long as all fit into the model: protobuf holds less than 2^31 bytes. Strings, attributes and
  // what has no more than 1 KiB stay in the model whatever the number: readers want the latter for shape inference.
  std::optional<uint64_t> external_from;
};

// Writes a model that passes ONNX's checker, in the oldest format that has the graph's opset. Each file is written
// beside its place and renamed when all are whole; one of an earlier model that this one does not need is left alone.
// Where both the model and its weights replace others, the earlier model is removed first: a process that ends in
// between leaves the old model, the new one or none, never one that reads the other's weights.
// Thread-safe. Errors, which name node, value or file:
//  - kUnsupported: an operator that ONNX does not have at the graph's opset ("onnx.no_form"); an input or output whose
//    type is not known or that no file of ONNX can declare, such as a map ("onnx.no_type"); 2^31 bytes or more that
//    must stay in the model ("onnx.size");
//  - kInvalidInput: what ONNX's checker objects to; a nested graph on its own; a file that cannot be written, or whose
//    name cannot be used in a model ("onnx.external_path"); kOutOfMemory.
Status SaveOnnx(const Graph& graph, const std::string& path, const SaveOptions& options = {});

// The same as the bytes of one model, weights included ("onnx.size" for 2^31 or more).
Result<std::string> SaveOnnxBytes(const Graph& graph);

}  // namespace pt
