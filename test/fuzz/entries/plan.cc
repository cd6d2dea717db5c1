// A plan file is an instruction to run: refused, or it runs right.
#include "partitiontuner/engine/plan_file.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/onnx/save_onnx.h"
#include "partitiontuner/plan/check_plan.h"
#include "partitiontuner/plan/plan_json.h"
#include "test/fuzz/damage.h"
#include "test/fuzz/entries/entries.h"
#include "test/fuzz/entries/model_chain.h"
#include "test/fuzz/entry.h"
#include "test/testing/plan_mutator.h"

namespace pt::testing {
namespace {

// A model with views, a concatenation and a value that is read late, and its plan.
struct Scene {
  std::shared_ptr<const Model> model;
  Plan plan;
  std::vector<Tensor> inputs, outputs;

  Scene() {
    const Graph graph = ParseGraph(
                            "input x float32[2,3,8]\nconst s int64[2] ints 6 8\na = Relu(x)\nb = Reshape(a, s)\n"
                            "c = Sigmoid(b)\nd = Tanh(b)\ne = Concat(c, d) axis=0\nf = Neg(e)\ng = Add(f, e)\n"
                            "h = Softmax(g)\noutput h\noutput c\n")
                            .value();
    model = FuzzLoad(SaveOnnxBytes(InferShapes(graph).value()).value()).value();
    plan = FuzzPlan(*model).value();
    std::vector<float> numbers(48);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.125f * static_cast<float>(i) - 3;
    inputs.push_back(Tensor::Float32({2, 3, 8}, numbers));
    outputs = RunTensors(*Open(plan).value(), inputs).value();
  }
  Result<std::unique_ptr<Session>> Open(const Plan& of) const {
    return FuzzEngine().MakeSession(*model, of, FuzzSessionOptions());
  }
};

const Scene& TheScene() {
  static const Scene scene;
  return scene;
}

}  // namespace

// Without a plan to begin with: the scene's own.
std::string DamagePlan(const std::string& text, Random& random) {
  const Scene& scene = TheScene();
  const Result<Json> given = ParseJson(text, "plan");
  Json json = given.ok() && given->as_object() != nullptr ? *given : ToJson(scene.plan, *scene.model->graph);
  std::mt19937_64 choices(random.Next());
  if (random.Below(2) == 0) DropNames(json);
  Mutate(json, choices);
  return WriteJson(json, -1);
}

void PlanEntry(std::string_view bytes) {
  const Result<Json> json = ParseJson(bytes, "plan");
  if (!json.ok()) return;
  const Result<Plan> plan = PlanFromJson(*json, "plan");
  if (!plan.ok()) return Expect(plan.error().code != ErrorCode::kInternal, ToString(plan.error()));
  (void)OptionsOf(*plan);
  (void)LibrariesOf(*plan);
}

void PlanRunEntry(std::string_view bytes) {
  const Scene& scene = TheScene();
  const Result<Json> json = ParseJson(bytes, "plan");
  if (!json.ok()) return;
  Result<Plan> plan = PlanFromJson(*json, "plan");
  if (!plan.ok()) return;
  plan->made_for = scene.plan.made_for;  // else all that was written on another machine is refused at once
  const Result<std::unique_ptr<Session>> session = scene.Open(*plan);
  if (!session.ok()) return Expect(session.error().code != ErrorCode::kInternal, ToString(session.error()));
  const auto outputs = RunTensors(**session, scene.inputs, FuzzRunOptions());
  Expect(outputs.ok(), outputs.ok() ? "" : "an accepted plan does not run: " + ToString(outputs.error()));
  for (size_t i = 0; i < scene.outputs.size(); ++i) {
    ExpectedTensor expected;
    expected.tensor = scene.outputs[i];
    const Comparison comparison = CompareTensors(expected, (*outputs)[i], {.relative = 1e-5});
    Expect(comparison.equal, "an accepted plan runs wrong: " + comparison.reason);
  }
}

}  // namespace pt::testing
