// A warm run allocates nothing: every allocation of the process is counted while sessions run.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "partitiontuner/exec/session.h"
#include "partitiontuner/platform/discover.h"
#include "test/allocations/hook.h"
#include "test/exec/dispatch_setting.h"
#include "test/testing/built_in.h"
#include "test/testing/host_lab.h"
#include "test/testing/real_machine.h"
#include "test/testing/test_machine.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PT_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PT_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef PT_COUNTS_ALLOCATIONS
#define PT_COUNTS_ALLOCATIONS 1
#endif

#if PT_COUNTS_ALLOCATIONS
namespace pt::testing::allocation_test {

TEST_CASE("Session, WarmRunsAllocateNothing", "[exec]") {
  const uint32_t cores = GENERATE(1u, 2u, 4u);
  const bool traced = GENERATE(false, true);
  CAPTURE(cores, traced);
  FakeControl control;
  FakeDeviceControl device;
  const std::unique_ptr<Machine> machine = MakeFakeMachine(MakeTestPlatform(cores, false), control, device);
  std::mt19937 random(3);
  const std::shared_ptr<const Graph> graph = MakeRandomGraph(random, 50, 100);
  const Plan plan = MakeTestPlan(*graph, *machine, RandomUnits(*graph, machine->platform(), random));
  const int64_t before = AllocationsMade();
  const std::unique_ptr<Session> session = Session::Create(graph, plan, *machine).value();
  CHECK(AllocationsMade() > before);  // the library's allocations are seen at all
  std::vector<Buffer> inputs = MakeBuffers(*graph, graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*graph, graph->outputs(), 0);
  const std::vector<LentTensor> in = Lend(inputs), out = Lend(outputs);
  Trace trace;
  RunOptions options;
  options.deadline = std::chrono::hours(1);
  if (traced) options.trace = &trace;
  REQUIRE(session->Run(in, out, options).ok());
  bool ok = true;
  const int64_t warm = AllocationsMade();
  for (int run = 0; run < 20; ++run) ok = session->Run(in, out, options).ok() && ok;
  const int64_t made = AllocationsMade() - warm;
  CHECK(ok);
  CHECK(made == 0);
}

// A tensor that gets its size in the run is handed to its kernel with a copy of its layout, three lists of numbers.
TEST_CASE("Session, WarmRunsOfSizesMetBeforeAllocateNoMoreThanLayouts", "[exec]") {
  if (!HasLibrary("host")) SKIP("built without the host library");
  const std::unique_ptr<Machine> machine = MakeRealMachine(2, false);
  const auto graph = TypedGraph(
      "input x float32[6000]\nn = NonZero(x)\nt = Transpose(n) perm=[1,0]\ng = GatherND(x, t)\n"
      "e = Exp(g)\na = Add(e, g)\ns = ReduceSum(a) keepdims=0\noutput s\n");
  const UnitId unit = WidestHostUnit(machine->platform());
  const Plan plan = MakeTestPlan(*graph, *machine, std::vector<UnitId>(graph->nodes().size(), unit));
  for (const Candidate& candidate : plan.candidates) CHECK(candidate.library != "reference");
  const std::unique_ptr<Session> session = Session::Create(graph, plan, *machine).value();
  std::vector<Buffer> inputs = MakeBuffers(*graph, graph->inputs(), 1);
  std::vector<Buffer> outputs = MakeBuffers(*graph, graph->outputs(), 0);
  const std::vector<LentTensor> in = Lend(inputs), out = Lend(outputs);
  for (int run = 0; run < 3; ++run) REQUIRE(session->Run(in, out).ok());
  bool ok = true;
  const int64_t warm = AllocationsMade();
  for (int run = 0; run < 20; ++run) ok = session->Run(in, out).ok() && ok;
  const int64_t made = AllocationsMade() - warm;
  CHECK(ok);
  CHECK(made <= 20 * 3 * static_cast<int>(graph->nodes().size()));
}

// As callers do that carry outputs into inputs.
TEST_CASE("Session, WarmRunsOnTwoSetsOfBuffersInTurnsAllocateNothing", "[exec]") {
  const uint32_t cores = GENERATE(1u, 2u);
  CAPTURE(cores);
  FakeControl control;
  FakeDeviceControl device;
  const std::unique_ptr<Machine> machine = MakeFakeMachine(MakeTestPlatform(cores, false), control, device);
  std::mt19937 random(3);
  const std::shared_ptr<const Graph> graph = MakeRandomGraph(random, 50, 100);
  const Plan plan = MakeTestPlan(*graph, *machine, RandomUnits(*graph, machine->platform(), random));
  const std::unique_ptr<Session> session = Session::Create(graph, plan, *machine).value();
  std::vector<Buffer> inputs[2], outputs[2];
  std::vector<LentTensor> in[2], out[2];
  for (int set = 0; set < 2; ++set) {
    inputs[set] = MakeBuffers(*graph, graph->inputs(), static_cast<float>(set));
    outputs[set] = MakeBuffers(*graph, graph->outputs(), 0);
    in[set] = Lend(inputs[set]);
    out[set] = Lend(outputs[set]);
    REQUIRE(session->Run(in[set], out[set]).ok());
  }
  bool ok = true;
  const int64_t warm = AllocationsMade();
  for (int run = 0; run < 20; ++run) ok = session->Run(in[run % 2], out[run % 2]).ok() && ok;
  const int64_t made = AllocationsMade() - warm;
  CHECK(ok);
  CHECK(made == 0);
}

TEST_CASE("DispatchSession, WarmRunsAllocateNothing", "[exec]") {
  const uint32_t cores = GENERATE(1u, 2u, 4u);
  CAPTURE(cores);
  FakeControl control;
  FakeDeviceControl device;
  const std::unique_ptr<Machine> machine = MakeFakeMachine(MakeTestPlatform(cores, false), control, device);
  std::mt19937 random(3);
  const std::shared_ptr<const Graph> graph = MakeRandomGraph(random, 50, 100);
  const DispatchPlan dispatch = MakeTestDispatch(*graph, *machine, DispatchRule::kPath);
  const std::unique_ptr<Session> session = Session::CreateDispatch(graph, dispatch, *machine).value();
  std::vector<Buffer> inputs = MakeBuffers(*graph, graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*graph, graph->outputs(), 0);
  const std::vector<LentTensor> in = Lend(inputs), out = Lend(outputs);
  REQUIRE(session->Run(in, out).ok());
  bool ok = true;
  const int64_t warm = AllocationsMade();
  for (int run = 0; run < 20; ++run) ok = session->Run(in, out).ok() && ok;
  const int64_t made = AllocationsMade() - warm;
  CHECK(ok);
  CHECK(made == 0);
}

}  // namespace pt::testing::allocation_test
#endif
