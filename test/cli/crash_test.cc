// --on-crash: pt-run and pt-plan start anew without a kernel that crashes when it is first called. The plugin
// misbehaves (test/testing/plugins) as the environment says.
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>

#include "test/cli/tools.h"

namespace pt::testing::crash_test {
namespace {

// A folder with nothing but the plugin that misbehaves, and a model with a Relu and an Add.
struct CrashScene {
  Workplace place;
  std::string model = place.ReluPlusOne("case"), plugins = place.path() + "/plugins";

  CrashScene() {
    std::filesystem::create_directory(plugins);
    std::filesystem::copy_file(std::string(PT_BINARY_DIR) + "/test-plugins/misbehaves.so", plugins + "/misbehaves.so");
  }
  std::vector<std::string> Arguments(const std::vector<std::string>& more) const {
    return Joined({model, "--db", "none", "--plugin-path", plugins, "--libraries", "test-plugin,reference"}, more);
  }
  CommandResult Run(const std::string& misbehaviour, const std::vector<std::string>& more,
                    CommandOptions options = {}) const {
    options.environment.push_back("PT_TEST_MISBEHAVIOUR=" + misbehaviour);
    return RunTool("pt-run", Arguments(more), options);
  }
  // A plan file for the plugin's kernels on that class of units, measured while they behave.
  std::string PlanOn(const std::string& unit_class) const {
    const std::string db = place.path() + "/profile.db", plan = place.path() + "/plan.json";
    const std::vector<std::string> own = {model, "--db", db, "--plugin-path", plugins, "--libraries", "test-plugin"};
    const CommandResult measured = RunTool("pt-profile", Joined(own, {"--max-time", "5ms"}));
    INFO(measured.err);
    REQUIRE(measured.exit_code == 0);
    const CommandResult made = RunTool("pt-plan", Joined(own, {"--place", "*=" + unit_class, "-o", plan}));
    INFO(made.err);
    REQUIRE(made.exit_code == 0);
    return plan;
  }
  std::string DataSet() const { return std::filesystem::path(model).parent_path() / "test_data_set_0"; }
};

CommandOptions Misbehaving(const std::string& how) {
  CommandOptions options;
  options.environment = {"PT_TEST_MISBEHAVIOUR=" + how};
  return options;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool Has(const std::string& text, const std::string& part) { return Count(text, part) > 0; }

bool HasTwoCores() { return Has(RunTool("pt-run", {"--print-platform"}).out, "cpu[0-1]"); }

}  // namespace

TEST_CASE("Crash, AtAFirstCallIsAWarningAndTheRunIsRight", "[cli]") {
  const std::pair<const char*, const char*> kinds[] = {
      {"compile crashes", "Segmentation fault (signal 11)"}, {"compile aborts", "Aborted (signal 6)"},
      {"run crashes", "Segmentation fault (signal 11)"},     {"run aborts", "Aborted (signal 6)"},
      {"run overflows", "Segmentation fault (signal 11)"},
  };
  const CrashScene scene;
  for (const auto& [kind, how] : kinds) {
    INFO(kind);
    const CommandResult result = scene.Run(kind, {"--verify", scene.DataSet()});
    INFO(result.err << result.out);
    CHECK(result.exit_code == 0);
    CHECK(Has(result.out, "PASS"));
    CHECK(Count(result.err, "warning: ") == 1);
    CHECK(Has(result.err, std::string("test-plugin's kernel of Relu r (#0) crashed: ") + how));
  }
}

TEST_CASE("Crash, LeavesTheProcessItsCoresAndItsArguments", "[cli]") {
  const CrashScene scene;
  // A worker that crashes may use one core; two are asked for where there are two.
  const CommandResult result =
      scene.Run("run crashes", {"--iterations", "3", "--format", "json", "--threads", HasTwoCores() ? "2" : "1"});
  INFO(result.err << result.out);
  REQUIRE(result.exit_code == 0);
  CHECK(Parsed(result.out).find("model") != nullptr);
}

TEST_CASE("Crash, OneAfterAnotherAreAllLeftOut", "[cli]") {
  const CrashScene scene;
  CommandOptions options;
  options.environment = {"PT_TEST_MISBEHAVING=Relu,Add"};
  const CommandResult result = scene.Run("run crashes", {"--verify", scene.DataSet()}, options);
  INFO(result.err << result.out);
  CHECK(result.exit_code == 0);
  CHECK(Has(result.out, "PASS"));
  CHECK(Count(result.err, "warning: ") == 2);
  CHECK(Has(result.err, "kernel of Relu"));
  CHECK(Has(result.err, "kernel of Add"));
}

TEST_CASE("Crash, WithNothingInTheKernelsPlaceIsATypedError", "[cli]") {
  const CrashScene scene;
  const CommandResult result = scene.Run("run crashes", {"--libraries", "test-plugin", "--iterations", "3"});
  INFO(result.err << result.out);
  CHECK(result.exit_code == 4);
  CHECK(Count(result.err, "warning: ") == 1);
  CHECK(Has(result.err, "may have crashed when it was first called, and is left out"));
}

TEST_CASE("Crash, OfAKernelThatAPlanFileNamesIsATypedError", "[cli]") {
  const CrashScene scene;
  const std::string plan = scene.PlanOn("cpu/1");
  const CommandResult result = scene.Run("run crashes", {"--plan", plan, "--iterations", "3"});
  INFO(result.err << result.out);
  CHECK((result.exit_code == 3 || result.exit_code == 4));
  CHECK(Has(result.err, "is left out: the process crashed when it was first called"));
}

TEST_CASE("Crash, OfAHelperIsThatOfTheKernelItHelps", "[cli]") {
  const CrashScene scene;
  if (!HasTwoCores()) SKIP("one core");
  const std::string plan = scene.PlanOn("cpu/2");
  const CommandResult result = scene.Run("helper crashes", {"--plan", plan, "--iterations", "3"});
  INFO(result.err << result.out);
  CHECK((result.exit_code == 3 || result.exit_code == 4));
  CHECK(Count(result.err, "warning: test-plugin's kernel of Relu") == 1);
}

TEST_CASE("Crash, BeyondFirstCallsIsSaidAsWhatItIs", "[cli]") {
  const CrashScene scene;
  const CommandResult result = scene.Run("later, crashes", {"--iterations", "5", "--format", "json"});
  INFO(result.err << result.out);
  CHECK(result.exit_code == 12);
  CHECK(result.out.empty());
  CHECK_FALSE(Has(result.err, "warning: "));
  CHECK(Has(result.err, "the process crashed: Segmentation fault (signal 11), at no kernel's first call"));
}

TEST_CASE("Crash, IsLeftAsItIsWhereThatIsAskedFor", "[cli]") {
  const CrashScene scene;
  CHECK(scene.Run("run crashes", {"--on-crash", "end"}).exit_code == 128 + SIGSEGV);
  CHECK(scene.Run("run aborts", {"--on-crash", "end"}).exit_code == 128 + SIGABRT);
}

TEST_CASE("Crash, InterruptAfterItEndsWithItsCode", "[cli]") {
  const CrashScene scene;
  CommandOptions options;
  options.signal = SIGINT;
  options.signal_after = "started again without it";
  const CommandResult result = scene.Run("run crashes", {"--duration", "50s"}, options);
  INFO(result.err << result.out);
  CHECK(result.exit_code == 130);
}

TEST_CASE("Crash, OfACaseOfASuiteIsThatCasesError", "[cli]") {
  const CrashScene scene;
  const CommandResult result = RunTool(
      "pt-run", {"--suite", scene.place.path(), "--plugin-path", scene.plugins, "--libraries", "test-plugin,reference"},
      Misbehaving("run crashes"));
  INFO(result.err << result.out);
  CHECK(result.exit_code == 8);
  CHECK(Has(result.out, "crashed: Segmentation fault (signal 11)"));
}

TEST_CASE("Crash, WhileAPlanIsTriedIsAWarning", "[cli]") {
  const CrashScene scene;
  const std::string db = scene.place.path() + "/profile.db", plan = scene.place.path() + "/plan.json";
  // Measured while it behaved.
  const std::vector<std::string> machine = {"--db", db, "--threads", "1"};
  REQUIRE(RunTool("pt-profile", Joined(scene.Arguments(machine), {"--max-time", "5ms"})).exit_code == 0);
  const CommandResult made = RunTool("pt-plan", Joined(scene.Arguments(machine), {"--finalists", "2", "-o", plan}),
                                     Misbehaving("run crashes"));
  INFO(made.err << made.out);
  CHECK(made.exit_code == 0);
  CHECK(Count(made.err, "warning: test-plugin's kernel of Relu") <= 1);
  CHECK(std::filesystem::exists(plan));
}

TEST_CASE("Crash, NobodySaysThatThereWasOne", "[cli]") {
  const CrashScene scene;
  CHECK(scene.Run("", {"--after-crash=0"}).exit_code == 2);
  CHECK(scene.Run("", {"--after-crash=77"}).exit_code == 2);
}

}  // namespace pt::testing::crash_test
