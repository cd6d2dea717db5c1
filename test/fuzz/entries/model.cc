// A model file is somebody else's bytes.
#include <algorithm>

#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/graph/chance.h"
#include "partitiontuner/graph/visit_type.h"
#include "test/fuzz/entries/entries.h"
#include "test/fuzz/entries/model_chain.h"
#include "test/fuzz/entry.h"
#include "test/testing/evaluate_graph.h"
#include "test/testing/generated/noise.h"

namespace pt::testing {
namespace {

void ExpectIsRefusal(const Error& error, const char* stage) {
  Expect(error.code != ErrorCode::kInternal, std::string(stage) + ": " + ToString(error));
}

// Small numbers, so that few results overflow.
Result<Tensor> InputOf(const ValueType& type, Random& random) {
  const auto dims = type.static_dims();
  if (!dims || IsHeldAsDatum(type)) return MakeError(ErrorCode::kUnsupported, "fuzz.input", "no tensor of numbers");
  PT_ASSIGN(const int64_t bytes, TensorByteCount(type.type, *dims));
  if (static_cast<uint64_t>(bytes) > FuzzLoadOptions().limits.tensor_bytes) {
    return MakeError(ErrorCode::kOutOfMemory, "fuzz.input", "an input is too large");
  }
  return VisitType(type.type, [&]<typename T>() -> Result<Tensor> {
    if constexpr (std::is_same_v<T, bool> || !(kIsFloat<T> || std::is_integral_v<T>)) {
      return Tensor::FromBytes(type.type, *dims, std::string(static_cast<size_t>(bytes), '\1'));
    } else {
      std::vector<T> numbers(static_cast<size_t>(bytes) / sizeof(T));
      for (T& number : numbers) {
        number = kIsFloat<T> ? ElementOf<T>(random.Uniform(-2, 2)) : ElementOf<T>(static_cast<double>(random.Below(2)));
      }
      return Tensor::Of<T>(type.type, *dims, numbers);
    }
  });
}

Result<std::vector<Tensor>> InputsOf(const Graph& graph) {
  Random random(1);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    PT_ASSIGN(Tensor tensor, InputOf(graph.value(id).type, random));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Whether the reference library can say of all outputs what they are, node by node.
bool IsComparable(const Graph& graph) {
  const bool plain = std::ranges::all_of(graph.nodes(), [](const Node& node) { return node.subgraphs.empty(); });
  return plain && std::ranges::none_of(graph.outputs(), [&](ValueId id) {
           return DependsOnChance(graph, id) || IsHeldAsDatum(graph.value(id).type);
         });
}

void Compare(const Graph& graph, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  if (!IsComparable(graph)) return;
  const Result<std::vector<Tensor>> values = EvaluateGraph(graph, inputs);
  if (!values.ok()) return;  // what a pass has left out of the planned graph may be refused in the run
  const Result<std::vector<bool>> steady = SteadyValues(graph, inputs, *values, MathMode::kFp32, Trials::kMany);
  if (!steady.ok()) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId id = graph.outputs()[i];
    if (!(*steady)[id.index()]) continue;
    ExpectedTensor expected;
    expected.tensor = (*values)[id.index()];
    const Comparison comparison =
        CompareTensors(expected, outputs[i], ToleranceBehindSteps(graph, id, MathMode::kFp32));
    Expect(comparison.equal, "output " + graph.value(id).name + ": " + comparison.reason);
  }
}

}  // namespace

void ModelBytesEntry(std::string_view bytes) {
  const Result<Graph> graph = LoadOnnxBytes(std::as_bytes(std::span(bytes)), {}, FuzzLoadOptions());
  if (!graph.ok()) ExpectIsRefusal(graph.error(), "load");
}

void ModelEntry(std::string_view bytes) {
  const auto model = FuzzLoad(bytes);
  if (!model.ok()) return ExpectIsRefusal(model.error(), "load");
  const Result<Plan> plan = FuzzPlan(**model);
  if (!plan.ok()) return ExpectIsRefusal(plan.error(), "plan");
  const Machine& machine = FuzzEngine().machine();
  const PlanVerdict verdict = JudgePlan(*(*model)->graph, machine.platform(), machine.libraries(), *plan);
  Expect(verdict.may_run(), verdict.faults.empty() ? "a plan is not for its own model" : verdict.faults[0].message);
}

void ModelRunEntry(std::string_view bytes) {
  const auto model = FuzzLoad(bytes);
  if (!model.ok()) return;
  const Result<Plan> plan = FuzzPlan(**model);
  if (!plan.ok()) return;
  const auto session = FuzzEngine().MakeSession(**model, *plan, FuzzSessionOptions());
  if (!session.ok()) return ExpectIsRefusal(session.error(), "session");
  const Result<std::vector<Tensor>> inputs = InputsOf(*(*model)->graph);
  if (!inputs.ok()) return;
  const auto outputs = RunTensors(**session, *inputs, FuzzRunOptions());
  if (!outputs.ok()) return ExpectIsRefusal(outputs.error(), "run");
  Compare(*(*model)->loaded, *inputs, *outputs);
}

}  // namespace pt::testing
