#include "tools/pt-run/verdict.h"

#include <algorithm>
#include <cmath>

#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/graph/chance.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/plan/plan_precision.h"
#include "tools/common/models.h"
#include "tools/common/text.h"

namespace pt::tools {
namespace {

// Of what roundings alone change, and never more than so much of the largest number: beyond it no one could tell a
// right output from a wrong one.
constexpr double kOfNoise = 2, kMostOfLargest = 0.1;

bool IsExchanged(const ValueType& type) {
  return IsKindOfDatum(type) && (IsHeldAsDatum(type) || BitsOf(type.type) > 0);
}

}  // namespace

void AllowNoise(double noise, DataType type, double largest, OutputVerdict& verdict) {
  const std::string by = "quantised inside: roundings alone change it by " + Brief(noise) + ", ";
  if (const std::optional<IntegerRange> range = RangeOf(type)) {
    const double most = std::floor((range->high - range->low) * kMostOfLargest);
    const double steps = std::min(std::ceil(kOfNoise * noise), most);
    if (steps <= static_cast<double>(verdict.tolerance.integer_steps)) return;
    verdict.tolerance.integer_steps = static_cast<int64_t>(steps);
    verdict.reason = by + (steps < most ? "twice that is allowed" : "a tenth of what the type holds is allowed");
    verdict.by_noise = true;
    return;
  }
  const double allowed = std::min(kOfNoise * noise, kMostOfLargest * largest);
  if (!(allowed > std::max(verdict.tolerance.absolute, verdict.tolerance.relative * largest))) return;
  verdict.tolerance.absolute = allowed;
  verdict.reason =
      by + (kOfNoise * noise <= allowed ? "twice that is allowed" : "a tenth of the largest magnitude is allowed");
  verdict.by_noise = true;
}

Result<OutputVerdict> VerdictFor(const Graph& graph, ValueId value, MathMode math, bool operator_test,
                                 const RunFlags& flags) {
  OutputVerdict verdict;
  if (operator_test) {
    verdict.tolerance = OperatorTestTolerance();
    verdict.reason = "operator test";
  } else {
    ReasonedTolerance reasoned = ToleranceOf(graph, value, math);
    verdict.tolerance = reasoned.tolerance;
    verdict.reason = std::move(reasoned.reason);
    verdict.hangs_on_noise = reasoned.quantised && flags.rtol.empty() && flags.atol.empty() &&
                             (verdict.tolerance.relative > 0 || verdict.tolerance.integer_steps > 0);
  }
  if (!flags.rtol.empty()) {
    PT_ASSIGN(verdict.tolerance.relative, ParseNumber(flags.rtol, "--rtol"));
    verdict.reason = "--rtol";
  }
  if (!flags.atol.empty()) {
    PT_ASSIGN(verdict.tolerance.absolute, ParseNumber(flags.atol, "--atol"));
    verdict.reason = flags.rtol.empty() ? "--atol" : "--rtol and --atol";
  }
  return verdict;
}

Result<std::shared_ptr<const ReadyModel>> MakeReady(Engine& engine, const ModelFile& file, ModelOptions options,
                                                    const RunFlags& flags, bool suite, const Console& console) {
  ReadyModel ready;
  options.keep_loaded = true;
  ready.file = file;
  ready.options = options;
  PT_ASSIGN(ready.model, engine.Load(file, options));
  if (!suite) NotePrecision(*ready.model, console);
  for (const auto* ids : {"inputs", "outputs"}) {
    const Graph& graph = *ready.model->graph;
    for (const ValueId id : std::string_view(ids) == "inputs" ? graph.inputs() : graph.outputs()) {
      const Value& value = graph.value(id);
      const bool output = std::string_view(ids) == "outputs";
      if (IsExchanged(value.type) && (output || IsHeldAsDatum(value.type) || value.type.is_static())) continue;
      return MakeError(ErrorCode::kUnsupported, "value.dynamic",
                       "\"" + value.name + "\" is " + ToString(value.type) +
                           ": only tensors, sequences and optional values of tensors can be exchanged, tensors of "
                           "numbers as inputs only of sizes known before the run");
    }
  }
  const Platform& platform = engine.machine().platform();
  if (suite && flags.choice.planner.empty()) {
    PT_ASSIGN(ready.plan.plan, engine.MakeDefaultPlan(*ready.model));
    ready.plan.name = ready.plan.plan.planner;
  } else {
    PT_ASSIGN(const PlanSource source, flags.plan_source(platform));
    PT_ASSIGN(ready.plan, ChoosePlan(engine, *ready.model, source, console));
  }
  PT_ASSIGN(SessionOptions session_options, flags.session_options(platform, ready.plan.plan, suite));
  PT_ASSIGN(ready.session, MakeSession(engine, *ready.model, ready.plan, session_options));
  ready.deadline = flags.deadline_for(ready.plan.plan);
  if (flags.choice.twin) {
    session_options.sequential = true;
    PT_ASSIGN(ready.twin, MakeSession(engine, *ready.model, ready.plan, session_options));
  }
  return std::make_shared<const ReadyModel>(std::move(ready));
}

Result<GivenRun> MakeGivenRun(Engine& engine, const RunFlags& flags, const Console& console) {
  GivenRun run;
  PT_ASSIGN(ModelOptions options, flags.model_options());
  PT_ASSIGN(run.data, ReadInputs(flags.common.inputs));
  PT_ASSIGN(const std::shared_ptr<const ModelFile> file, OpenGiven(flags.common, run.data, options));
  PT_ASSIGN(run.ready, MakeReady(engine, *file, options, flags, false, console));
  PT_ASSIGN(run.inputs, MakeInputs(*run.ready->model, run.data, flags.seed));
  return run;
}

Result<RunOutputs> RunOnce(const ReadyModel& ready, const std::vector<Datum>& inputs, const CancelToken* cancel) {
  const RunOptions options{.deadline = ready.deadline, .cancel = cancel};
  RunOutputs result;
  PT_ASSIGN(result.values, RunData(*ready.session, inputs, options));
  if (ready.twin != nullptr) {
    PT_ASSIGN(const std::vector<Datum> twin, RunData(*ready.twin, inputs, options));
    result.twin_equal = std::ranges::equal(result.values, twin, SameData);
  }
  return result;
}

Result<std::vector<OutputVerdict>> JudgeOutputs(const ReadyModel& ready, const std::vector<Datum>& outputs,
                                                const std::vector<ExpectedTensor>& expected, bool operator_test,
                                                const RunFlags& flags, const NoiseOfOutputs& noise) {
  // The graph as loaded: passes fold the quantisation that a tolerance comes from, and compute float16 in float32.
  const Graph& graph = *ready.model->loaded;
  const Graph& planned = *ready.model->graph;
  const MathMode math = LoosestMath(ready.plan.plan);
  std::optional<std::vector<double>> noises;
  std::vector<OutputVerdict> verdicts;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId output = graph.outputs()[i % graph.outputs().size()];  // of each request the same
    PT_ASSIGN(OutputVerdict verdict, VerdictFor(graph, output, math, operator_test, flags));
    verdict.name = planned.value(planned.outputs()[i]).name;
    verdict.comparison = CompareData(expected[i], outputs[i], verdict.tolerance);
    if (!verdict.comparison.equal && verdict.hangs_on_noise && verdict.comparison.compared > 0) {
      if (!noises) {
        PT_ASSIGN(noises, noise());
      }
      AllowNoise((*noises)[i], graph.value(output).type.type, verdict.comparison.largest, verdict);
      verdict.comparison = CompareData(expected[i], outputs[i], verdict.tolerance);
    }
    if (!verdict.comparison.equal && outputs[i].is_tensor() && DependsOnChance(planned, planned.outputs()[i])) {
      verdict.comparison = CompareKinds(expected[i], outputs[i].tensor());
      verdict.reason = "drawn at random: type and dims alone";
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::vector<ExpectedTensor> ExpectedFrom(std::span<const Datum> values) {
  std::vector<ExpectedTensor> expected;
  for (const Datum& value : values) {
    ExpectedTensor& output = expected.emplace_back();
    if (value.is_tensor()) {
      output.dims = value.tensor().dims();
      output.tensor = value.tensor();
    } else {
      output.datum = value;
    }
  }
  return expected;
}

std::string ToleranceText(const OutputVerdict& verdict) {
  const Tolerance& tolerance = verdict.tolerance;
  if (tolerance.kind == Tolerance::Kind::kElementwise) {
    return verdict.reason + ": rtol " + Brief(tolerance.relative) + ", atol " + Brief(tolerance.absolute);
  }
  std::string text;
  if (tolerance.relative > 0 && !verdict.by_noise) text = Brief(tolerance.relative) + " of the largest magnitude";
  if (tolerance.absolute > 0) text += (text.empty() ? "" : " or ") + Brief(tolerance.absolute);
  if (tolerance.integer_steps > 1) text = std::to_string(tolerance.integer_steps) + " steps";
  return verdict.reason + (text.empty() ? "" : ": " + text);
}

std::string DifferenceText(const OutputVerdict& verdict, const RunFlags& flags) {
  const Comparison& comparison = verdict.comparison;
  std::string text = comparison.reason;
  if (DiffersInNanAlone(comparison)) {
    return text + "; nothing differs but where NaN stands (" + std::to_string(comparison.nan_differences) +
           (comparison.nan_differences == 1 ? " value" : " values") + ")" +
           (flags.common.keep_nan() ? "" : "; --nan keep uses only kernels that keep it");
  }
  if (!std::isfinite(comparison.of_tolerance)) return text;
  return text + ", " + Brief(comparison.of_tolerance) + " times the tolerance; --rtol and --atol set another";
}

bool AllEqual(const std::vector<OutputVerdict>& verdicts) {
  return std::ranges::all_of(verdicts, [](const OutputVerdict& verdict) { return verdict.comparison.equal; });
}

}  // namespace pt::tools
