// pt-run --shape-set: one model at several sizes, each by a session of its own that is kept as long as there is room.
#include <algorithm>
#include <chrono>
#include <set>

#include "partitiontuner/engine/shaped_sessions.h"
#include "tools/common/models.h"
#include "tools/common/text.h"
#include "tools/pt-run/run_flags.h"
#include "tools/pt-run/runner.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSetWarmUpRuns = 3;
constexpr auto kTurn = std::chrono::milliseconds(50);

// A size, and what its runs took.
struct ShapeSet {
  std::string text;
  std::vector<std::vector<int64_t>> dims;  // of the model's inputs
  RunBuffers inputs, outputs;
  std::vector<int64_t> times_ns;
  // Of the session that was there last:
  Plan plan;
  std::optional<std::chrono::nanoseconds> deadline;
  bool simulated = false;
  int64_t made_ns = 0;
};

std::set<std::string> DimNames(const Graph& graph) {
  std::set<std::string> names;
  for (const ValueId id : graph.inputs()) {
    for (const Dim& dim : graph.value(id).type.dims) names.insert(dim.name);
  }
  return names;
}

// Adds "batch=4,x=4x16" to what holds for all sets. A number for a name that is both a dim's and an input's is the
// dim's.
Status AddShapeSet(const std::string& text, const Graph& graph, ModelOptions& options) {
  const std::set<std::string> dim_names = DimNames(graph);
  for (const std::string& part : SplitList(text)) {
    PT_ASSIGN(const auto pair, ParseAssignment(part, "--shape-set"));
    const std::string& name = pair.first;
    PT_ASSIGN(const std::vector<int64_t> dims, ParseDims(pair.second, "--shape-set " + name));
    const bool is_input = std::ranges::any_of(graph.inputs(), [&](ValueId id) { return graph.value(id).name == name; });
    const bool is_dim = dims.size() == 1 && (dim_names.contains(name) || !is_input);
    const bool added = is_dim ? options.dims.emplace(name, dims[0]).second : options.shapes.emplace(name, dims).second;
    if (added) continue;
    return MakeError(ErrorCode::kUsage, "usage.value", "--shape-set " + text + ": " + name + " is given twice",
                     "a size is said once: in the set, or for all sets by --dim, --shape or --input");
  }
  return {};
}

Result<RunReport> RunOnce(const ShapedSession& shaped, const ShapeSet& set, const CancelToken& cancel) {
  const RunOptions options{.deadline = set.deadline, .cancel = &cancel};
  return shaped.session->Run(set.inputs.tensors(), set.outputs.tensors(), options);
}

// The session of the set, made anew if others have taken its place.
Result<std::shared_ptr<const ShapedSession>> Take(ShapedSessions& sessions, const RunFlags& flags, ShapeSet& set) {
  PT_ASSIGN(std::shared_ptr<const ShapedSession> shaped, sessions.For(set.dims));
  set.plan = *shaped->session->plan();
  set.deadline = flags.deadline_for(set.plan);
  set.made_ns = shaped->made_ns;
  return shaped;
}

// Runs that do not count.
Status WarmUpSet(const ShapedSession& shaped, ShapeSet& set, int runs, const CancelToken& cancel) {
  for (int run = 0; run < runs; ++run) {
    PT_ASSIGN(const RunReport report, RunOnce(shaped, set, cancel));
    set.simulated = report.simulated;
  }
  return {};
}

// Turns over all sets, so that whatever disturbs the machine hits all alike.
Status MeasureSets(ShapedSessions& sessions, const RunFlags& flags, std::vector<ShapeSet>& sets,
                   const MeasureLength& length, const CancelToken& cancel) {
  const auto end = Clock::now() + length.duration * static_cast<int64_t>(sets.size());
  const auto unfinished = [&](const ShapeSet& set) {
    if (length.iterations > 0) return set.times_ns.size() < length.iterations;
    return set.times_ns.empty() || Clock::now() < end;
  };
  while (std::ranges::any_of(sets, unfinished)) {
    for (ShapeSet& set : sets) {
      if (!unfinished(set)) continue;
      PT_ASSIGN(const auto shaped, Take(sessions, flags, set));
      PT_CHECK_OK(WarmUpSet(*shaped, set, 1, cancel));
      const auto turn_end = Clock::now() + kTurn;
      do {
        const auto start = Clock::now();
        PT_ASSIGN(const RunReport report, RunOnce(*shaped, set, cancel));
        const int64_t wall_ns = std::chrono::nanoseconds(Clock::now() - start).count();
        set.times_ns.push_back(std::max<int64_t>(1, report.simulated ? report.makespan_ns : wall_ns));
      } while (unfinished(set) && Clock::now() < turn_end);
    }
  }
  return {};
}

Status PrintTable(const RunFlags& flags, const std::vector<ShapeSet>& sets, const UseCounts& counts) {
  PT_ASSIGN(const std::vector<Percentile> wanted, PercentilesFrom(flags.percentiles));
  std::vector<std::string> columns = {"sizes", "<plan"};
  for (const Percentile& percentile : wanted) columns.push_back(percentile.name);
  for (const char* column : {"min", "mean", "runs", "predicted", "error", "made in", "<"}) columns.push_back(column);
  TextTable table(columns);
  for (const ShapeSet& set : sets) {
    const Latency latency = LatencyOf(set.times_ns);
    std::vector<std::string> row = {set.text, set.plan.planner};
    for (const Percentile& p : wanted) row.push_back(ShortTime(PercentileOf(latency.sorted, p.percent)));
    row.push_back(ShortTime(latency.sorted.front()));
    row.push_back(ShortTime(static_cast<int64_t>(latency.mean_ns)));
    row.push_back(std::to_string(latency.sorted.size()));
    row.push_back(ShortTime(set.plan.makespan.ns));
    row.push_back(Percent(PredictionError(set.plan.makespan.ns, latency)));
    row.push_back(ShortTime(set.made_ns));
    row.push_back(set.simulated ? "simulated" : set.plan.complete ? "" : "prediction is an estimate");
    table.Row(std::move(row));
  }
  return WriteOut(table.Text() + " sessions: " + std::to_string(counts.misses) + " made, " +
                  std::to_string(counts.hits) + " found, " + std::to_string(counts.dropped) + " dropped, " +
                  std::to_string(counts.kept) + " kept of at most " + std::to_string(flags.sessions) + "\n");
}

Json ShapesJson(const Graph& graph, const ShapeSet& set) {
  Json inputs = Json::MakeObject();
  for (size_t i = 0; i < set.dims.size(); ++i) {
    Json dims = Json::MakeArray();
    for (const int64_t dim : set.dims[i]) dims.Push(dim);
    inputs.Set(graph.value(graph.inputs()[i]).name, std::move(dims));
  }
  return inputs;
}

Status PrintJson(const RunFlags& flags, const Graph& graph, const std::vector<ShapeSet>& sets,
                 const UseCounts& counts) {
  Json rows = Json::MakeArray();
  for (const ShapeSet& set : sets) {
    const Latency latency = LatencyOf(set.times_ns);
    Json row = Json::MakeObject();
    row.Set("sizes", set.text);
    row.Set("inputs", ShapesJson(graph, set));
    row.Set("planner", set.plan.planner);
    row.Set("latency_ns", LatencyJson(latency));
    row.Set("runs", static_cast<int64_t>(latency.sorted.size()));
    row.Set("predicted_ns", set.plan.makespan.ns);
    row.Set("prediction_complete", set.plan.complete);
    row.Set("simulated", set.simulated);
    row.Set("made_ns", set.made_ns);
    rows.Push(std::move(row));
  }
  Json sessions = Json::MakeObject();
  sessions.Set("made", static_cast<int64_t>(counts.misses));
  sessions.Set("found", static_cast<int64_t>(counts.hits));
  sessions.Set("dropped", static_cast<int64_t>(counts.dropped));
  sessions.Set("kept", static_cast<int64_t>(counts.kept));
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model());
  json.Set("shape_sets", std::move(rows));
  json.Set("sessions", std::move(sessions));
  return WriteOut(WriteJson(json) + "\n");
}

// Resolves all sets before anything is planned, so that a wrong one is said at once.
Result<std::vector<ShapeSet>> ReadSets(const RunFlags& flags, const ModelFile& file, const ModelOptions& options) {
  std::vector<ShapeSet> sets;
  for (const std::string& text : flags.shape_sets) {
    ModelOptions sized = options;
    PT_CHECK_OK(AddShapeSet(text, *file.graph, sized));
    ShapeSet set;
    set.text = text;
    PT_ASSIGN(set.dims, InputDimsOf(file, sized));
    sets.push_back(std::move(set));
  }
  return sets;
}

Result<int> MeasuredSets(const RunFlags& flags, const Console& console, const CancelToken& cancel) {
  PT_ASSIGN(const MeasureLength length, MeasureLengthOf(flags));
  ShapedSessionsOptions options;
  PT_ASSIGN(options.model, flags.model_options());
  PT_ASSIGN(GivenInputs given, ReadInputs(flags.common.inputs));
  options.plan.planner = flags.choice.planner.empty() ? "search" : flags.choice.planner;
  options.plan.seed = flags.seed;
  options.plan.default_plan = flags.choice.planner.empty();  // a planner that was named is used or an error
  options.session = flags.session_options(false);
  options.most_sessions = flags.sessions;
  PT_ASSIGN(const std::unique_ptr<Engine> engine, MakeEngine(flags.common));
  PT_ASSIGN(const std::shared_ptr<const ModelFile> file, OpenGiven(flags.common, given, options.model));
  PT_ASSIGN(std::vector<ShapeSet> sets, ReadSets(flags, *file, options.model));
  PT_ASSIGN(const std::unique_ptr<ShapedSessions> sessions, ShapedSessions::Make(*engine, file, options));
  for (ShapeSet& set : sets) {
    PT_ASSIGN(const auto shaped, Take(*sessions, flags, set));
    if (shaped->default_plan) {
      console.Note("note: " + set.text +
                   ": no profile of this model on this machine: one device, rough estimates (measure it with "
                   "pt-profile)");
    }
    PT_ASSIGN(const std::vector<Tensor> inputs, MakeInputs(*shaped->model, given, flags.seed));
    PT_ASSIGN(set.inputs, RunBuffers::ForInputs(*shaped->session, inputs));
    PT_ASSIGN(set.outputs, RunBuffers::ForOutputs(*shaped->session));
    PT_CHECK_OK(WarmUpSet(*shaped, set, kSetWarmUpRuns, cancel));
  }
  PT_CHECK_OK(MeasureSets(*sessions, flags, sets, length, cancel));
  PT_CHECK_OK(flags.common.json() ? PrintJson(flags, *file->graph, sets, sessions->counts())
                                  : PrintTable(flags, sets, sessions->counts()));
  return 0;
}

}  // namespace

int RunShapeSets(const RunFlags& flags, Console& console, const InterruptWatch& interrupt) {
  return Finish(MeasuredSets(flags, console, interrupt.token()), console, interrupt);
}

}  // namespace pt::tools
