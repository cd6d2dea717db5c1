// Machines and plans for executor tests, without discovery, profiling or planning.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/exec/session.h"
#include "partitiontuner/plan/plan.h"
#include "test/testing/fake_device.h"
#include "test/testing/fake_library.h"

namespace pt::testing {

// `cores` host cores: a unit each, one of neighbouring pairs (from 4 cores on), one of all. With `device`: an
// asynchronous device "fake:0" with two streams and links both ways, driven by the last core.
Platform MakeTestPlatform(uint32_t cores, bool device);
// A second such device "fake:1"; `linked`: with links to and from "fake:0".
void AddSecondDevice(Platform& platform, bool linked);

// The fake library on that platform; the controls must outlive the machine.
std::unique_ptr<Machine> MakeFakeMachine(Platform platform, FakeControl& control, FakeDeviceControl& device);

// The same with simulated devices behind the platform's: they live on the clock that the options say.
std::unique_ptr<Machine> MakeSimulatedMachine(Platform platform, FakeControl& control, const SimulatedOptions& options);

// A legal plan that runs node i as one step of `unit_of_node[i]`, in graph order, with copies where devices change.
// Candidates are the first that the machine's libraries have for that node and class. Asserts that there is one.
Plan MakeTestPlan(const Graph& graph, const Machine& machine, const std::vector<UnitId>& unit_of_node,
                  const LentOn& lent_on = {});

// Random units for every node of the graph; steps keep the graph's order.
std::vector<UnitId> RandomUnits(const Graph& graph, const Platform& platform, std::mt19937& random);

// A random acyclic graph of `nodes` operators "Mix" on float32[count] with two inputs and some outputs.
std::shared_ptr<const Graph> MakeRandomGraph(std::mt19937& random, size_t nodes, int64_t count);

// A tensor with its storage, for Session::Run.
struct Buffer {
  std::vector<int64_t> dims;
  std::vector<float> data;
};
std::vector<Buffer> MakeBuffers(const Graph& graph, std::span<const ValueId> values, float start);
std::vector<LentTensor> Lend(std::vector<Buffer>& buffers);

// What the fake library must compute, by one loop.
std::vector<std::vector<float>> Interpret(const Graph& graph, const std::vector<Buffer>& inputs);

}  // namespace pt::testing
