// pt-profile --isolate process: what crashes, hangs or exits fails alone. The plugin misbehaves (test/testing/plugins)
// with every candidate whose first node is a Relu, as PT_TEST_MISBEHAVIOUR says.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "partitiontuner/cost/profile.h"
#include "test/cli/tools.h"

namespace pt::testing::isolation_test {
namespace {

// A folder with nothing but the plugin that misbehaves, a model with a Relu and an Add, and a database.
struct Scene {
  Workplace place;
  std::string model = place.ReluPlusOne("case"), db = place.path() + "/profile.db", plugins = place.path() + "/plugins";

  Scene() {
    std::filesystem::create_directory(plugins);
    std::filesystem::copy_file(std::string(PT_BINARY_DIR) + "/test-plugins/misbehaves.so", plugins + "/misbehaves.so");
  }
  CommandResult Profile(const std::string& misbehaviour, const std::vector<std::string>& more) const {
    CommandOptions options;
    options.environment = {"PT_TEST_MISBEHAVIOUR=" + misbehaviour};
    return RunTool("pt-profile",
                   Joined({model, "--db", db, "--plugin-path", plugins, "--libraries", "test-plugin,reference",
                           "--threads", "1", "--max-time", "5ms", "--format", "json"},
                          more),
                   options);
  }
  std::vector<Measurement> Rows() const {
    const ProfileDb database = ProfileDb::Open(db).value();
    const auto all = database.All();
    std::vector<Measurement> rows;
    for (const auto& [key, row] : all.value()) rows.push_back(row);
    return rows;
  }
};

bool IsCulprit(const Measurement& row) { return row.library == "test-plugin" && row.family == "Relu"; }

// Whatever the plugin does, its Relu has failed with the reason, and all else was measured.
void CheckFailsAlone(const std::string& misbehaviour, const std::string& reason,
                     const std::vector<std::string>& more = {}) {
  INFO(misbehaviour);
  const Scene scene;
  const CommandResult result = scene.Profile(misbehaviour, Joined({"--isolate", "process"}, more));
  INFO(result.err << result.out);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.find(reason) != std::string::npos);
  const auto json = ParseJson(result.out, "report");
  REQUIRE(json.ok());
  const auto& went_down = *json->find("went_down")->as_array();
  REQUIRE(went_down.size() == 1);
  CHECK(went_down[0].find("reason")->as_string()->find(reason) != std::string::npos);
  CHECK(*json->find("missing")->as_int() == 0);
  const std::vector<Measurement> rows = scene.Rows();
  CHECK(std::ranges::count_if(rows, IsCulprit) == 1);
  CHECK(std::ranges::any_of(rows, [](const auto& r) { return r.library == "test-plugin" && r.failure.empty(); }));
  for (const Measurement& row : rows) {
    INFO(row.key_text << ": " << row.failure);
    CHECK((IsCulprit(row) ? row.failure.find(reason) != std::string::npos : row.failure.empty()));
  }
  // What is known is not tried again, in this process either.
  const CommandResult again = scene.Profile(misbehaviour, {});
  INFO(again.err << again.out);
  REQUIRE(again.exit_code == 0);
  CHECK(*ParseJson(again.out, "report").value().find("measured")->as_int() == 0);
}

TEST_CASE("Isolation, WhatCrashesAbortsOrExitsWhileItIsCompiledFailsAlone", "[cli]") {
  CheckFailsAlone("compile crashes", "crashed: Segmentation fault (signal 11)");
  CheckFailsAlone("compile aborts", "crashed: Aborted (signal 6)");
  CheckFailsAlone("compile exits", "ended with exit code 3");
}

TEST_CASE("Isolation, WhatCrashesWhileItRunsFailsAlone", "[cli]") {
  CheckFailsAlone("run crashes", "crashed: Segmentation fault (signal 11)");
}

TEST_CASE("Isolation, WhatHangsFailsAlone", "[cli][slow]") {
  CheckFailsAlone("compile hangs", "hung: no end after", {"--key-timeout", "4s"});
  CheckFailsAlone("run hangs", "hung: no end after", {"--key-timeout", "4s"});
}

// An exception is caught without any of this, and says nothing for good.
TEST_CASE("Isolation, WhatThrowsIsSkippedInTheSameProcess", "[cli]") {
  for (const char* mode : {"none", "process"}) {
    INFO(mode);
    const Scene scene;
    const CommandResult result = scene.Profile("compile throws", {"--isolate", mode});
    INFO(result.err << result.out);
    CHECK(result.exit_code == 6);
    const auto json = ParseJson(result.out, "report");
    REQUIRE(json.ok());
    CHECK(*json->find("skipped")->as_int() == 1);
    CHECK(json->find("skip_reason")->as_string()->find("not this one") != std::string::npos);
    CHECK((json->find("went_down") != nullptr) == (std::string(mode) == "process"));
    CHECK(std::ranges::none_of(scene.Rows(), IsCulprit));
  }
}

TEST_CASE("Isolation, MeasuresTheSameKeysAsWithout", "[cli]") {
  const Scene with, without;
  REQUIRE(with.Profile("", {"--isolate", "process"}).exit_code == 0);
  REQUIRE(without.Profile("", {}).exit_code == 0);
  const auto keys = [](const Scene& scene) {
    std::vector<std::string> texts;
    for (const Measurement& row : scene.Rows()) texts.push_back(row.key_text);
    std::ranges::sort(texts);
    return texts;
  };
  CHECK(keys(with) == keys(without));
}

// No process but this one was started with that text among its arguments.
bool AnyProcessNames(const std::string& text) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream arguments(entry.path() / "cmdline", std::ios::binary);
    const std::string line((std::istreambuf_iterator<char>(arguments)), {});
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

// Measurements that an interrupted run has kept, and those of them that the next run reuses.
struct Resumed {
  int64_t kept = 0, reused = 0;
};

Resumed InterruptAndResume() {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/profile.db";
  CommandOptions options;
  options.signal = SIGINT;
  options.signal_after = "[";  // progress: something was measured
  const CommandResult interrupted = RunTool(
      "pt-profile", {model, "--db", db, "--isolate", "process", "--progress", "tty", "--max-noise", "0"}, options);
  INFO(interrupted.err << interrupted.out);
  CHECK(interrupted.exit_code == 130);
  CHECK_FALSE(AnyProcessNames(db));
  const CommandResult known = RunTool("pt-profile", {model, "--db", db, "--dry-run", "--format", "json"});
  REQUIRE(known.exit_code == 0);
  const int64_t kept = *Parsed(known.out).find("known")->as_int();
  CHECK(kept > 0);
  CHECK(kept < *Parsed(known.out).find("needed")->as_int());
  const CommandResult resumed =
      RunTool("pt-profile", {model, "--db", db, "--isolate", "process", "--max-time", "2ms", "--format", "json"});
  INFO(resumed.err);
  CHECK(resumed.exit_code == 0);
  return {kept, *Parsed(resumed.out).find("reused")->as_int()};
}

TEST_CASE("Isolation, InterruptKeepsWhatWasMeasuredAndLeavesNoProcess", "[cli]") {
  // What hand-overs between cores bear on is measured again where they take much less time than before: on a host that
  // others use, now and then.
  Resumed resumed = InterruptAndResume();
  for (int again = 0; again < 3 && resumed.reused != resumed.kept; ++again) resumed = InterruptAndResume();
  CHECK(resumed.reused == resumed.kept);
}

// What hangs does not see the interrupt: the process that watches ends it.
TEST_CASE("Isolation, InterruptEndsWhatHangs", "[cli][slow]") {
  const Scene scene;
  CommandOptions options;
  options.environment = {"PT_TEST_MISBEHAVIOUR=run hangs"};
  options.signal = SIGINT;
  options.signal_after = "it hangs now";
  const CommandResult interrupted =
      RunTool("pt-profile",
              {scene.model, "--db", scene.db, "--plugin-path", scene.plugins, "--libraries", "test-plugin,reference",
               "--threads", "1", "--max-time", "5ms", "--isolate", "process", "--key-timeout", "2s"},
              options);
  INFO(interrupted.err << interrupted.out);
  CHECK(interrupted.exit_code == 130);
  CHECK_FALSE(AnyProcessNames(scene.db));
}

// Errors are the child's, once and with its exit code.
TEST_CASE("Isolation, ErrorsBeforeMeasuringAreToldOnce", "[cli]") {
  const Workplace place;
  const CommandResult result =
      RunTool("pt-profile", {place.path() + "/none.onnx", "--isolate", "process", "--db", "none"});
  CHECK(result.exit_code == 3);
  CHECK(result.err.find("none.onnx") != std::string::npos);
  CHECK(result.err.find("none.onnx") == result.err.rfind("none.onnx"));
  CHECK(RunTool("pt-profile", {place.ReluPlusOne("case"), "--isolate-worker", "--db", "none"}).exit_code == 2);
}

}  // namespace
}  // namespace pt::testing::isolation_test
