#include "test/cuda/cuda_machine.h"

#include <random>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/testing/run_candidate.h"
#include "test/testing/run_on_reference.h"

namespace pt::testing {
namespace {

// A random graph of operators that both libraries have. What nobody reads is an output.
std::string RandomGraph(std::mt19937& random, size_t nodes) {
  std::string text = "input v0 float32[48]\ninput v1 float32[48]\n";
  std::vector<bool> is_read(nodes + 2, false);
  for (size_t n = 2; n < nodes + 2; ++n) {
    const auto earlier = [&] {
      const size_t value = random() % n;
      is_read[value] = true;
      return "v" + std::to_string(value);
    };
    static const char* const unary[] = {"Relu", "Tanh", "Sigmoid", "Abs"};
    static const char* const binary[] = {"Add", "Max", "Sub"};
    text += "v" + std::to_string(n) + " = ";
    if (random() % 2 == 0) {
      text += std::string(unary[random() % 4]) + "(" + earlier() + ")";
    } else {
      const std::string first = earlier();
      text += std::string(binary[random() % 3]) + "(" + first + ", " + earlier() + ")";
    }
    text += " : float32[48]\n";
  }
  for (size_t n = 2; n < nodes + 2; ++n) {
    if (!is_read[n]) text += "output v" + std::to_string(n) + "\n";
  }
  return text;
}

}  // namespace

CudaMachine::CudaMachine(const GpuLab& lab, const std::string& text)
    : CudaMachine(lab, std::make_shared<const Graph>(ParseGraph(text).value())) {}

CudaMachine::CudaMachine(const GpuLab& lab, std::shared_ptr<const Graph> planned) : graph(std::move(planned)) {
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(kHostDevice));
  for (size_t i = 1; i < lab.platform.devices.size(); ++i) drivers.push_back(lab.MakeDriver(DeviceId(i)));
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeReferenceLibrary());
  libraries.push_back(cuda::MakeProductsLibrary());
  libraries.push_back(cuda::MakeDnnLibrary(lab.functions));
  libraries.push_back(cuda::MakeOwnKernelsLibrary());
  auto made = Machine::Assemble(lab.platform, std::move(drivers), std::move(libraries));
  if (!made.ok()) FAIL(ToString(made.error()));
  machine = std::move(made).value();
}

Plan CudaMachine::PlanOn(const std::vector<const char*>& units) const {
  std::vector<UnitId> ids;
  for (const char* unit : units) ids.push_back(FindUnit(machine->platform(), unit));
  return MakeTestPlan(*graph, *machine, ids);
}

std::unique_ptr<Session> CudaMachine::Create(const Plan& plan, const SessionOptions& options) const {
  auto session = Session::Create(graph, plan, *machine, options);
  if (!session.ok()) FAIL(ToString(session.error()));
  return std::move(session).value();
}

Result<RunReport> RunOnce(Session& session, std::vector<Buffer>& inputs, std::vector<Buffer>& outputs,
                          const RunOptions& options) {
  return session.Run(Lend(inputs), Lend(outputs), options);
}

std::string FaultOf(Session& session, float start, const RunOptions& options) {
  const Graph& graph = session.graph();
  std::vector<Buffer> inputs = MakeBuffers(graph, graph.inputs(), start);
  std::vector<Buffer> outputs = MakeBuffers(graph, graph.outputs(), -1000);
  std::vector<Tensor> tensors;
  for (Buffer& buffer : inputs) {
    for (float& number : buffer.data) number = 0.01F * number - 0.5F;  // for Exp
    tensors.push_back(Tensor::Float32(buffer.dims, buffer.data));
  }
  const Result<RunReport> report = RunOnce(session, inputs, outputs, options);
  if (!report.ok()) return ToString(report.error());
  const std::vector<Tensor> expected = RunOnReference(graph, tensors);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string difference = Difference(Tensor::Float32(outputs[i].dims, outputs[i].data), expected[i], 1e-5);
    if (!difference.empty()) return difference;
  }
  return "";
}

void CheckRandomPlan(const GpuLab& lab, uint32_t seed) {
  std::mt19937 random(seed);
  const CudaMachine machine(lab, RandomGraph(random, 24));
  std::vector<const char*> all = {"cpu[0]", "cpu[1]", "cuda:0#0", "cuda:0#1", "cuda:0#2"};
  if (FindDevice(lab.platform, "cuda:1").valid()) all.insert(all.end(), {"cuda:1#0", "cuda:1#1"});
  std::vector<const char*> units;
  for (size_t n = 0; n < machine.graph->nodes().size(); ++n) units.push_back(all[random() % all.size()]);
  const Plan plan = machine.PlanOn(units);
  for (const SessionOptions& options :
       {SessionOptions(), SessionOptions{.capture = false}, SessionOptions{.sequential = true}}) {
    const auto session = machine.Create(plan, options);
    for (int run = 0; run < 2; ++run) CHECK(FaultOf(*session, static_cast<float>(run)) == "");
  }
}

}  // namespace pt::testing
