#include "test/testing/host_lab.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/test_machine.h"

namespace pt::testing {

HostLab::HostLab() {
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(DeviceId(0U)));
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeReferenceLibrary());
  machine_ = Machine::Assemble(MakeTestPlatform(2, false), std::move(drivers), std::move(libraries)).value();
}

std::unique_ptr<Session> HostLab::Open(std::shared_ptr<const Graph> graph, uint32_t seed,
                                       const SessionOptions& options) {
  std::mt19937 random(seed);
  const Plan plan = MakeTestPlan(*graph, *machine_, RandomUnits(*graph, machine_->platform(), random));
  auto session = Session::Create(std::move(graph), plan, *machine_, options);
  if (!session.ok()) FAIL(ToString(session.error()));
  return std::move(session).value();
}

Result<std::vector<Datum>> RunData(Session& session, const std::vector<Datum>& inputs, const RunOptions& options) {
  std::vector<LentTensor> in, out;
  const Graph& graph = session.graph();
  for (size_t i = 0; i < inputs.size(); ++i) {
    LentTensor lent;
    if (IsHeldAsDatum(graph.value(graph.inputs()[i]).type)) {
      lent.datum = &inputs[i];
    } else {
      const Tensor& input = inputs[i].tensor();
      lent = {input.type(), input.dims(), const_cast<std::byte*>(input.bytes().data()), input.bytes().size()};
    }
    in.push_back(lent);
  }
  std::vector<std::string> storage(graph.outputs().size());
  for (size_t i = 0; i < storage.size(); ++i) {
    const ValueType& type = graph.value(graph.outputs()[i]).type;
    const auto dims = type.static_dims();
    if (dims && !IsHeldAsDatum(type)) {
      storage[i].assign(static_cast<size_t>(TensorByteCount(type.type, *dims).value()) + 64, '\xA5');
      out.push_back({type.type, *dims, storage[i].data(), storage[i].size() - 64});
    } else {
      out.push_back({type.type, {}, nullptr, 0});
    }
  }
  PT_ASSIGN(RunReport report, session.Run(in, out, options));
  report.outputs.resize(out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].data == nullptr) continue;
    PT_ASSIGN(Tensor tensor, Tensor::FromBytes(out[i].type, out[i].dims,
                                               std::string(static_cast<const char*>(out[i].data), out[i].bytes)));
    report.outputs[i] = Datum(std::move(tensor));
  }
  return std::move(report.outputs);
}

Result<std::vector<Tensor>> RunOnce(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options) {
  PT_ASSIGN(const std::vector<Datum> results, RunData(session, {inputs.begin(), inputs.end()}, options));
  std::vector<Tensor> tensors;
  for (const Datum& result : results) tensors.push_back(result.tensor());
  return tensors;
}

std::shared_ptr<const Graph> TypedGraph(std::string_view text) {
  Result<Graph> parsed = ParseGraph(text);
  if (!parsed.ok()) FAIL(ToString(parsed.error()));
  Result<Graph> typed = InferShapes(*parsed);
  if (!typed.ok()) FAIL(ToString(typed.error()));
  return std::make_shared<const Graph>(std::move(typed).value());
}

std::shared_ptr<const Graph> Typed(GraphBuilder& builder) {
  Result<Graph> built = builder.Build();
  if (!built.ok()) FAIL(ToString(built.error()));
  Result<Graph> typed = InferShapes(*built);
  if (!typed.ok()) FAIL(ToString(typed.error()));
  return std::make_shared<const Graph>(std::move(typed).value());
}

}  // namespace pt::testing
