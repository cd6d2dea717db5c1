// Functions that run on the cores of one unit, beside others on the machine's other cores.
#include "partitiontuner/exec/unit_runner.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <set>

namespace pt::unit_runner_test {
namespace {

TEST_CASE("UnitRunner, OthersAreAtWorkOnAllOtherCoresUntilTheBodyIsOver", "[exec]") {
  const std::unique_ptr<Machine> machine = Machine::Make(MachineOptions()).value();
  const std::vector<UnitId> cores = SingleCoreUnits(machine->platform());
  const auto others = static_cast<uint32_t>(cores.size() - 1);
  const auto runner = UnitRunner::Make(*machine, cores.front()).value();
  std::vector<std::atomic<int>> calls(others);
  std::atomic<uint32_t> begun{0}, ended{0};
  for (int round = 1; round <= 3; ++round) {
    begun = ended = 0;
    uint32_t ended_before_the_body = 0;
    const Status status = runner->RunBeside(
        [&](uint32_t number, const std::function<bool()>& over) {
          ++calls.at(number);
          ++begun;
          while (!over()) {
          }
          ++ended;
        },
        [&](Stream& stream) -> Status {
          CHECK(stream.team()->width() == 1);
          while (begun < others) {
          }
          ended_before_the_body = ended;
          return {};
        });
    REQUIRE(status.ok());
    CHECK(ended_before_the_body == 0);
    CHECK(ended == others);
    for (const auto& count : calls) CHECK(count == round);
  }
  const Error error = MakeError(ErrorCode::kUsage, "test", "of the body");
  const auto fails = [&](Stream&) -> Status { return error; };
  CHECK(runner->RunBeside([](uint32_t, const std::function<bool()>&) {}, fails).error().id == "test");
}

}  // namespace
}  // namespace pt::unit_runner_test
