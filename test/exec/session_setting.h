// What tests of sessions share: a fake machine with a graph, and running it right.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <vector>

#include "partitiontuner/exec/session.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/testing/test_machine.h"

namespace pt::testing {

// A machine, and a graph with inputs, outputs and what they should be.
struct Setting {
  FakeControl control;
  FakeDeviceControl device;
  std::unique_ptr<Machine> machine;
  std::shared_ptr<const Graph> graph;

  Setting() = default;
  Setting(uint32_t cores, bool with_device) {
    machine = MakeFakeMachine(MakeTestPlatform(cores, with_device), control, device);
  }
  std::unique_ptr<Session> Create(const Plan& plan, const SessionOptions& options = {}) {
    auto session = Session::Create(graph, plan, *machine, options);
    if (!session.ok()) FAIL(ToString(session.error()));
    return std::move(session).value();
  }
  std::vector<UnitId> Everywhere(const std::string& unit) const {
    return std::vector<UnitId>(graph->nodes().size(), FindUnit(machine->platform(), unit));
  }
};

// Runs once with buffers of its own and compares; false on any difference.
inline bool RunsRight(Session& session, float start, const RunOptions& options = {}) {
  const Graph& graph = session.graph();
  std::vector<Buffer> inputs = MakeBuffers(graph, graph.inputs(), start);
  std::vector<Buffer> outputs = MakeBuffers(graph, graph.outputs(), -1000);
  const auto expected = Interpret(graph, inputs);
  const Result<RunReport> report = session.Run(Lend(inputs), Lend(outputs), options);
  if (!report.ok()) return false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data != expected[i]) return false;
  }
  return true;
}

inline std::shared_ptr<const Graph> Parse(std::string_view text) {
  return std::make_shared<const Graph>(ParseGraph(text).value());
}

inline std::shared_ptr<const Graph> Diamond(const std::string& left_attributes = "") {
  return Parse(
      "input x float32[64]\n"
      "a = Mix(x) : float32[64]\n"
      "l = Mix(a) " +
      left_attributes +
      " : float32[64]\n"
      "r = Mix(a) : float32[64]\n"
      "y = Mix(l, r) : float32[64]\n"
      "output y\n");
}

}  // namespace pt::testing
