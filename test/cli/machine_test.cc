// The flags that say which machine a tool works for, through the built tools.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/platform/platform.h"
#include "test/cli/tools.h"

namespace pt::testing::machine_test {
namespace {

Platform Printed(const std::vector<std::string>& flags = {}) {
  const CommandResult result = RunTool("pt-plan", Joined({"--print-platform", "--plugins", "none"}, flags));
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  return PlatformFromJson(ParseJson(result.out, "platform").value(), "platform").value();
}

TEST_CASE("PrintPlatform, IsReadBackAsTheSameMachine", "[cli]") {
  const Workplace place;
  const Platform platform =
      Printed({"--platform", std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json", "--threads", "1"});
  CHECK(FindDevice(platform, "sim:0").valid());
  const std::string file = place.Write("machine.json", WriteJson(ToJson(platform)));
  CHECK(PlatformFingerprint(Printed({"--platform", file})) == PlatformFingerprint(platform));
  const CommandResult contradicting = RunTool("pt-plan", {"--print-platform", "--platform", file, "--threads", "1"});
  CHECK(contradicting.exit_code == 2);
}

TEST_CASE("PlatformFile, OfAnotherMachineIsForPlanningOnly", "[cli]") {
  const Workplace place;
  Platform other = Printed();
  other.devices[0].fingerprint = "some other processor";
  const std::string file = place.Write("other.json", WriteJson(ToJson(other)));
  const std::string model = place.ReluPlusOne("case"), plan = place.path() + "/plan.json";
  const std::vector<std::string> there = {model, "--platform", file, "--db", place.Write("profile.db", "")};

  for (const char* tool : {"pt-run", "pt-profile"}) {
    const CommandResult refused = RunTool(tool, there);
    INFO(tool << ": " << refused.err);
    CHECK(refused.exit_code == 5);
    CHECK(refused.err.find("fingerprint of cpu: some other processor, now ") != std::string::npos);
  }
  // Nothing was measured there, so a planner has nothing to go by but the times of a simulated device.
  CHECK(RunTool("pt-plan", there).exit_code == 6);
  const Platform with_device = [&] {
    Platform platform = Printed({"--platform", std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json"});
    platform.devices[0].fingerprint = "some other processor";
    return platform;
  }();
  const std::string richer = place.Write("richer.json", WriteJson(ToJson(with_device)));
  const CommandResult planned =
      RunTool("pt-plan", {model, "--platform", richer, "--db", place.path() + "/profile.db", "-o", plan});
  INFO(planned.err);
  REQUIRE(planned.exit_code == 0);
  const CommandResult run = RunTool("pt-run", {model, "--plan", plan, "--db", "none"});
  INFO(run.err);
  CHECK(run.exit_code == 7);
  CHECK(run.err.find("some other processor") != std::string::npos);
}

TEST_CASE("Plugins, ThatWereNamedAndAreNotThereAreErrors", "[cli]") {
  const Workplace place;
  const CommandResult absent =
      RunTool("pt-run", {"--list-devices", "--plugins", "elsewhere", "--plugin-path", place.path()});
  INFO(absent.err);
  CHECK(absent.exit_code == 5);
  CHECK(absent.err.find("there is no plugin 'elsewhere' in " + place.path()) != std::string::npos);
  place.Write("broken.so", "no shared object");
  const CommandResult listed = RunTool("pt-run", {"--list-devices", "--plugin-path", place.path()});
  CHECK(listed.exit_code == 0);
  CHECK(listed.out.find("broken") != std::string::npos);
  CHECK(listed.out.find("not used: it cannot be loaded") != std::string::npos);
}

}  // namespace
}  // namespace pt::testing::machine_test
