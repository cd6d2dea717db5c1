// Real networks with control flow, by plans of their own: within tolerance of the published outputs, run after run.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/test_data.h"
#include "test/testing/host_lab.h"
#include "test/testing/test_data.h"

namespace pt::testing::control_flow_models_test {

TEST_CASE("Engine, NetworksWithControlFlowGiveThePublishedOutputs", "[engine][slow]") {
  const std::string models = TestDataFolder("models");
  if (models.empty()) SKIP("no test data: set PARTITIONTUNER_TEST_DATA");
  const auto [name, constants] = GENERATE(table<std::string, ConstantInputs>(
      {{"ms-cpu-if", {}}, {"scan-1", {}}, {"silero-vad-v5", {}}, {"silero-vad-v5", {{"sr", 16000}}}}));
  CAPTURE(name, constants.size());
  EngineOptions options;
  options.db_path = "none";
  const auto engine = Engine::Make(options).value();
  for (const std::string& folder : FindTestDataSets(models + "/" + name)) {
    CAPTURE(folder);
    const std::string path = models + "/" + name + "/model.onnx";
    const size_t count = LoadOnnx(path, {})->inputs().size();
    std::vector<Tensor> inputs = LoadTestInputs(folder, count).value();
    ModelOptions model_options;
    model_options.constants = constants;
    for (const Tensor& input : inputs) model_options.input_dims.push_back(input.dims());
    const auto model = engine->Load(path, model_options);
    if (!model.ok()) FAIL(ToString(model.error()));
    const Graph& graph = *(*model)->graph;
    for (size_t i = 0; i < inputs.size(); ++i) {  // scalars are often saved as one element of rank 1
      const auto dims = graph.value(graph.inputs()[i]).type.static_dims().value();
      if (dims == inputs[i].dims()) continue;
      const std::span<const std::byte> bytes = inputs[i].bytes();
      inputs[i] = Tensor::FromBytes(inputs[i].type(), dims,
                                    std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()))
                      .value();
    }
    const auto expected = LoadExpectedOutputs(folder, graph.outputs().size()).value();
    const Plan plan = engine->MakeDefaultPlan(**model).value();
    const auto session = engine->MakeSession(**model, plan);
    if (!session.ok()) FAIL(ToString(session.error()));
    for (int run = 0; run < 2; ++run) {
      const auto results = RunOnce(**session, inputs);
      if (!results.ok()) FAIL(ToString(results.error()));
      for (size_t i = 0; i < results->size(); ++i) {
        const Comparison comparison =
            CompareTensors(expected[i], (*results)[i], DefaultTolerance(graph, graph.outputs()[i]));
        INFO(comparison.reason);
        CHECK(comparison.equal);
      }
    }
  }
}

}  // namespace pt::testing::control_flow_models_test
