#include "tools/pt-run/verdict.h"

#include <algorithm>

#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/graph/chance.h"
#include "partitiontuner/plan/plan_precision.h"
#include "tools/common/text.h"

namespace pt::tools {
namespace {

std::string MathReason(MathMode math) {
  return math == MathMode::kFp32 ? "fp32 math" : "the plan computes in " + std::string(MathModeName(math));
}

bool IsExchanged(const ValueType& type) {
  return IsKindOfDatum(type) && (IsHeldAsDatum(type) || BitsOf(type.type) > 0);
}

}  // namespace

Result<std::shared_ptr<const ReadyModel>> MakeReady(Engine& engine, const ModelFile& file, ModelOptions options,
                                                    const RunFlags& flags, bool suite, const Console& console) {
  ReadyModel ready;
  options.keep_loaded = true;
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
  if (suite && flags.planner.empty()) {
    PT_ASSIGN(ready.plan.plan, engine.MakeDefaultPlan(*ready.model));
    ready.plan.name = ready.plan.plan.planner;
  } else {
    PT_ASSIGN(const PlanSource source, flags.plan_source(platform));
    PT_ASSIGN(ready.plan, ChoosePlan(engine, *ready.model, source, console));
  }
  PT_ASSIGN(SessionOptions session_options, flags.session_options(platform, ready.plan.plan, suite));
  PT_ASSIGN(ready.session, MakeSession(engine, *ready.model, ready.plan, session_options));
  if (flags.twin) {
    session_options.sequential = true;
    PT_ASSIGN(ready.twin, MakeSession(engine, *ready.model, ready.plan, session_options));
  }
  return std::make_shared<const ReadyModel>(std::move(ready));
}

Result<RunOutputs> RunOnce(const ReadyModel& ready, const std::vector<Datum>& inputs, const CancelToken* cancel) {
  RunOptions options;
  options.cancel = cancel;
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
                                                const RunFlags& flags) {
  // The graph as loaded, since passes may have folded the quantisation that a tolerance comes from.
  const Graph& graph = *ready.model->loaded;
  const Graph& planned = *ready.model->graph;
  const MathMode math = LoosestMath(ready.plan.plan);
  std::vector<OutputVerdict> verdicts;
  for (size_t i = 0; i < outputs.size(); ++i) {
    OutputVerdict verdict;
    const ValueId output = graph.outputs()[i % graph.outputs().size()];  // of each request the same
    verdict.name = planned.value(planned.outputs()[i]).name;
    verdict.tolerance = operator_test ? OperatorTestTolerance() : DefaultTolerance(graph, output, math);
    verdict.reason = operator_test ? "operator test" : MathReason(math);
    if (!flags.rtol.empty()) {
      PT_ASSIGN(verdict.tolerance.relative, ParseNumber(flags.rtol, "--rtol"));
      verdict.reason = "--rtol";
    }
    if (!flags.atol.empty()) {
      PT_ASSIGN(verdict.tolerance.absolute, ParseNumber(flags.atol, "--atol"));
      verdict.reason = flags.rtol.empty() ? "--atol" : "--rtol and --atol";
    }
    verdict.comparison = CompareData(expected[i], outputs[i], verdict.tolerance);
    if (!verdict.comparison.equal && outputs[i].is_tensor() && DependsOnChance(planned, planned.outputs()[i])) {
      verdict.comparison = CompareKinds(expected[i], outputs[i].tensor());
      verdict.reason = "drawn at random: type and dims alone";
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

bool AllEqual(const std::vector<OutputVerdict>& verdicts) {
  return std::ranges::all_of(verdicts, [](const OutputVerdict& verdict) { return verdict.comparison.equal; });
}

}  // namespace pt::tools
