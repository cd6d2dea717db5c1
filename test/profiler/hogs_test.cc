// What keeps other cores busy while something is timed.
#include "lib/profiler/hogs.h"

#include <catch2/catch_test_macros.hpp>

namespace pt::hogs_test {
namespace {

TEST_CASE("Hogs, AreAtWorkFromAwaitAllToTheEndOfTheBody", "[profiler]") {
  const std::unique_ptr<Machine> machine = Machine::Make(MachineOptions()).value();
  const std::vector<UnitId> cores = SingleCoreUnits(machine->platform());
  if (cores.size() < 2) SKIP("one core: nothing runs beside it");
  const auto runner = UnitRunner::Make(*machine, cores.front()).value();
  const auto count = static_cast<uint32_t>(cores.size() - 1);
  Hogs memory(Hogs::Kind::kMemory, count, machine->platform());
  Hogs compute(Hogs::Kind::kCompute, count, machine->platform());
  CHECK(memory.count() == count);
  for (int round = 0; round < 2; ++round) {
    const Status status = runner->RunBeside(memory.AsOthers(), [&](Stream&) -> Status {
      memory.AwaitAll();
      const double before = memory.bytes();
      while (memory.bytes() == before) {  // or the test ends here
      }
      return {};
    });
    REQUIRE(status.ok());
    CHECK(memory.bytes() > 0);
  }
  const Status status = runner->RunBeside(compute.AsOthers(), [&](Stream&) -> Status {
    compute.AwaitAll();
    return {};
  });
  REQUIRE(status.ok());
  CHECK(compute.bytes() == 0);
}

}  // namespace
}  // namespace pt::hogs_test
