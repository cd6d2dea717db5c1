// LoadOnnx: the bytes of an ONNX model become a frozen Graph. Order: own limits on the raw bytes,
// names and a stable sort, the library's checker, function bodies, operators of ONNX Runtime, conversion
// to one opset, shape inference. Protobuf and libonnx stay inside lib/onnx; nothing they throw leaves it.
//
//   LoadReport report;
//   PT_ASSIGN(Graph graph, LoadOnnx("model.onnx", {}, &report));
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/limits.h"

namespace pt {

constexpr int64_t kTargetOpset = 25;  // of the default domain, after conversion

// What a model's file may ask for, and where its external data lies.
struct LoadOptions {
  Limits limits;
  // Where external data is looked for; empty: the model's own folder. Nothing outside it is read.
  std::string external_data_folder;
  // Caches keep models as symbolic links within one tree; false refuses every link.
  bool allow_symlinks_beneath = false;
  bool allow_hard_links = false;
  uint64_t external_bytes = 0;  // of all external data at most; 0, and never more: the machine's memory
  bool convert_opset = true;
  bool infer_shapes = true;
  // An input that the file has an initialiser for has that as its default, and becomes a constant. It is an input of
  // the graph, like any other, where it is named here, and all are where more inputs are given by position
  // (given_count, 0: none) than the file has without a default: then the first given_count of the file's order are.
  std::set<std::string> given_inputs;
  size_t given_count = 0;
};

// What happened on the way, for people. Nothing in it is needed to run the graph.
struct LoadReport {
  uint64_t file_bytes = 0;
  uint64_t unknown_fields = 0;  // skipped: the file is of a newer format
  int64_t ir_version = 0;
  int64_t file_opset = 0;  // of the default domain as in the file; 0 = not imported
  int64_t opset = 0;       // of the graph
  uint64_t inlined_functions = 0;
  // Inputs that the file has a default for, in its order, whether they are given or constants.
  std::vector<std::string> inputs_with_default;
  // The defaults of those that are inputs of the graph, for callers who give nothing after all.
  std::map<std::string, Tensor> defaults;
  std::vector<std::string> warnings;
  // What the file declares about values whose dims inference could not find. Never to size a buffer
  // by.
  std::map<std::string, ValueType> declared_types;
};

// Errors: kInvalidInput for a file that is not a valid model, kUnsupported for what a Graph cannot
// hold or the ONNX library does not know, kOutOfMemory. They name file, node, value and the
// offending number. Unknown dims are not an error. An initialiser that is an input as well is a
// constant unless the options give it.
Result<Graph> LoadOnnx(const std::string& path, const LoadOptions& options = {}, LoadReport* report = nullptr);

// The same for bytes in memory; external data is looked for in `folder` (empty: refused).
Result<Graph> LoadOnnxBytes(std::span<const std::byte> bytes, const std::string& folder,
                            const LoadOptions& options = {}, LoadReport* report = nullptr);

}  // namespace pt
