// Random plans of real networks over cores, teams, oneDNN, the reference library and a simulated accelerator: bit for
// bit their sequential twin, and within tolerance of the expected outputs.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdlib>
#include <cstring>

#include "partitiontuner/cost/profile.h"
#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/test_data.h"
#include "test/testing/test_data.h"

namespace pt::testing::real_networks_test {
namespace {

struct Outputs {
  std::vector<std::vector<std::byte>> storage;
  std::vector<LentTensor> tensors;
};

LentTensor Borrow(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  return {tensor.type(), tensor.dims(), const_cast<std::byte*>(bytes.data()), bytes.size()};
}

Outputs MakeOutputs(const Graph& graph) {
  Outputs outputs;
  for (ValueId value : graph.outputs()) {
    const ValueType& type = graph.value(value).type;
    const TensorLayout layout = DenseLayout(type.type, type.static_dims().value(), RowMajor(type.dims.size())).value();
    outputs.storage.emplace_back(BytesOf(layout).value());
    outputs.tensors.push_back({type.type, layout.dims, outputs.storage.back().data(), outputs.storage.back().size()});
  }
  return outputs;
}

void RunOn(Engine& engine, const Model& model, const Plan& plan, bool sequential, const std::vector<Tensor>& inputs,
           Outputs& outputs) {
  SessionOptions options;
  options.sequential = sequential;
  const auto session = engine.MakeSession(model, plan, options);
  if (!session.ok()) FAIL(ToString(session.error()));
  std::vector<LentTensor> in;
  for (const Tensor& input : inputs) in.push_back(Borrow(input));
  for (int run = 0; run < 2; ++run) {
    const Result<RunReport> report = (*session)->Run(in, outputs.tensors);
    if (!report.ok()) FAIL(ToString(report.error()));
  }
}

}  // namespace

TEST_CASE("Session, RandomPlansOfRealNetworksEqualTheirTwins", "[exec][slow]") {
  const std::string models = TestDataFolder("models");
  if (models.empty()) SKIP("no test data: set PARTITIONTUNER_TEST_DATA");
  const std::string name = GENERATE("mnist-8", "fsanet-1x1", "mobilenetv2-fp32", "ultraface-rfb-320", "kws-m-fp32");
  CAPTURE(name);
  EngineOptions options;
  options.db_path = "none";
  options.machine.platform_files = {std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json"};
  const auto engine = Engine::Make(options).value();
  const std::string data = FindTestDataSets(models + "/" + name).at(0);
  ModelOptions model_options;
  model_options.input_dims = {LoadTestInputs(data, 1).value().at(0).dims()};
  const auto model = engine->Load(models + "/" + name + "/model.onnx", model_options);
  if (!model.ok()) FAIL(ToString(model.error()));
  const Graph& graph = *(*model)->graph;
  const std::vector<Tensor> inputs = LoadTestInputs(data, graph.inputs().size()).value();
  const std::vector<ExpectedTensor> expected = LoadExpectedOutputs(data, graph.outputs().size()).value();
  for (int seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    PlanOptions plan_options;
    plan_options.planner = "random:" + std::to_string(seed);
    const Result<Plan> plan = engine->MakePlan(**model, plan_options);
    if (!plan.ok()) FAIL(ToString(plan.error()));
    Outputs parallel = MakeOutputs(graph), twin = MakeOutputs(graph);
    RunOn(*engine, **model, *plan, false, inputs, parallel);
    RunOn(*engine, **model, *plan, true, inputs, twin);
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK(std::memcmp(parallel.storage[i].data(), twin.storage[i].data(), twin.storage[i].size()) == 0);
      const LentTensor& made = parallel.tensors[i];
      const Tensor actual =
          Tensor::FromBytes(made.type, made.dims, std::string(static_cast<const char*>(made.data), made.bytes)).value();
      const Comparison comparison = CompareTensors(expected[i], actual, DefaultTolerance(graph, graph.outputs()[i]));
      CAPTURE(comparison.max_abs, comparison.max_rel, comparison.reason);
      CHECK(comparison.equal);
    }
  }
}

}  // namespace pt::testing::real_networks_test
