#include "test/fuzz/entries/model_chain.h"

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/platform/discover.h"
#include "test/fuzz/entry.h"
#include "test/testing/test_machine.h"

namespace pt::testing {
namespace {

std::shared_ptr<Machine> FuzzMachine(std::string_view without) {
  Platform platform = MakeTestPlatform(1, false);
  platform.devices[0].isa = HostInstructionSets();
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(kHostDevice));
  std::vector<std::unique_ptr<Library>> libraries;
  for (const LibraryRow& row : BuiltInLibraries()) {
    if (row.name != without) libraries.push_back(row.make());
  }
  return Machine::Assemble(std::move(platform), std::move(drivers), std::move(libraries)).value();
}

// A number for whatever the file leaves open.
ModelOptions OptionsFor(const Graph& graph) {
  ModelOptions options;
  options.load = FuzzLoadOptions();
  options.keep_loaded = true;
  for (const UnresolvedDim& dim : UnresolvedDims(graph)) {
    if (!dim.name.empty()) options.dims[dim.name] = 2;
  }
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    if (!input.type.ranked) continue;
    std::vector<int64_t> dims;
    for (const Dim& dim : input.type.dims) dims.push_back(dim.known() ? dim.value : 2);
    options.default_dims[input.name] = dims;
  }
  return options;
}

}  // namespace

const LoadOptions& FuzzLoadOptions() {
  static const LoadOptions options = [] {
    LoadOptions small;
    small.limits.nodes = 2000;
    small.limits.densified_bytes = 1 << 20;
    small.limits.tensor_bytes = 4 << 20;
    small.limits.folded_bytes = 16 << 20;
    small.limits.run_bytes = 16 << 20;
    return small;
  }();
  return options;
}

const SessionOptions& FuzzSessionOptions() {
  static const SessionOptions options = [] {
    SessionOptions small;
    small.run_bytes = FuzzLoadOptions().limits.run_bytes;
    small.max_run_states = 1;
    return small;
  }();
  return options;
}

const RunOptions& FuzzRunOptions() {
  static const RunOptions options = {.deadline = std::chrono::seconds(1)};
  return options;
}

std::unique_ptr<Engine> MakeFuzzEngine(std::string_view without) {
  EngineOptions options;
  options.db_path = "none";
  options.machine.libraries = {"reference"};  // keeps its candidates where other libraries have some
  return Engine::Make(FuzzMachine(without), options).value();
}

Engine& FuzzEngine() {
  static const std::unique_ptr<Engine> engine = MakeFuzzEngine("");
  return *engine;
}

Result<std::shared_ptr<const Model>> FuzzLoad(std::string_view bytes) {
  ModelFile file;
  file.path = "fuzz.onnx";
  PT_ASSIGN(Graph graph, LoadOnnxBytes(std::as_bytes(std::span(bytes)), {}, FuzzLoadOptions(), &file.load_report));
  const ModelOptions options = OptionsFor(graph);
  file.graph = std::make_shared<const Graph>(std::move(graph));
  return FuzzEngine().Load(file, options);
}

Result<Plan> FuzzPlan(const Model& model) {
  PlanOptions options;
  options.planner = "heft";
  options.default_plan = true;
  return FuzzEngine().MakePlan(model, options);
}

}  // namespace pt::testing
