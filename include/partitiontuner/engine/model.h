// Models: what an ONNX file holds once it is read, and what it is for sizes that are known, with everything that can
// run it. Plain data; Engine::Load makes it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/candidate/precision.h"
#include "partitiontuner/exec/cancel_token.h"
#include "partitiontuner/onnx/load_onnx.h"
#include "partitiontuner/plan/plan.h"
#include "partitiontuner/transform/constant_inputs.h"
#include "partitiontuner/transform/rewrites.h"

namespace pt {

// Settings of plans that begin so name inputs that the model was loaded to know as constants, and their numbers.
inline constexpr std::string_view kConstantSetting = "constant ";

// How a model is loaded: what it leaves open, and what may be done to it.
struct ModelOptions {
  LoadOptions load;
  std::map<std::string, int64_t> dims;                 // by dim name: --dim batch=1
  std::map<std::string, std::vector<int64_t>> shapes;  // by input name: --shape x=1x3x224x224
  // Of the first inputs, in order, from data that will be fed (InputsByPosition); shapes by name win. More dims than
  // the model has inputs, or dims that contradict its types: kInvalidInput.
  std::vector<std::vector<int64_t>> input_dims;
  // By input name: for dims that the file leaves open and nothing above says. Not looked at where they do not fit.
  std::map<std::string, std::vector<int64_t>> default_dims;
  // Inputs that always have this number in every element: what depends on them is computed once. Plans made for the
  // model say so (kConstantSetting), and its sessions refuse runs with other values.
  ConstantInputs constants;
  bool simplify = true;
  // Keeps the graph as it was before the passes, with all weights that they have replaced.
  bool keep_loaded = false;
  // False when the model will only run by plans that exist already, read from files say: Model::candidates stays empty,
  // which saves their enumeration. Nothing can be measured or planned then, and an operator that no library runs is not
  // refused here: no plan for it is legal.
  bool to_plan = true;
  // What candidates may compute in, and so store: fp32 alone unless more is allowed. Where the processor has no
  // instructions for a mode, nothing is offered in it.
  Precision precision;
  // Only candidates that keep NaN (backend/nan.h), which are slower for Relu, Clip, Max, Min and what ends in one of
  // them. Plans made for the model say so (kNanSetting).
  bool keep_nan = false;
  // Ends loading (kRunFailed) where it computes what is constant; may be null.
  const CancelToken* cancel = nullptr;
  // What is done to the planned graph. Plans made for the model say so (setting "rewrite").
  Rewrites rewrites;
};

// A model as its file has it, dims that the file leaves open included: read once for models of several sizes, which
// share its weights. Of no engine.
struct ModelFile {
  std::string path;                // of several models: all of theirs
  std::vector<NamedModel> models;  // that are joined (OpenModels); none of one model
  LoadReport load_report;
  std::shared_ptr<const Graph> graph;
};

// Errors: those of LoadOnnx.
Result<std::shared_ptr<const ModelFile>> OpenModel(const std::string& path, const LoadOptions& options = {});

// The inputs of the file, by their index in the graph's, that `count` pieces of data by position are for, in their
// order: those without a default (LoadReport::defaults), and all of them where that is less. Of a graph that answers
// several requests: the first one's. Of several models: those of `model`, and of all where it is empty.
std::vector<size_t> InputsByPosition(const Graph& graph, const LoadReport& report, size_t count, size_t requests = 1,
                                     const std::string& model = {});

// The dims that the file's inputs have by `dims`, `shapes` and `input_dims` of the options; none if not a tensor.
// Errors: kUsage (unknown dims: the hint is the exact flag to give), kInvalidInput, as Engine::Load.
Result<std::vector<std::vector<int64_t>>> InputDimsOf(const ModelFile& file, const ModelOptions& options);

// A loaded model: its planned graph and everything that can run it.
struct Model {
  std::string path;
  std::vector<NamedModel> models;  // as ModelFile::models
  LoadReport load_report;
  std::shared_ptr<const Graph> loaded;  // specialised, before the passes; null unless it was to be kept
  std::shared_ptr<const Graph> graph;   // the planned graph
  std::vector<Candidate> candidates;    // within `precision`; none when it was not loaded to plan
  Precision precision;
  bool keep_nan = false;
  Rewrites rewrites;  // that the planned graph has been through
  ConstantInputs constants;
  std::vector<std::optional<Tensor>> constant_inputs;  // by input of the planned graph, what `constants` make of it
  std::string model_hash, graph_hash;
};

}  // namespace pt
