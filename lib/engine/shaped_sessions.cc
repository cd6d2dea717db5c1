#include "partitiontuner/engine/shaped_sessions.h"

#include <algorithm>
#include <chrono>

#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/support/caught.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/dims_text.h"

namespace pt {
namespace {

Status CheckOptions(const ShapedSessionsOptions& options) {
  if (options.most_sessions == 0) {
    return MakeError(ErrorCode::kUsage, "shaped_sessions.most", "no sessions are to be kept",
                     "ShapedSessionsOptions::most_sessions of 1 or more");
  }
  const Constraints& c = options.plan.constraints;
  const bool named = !c.pin.empty() || !c.forbid.empty() || !c.in_fp32.empty() || !c.lent_on.empty() ||
                     c.binds_devices() || !c.resident_bytes.empty();
  if (!named) return {};
  return MakeError(ErrorCode::kUsage, "shaped_sessions.constraints",
                   "constraints that name nodes or values hold for the graph of one size alone",
                   "leave them out, or make a session for each size");
}

}  // namespace

ShapedSessions::ShapedSessions(Engine& engine, std::shared_ptr<const ModelFile> file,
                               const ShapedSessionsOptions& options)
    : engine_(engine), file_(std::move(file)), options_(options), sessions_(options.most_sessions) {}

Result<std::unique_ptr<ShapedSessions>> ShapedSessions::Make(Engine& engine, const std::string& path,
                                                             const ShapedSessionsOptions& options) try {
  PT_CHECK_OK(CheckOptions(options));
  PT_ASSIGN(std::shared_ptr<const ModelFile> file, OpenModel(path, options.model.load));
  return Make(engine, std::move(file), options);
} catch (...) {
  return Caught("shaped_sessions", "read a model");
}

Result<std::unique_ptr<ShapedSessions>> ShapedSessions::Make(Engine& engine, std::shared_ptr<const ModelFile> file,
                                                             const ShapedSessionsOptions& options) try {
  PT_CHECK_OK(CheckOptions(options));
  return std::unique_ptr<ShapedSessions>(new ShapedSessions(engine, std::move(file), options));
} catch (...) {
  return Caught("shaped_sessions", "hold sessions");
}

// Equal for data that the model cannot tell apart: a scalar is often saved as one element of rank 1.
Result<ShapedSessions::Key> ShapedSessions::KeyOf(std::span<const std::vector<int64_t>> input_dims) const {
  const Graph& graph = *file_->graph;
  Key key(input_dims.begin(), input_dims.end());
  for (size_t i = 0; i < key.size(); ++i) {
    if (std::ranges::any_of(key[i], [](int64_t dim) { return dim < 0; })) {
      return MakeError(ErrorCode::kInvalidInput, "shaped_sessions.dims",
                       "the dims of input " + std::to_string(i) + " are " + DimsText(key[i]));
    }
    if (i >= graph.inputs().size()) continue;
    const ValueType& type = graph.value(graph.inputs()[i]).type;
    const bool scalar = type.ranked && type.dims.empty() && CheckedProduct(key[i]) == 1;
    if (scalar || !type.other.empty()) key[i].clear();
  }
  return key;
}

Result<std::shared_ptr<const ShapedSession>> ShapedSessions::For(std::span<const std::vector<int64_t>> input_dims) try {
  PT_ASSIGN(const Key key, KeyOf(input_dims));
  return sessions_.Get(key, [&] { return MakeFor(key); });
} catch (...) {
  return Caught("shaped_sessions", "make a session for other dims");
}

Result<std::shared_ptr<const ShapedSession>> ShapedSessions::MakeFor(const Key& dims) const {
  const auto start = std::chrono::steady_clock::now();
  auto shaped = std::make_shared<ShapedSession>();
  ModelOptions model_options = options_.model;
  model_options.input_dims = dims;
  PT_ASSIGN(shaped->model, engine_.Load(*file_, model_options));
  PT_CHECK_OK(CheckDims(*shaped->model, dims));
  PlanningNotes notes;
  PT_ASSIGN(const Plan plan, engine_.MakePlan(*shaped->model, options_.plan, nullptr, &notes));
  shaped->default_plan = notes.default_plan;
  PT_ASSIGN(shaped->session, engine_.MakeSession(*shaped->model, plan, options_.session));
  shaped->made_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  return std::shared_ptr<const ShapedSession>(std::move(shaped));
}

// Shapes by name win over what comes with a call, whose data would then not fit.
Status ShapedSessions::CheckDims(const Model& model, const Key& dims) const {
  for (size_t i = 0; i < dims.size(); ++i) {
    const Value& value = model.graph->value(model.graph->inputs()[i]);
    const auto made = value.type.static_dims();
    if (!value.type.other.empty() || !made || *made == dims[i]) continue;
    return MakeError(ErrorCode::kInvalidInput, "shaped_sessions.dims",
                     "input \"" + value.name + "\" has dims " + DimsText(dims[i]) + ", but the options fix them at " +
                         DimsText(*made));
  }
  return {};
}

Result<std::vector<Datum>> ShapedSessions::Run(std::span<const Datum> inputs, const RunOptions& options) try {
  std::vector<std::vector<int64_t>> dims;
  for (const Datum& input : inputs) {
    dims.push_back(input.is_tensor() ? input.tensor().dims() : std::vector<int64_t>());
  }
  PT_ASSIGN(const std::shared_ptr<const ShapedSession> shaped, For(dims));
  return RunData(*shaped->session, inputs, options);
} catch (...) {
  return Caught("shaped_sessions", "run a session");
}

}  // namespace pt
