// Instruction lists: every wait that matters is there, none that something else implies.
#include "lib/exec/program.h"

#include <catch2/catch_test_macros.hpp>

#include "test/testing/test_machine.h"

namespace pt::testing::program_test {
namespace {

using Kind = Instruction::Kind;

struct TestStep {
  const char* unit;
  std::vector<uint32_t> after = {};
};

Plan PlanOf(const Platform& platform, const std::vector<TestStep>& steps) {
  Plan plan;
  for (const TestStep& test_step : steps) {
    Step step;
    step.unit = FindUnit(platform, test_step.unit);
    for (uint32_t predecessor : test_step.after) step.after.push_back(StepId(predecessor));
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

// "0:run 1:help w2 p3 s4": the instructions of one core, each with its step.
std::string ListText(const Program& program, size_t core) {
  std::string text;
  for (const Instruction& instruction : program.lists.at(core)) {
    static constexpr const char* kNames[] = {"run",  "help",   "enqueue", "record", "streamwait", "launch",
                                             "pass", "signal", "wait",    "poll",   "drain"};
    if (instruction.kind == Kind::kRecord) continue;  // after each launch
    text += (text.empty() ? "" : " ") + std::string(kNames[static_cast<size_t>(instruction.kind)]) +
            std::to_string(instruction.step.value);
  }
  return text;
}

Program Compile(const Platform& platform, const std::vector<TestStep>& steps, bool sequential = false) {
  const Plan plan = PlanOf(platform, steps);
  return CompileProgram(platform, plan, std::vector<StepAction>(steps.size(), StepAction::kRun),
                        {.sequential = sequential});
}

}  // namespace

TEST_CASE("Program, ChainOnOneCoreNeedsNoFlags", "[exec]") {
  const Program program = Compile(MakeTestPlatform(2, false), {{"cpu[1]"}, {"cpu[1]", {0}}, {"cpu[1]", {0, 1}}});
  REQUIRE(program.cores == std::vector{ResourceId(1u)});
  CHECK(ListText(program, 0) == "run0 run1 run2");
  CHECK(program.flag_count == 0);
}

TEST_CASE("Program, DiamondOnTwoCoresHandsOverTwice", "[exec]") {
  const Program program =
      Compile(MakeTestPlatform(2, false), {{"cpu[0]"}, {"cpu[0]", {0}}, {"cpu[1]", {0}}, {"cpu[0]", {1, 2}}});
  CHECK(ListText(program, 0) == "run0 signal0 run1 wait2 run3");
  CHECK(ListText(program, 1) == "wait0 run2 signal2");
  CHECK(program.flag_count == 2);
}

TEST_CASE("Program, WaitsThatAnotherWaitImpliesAreDropped", "[exec]") {
  // Step 3 waits for 2, which waited for 0 and follows 1 on its core.
  const Program program = Compile(MakeTestPlatform(2, false),
                                  {{"cpu[0]"}, {"cpu[1]"}, {"cpu[1]", {0}}, {"cpu[0]", {0, 1, 2}}, {"cpu[0]", {1, 2}}});
  CHECK(ListText(program, 0) == "run0 signal0 wait2 run3 run4");
  CHECK(ListText(program, 1) == "run1 wait0 run2 signal2");
}

TEST_CASE("Program, WideStepsGatherTheirCoresAndThatIsAHandOver", "[exec]") {
  const Program program =
      Compile(MakeTestPlatform(2, false), {{"cpu[1]"}, {"cpu[0-1]", {0}}, {"cpu[1]", {1}}, {"cpu[0-1]", {1, 2}}});
  CHECK(ListText(program, 0) == "run1 run3");
  CHECK(ListText(program, 1) == "run0 help1 run2 help3");
  CHECK(program.flag_count == 0);
}

TEST_CASE("Program, AsynchronousStepsAreLaunchedByTheirDriverAndPolledWhereNeeded", "[exec]") {
  const Program program = Compile(
      MakeTestPlatform(2, true),
      {{"cpu[0]"}, {"cpu>fake:0", {0}}, {"fake:0#0", {1}}, {"fake:0#0", {2}}, {"fake:0>cpu", {3}}, {"cpu[0]", {4}}});
  // A stream's own order needs no wait, the copy engines and the stream wait for each other on the device; step 5 first
  // needs the launch, then the event.
  CHECK(ListText(program, 0) == "run0 signal0 wait4 poll4 run5");
  CHECK(ListText(program, 1) ==
        "wait0 enqueue1 streamwait2 enqueue2 enqueue3 streamwait4 enqueue4 signal4 drain3 drain1 drain4");
}

TEST_CASE("Program, AStreamWaitsForNothingThatItsOrderOrAnotherWaitImplies", "[exec]") {
  // Two streams by turns, each step naming all before it, then a copy out that names all of them.
  const Program program = Compile(MakeTestPlatform(2, true), {{"fake:0#0"},
                                                              {"fake:0#1", {0}},
                                                              {"fake:0#0", {0, 1}},
                                                              {"fake:0#1", {0, 1, 2}},
                                                              {"fake:0#0", {0, 1, 2, 3}},
                                                              {"fake:0>cpu", {0, 1, 2, 3, 4}}});
  CHECK(ListText(program, 0) ==
        "enqueue0 streamwait1 enqueue1 streamwait2 enqueue2 streamwait3 enqueue3 streamwait4 enqueue4 streamwait5 "
        "enqueue5 "
        "drain4 drain3 drain5");
}

TEST_CASE("Program, ElidedStepsKeepTheirPlaceInTheOrder", "[exec]") {
  const Platform platform = MakeTestPlatform(2, false);
  const Plan plan = PlanOf(platform, {{"cpu[1]"}, {"cpu[0-1]", {0}}, {"cpu[1]", {1}}});
  const std::vector<StepAction> actions = {StepAction::kRun, StepAction::kNothing, StepAction::kRun};
  const Program program = CompileProgram(platform, plan, actions);
  // Nobody is gathered for a step without work, so both cores hand over by flags.
  CHECK(ListText(program, 0) == "wait0 pass1 signal1");
  CHECK(ListText(program, 1) == "run0 signal0 wait1 run2");
}

TEST_CASE("Program, SequentialTwinWaitsForEachStepBefore", "[exec]") {
  const Program program = Compile(MakeTestPlatform(2, false), {{"cpu[0]"}, {"cpu[1]"}, {"cpu[0]"}, {"cpu[1]"}}, true);
  CHECK(ListText(program, 0) == "run0 signal0 wait1 run2 signal2");
  CHECK(ListText(program, 1) == "wait0 run1 signal1 wait2 run3");
}

}  // namespace pt::testing::program_test
