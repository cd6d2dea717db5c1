// A machine with the probe library, with or without a remote device, and a graph of two nodes to measure on it.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/profiler/measure.h"
#include "test/cost/sample_problem.h"
#include "test/testing/lock_folder.h"
#include "test/testing/probe_library.h"
#include "test/testing/remote_device.h"
#include "test/testing/test_machine.h"

namespace pt::testing {

inline Graph TwoNodes() {
  GraphBuilder builder;
  builder.set_opset(25);
  for (const char* op : {"Relu", "Sigmoid"}) {
    const ValueType type = StaticType(DataType::kFloat32, {op[0] == 'R' ? 64 : 5000});
    builder.AddOutput(builder.AddOp(op, {builder.AddInput(std::string("x of ") + op, type)}, type));
  }
  return builder.Build().value();
}

struct ProbeScene {
  explicit ProbeScene(bool with_device) : graph(TwoNodes()) {
    std::vector<std::unique_ptr<DeviceDriver>> drivers;
    drivers.push_back(MakeHostDriver(DeviceId(0u)));
    if (with_device) drivers.push_back(MakeRemoteDriver(DeviceId(1u), remote));
    std::vector<std::unique_ptr<Library>> libraries;
    libraries.push_back(MakeProbeLibrary(probe));
    machine = Machine::Assemble(MakeTestPlatform(2, with_device), std::move(drivers), std::move(libraries)).value();
    candidates = machine->libraries()[0]->Candidates(graph, machine->platform(), Precision());
    options.max_time_per_key = std::chrono::milliseconds(20);
    options.watch_hand_overs = false;
    options.max_noise = 0;  // every key to its last sample or the end of its time
  }

  Result<MeasureReport> Measure() { return MeasureProfile(graph, candidates, *machine, db, options, {}); }

  std::map<Hash128, Measurement> All() { return db.All().value(); }
  // Of everything measured, what has to do with that family.
  std::vector<Measurement> Rows(const std::string& family) {
    std::vector<Measurement> rows;
    const std::map<Hash128, Measurement> all = All();
    for (const auto& [hash, row] : all) {
      if (row.family == family) rows.push_back(row);
    }
    return rows;
  }
  // What is remembered as impossible.
  size_t Failures() {
    const std::map<Hash128, Measurement> all = All();
    return static_cast<size_t>(
        std::count_if(all.begin(), all.end(), [](const auto& entry) { return !entry.second.failure.empty(); }));
  }

  ProbeControl probe;
  RemoteControl remote;
  Graph graph;
  OwnLockFolder locks;
  TemporaryFolder folder;
  ProfileDb db = ProfileDb::Open(folder.file("profile.db")).value();
  std::unique_ptr<Machine> machine;
  std::vector<Candidate> candidates;
  MeasureOptions options;
};

}  // namespace pt::testing
