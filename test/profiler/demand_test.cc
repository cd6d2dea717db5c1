// What share of its device work asks, measured by several of it at once.
#include "lib/profiler/demand.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_builder.h"
#include "test/cost/sample_problem.h"
#include "test/testing/lock_folder.h"

namespace pt::demand_test {
namespace {

constexpr const char* kFile = R"({"version": 1, "name": "sim:0", "memory_bytes": 536870912, "streams": 2,
  "to_device": {"latency_ns": 20000, "bytes_per_ns": 16}, "from_device": {"latency_ns": 20000, "bytes_per_ns": 16},
  "families": {
    "Relu": {"fixed_ns": 300000, "flops_per_ns": 0, "bytes_per_ns": 0, "demand": 0.3},
    "Abs": {"fixed_ns": 200000, "flops_per_ns": 0, "bytes_per_ns": 0, "demand": 0.75},
    "Neg": {"fixed_ns": 100000, "flops_per_ns": 0, "bytes_per_ns": 0, "demand": 0.15},
    "*": {"fixed_ns": 50000, "flops_per_ns": 0, "bytes_per_ns": 0}}})";

// On the virtual clock a simulated device's file is believed: here it is measured all the same, as a real device is.
struct SimulatedDevice {
  explicit SimulatedDevice(const std::string& file, int64_t elements = 64) : graph(Operators(elements)) {
    std::ofstream(folder.file("sim.json")) << file;
    MachineOptions options;
    options.max_cores = 2;
    options.libraries = {"simulated"};
    options.platform_files = {folder.file("sim.json")};
    machine = Machine::Make(options).value();
    candidates = EnumerateCandidates(graph, machine->platform(), machine->libraries());
  }

  static Graph Operators(int64_t elements) {
    GraphBuilder builder;
    builder.set_opset(25);
    const ValueType type = StaticType(DataType::kFloat32, {elements});
    for (const char* op : {"Relu", "Abs", "Neg", "Sigmoid"}) {
      builder.AddOutput(builder.AddOp(op, {builder.AddInput(std::string("x of ") + op, type)}, type));
    }
    return builder.Build().value();
  }

  WorkItem Measure(size_t candidate) {
    MeasureOptions options;
    const ProfilingTask task{graph, candidates, *machine, db, options, machine->platform()};
    Bench bench(task);
    WorkItem item;
    item.needed.kind = &kDemandKind;
    item.needed.work = CandidateWork{candidate, candidates[candidate].unit_class};
    const Status status = MeasureDemand(bench, item);
    INFO((status.ok() ? "" : ToString(status.error())));
    REQUIRE(status.ok());
    item.subject.reset();
    return item;
  }
  double FilesDemand(size_t candidate) const {
    return SimulatedDemand(graph, machine->platform(), candidates[candidate]);
  }

  TemporaryFolder folder;
  testing::OwnLockFolder lock_folder;
  ProfileDb db = ProfileDb::Open(folder.file("profile.db")).value();
  Graph graph;
  std::unique_ptr<Machine> machine;
  std::vector<Candidate> candidates;
};

TEST_CASE("MeasureDemand, FindsWhatTheSimulatedDevicesFileSays", "[profiler]") {
  SimulatedDevice device(kFile);
  REQUIRE(device.candidates.size() == 4);
  for (size_t c = 0; c < device.candidates.size(); ++c) {
    const WorkItem item = device.Measure(c);
    const std::string& op = device.graph.node(device.candidates[c].nodes.front()).op;
    CAPTURE(op);
    CHECK(item.done);
    CHECK(item.row.failure.empty());
    CHECK(item.row.demand == Catch::Approx(device.FilesDemand(c)).epsilon(1e-4));
    REQUIRE_FALSE(item.samples.empty());
    // Of the whole device, an execution takes its time by its share.
    const int64_t ns = SimulatedNs(device.graph, device.machine->platform(), device.candidates[c]).value();
    CHECK(static_cast<double>(item.samples.front()) ==
          Catch::Approx(device.FilesDemand(c) * static_cast<double>(ns)).epsilon(1e-3));
  }
}

TEST_CASE("MeasureDemand, LittleThatEightAtOnceDoNotFeelIsAnEighth", "[profiler]") {
  std::string file = kFile;
  file.replace(file.find("0.15"), 4, "0.05");
  SimulatedDevice device(file);
  for (size_t c = 0; c < device.candidates.size(); ++c) {
    if (device.graph.node(device.candidates[c].nodes.front()).op != "Neg") continue;
    CHECK(device.Measure(c).row.demand == 0.125);
  }
}

TEST_CASE("MeasureDemand, WhatTheDeviceHoldsOnlyOnceIsAFailureThatIsKept", "[profiler]") {
  std::string file = kFile;
  file.replace(file.find("536870912"), 9, "10000000");  // inputs and outputs of one take 8 MB of it
  SimulatedDevice device(file, 1'000'000);
  const WorkItem item = device.Measure(0);
  CHECK(item.done);
  CHECK(item.row.failure.find("twice") != std::string::npos);
  CHECK(item.samples.empty());
}

}  // namespace
}  // namespace pt::demand_test
