// Times oneDNN candidates of a graph in every layout on one unit of every class, as the executor
// runs them. Without argument: the convolutions that docs/log/2026-11-22-elementwise-layouts.md compares. With one: a
// graph in the line form of partitiontuner/graph/graph_text.h.
//
//   bench_onednn_layouts [GRAPH.txt]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/exec/machine.h"
#include "partitiontuner/exec/unit_runner.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/support/file.h"

namespace {

using Clock = std::chrono::steady_clock;
using Buffers = std::vector<std::unique_ptr<pt::DeviceBuffer>>;

constexpr const char* kConvolutions = R"(
input a float32[1,64,14,14]
input b float32[1,64,56,56]
input c float32[1,128,28,28]
input d float32[1,14,14,14]
input e float32[1,3,224,224]
const w64 float32[64,64,3,3] random 1
const w128 float32[128,128,3,3] random 2
const w14 float32[14,14,3,3] random 3
const w7 float32[64,3,7,7] random 4
a1 = Conv(a, w64) pads=[1,1,1,1]
b1 = Conv(b, w64) pads=[1,1,1,1]
b2 = Add(b1, b)
b3 = Relu(b2)
c1 = Conv(c, w128) pads=[1,1,1,1]
d1 = Conv(d, w14) pads=[1,1,1,1]
e1 = Conv(e, w7) pads=[3,3,3,3] strides=[2,2]
output a1
output b3
output c1
output d1
output e1
)";

std::string Label(const pt::Graph& graph, const pt::Candidate& candidate) {
  std::string label;
  for (pt::NodeId node : candidate.nodes) label += (label.empty() ? "" : "+") + graph.node(node).op;
  for (pt::ValueId input : pt::GroupInputs(graph, candidate.nodes)) label += " " + ToString(graph.value(input).type);
  return label + " " + candidate.variant;
}

pt::Result<pt::TensorView> MakeView(pt::DeviceDriver& device, const pt::Graph& graph, pt::ValueId value,
                                    const pt::Form& form, Buffers& buffers) {
  PT_ASSIGN(pt::TensorLayout layout,
            pt::DenseLayout(form.storage, graph.value(value).type.static_dims().value_or(std::vector<int64_t>()),
                            form.layout));
  PT_ASSIGN(const uint64_t bytes, pt::BytesOf(layout));
  PT_ASSIGN(auto buffer, device.Allocate(bytes));
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  auto* floats = static_cast<float*>(buffer->data());
  for (uint64_t i = 0; i < bytes / sizeof(float); ++i) floats[i] = uniform(random);
  const pt::TensorView view{buffer->data(), std::move(layout)};
  buffers.push_back(std::move(buffer));
  return view;
}

// Microseconds, sorted.
pt::Result<std::vector<double>> Time(pt::UnitRunner& runner, const pt::Library& library, const pt::Graph& graph,
                                     const pt::Candidate& candidate) {
  pt::CompileContext context = runner.compile_context();
  pt::DeviceDriver& device = context.device;
  const auto inputs = pt::GroupInputs(graph, candidate.nodes), outputs = pt::GroupOutputs(graph, candidate.nodes);
  Buffers buffers;
  std::vector<pt::TensorView> in, out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    PT_ASSIGN(pt::TensorView view, MakeView(device, graph, outputs[i], candidate.out[i], buffers));
    out.push_back(std::move(view));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool shared = std::any_of(candidate.aliases.begin(), candidate.aliases.end(), [&](const pt::Alias& alias) {
      return alias.in == i && alias.kind == pt::Alias::Kind::kRequired;
    });
    PT_ASSIGN(pt::TensorView view, MakeView(device, graph, inputs[i], candidate.in[i], buffers));
    in.push_back(shared ? out[0] : std::move(view));
  }
  std::vector<pt::TensorLayout> in_layouts, out_layouts;
  for (const pt::TensorView& view : in) in_layouts.push_back(view.layout);
  for (const pt::TensorView& view : out) out_layouts.push_back(view.layout);
  PT_ASSIGN(const auto kernel, library.Compile(graph, candidate, in_layouts, out_layouts, context));
  PT_ASSIGN(const auto scratch, device.Allocate(std::max<uint64_t>(kernel->scratch_bytes(), 64)));
  PT_ASSIGN(const auto bound, kernel->Bind(pt::SlotsOf(in), pt::SlotsOf(out),
                                           {static_cast<std::byte*>(scratch->data()), kernel->scratch_bytes()}));

  constexpr int kWarmUps = 10, kRuns = 60;
  std::vector<double> times;
  PT_CHECK_OK(runner.Run([&](pt::Stream& stream) -> pt::Status {
    for (int i = 0; i < kWarmUps + kRuns; ++i) {
      const auto start = Clock::now();
      PT_CHECK_OK(bound->Enqueue(pt::StaticRun(stream)));
      if (i < kWarmUps) continue;
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    return {};
  }));
  std::sort(times.begin(), times.end());
  return times;
}

pt::Status RunAll(const std::string& text) {
  PT_ASSIGN(const pt::Graph parsed, pt::ParseGraph(text));
  PT_ASSIGN(const pt::Graph graph, pt::InferShapes(parsed));
  pt::MachineOptions options;
  options.libraries = {"onednn"};
  PT_ASSIGN(const auto machine, pt::Machine::Make(options));
  const pt::Library& library = *machine->library("onednn");
  std::vector<pt::Candidate> candidates = library.Candidates(graph, machine->platform(), pt::Precision());
  for (pt::Candidate& more : library.AgnosticCandidates(graph, machine->platform(), candidates)) {
    candidates.push_back(std::move(more));
  }
  std::printf("%10s %10s  unit, group, layouts (microseconds)\n", "median", "least");
  for (const pt::Candidate& candidate : candidates) {
    const pt::UnitId unit = pt::UnitsOf(machine->platform(), candidate.unit_class).front();
    PT_ASSIGN(const auto runner, pt::UnitRunner::Make(*machine, unit));
    PT_ASSIGN(const auto times, Time(*runner, library, graph, candidate));
    std::printf("%10.1f %10.1f  %s %s\n", times[times.size() / 2], times.front(),
                machine->platform().unit(unit).name.c_str(), Label(graph, candidate).c_str());
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::string text = kConvolutions;
  if (argc > 1) {
    auto file = pt::ReadFile(argv[1], uint64_t{1} << 24);
    if (!file.ok()) return std::fprintf(stderr, "%s\n", ToString(file.error()).c_str()), 3;
    text = std::move(*file);
  }
  const pt::Status status = RunAll(text);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", ToString(status.error()).c_str()), 1;
  return 0;
}
